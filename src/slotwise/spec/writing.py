"""Profiles and the platform as YAML for people: one row per thread count, figures of 4 digits."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from slotwise.model import Measurement, Platform, Profile, ProfileForms
from slotwise.spec.build_profiles import platform_document, profile_document
from slotwise.spec.errors import one_line
from slotwise.spec.profile_document import PlatformDocument, ProfileDocument
from slotwise.spec.reading import MOST_BYTES
from slotwise.spec.tree import resolve

DIGITS = 4
MOST_COLUMNS = 100
Values = dict[Any, Any]

_PLAIN_TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def profiles_text(profiles: Mapping[str, Profile], platform: Platform | None = None) -> str:
    """A file of profiles, the platform or both, that specs `include`; it says how it was made."""
    measured = [p.measurement for p in profiles.values() if isinstance(p, ProfileForms)]
    if platform is not None:
        measured.append(platform.measurement)
    parts = [*_remarks(filter(None, measured))]
    if profiles:
        parts += ["profiles:", *profile_lines(profile_values(profiles), "  ").values()]
    if platform is not None:
        parts.append(platform_lines(platform_values(platform), ""))
    return "\n".join(parts) + "\n"


def profile_values(profiles: Mapping[str, Profile]) -> Values:
    """As a spec has them under `profiles`: rounded, defaults left out."""
    return {
        operator: _values(ProfileDocument, profile_document(profile))
        for operator, profile in profiles.items()
    }


def platform_values(platform: Platform) -> Values:
    return _values(PlatformDocument, platform_document(platform) or {})


def profile_lines(values: Values, indent: str) -> dict[str, str]:
    """Each operator's entry, `indent` before every line."""
    return {operator: _profile_lines(operator, each, indent) for operator, each in values.items()}


def platform_lines(values: Values, indent: str) -> str:
    if not values:
        return f"{indent}platform: {{}}"
    return "\n".join([f"{indent}platform:", *_entries(values, indent + "  ")])


def flow(value: Any) -> str:
    """A value in one line.

    >>> flow({"threads": {1: {"rate": 2.5, "on": "a b"}}}), flow("1")
    ('{threads: {1: {rate: 2.5, on: "a b"}}}', '"1"')
    """
    return dumped({0: value}, default_flow_style=True).strip().removeprefix("{0: ")[:-1]


def dumped(value: Any, default_flow_style: bool | None) -> str:
    """YAML in the project's style: keys in their order, texts in quotes where that is safer."""
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.sort_base_mapping_type_on_output = False
    yaml.default_flow_style = default_flow_style
    yaml.width = MOST_BYTES
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


class _Representer(SafeRepresenter):
    """A class of its own, because ruamel keeps what it learns to write per class."""

    def text(self, text: str) -> Any:
        """In quotes unless it surely reads back as the same text."""
        plain = _PLAIN_TEXT.fullmatch(text) and isinstance(resolve(text), str)
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    def ignore_aliases(self, data: Any) -> bool:
        """Values that are the same object are written out, each where it stands."""
        return True


_Representer.add_representer(str, _Representer.text)


def _values(kind: type[ProfileDocument | PlatformDocument], document: Values) -> Values:
    written: Values = _rounded(kind.model_validate(document).model_dump(exclude_defaults=True))
    return written


def _rounded(value: Any) -> Any:
    """
    >>> _rounded({"rate": 12345.6, "cpu": 0.123456, "threads": {1: 2.0}})
    {'rate': 12350, 'cpu': 0.1235, 'threads': {1: 2}}
    """
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and short < 1e15 else short


def _profile_lines(operator: str, values: Values, indent: str) -> str:
    if len(values) == 1 and "threads" not in values:
        return f"{indent}{flow(operator)}: {flow(values)}"
    return "\n".join([f"{indent}{flow(operator)}:", *_entries(values, indent + "  ")])


def _entries(values: Values, indent: str) -> Iterable[str]:
    for key, value in values.items():
        if key == "threads":
            yield f"{indent}threads:"
            yield from _thread_rows(value, indent + "  ")
        elif isinstance(value, dict):
            yield from _wrapped(f"{indent}{key}: {{", value, indent + "  ")
        else:
            yield f"{indent}{key}: {flow(value)}"


def _thread_rows(rows: Values, indent: str) -> Iterable[str]:
    """Aligned; all are numbers, and so need no quotes."""
    cells = [
        (f"{threads}:", *(f"{key}: {figure}," for key, figure in row.items()))
        for threads, row in rows.items()
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        threads, *figures = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"{indent}{threads} {{{' '.join(figures).rstrip().rstrip(',')}}}"


def _wrapped(start: str, values: Values, indent: str) -> Iterable[str]:
    """A mapping in braces, on as few lines as fit the page."""
    line = start
    for position, (key, value) in enumerate(values.items(), 1):
        item = f"{flow(key)}: {flow(value)}" + ("," if position < len(values) else "}")
        if len(line) + len(item) >= MOST_COLUMNS and not line.endswith("{"):
            yield line.rstrip()
            line = indent
        line += item + " "
    yield line.rstrip()


def _remarks(measured: Iterable[Measurement]) -> list[str]:
    """Where the figures come from, and how to use the file, as comments."""
    found = list(measured)
    lines = ["Costs of operators and of the engine, for specs: include: THIS-FILE"]
    if found:
        first, last = min(each.at for each in found), max(each.at for each in found)
        when = first if first == last else f"{first} to {last}"
        made = " and ".join(sorted({_MADE_BY[each.source] for each in found}))
        spark, java, cpu = (
            ", ".join(sorted({getattr(each, name) for each in found}))
            for name in ("spark", "java", "cpu")
        )
        lines.append(f"Made by {made}, {when}: Spark {spark}, Java {java}, {cpu}")
    return [f"# {one_line(line)}" for line in lines]


_MADE_BY = {"experiment": "slotwise profile", "run": "slotwise profile --from-run"}
