"""Secrets in text: keys, tokens and passwords found by their shape, masked, named by a keyed fingerprint [K-03, K-04].

For whoever has text that may hold a secret nobody told us about: the finder over the store, the recording proxy,
exports. A key that weft itself was given is no guess; `weft.providers` takes that one out by its letters. Rules
lean to the side of silence: a text full of false alarms is read by nobody, so a value without a shape of its own
counts only beside a name that says what it is, and only if it looks drawn by lot.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["KINDS", "Found", "find_secrets", "fingerprint", "redact_text"]


@dataclass(frozen=True, slots=True)
class Found:
    """A secret in a text: what it looks like, and from where to where. Its letters stay out of its `repr`."""

    kind: str
    start: int
    end: int
    value: str = field(repr=False)

    @property
    def masked(self) -> str:
        """Give what may be shown of it: the beginning that all of its kind share, and how long it is."""
        shown = None if self.kind in _SHAPELESS else re.match(_PUBLIC, self.value)
        return f"{shown[0] if shown else ''}…({len(self.value)} characters)"


def find_secrets(text: str) -> list[Found]:
    """Give the secrets in a text, in order; of two that overlap, the one that begins first, and then the longer."""
    found: list[Found] = []
    reach = -1
    for secret in sorted(_all(text), key=lambda one: (one.start, -one.end)):
        if secret.start >= reach:
            found.append(secret)
            reach = secret.end
    return found


def redact_text(text: str) -> str:
    """Give the text with every secret replaced by its kind, in letters that need no escape in JSON or in a URL."""
    pieces: list[str] = []
    at = 0
    for secret in find_secrets(text):
        pieces += [text[at : secret.start], f"[redacted:{secret.kind}]"]
        at = secret.end
    return "".join([*pieces, text[at:]]) if pieces else text


def fingerprint(secret: str, key: bytes) -> str:
    """Name a secret so that the same one can be recognised, by who has the key alone [K-04].

    Not a plain hash: short or guessable secrets could be found again by trying.
    """
    return hmac.new(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:12]


# -- the rules -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    """How one kind looks. `hints` are what a text must have one of: cheap to look for, and most texts have none.

    A group in the expression is the secret; without one, all of the match is. Every repetition has a limit, so that
    no text takes time out of proportion to its length.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str  # compiled when a text first has one of the hints: a start should not wait for all of them
    is_likely: Callable[[str], bool] = lambda _value: True
    folds: bool = False  # the hints are looked for in lower case


_EDGE = r"(?<![A-Za-z0-9_-])"  # nothing of a word right before it
_END = r"(?![A-Za-z0-9_-])"


def _shaped(kind: str, beginning: str, rest: str, *hints: str) -> _Rule:
    return _Rule(kind, hints or (beginning.replace("\\", ""),), f"{_EDGE}{beginning}{rest}{_END}", _is_mixed)


def _is_mixed(value: str) -> bool:
    """Tell letters drawn by lot from words: `sk-ant-your-key-goes-right-here` is an example of a key, and no key."""
    tail = re.sub(_PUBLIC, "", value, count=1)
    return any(letter.isdigit() for letter in tail) and _entropy(tail) > 2.8


def _is_drawn(value: str) -> bool:
    """Be stricter where only a name beside it says so: figures and letters, no path, no call, no placeholder."""
    has_both = any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)
    return has_both and not re.search(_NO_VALUE, value) and _entropy(value) > 3.0


def _is_password(value: str) -> bool:
    return not re.search(_NO_VALUE, value) and set(value) not in ({"*"}, {"x"}, {"X"}, {"."})


def _entropy(value: str) -> float:
    """Give the bits a letter of this text is worth (Shannon)."""
    total = len(value) or 1
    return -sum(count / total * math.log2(count / total) for count in Counter(value).values())


# What stands where a secret would, and is none: a place to put it, a variable, a call, a masked one.
_NO_VALUE = r"[<>{}()\[\]$]|\*\*\*|…|\.\.\.|(?i:example|placeholder|changeme|your[-_]|redacted)"
# The part of a secret that says whose it is, and nothing else.
_PUBLIC = (
    r"sk-(?:ant-(?:[a-z]{3}\d\d-)?|proj-|svcacct-|admin-|or-v1-)?|[a-z]{2,6}[-_](?=\w)|AIza|AQ\.|ya29\.|A[KSBC][ICS]A"
    r"|ABSK|bedrock-api-key-|github_pat_|[rs]k_(?:live|test)_|SG\.|eyJ|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
)
_SHAPELESS = frozenset({"aws-secret", "password-in-url", "authorization", "named"})  # known by what stands beside them
_WORD = "[A-Za-z0-9]"
_WORDS = "[A-Za-z0-9_-]"
_QUOTE = r"""(?:\\{0,4}["'])?"""  # also one escaped, as in JSON inside of JSON
_IS = r"\s{0,4}(?:=>|:=|[=:])\s{0,4}"
_NAMED = (
    r"(?:api[-_ ]?key|apikey|access[-_]?key|secret[-_]?key|secret[-_]?access[-_]?key|client[-_]?secret|auth[-_]?token"
    r"|access[-_]?token|refresh[-_]?token|id[-_]?token|bearer[-_]?token|private[-_]?key|signing[-_]?key|webhook[-_]?secret"
    r"|session[-_]?token|secret|token|passwd|password|passphrase|x-api-key|x-goog-api-key|api-key)"
)

