"""Runs studies in full and puts their results into studies.md: `make studies`.

    python docs/reference/measure_studies.py            # all of them
    python docs/reference/measure_studies.py drs        # this one; the others stay as they are

The page's introduction is written by hand, except for the date; everything below it comes from the
studies.
"""

from __future__ import annotations

import re
import sys
import time
from datetime import date
from pathlib import Path

from slotwise import studies
from slotwise.studies import publish

PAGE = Path(__file__).with_name("studies.md")


def measured(name: str) -> str:
    """The study's section: its own headings, one level lower."""
    started = time.perf_counter()
    study = studies.run(name)
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    text = re.sub("^#", "##", publish.markdown(study), flags=re.MULTILINE)
    return text.replace("## ", f"## `{name}`: ", 1)


def main(names: list[str]) -> None:
    for name in names:
        studies.check_name(name)
    head, *rest = re.split(r"^(?=## `)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = {re.findall("`(.+?)`", section)[0]: section.strip() + "\n" for section in rest}
    sections |= {name: measured(name) for name in names or studies.STUDIES}
    today = date.today()
    head = re.sub(r"\d+ \w+ \d{4}", f"{today.day} {today:%B %Y}", head, count=1)
    ordered = [sections[name] for name in studies.STUDIES if name in sections]
    PAGE.write_text("\n".join([head.rstrip() + "\n", *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
