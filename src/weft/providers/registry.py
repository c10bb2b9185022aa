"""Registry: everything known about who can be called, put together; from a name to a target.

The table of providers, the settings laid over it, what the store says (frames handed in) and where keys may be. No
more than a value: it reads nothing but keys, and those when asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.errors import UsageError
from weft.providers.adapter import plugged_providers, provider
from weft.providers.custom import merged_table
from weft.providers.endpoint import located
from weft.providers.keys import FoundKey, KeyPlaces, find_key, resolve_key
from weft.providers.pointers import Pointer, is_disabled, latest_frames, pointer_table, read_reference
from weft.providers.secret import MASK, Secret
from weft.providers.table import Provider

__all__ = ["Registry", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to call: a provider's row, a model, and the key with the place it was found in."""

    provider: Provider
    model: str
    key: Secret | None = None
    source: str = "none needed"


class Registry:
    """Who can be called, under which names, with which keys."""

    def __init__(
        self,
        places: KeyPlaces,
        environ: Mapping[str, str] | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        frames: Iterable[Mapping[str, Any]] = (),
        pointers: Mapping[str, Any] | None = None,
    ) -> None:
        """Put it together.

        `settings` is the settings file (`providers` and `pointers` of it); `frames` are the metas of the store's
        `gpt.provider` frames, oldest first; `pointers` is the meta of its newest `gpt.provider.ptrs` frame.
        """
        settings = settings or {}
        self.places = places
        self._environ = environ or {}
        self.table = {
            name: located(row, self._environ) for name, row in merged_table(settings.get("providers")).items()
        }
        self.frames = latest_frames(frames)
        self.stored_pointers = dict(pointers or {})
        self.pointers: dict[str, Pointer] = pointer_table(pointers, settings.get("pointers"))

    def __repr__(self) -> str:
        return f"<Registry of {len(self.table)} providers, {len(self.pointers)} pointers>"

    def row(self, name: str) -> Provider:
        """Give a provider's row, with its address."""
        if name not in self.table:
            self._take_plugged()
        return provider(name, self.table)

    def _take_plugged(self) -> None:
        """Add the rows of plugins, which are looked for only when a name is not known, or all are listed."""
        rows = plugged_providers()
        self.table |= {name: located(row, self._environ) for name, row in rows.items() if name not in self.table}

    def key(self, name: str, *, key_env: str | None = None) -> FoundKey:
        """Give the key that wins for a provider, and where it was found; an error without one."""
        if is_disabled(self.frames.get(name)):
            raise UsageError(f"{name} is switched off\n  switch it on: weft provider enable {name}")
        return resolve_key(self.row(name), self.places, key_env=key_env, frame=self.frames.get(name))

    def enabled(self, name: str) -> bool:
        """Tell whether a provider is switched on: by an entry of the store, or by a key being there [T-51]."""
        frame = self.frames.get(name)
        if is_disabled(frame):
            return False
        return frame is not None or find_key(self.row(name), self.places) is not None

    def read(self, text: str) -> Pointer:
        """Read a pointer's name or `provider/model`."""
        if text not in self.pointers and text.partition("/")[0] not in self.table:
            self._take_plugged()
        return read_reference(text, self.pointers, self.table)

    def target(self, text: str, *, key_env: str | None = None) -> Target:
        """Give whom to call for a pointer's name or `provider/model`."""
        pointer = self.read(text)
        found = self.key(pointer.provider, key_env=key_env)
        return Target(self.row(pointer.provider), pointer.model, found.secret, found.source)

    def summary(self) -> dict[str, Any]:
        """Give the view of section 9: `{providers: [{name, enabled}], ptrs}`."""
        self._take_plugged()
        return {
            "providers": [{"name": name, "enabled": self.enabled(name)} for name in self.table],
            "ptrs": {name: pointer._asdict() for name, pointer in self.pointers.items()},
        }

    def pointer_view(self, name: str) -> dict[str, Any]:
        """Give `{provider, model, key}` of a pointer, the key as a mask [T-54]."""
        if name not in self.pointers:
            self.read(name if "/" not in name else f"{name} ")  # says what is known
            raise UsageError(f"no pointer is called {name!r}")
        pointer = self.pointers[name]
        row = self.table.get(pointer.provider)
        frame = self.frames.get(pointer.provider)
        found = find_key(row, self.places, frame=frame) if row and not is_disabled(frame) else None
        return {**pointer._asdict(), "key": MASK if found else None}
