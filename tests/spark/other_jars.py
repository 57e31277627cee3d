"""A program with two sessions, one after the other, of which the second has one more jar.

`python -m tests.spark.other_jars` prints one line of JSON: whether each driver finds what is in it.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from slotwise.spark.cluster import java, local

FILE = "in_the_other_jar.txt"


def main() -> None:
    ours = str(java.classpath_jar())
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other.jar"
        with zipfile.ZipFile(other, "w") as jar:
            jar.writestr(FILE, "here")
        found = []
        for jars in (ours, f"{ours},{other}"):
            with local({"spark.jars": jars}) as spark:
                found.append(_has_file(spark))
    print(json.dumps(found))


def _has_file(spark: SparkSession) -> bool:
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(FILE) is not None


if __name__ == "__main__":
    main()
