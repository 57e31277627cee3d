"""Runs studies in full and puts their results into studies.md: `make studies`.

    python docs/reference/measure_studies.py                    # all of them
    python docs/reference/measure_studies.py drs                # this one; the others stay
    python docs/reference/measure_studies.py --on-spark drs     # on Spark, into studies-on-spark.md

The pages' introductions are written by hand, except for the date; everything below them comes from
the studies. Studies on Spark, and that of controllers, keep finished trials in the current
directory, as the command does, and go on from there.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

from slotwise import studies
from slotwise.cli.parts import kept_rows
from slotwise.cli.study import usual_directory
from slotwise.studies import Effort, Study, on_spark, publish

HERE = Path(__file__).parent


def simulated(name: str) -> Study:
    if name not in studies.IN_PARTS:
        return studies.run(name)
    directory = usual_directory(name, "simulator")
    directory.mkdir(exist_ok=True)
    return studies.run(name, Effort(rows=kept_rows(directory / f"{name}.journal")))


def measured(name: str) -> Study:
    directory = usual_directory(name, "spark")
    directory.mkdir(exist_ok=True)
    return on_spark.run(name, Effort(), directory, lambda line: print(line, file=sys.stderr))


def section(name: str, study: Callable[[str], Study]) -> str:
    """The study's own headings, one level lower."""
    started = time.perf_counter()
    made = study(name)
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    text = re.sub("^#", "##", publish.markdown(made), flags=re.MULTILINE)
    return text.replace("## ", f"## `{name}`: ", 1)


def write(
    page: Path, names: Iterable[str], order: Iterable[str], study: Callable[[str], Study]
) -> None:
    """Replace the sections of `names` in the page, and the date in its introduction."""
    head, *rest = re.split(r"^(?=## `)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = {re.findall("`(.+?)`", old)[0]: old.strip() + "\n" for old in rest}
    sections |= {name: section(name, study) for name in names}
    today = date.today()
    head = re.sub(r"\d+ \w+ \d{4}", f"{today.day} {today:%B %Y}", head, count=1)
    ordered = [sections[name] for name in order if name in sections]
    page.write_text("\n".join([head.rstrip() + "\n", *ordered]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--on-spark", action="store_true")
    given = parser.parse_args()
    check, known = studies.check_name, studies.STUDIES
    page, study = HERE / "studies.md", simulated
    if given.on_spark:
        check, known = on_spark.check_name, on_spark.STUDIES
        page, study = HERE / "studies-on-spark.md", measured
    for name in given.names:
        check(name)
    write(page, given.names or known, known, study)


if __name__ == "__main__":
    main()
