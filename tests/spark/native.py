"""Classes in Java as users write them, compiled and packed for the tests."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FUNCTION = """package org.example;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.{kind};
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
public final class {name} implements {kind}<{types}> {{
  private static final long serialVersionUID = 1;
  private int calls;
  @Override
  public {result} call(Row row) {{
    calls++;
    {body}
  }}
}}
"""
WRITER = """package org.example;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
public final class Lines extends ForeachWriter<Row> {{
  private static final long serialVersionUID = 1;
  private Path file;
  @Override
  public boolean open(long partition, long epoch) {{
    file = Path.of("{folder}", "lines-" + partition);
    return true;
  }}
  @Override
  public void process(Row row) {{
    try {{
      String line = row.getAs("id") + " " + row.getAs("n") + "\\n";
      Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }} catch (IOException failed) {{
      throw new UncheckedIOException(failed);
    }}
  }}
  @Override
  public void close(Throwable failure) {{}}
}}
"""


def function(name: str, kind: str, result: str, body: str) -> str:
    types = "Row" if kind == "FilterFunction" else "Row, Row"
    return FUNCTION.format(name=name, kind=kind, types=types, result=result, body=body)


def add_jar(spark: SparkSession, folder: Path, **sources: str) -> None:
    """Compile the classes, by name, and give them to the session and its executors."""
    sys.path.insert(0, str(ROOT))
    try:
        import hatch_build
    finally:
        sys.path.remove(str(ROOT))
    files = [folder / f"{name}.java" for name in sources]
    for file, text in zip(files, sources.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    classes = folder / "classes"
    classes.mkdir()
    hatch_build.compile_java(files, classes)
    jar = folder / f"{'-'.join(sources)}.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        for file in classes.rglob("*.class"):
            packed.write(file, file.relative_to(classes).as_posix())
    spark.sql(f"ADD JAR '{jar}'")
