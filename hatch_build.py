"""Makes what the wheel carries besides Python: compiles jvm/ against the jars of the installed
pyspark into a jar, and fetches the third-party files of the page from npm (hatch_npm.py).

A build hook of hatchling; `python hatch_build.py` does the same by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib import util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
JAR = ROOT / "src" / "slotwise" / "spark" / "jars" / "slotwise-spark.jar"
RELEASE = "17"

sys.path.append(str(ROOT))  # hatchling runs this file from anywhere
from hatch_npm import fetch_page_files  # noqa: E402


def build_jar() -> Path:
    """Compile everything under jvm/src and pack it with jvm/resources. The same input gives the
    same bytes, whatever the time. Raises SystemExit with one sentence when it cannot.
    """
    with tempfile.TemporaryDirectory() as folder:
        classes = Path(folder)
        compile_java(sorted((ROOT / "jvm" / "src").rglob("*.java")), classes)
        shutil.copytree(ROOT / "jvm" / "resources", classes, dirs_exist_ok=True)
        JAR.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: a running driver never sees half a jar.
        unfinished = JAR.with_suffix(f".{os.getpid()}")
        _pack(classes, unfinished)
        unfinished.replace(JAR)
    return JAR


def compile_java(sources: list[Path], classes: Path, *class_path: Path) -> None:
    """Run javac, warnings as errors, on the class path of pyspark's jars and `class_path`."""
    jars = os.pathsep.join([*map(str, class_path), str(pyspark_jars() / "*")])
    options = ["-proc:none", "--release", RELEASE, "-Xlint:all,-classfile,-serial,-path", "-Werror"]
    done = subprocess.run(
        [_javac(), *options, "-cp", jars, "-d", str(classes), *map(str, sources)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"javac did not compile jvm/:\n{done.stderr}")


def pyspark_jars() -> Path:
    found = util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("building the jar needs pyspark: pip install 'pyspark>=4.3,<4.4'")
    return Path(found.origin).parent / "jars"


def _javac() -> str:
    """As Spark finds Java: in JAVA_HOME, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=str(Path(home) / "bin") if home else None)
    if found is None:
        raise SystemExit("building the jar needs javac: install a JDK, 17 or newer")
    return found


def _pack(classes: Path, jar: Path) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(_entry("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\r\n\r\n")
        for file in sorted(path for path in classes.rglob("*") if path.is_file()):
            packed.writestr(_entry(file.relative_to(classes).as_posix()), file.read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # by hand, where hatchling is not installed
    pass
else:

    class Hook(BuildHookInterface):  # type: ignore[type-arg]
        """Before the wheel, or the editable install, is made."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            build_jar()
            fetch_page_files()


if __name__ == "__main__":
    for made in (build_jar(), fetch_page_files()):
        print(made.relative_to(ROOT), file=sys.stderr)
