"""The page: one file that asks for nothing, runs nothing but its own script, and shows text as text.

This module decides the policy that a browser holds the page to, and how what a log holds gets into it:
compressed, in an alphabet that no markup is made of. It refuses to know what is shown.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from html import escape
from importlib.resources import files
from typing import Any, Final

from wakefold.json_text import format_json

_DIRECTIVES: Final = (
    "default-src 'none'",
    "script-src 'sha256-{script}'",
    "style-src 'sha256-{style}'",
    "base-uri 'none'",
    "form-action 'none'",
)

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>wakefold report</title>
<style>{style}</style>
</head>
<body>
<div id="page"><noscript>This page draws itself by its own script; `wakefold inspect`, `receipts` and
`guard audit` tell the same in text.</noscript></div>
<footer>
<details><summary>Licences of what draws this page</summary><pre tabindex="0">{notices}</pre></details>
</footer>
<script type="application/octet-stream" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def write_page(columns: dict[str, Any]) -> bytes:
    """The page of what `arrange_columns` gives."""
    built = files(__package__) / "built"
    script, style, notices = (
        (built / name).read_text("utf-8") for name in ("page.js", "page.css", "notices.md")
    )
    script = _shield(script)
    policy = "; ".join(_DIRECTIVES).format(script=_digest(script), style=_digest(style))
    page = _PAGE.format(
        policy=policy,
        style=style,
        script=script,
        notices=escape(notices),
        data=base64.b64encode(zlib.compress(format_json(columns).encode("utf-8"))).decode("ascii"),
    )
    return page.encode("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _shield(script: str) -> str:
    """The script without what would end its element or open a comment; such text is in strings only."""
    return script.replace("</script", "\\x3C/script").replace("<!--", "\\x3C!--")