_RULES: tuple[_Rule, ...] = (
    _shaped("anthropic", "sk-ant-", f"{_WORDS}{{16,256}}"),
    _shaped("openrouter", "sk-or-v1-", f"{_WORD}{{32,128}}"),
    _shaped("openai", "sk-", f"(?!ant-|or-){_WORDS}{{20,256}}"),  # and the many who took over its form
    _shaped("google", "AIza", f"{_WORDS}{{35}}"),
    _shaped("google", r"AQ\.", f"{_WORDS}{{30,256}}"),
    _shaped("google-token", r"ya29\.", f"{_WORDS}{{20,512}}"),
    _shaped("groq", "gsk_", f"{_WORD}{{20,128}}"),
    _shaped("xai", "xai-", f"{_WORD}{{20,256}}"),
    _shaped("cerebras", "csk-", f"{_WORD}{{20,128}}"),
    _shaped("perplexity", "pplx-", f"{_WORD}{{20,128}}"),
    _shaped("fireworks", "fw_", f"{_WORD}{{20,128}}"),
    _shaped("together", "tgp_v1_", f"{_WORDS}{{20,128}}"),
    _shaped("replicate", "r8_", f"{_WORD}{{30,128}}"),
    _shaped("huggingface", "hf_", f"{_WORD}{{20,128}}"),
    _shaped("aws-key-id", "A(?:KI|SI|BI|CC)A", "[A-Z2-7]{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    _Rule(
        "aws-secret",
        ("secret",),
        rf"(?i:aws[_-]?secret(?:[_-]?access)?[_-]?key|secretaccesskey){_QUOTE}{_IS}{_QUOTE}"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        _is_drawn,
        folds=True,
    ),
    _shaped("bedrock", "ABSK", "[A-Za-z0-9+/=]{40,512}"),
    _shaped("bedrock", "bedrock-api-key-", "[A-Za-z0-9+/=]{20,2048}"),
    _shaped("github", "gh[pousr]_", f"{_WORD}{{30,255}}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _shaped("github", "github_pat_", "[A-Za-z0-9_]{40,255}"),
    _shaped(
        "gitlab", "gl(?:pat|ptt|dt|rt|cbt)-", f"{_WORDS}{{20,128}}", "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"
    ),
    _shaped("slack", "xox[abeprs]-", "[A-Za-z0-9-]{10,255}", "xox"),
    _shaped("slack", "xapp-", "[A-Za-z0-9-]{20,255}"),
    _shaped("stripe", "[rs]k_(?:live|test)_", f"{_WORD}{{16,255}}", "k_live_", "k_test_"),
    _shaped("npm", "npm_", f"{_WORD}{{36}}"),
    _shaped("pypi", "pypi-", f"{_WORDS}{{50,512}}"),
    _shaped("digitalocean", "do[op]_v1_", f"{_WORD}{{40,128}}", "dop_v1_", "doo_v1_"),
    _shaped("sendgrid", r"SG\.", rf"{_WORDS}{{16,64}}\.{_WORDS}{{16,64}}"),
    _Rule("jwt", ("eyJ",), rf"{_EDGE}eyJ{_WORDS}{{8,2048}}\.eyJ{_WORDS}{{8,8192}}\.{_WORDS}{{8,2048}}"),
    _Rule(
        "private-key",
        ("PRIVATE KEY-----",),
        r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,.]|-(?!----)){16,16384}"
        r"-----END [A-Z ]{0,20}PRIVATE KEY-----",
    ),
    _Rule(
        "password-in-url",
        ("://",),
        r"""(?<=://)[^\s/:@"'<>\\]{0,128}:([^\s/@"'<>\\]{3,256})@(?=[\w\[])""",
        _is_password,
    ),
    _Rule(
        "authorization",
        ("bearer ", "basic ", "token "),
        rf"(?i:\bbearer|authorization{_QUOTE}{_IS}{_QUOTE}(?:basic|token))\s{{1,4}}([A-Za-z0-9._~+/=-]{{16,4096}})",
        _is_drawn,
        folds=True,
    ),
    _Rule(
        "named",
        ("key", "secret", "token", "pass"),
        rf"""(?i:(?<![a-z]){_NAMED}){_QUOTE}{_IS}{_QUOTE}([^\s"'\\,;&<>`()]{{12,512}}(?<![.!?:]))""",
        _is_drawn,
        folds=True,
    ),
)
KINDS: tuple[str, ...] = tuple(dict.fromkeys(rule.kind for rule in _RULES))


def _all(text: str) -> Iterator[Found]:
    lower: str | None = None
    for rule in _RULES:
        if rule.folds and lower is None:
            lower = text.lower()
        where = lower if rule.folds and lower is not None else text
        if not any(hint in where for hint in rule.hints):
            continue
        pattern = re.compile(rule.pattern)  # which keeps what it has compiled
        for match in pattern.finditer(text):
            group = 1 if pattern.groups else 0
            value = match[group]
            if rule.is_likely(value):
                yield Found(rule.kind, match.start(group), match.end(group), value)
