"""The Java tests under jvm/test, and the jar they test."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from slotwise.spark.cluster import java

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "jvm" / "test"
CLASSES = sorted(TESTS.rglob("*Test.java"))

pytest.importorskip("pyspark")


@pytest.fixture(scope="session")
def test_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sys.path.insert(0, str(ROOT))
    try:
        import hatch_build
    finally:
        sys.path.remove(str(ROOT))
    compiled = tmp_path_factory.mktemp("classes")
    hatch_build.compile_java(sorted(TESTS.rglob("*.java")), compiled, java.classpath_jar())
    return compiled


@pytest.mark.parametrize("source", CLASSES, ids=lambda path: path.stem)
def test_java(source: Path, test_classes: Path) -> None:
    name = source.relative_to(TESTS).with_suffix("").as_posix().replace("/", ".")
    jars = [str(test_classes), str(java.classpath_jar()), f"{java.spark_home()}/jars/*"]
    done = subprocess.run(
        [java.java(), "-ea", "-cp", os.pathsep.join(jars), "org.slotwise.RunTests", name],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok " in done.stdout


def test_the_jar_is_that_of_the_sources(tmp_path: Path) -> None:
    """A stale jar would make every other test here lie."""
    sources = {
        path.relative_to(ROOT / "jvm" / "src").with_suffix("").as_posix()
        for path in (ROOT / "jvm" / "src").rglob("*.java")
    }
    with zipfile.ZipFile(java.classpath_jar()) as jar:
        names = set(jar.namelist())
    packed = {name.removesuffix(".class") for name in names if "$" not in name}
    assert {name for name in packed if name.startswith("org/")} == sources
    newest = max(p.stat().st_mtime for p in (ROOT / "jvm" / "src").rglob("*.java"))
    assert java.classpath_jar().stat().st_mtime >= newest, "run make setup"
