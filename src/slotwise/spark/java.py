"""Finding Java, pyspark and our jar; what is missing is told in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from importlib import metadata, util
from pathlib import Path

from slotwise.model import SlotwiseError

LEAST_JAVA = 17
SPARK = "4.3"
VECTOR_MODULE = "jdk.incubator.vector"
JAR = Path(__file__).parent / "jars" / "slotwise-spark.jar"


def classpath_jar() -> Path:
    """The jar with placement, paced source, meters and work functions.

    Raises SlotwiseError when the package was built without it.
    """
    if not JAR.is_file():
        raise SlotwiseError(f"{JAR.name} is missing: install slotwise again with a JDK and pyspark")
    return JAR


def check() -> None:
    """Raise SlotwiseError, with one sentence, unless Spark can start here.

    Looked at: pyspark is 4.3; Java is found, is 17 or newer, and has the module
    jdk.incubator.vector, which Spark's launcher asks for; the jar is there. About 0.3 s.
    """
    spark_home()
    classpath_jar()
    _check_java(java())


def java() -> str:
    """The Java that Spark takes: of JAVA_HOME if that is set, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if found is None:
        where = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise SlotwiseError(f"no Java {where}: install a JDK, {LEAST_JAVA} or newer")
    return found


def spark_home() -> Path:
    """The folder of the pyspark package, with Spark's jars inside."""
    spec = util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SlotwiseError("pyspark is not installed: pip install 'slotwise[spark]'")
    version = metadata.version("pyspark")
    if not version.startswith(f"{SPARK}."):
        raise SlotwiseError(f"pyspark is {version}, not {SPARK}: pip install 'slotwise[spark]'")
    return Path(spec.origin).parent


def launched(main: str) -> list[str]:
    """What Spark's launcher would run for a class, with its many options for Java modules; our jar
    comes first in the class path, as with drivers and executors. About 0.3 s, the first time.
    """
    command = list(_launcher_output(java(), spark_home(), main))
    path = command.index("-cp") + 1
    command[path] = os.pathsep.join([str(classpath_jar()), command[path]])
    return command


@cache
def _launcher_output(java: str, home: Path, main: str) -> tuple[str, ...]:
    launcher = [java, "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"]
    told = subprocess.run([*launcher, main], capture_output=True, text=True, env=environment())
    command = tuple(part.strip() for part in told.stdout.split("\0") if part.strip())
    if told.returncode or main not in command:
        raise SlotwiseError(f"Spark's launcher does not run: {told.stderr.strip()[-300:]}")
    return command


def environment() -> dict[str, str]:
    """As Spark's scripts would set it; that of the caller's own Spark does not count."""
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("SPARK_")}
    return inherited | {"SPARK_HOME": str(spark_home()), "SPARK_SCALA_VERSION": "2.13"}


@cache
def _check_java(java: str) -> None:
    told = _output(java, "-version")
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version is None:
        raise SlotwiseError(f"{java} -version does not tell a version: set JAVA_HOME to a JDK")
    if int(version[1]) < LEAST_JAVA:
        raise SlotwiseError(
            f"{java} is Java {version[1]}: set JAVA_HOME to a JDK, {LEAST_JAVA} or newer"
        )
    if VECTOR_MODULE not in _output(java, "--list-modules"):
        raise SlotwiseError(
            f"{java} has no module {VECTOR_MODULE}, which Spark needs: install a whole JDK"
        )


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise SlotwiseError(f"{' '.join(command)} does not run: {failed}") from failed
    return done.stdout + done.stderr
