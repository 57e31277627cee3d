"""Fetches the page's third-party files from npm: the versions, and only the bytes, that npm.json
names. Each comes with its licence.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
TABLE = ROOT / "npm.json"
VENDOR = ROOT / "src" / "slotwise" / "dashboard" / "page" / "vendor"


def fetch_page_files() -> Path:
    """The files of `page` in npm.json, in VENDOR."""
    return fetch("page", VENDOR)


def fetch(part: str, folder: Path) -> Path:
    """Put the files of a part of npm.json into `folder`; what an earlier call has fetched stays
    while the table says the same. Raises SystemExit with one sentence when it cannot.
    """
    packages = json.loads(TABLE.read_text(encoding="utf-8"))[part]
    stamp = folder / "npm.json"
    said = json.dumps(packages, indent=2) + "\n"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == said:
        return folder
    stamp.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        with tempfile.TemporaryDirectory() as packed:
            _take(package, Path(packed), folder)
    stamp.write_text(said, encoding="utf-8")
    return folder


def _take(package: dict[str, Any], packed: Path, folder: Path) -> None:
    name = f"{package['package']}@{package['version']}"
    archive = _packed(name, packed)
    found = hashlib.sha512(archive.read_bytes()).digest()
    if f"sha512-{base64.b64encode(found).decode()}" != package["integrity"]:
        raise SystemExit(f"what npm has as {name} is not what npm.json names: its hash differs")
    with tarfile.open(archive) as files:
        for inside, outside in package["files"].items():
            content = files.extractfile(f"package/{inside}")
            if content is None:
                raise SystemExit(f"{name} has no file {inside}: correct npm.json")
            (folder / outside).write_bytes(content.read())


def _packed(name: str, folder: Path) -> Path:
    """The package's archive as npm puts it into `folder`, which is empty."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("building the page needs npm: install Node.js with npm")
    command = [npm, "pack", "--silent", "--pack-destination", str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        raise SystemExit(f"npm did not get {name}:\n{done.stderr}")
    return archives[0]


if __name__ == "__main__":
    print(fetch_page_files().relative_to(ROOT), file=sys.stderr)
