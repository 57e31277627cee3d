"""10,000 broken specs: each is a Pipeline or a SlotwiseError of one line, nothing else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from slotwise.model import Pipeline, SlotwiseError
from slotwise.spec import load, loads

MUTANTS = 10_000
BATCHES = 20

BOUGHT = """\
topology:
  name: a
  operators: {s: {kind: source}, w: {flat: true, expr: "x"}, t: {aggregate: {by: k}}}
  streams:
    - {from: s, to: w, selectivity: 2}
    - {from: w, to: t, grouping: {fields: [k, l]}}
    - {from: t, to: w, selectivity: 0.1, loop: true, grouping: all}
profiles:
  s: {fixed: {cpu: 0.1}}
  w: {threads: {1: {rate: 9, cpu: 0.5, mem: 0}, 4: {rate: 20, cpu: 1, mem: 0.2}}}
  t: {costs: {cpu_points: 0.1, sojourn_ms: 3}}
catalog: [{type: D1, slots: 1, memory_gb: 3.5, price_per_hour: 1}]
goals: {rate: 20, machines: 3}
"""
FIXED = """\
topology:
  name: b
  workers: 2
  operators:
    s: {kind: source, share: 0.5}
    t: &x {kind: sink}
  streams: [{from: s, to: t, grouping: global}]
profiles:
  s: &p {service: {rate: 5, service_scv: 0}}
  t: *p
cluster:
  - {name: n, count: 2, slots: 2, memory_gb: 4, rack: r}
network: {rack_ms: 0.2}
scheduler: {allocator: {drs: {processors: 4}}, placer: sam}
slot_memory_gb: 2
"""
SPECS = (BOUGHT, FIXED)

VALUES = (
    *("0", "-1", "1e999", "-.inf", ".nan", "9" * 23, "9" * 5000, "1e-320", "1e300", "0x1F", "1_0"),
    *('""', "~", "null", "true", "no", "'1'", "2024-01-01", "[]", "{}", "[[]]", "[1]", "{a: 1}"),
    *(
        "{1: 2}",
        "[a: 1]",
        "{? a}",
        "*p",
        "*x",
        "&p",
        "&y",
        "!!str",
        "!x",
        "!!python/name:os",
        "<<:",
    ),
    *(
        "?",
        ":",
        "-",
        "#",
        "|",
        ">",
        "@",
        "`",
        "%",
        "=",
        "---",
        "...",
        '"unclosed',
        "'open",
        "[",
        "}",
    ),
    *("s", "t", "w", "source", "sink", "shuffle", "fields", "all", "ü", "\ufeff", "\u2028", "\x85"),
    *("\t", "\0", "\r", "\n", '"\\ud800"', '"\\x00"', '"\\N"', '"\\U0011FFFF"', "%YAML 1.1", "<<"),
)
TOKEN = re.compile(r"[\w.-]+|[^\w\s]")


def flip_byte(text: str, rng: random.Random) -> str | bytes:
    content = bytearray(text.encode())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def delete_line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


def duplicate_line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "".join(lines)


def swap_tokens(text: str, rng: random.Random) -> str:
    first, second = sorted(rng.sample(list(TOKEN.finditer(text)), 2), key=lambda m: m.start())
    middle = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + middle + first[0] + text[second.end() :]


def replace_token(text: str, rng: random.Random) -> str:
    token = rng.choice(list(TOKEN.finditer(text)))
    return text[: token.start()] + rng.choice(VALUES) + text[token.end() :]


def insert_value(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(VALUES) + text[at:]


def cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


MUTATIONS: tuple[Callable[[str, random.Random], str | bytes], ...] = (
    flip_byte,
    delete_line,
    duplicate_line,
    swap_tokens,
    replace_token,
    replace_token,
    replace_token,
    insert_value,
    cut,
)


def mutant(rng: random.Random) -> str | bytes:
    text: str | bytes = rng.choice(SPECS)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if isinstance(text, bytes) or len(TOKEN.findall(text)) < 2:
            break
        text = rng.choice(MUTATIONS)(text, rng)
    return text


def outcome(text: str | bytes, path: Path) -> Pipeline | str:
    try:
        if isinstance(text, str):
            return loads(text)
        path.write_bytes(text)
        return load(path)
    except SlotwiseError as error:
        return str(error)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_mutated_spec_is_a_pipeline_or_one_sentence(batch: int, tmp_path: Path) -> None:
    rng = random.Random(batch)
    good = 0
    for _ in range(MUTANTS // BATCHES):
        text = mutant(rng)
        result = outcome(text, tmp_path / "mutant.yaml")
        if isinstance(result, Pipeline):
            good += 1
        else:
            assert re.match(r".+?:\d+:\d+: \S", result), (text, result)
            assert "\n" not in result, (text, result)
    assert 0 < good < MUTANTS // BATCHES


def test_the_unmutated_specs_are_good() -> None:
    assert all(isinstance(loads(text), Pipeline) for text in SPECS)
