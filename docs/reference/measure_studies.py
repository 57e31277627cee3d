"""Runs studies in full and puts their results into studies.md: `make studies`.

    python docs/reference/measure_studies.py                    # all that are simulated
    python docs/reference/measure_studies.py drs                # this one; the others stay
    python docs/reference/measure_studies.py --on-spark drs     # on Spark

The page's introductions are written by hand, except for the date; everything below them comes from
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
from slotwise.report.charts import picture
from slotwise.studies import Effort, Study, on_spark, publish

PAGE = Path(__file__).parent / "studies.md"
PICTURES = PAGE.parent / "studies-on-spark"
ON_SPARK = " --on spark"
"""A section has the name of its study, as it is given to the command."""
ORDER = (*studies.STUDIES, *(name + ON_SPARK for name in on_spark.STUDIES))


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


def section(heading: str, name: str, study: Callable[[str], Study]) -> str:
    """The study's own headings, one level lower."""
    started = time.perf_counter()
    made = study(name)
    print(f"{heading}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    text = re.sub("^#", "##", publish.markdown(made), flags=re.MULTILINE)
    text = text.replace("## ", f"## `{heading}`: ", 1)
    return text + figures(made) if made.on_spark else text


def figures(made: Study) -> str:
    """The study's pictures, written beside the page, as a section of it."""
    PICTURES.mkdir(exist_ok=True)
    lines = []
    for chart in made.charts:
        file = PICTURES / f"{made.name}-{chart.name}.png"
        file.write_bytes(picture(chart))
        lines.append(f"![{chart.title}]({PICTURES.name}/{file.name})")
    return "\n### Figures\n\n" + "\n\n".join(lines) + "\n"


def write(names: Iterable[str], suffix: str, study: Callable[[str], Study]) -> None:
    """Replace the sections of `names` in the page; and, for simulations, the date in its
    introduction.
    """
    head, *rest = re.split(r"^(?=## `)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = {re.findall("`(.+?)`", old)[0]: old.strip() + "\n" for old in rest}
    sections |= {name + suffix: section(name + suffix, name, study) for name in names}
    if not suffix:
        today = date.today()
        head = re.sub(r"\d+ \w+ \d{4}", f"{today.day} {today:%B %Y}", head, count=1)
    ordered = [sections[name] for name in ORDER if name in sections]
    PAGE.write_text("\n".join([head.rstrip() + "\n", *ordered]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--on-spark", action="store_true")
    given = parser.parse_args()
    where = on_spark if given.on_spark else studies
    for name in given.names:
        where.check_name(name)
    names = given.names or where.STUDIES
    if given.on_spark:
        write(names, ON_SPARK, measured)
    else:
        write(names, "", simulated)


if __name__ == "__main__":
    main()
