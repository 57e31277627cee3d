"""Java libraries for tests, by their names from Maven, kept in a folder of the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>slotwise.tests</groupId><artifactId>{name}</artifactId><version>1</version>
<dependencies>{dependencies}</dependencies>
</project>
"""
ALONE = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Spark's connector to Kafka and what it needs, without what Spark has: versions that work with
Spark 4.3."""
BROKER = ("org.apache.kafka:kafka_2.13:4.1.0",)
"""With all that it needs."""
MINICLUSTER = (
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    *(f"org.bouncycastle:{name}-jdk18on:1.82" for name in ("bcprov", "bcpkix", "bcutil")),
)
"""YARN's daemons, of Spark's version of Hadoop, and what they need beside Spark's jars."""


def connector() -> Path:
    return _fetched("kafka-connector", CONNECTOR, alone=True)


def broker() -> Path:
    return _fetched("kafka-broker", BROKER)


def minicluster() -> Path:
    return _fetched("minicluster", MINICLUSTER, alone=True)


def _fetched(name: str, artefacts: Sequence[str], *, alone: bool = False) -> Path:
    """The folder with the jars; those of an earlier call stay. Fails without Maven."""
    versions = "_".join(artefact.rpartition(":")[2] for artefact in artefacts)
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slotwise-tests"
    folder = kept / f"{name}_{versions}"
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir(parents=True)
    parts = [dict(zip(("group", "name", "version"), a.split(":"), strict=True)) for a in artefacts]
    dependencies = "".join(
        f"<dependency><groupId>{part['group']}</groupId><artifactId>{part['name']}</artifactId>"
        f"<version>{part['version']}</version>{ALONE if alone else ''}</dependency>"
        for part in parts
    )
    pom = unfinished / "pom.xml"
    pom.write_text(POM.format(name=name, dependencies=dependencies))
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(pom)]
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
    try:
        done = subprocess.run(
            [*command, *copy, "-DincludeScope=runtime"], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        pom.unlink()
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another program has just fetched them, too
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder
