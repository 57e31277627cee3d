"""What Spark needs on this machine (pyspark, Java, our jar), and how its Java is started.

Importable without pyspark: `slotwise doctor` shows what is found and what is missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import util
from pathlib import Path

from slotwise.machine import spark_version
from slotwise.model import SlotwiseError

LEAST_JAVA = 17
SPARK = "4.3"
VECTOR_MODULE = "jdk.incubator.vector"
JAR = Path(__file__).parent.parent / "jars" / "slotwise-spark.jar"
JDK_FIX = f"install a JDK, {LEAST_JAVA} or newer (Debian: openjdk-{LEAST_JAVA}-jdk-headless)"
SPARK_FIX = "pip install 'slotwise[spark]'"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)([^"]*)"')


@dataclass(frozen=True)
class Requirement:
    """Something that Spark needs. `problem` and `fix` are empty when it is met."""

    name: str
    found: str
    problem: str = ""
    fix: str = ""

    def check(self) -> None:
        """Raise SlotwiseError, with one sentence, unless it is met."""
        if self.problem:
            raise SlotwiseError(f"{self.problem}: {self.fix}")


def check() -> None:
    """Raise SlotwiseError, with one sentence, unless Spark can start here. About 0.3 s, once."""
    for requirement in requirements():
        requirement.check()


def requirements() -> Iterator[Requirement]:
    """All that a run needs, one after the other: Java is started only when it is asked for."""
    yield pyspark_requirement(spark_version())
    yield jar_requirement()
    command = _command("java")
    yield java_requirement(command, command and _output(command, "-version"))
    yield vector_requirement(command, command and _output(command, "--list-modules"))


def pyspark_requirement(version: str | None) -> Requirement:
    if version is None:
        return Requirement("pyspark", "not installed", "pyspark is not installed", SPARK_FIX)
    if not version.startswith(f"{SPARK}."):
        return Requirement("pyspark", version, f"pyspark is {version}, not {SPARK}", SPARK_FIX)
    return Requirement("pyspark", version)


def jar_requirement() -> Requirement:
    """The jar with placement, paced source, meters and work functions."""
    if JAR.is_file():
        return Requirement("jar", JAR.name)
    return Requirement(
        "jar", "not found", f"{JAR.name} is missing", "reinstall slotwise with a JDK and pyspark"
    )


def java_requirement(command: str | None, printed: str | None) -> Requirement:
    """`printed` is what `java -version` prints; None if it does not run."""
    if command is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        return Requirement("Java", "not found", f"no Java {where}", JDK_FIX)
    version = _VERSION.search(printed or "")
    if version is None:
        problem = f"'{command} -version' prints no version"
        return Requirement("Java", "unknown version", problem, "set JAVA_HOME to a JDK")
    found = version[1] + version[2]
    if int(version[1]) < LEAST_JAVA:
        fix = f"set JAVA_HOME to a JDK, {LEAST_JAVA} or newer"
        return Requirement("Java", found, f"{command} is Java {version[1]}", fix)
    return Requirement("Java", found)


def vector_requirement(command: str | None, modules: str | None) -> Requirement:
    """`modules` is what `java --list-modules` prints. Spark's launcher asks for this one."""
    if VECTOR_MODULE in (modules or ""):
        return Requirement(VECTOR_MODULE, "found")
    problem = f"{command or 'Java'} has no module {VECTOR_MODULE}, which Spark needs"
    return Requirement(VECTOR_MODULE, "not found", problem, "install a full JDK")


def javac_requirement() -> Requirement:
    """Needed to build the jar, not to run."""
    command = _command("javac")
    version = re.search(r"javac (\S+)", (command and _output(command, "-version")) or "")
    if version is None:
        return Requirement("javac", "not found", "no javac", JDK_FIX)
    return Requirement("javac", version[1])


def java() -> str:
    """The Java that Spark starts. Raises SlotwiseError if there is none."""
    command = _command("java")
    if command is None:
        java_requirement(None, None).check()
    assert command is not None
    return command


def version() -> str | None:
    """Of the Java that Spark starts; None: there is none, or it does not run."""
    command = _command("java")
    found = _VERSION.search((command and _output(command, "-version")) or "")
    return found and found[1] + found[2]


def classpath_jar() -> Path:
    """Our jar. Raises SlotwiseError when the package was built without it."""
    jar_requirement().check()
    return JAR


def spark_home() -> Path:
    """The folder of the pyspark package, with Spark's jars inside."""
    pyspark_requirement(spark_version()).check()
    spec = util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def launched(main: str) -> list[str]:
    """What Spark's launcher would run for a class, with its many options for Java modules; our jar
    comes first in the class path, as with drivers and executors. About 0.3 s, the first time.
    """
    command = list(_launcher_output(java(), spark_home(), main))
    path = command.index("-cp") + 1
    command[path] = os.pathsep.join([str(classpath_jar()), command[path]])
    return command


def environment() -> dict[str, str]:
    """As Spark's scripts would set it, without the settings of another Spark."""
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("SPARK_")}
    return inherited | {"SPARK_HOME": str(spark_home()), "SPARK_SCALA_VERSION": "2.13"}


@cache
def _launcher_output(java: str, home: Path, main: str) -> tuple[str, ...]:
    launcher = [java, "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"]
    done = subprocess.run([*launcher, main], capture_output=True, text=True, env=environment())
    command = tuple(part.strip() for part in done.stdout.split("\0") if part.strip())
    if done.returncode or main not in command:
        raise SlotwiseError(f"Spark's launcher failed: {done.stderr.strip()[-300:]}")
    return command


def _command(name: str) -> str | None:
    """As Spark finds it: in JAVA_HOME if that is set, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name, path=os.path.join(home, "bin") if home else None)


@cache
def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None
