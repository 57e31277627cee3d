"""The page in one HTML file that opens from disk: modules, styles, third-party files and data are
inside, and nothing comes from outside.
"""

from __future__ import annotations

import base64
import json
import re
from html import escape
from pathlib import Path
from typing import Any

from slotwise.model import SlotwiseError

PAGE = Path(__file__).parent / "page"
VENDOR = PAGE / "vendor"
DATA_ID = "slotwise-data"

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; form-action 'none'; base-uri 'none'"
)
_IMPORTS = re.compile(r'(<script type="importmap">)(.*?)(</script>)', re.DOTALL)
_STYLE = '<link rel="stylesheet" href="style.css">'
_START = '<script type="module" src="main.js"></script>'
_TITLE = "<title>Slotwise</title>"


def one_file(
    document: dict[str, Any], history: dict[str, Any] | None = None, title: str = "Slotwise"
) -> str:
    """The page with a document and its history, as docs/design/2026-11-19-page.md has them. Raises
    SlotwiseError where the page's third-party files are missing.
    """
    check_vendor()
    html = _read(PAGE / "index.html")
    data = json_for_html({"document": document, "history": history})
    parts = {
        _TITLE: f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(title)}</title>",
        _STYLE: f"<style>\n{_read(PAGE / 'style.css')}</style>",
        _START: f'<script type="application/json" id="{DATA_ID}">{data}</script>\n'
        '<script type="module">import "page/main.js";</script>',
    }
    html = _IMPORTS.sub(lambda found: f"{found[1]}{_inline(found[2])}{found[3]}", html)
    for there, instead in parts.items():
        html = html.replace(there, instead)
    return html


def check_vendor() -> None:
    """Raises SlotwiseError where the page's third-party files are missing."""
    if not (VENDOR / "npm.json").is_file():
        raise SlotwiseError(
            "the third-party files of the page are missing: run python hatch_build.py"
        )


def json_for_html(data: Any) -> str:
    r"""As JSON that no HTML parser ends early, whatever names are in it.

    >>> json_for_html("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _inline(import_map: str) -> str:
    """The import map with the modules themselves as addresses: names stay what they are in the
    page, whose modules import each other as page/NAME.js.
    """
    imports: dict[str, str] = json.loads(import_map)["imports"]
    own = {f"page/{file.name}": file for file in sorted(PAGE.glob("*.js"))}
    others = {name: PAGE / path for name, path in imports.items() if not name.endswith("/")}
    return json.dumps({"imports": {name: _data(file) for name, file in (others | own).items()}})


def _data(file: Path) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(file.read_bytes()).decode()}"


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
