"""Finding Java, pyspark and our jar; what is missing is told in one sentence."""

from __future__ import annotations

from pathlib import Path


def classpath_jar() -> Path:
    """The jar with placement, paced source, meters and work functions.

    Raises SlotwiseError when the package was built without it.
    """
    raise NotImplementedError


def check() -> None:
    """Raise SlotwiseError, with one sentence, unless Spark can start here.

    Looked at: Java is found (JAVA_HOME, else PATH), is 17 or newer, has the module
    jdk.incubator.vector; pyspark is 4.3; the jar is there.
    """
    raise NotImplementedError
