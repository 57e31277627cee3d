"""The page's files: what they may contain, and how they become one file."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from slotwise.dashboard import one_file as inlining
from slotwise.dashboard.one_file import PAGE, VENDOR, json_for_html, one_file
from slotwise.model import SlotwiseError

ROOT = Path(__file__).parents[2]
OWN = sorted(file for file in PAGE.iterdir() if file.is_file())
IMPORTS = re.compile(r'^import (?:.* from )?"(?P<name>[^"]+)";$', re.MULTILINE)
DOCUMENT = {"version": 1, "kind": "comparison", "topology": "t", "candidates": []}


def import_map() -> dict[str, str]:
    found = re.search(r'<script type="importmap">(.*?)</script>', read("index.html"))
    assert found is not None
    imports: dict[str, str] = json.loads(found[1])["imports"]
    return imports


def read(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.name)
def test_no_outside_address_and_no_html_from_text(file: Path) -> None:
    content = file.read_text(encoding="utf-8")
    assert not re.search(r"""(https?:|["'(])//""", content)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in content


@pytest.mark.parametrize("file", [f for f in OWN if f.suffix == ".js"], ids=lambda file: file.name)
def test_every_import_is_there(file: Path) -> None:
    for name in IMPORTS.findall(file.read_text(encoding="utf-8")):
        if name.startswith("page/"):
            assert (PAGE / name.removeprefix("page/")).is_file()
        else:
            assert (PAGE / import_map()[name]).is_file()


def test_third_party_files_are_pinned_and_come_with_licences() -> None:
    text = (ROOT / "npm.json").read_text(encoding="utf-8")
    assert "://" not in text
    for package in (each for part in json.loads(text).values() for each in part):
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["integrity"].startswith("sha512-")
        assert any("LICENSE" in name for name in package["files"])
    named = {name for each in json.loads(text)["page"] for name in each["files"].values()}
    assert named <= {file.name for file in VENDOR.iterdir()}


class Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[str | None] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "link" or dict(attrs)["href"] == "data:,"
        if tag == "script":
            assert "src" not in dict(attrs)
            self.kinds.append(dict(attrs).get("type"))
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts and self.lasttag == "script":
            self.texts[-1] += data


def test_one_file_has_everything_inside() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    html = one_file({**DOCUMENT, "topology": hostile}, None, hostile)
    scripts = Scripts()
    scripts.feed(html)
    assert scripts.kinds == ["importmap", "application/json", "module"]
    assert json.loads(scripts.texts[1])["document"]["topology"] == hostile
    imports = json.loads(scripts.texts[0])["imports"]
    assert {"preact", "echarts", "cytoscape", "page/main.js", "page/dataflow.js"} <= set(imports)
    assert all(each.startswith("data:text/javascript;base64,") for each in imports.values())
    assert "<title>&lt;/script&gt;" in html


def test_data_never_end_their_script() -> None:
    names = ["</script>", "<!--", "]]>", "&amp;", "\u2028"]
    text = json_for_html(names)
    assert not set("<>&") & set(text)
    assert json.loads(text) == names


def test_missing_third_party_files_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inlining, "VENDOR", tmp_path)
    with pytest.raises(SlotwiseError, match="run python hatch_build"):
        one_file(DOCUMENT)
