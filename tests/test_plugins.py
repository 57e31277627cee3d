"""Algorithms of installed packages: real distributions in a folder on the path."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import slotwise
from slotwise import plugins, registry
from slotwise.cli import GOAL_MISSED
from slotwise.forms import Form
from slotwise.model import Choice, SlotwiseError

LEVEL = '''
"""All threads in one slot."""
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from slotwise.model import Placement
from slotwise.placers.base import Placer

@dataclass(frozen=True)
class Level:
    name: ClassVar[str] = "level"
    guarantees: ClassVar[frozenset[str]] = frozenset()
    slot: int = 0

    def place(self, problem):
        threads = tuple(problem.allocation.threads.tolist())
        return Placement(self.name, threads, np.full(sum(threads), self.slot))
'''
TWICE = '''
from dataclasses import dataclass, replace
from typing import ClassVar
from slotwise.allocators.lsa import Lsa

@dataclass(frozen=True)
class Twice:
    """Twice the rate."""
    name: ClassVar[str] = "twice"

    def allocate(self, topology, profiles, rate, goals):
        return replace(Lsa().allocate(topology, profiles, 2 * rate, goals), algorithm=self.name)
'''
FIRST = '''
"""The first type that fits."""
from dataclasses import dataclass
from typing import ClassVar
from slotwise.provisioners.base import ChoosingProvisioner

@dataclass(frozen=True)
class First(ChoosingProvisioner):
    name: ClassVar[str] = "first"

    def choose(self, types, slots):
        return [types[0]] * -(-slots // types[0].slots)
'''
Install = Callable[..., Path]


def write_package(
    folder: Path, package: str, entry_points: str, metadata: bool = True, **modules: str
) -> None:
    """What an installer leaves in `folder`: modules, and the metadata of version 1.0."""
    information = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    if metadata:
        about = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        (information / "METADATA").write_text(about, encoding="utf-8")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Each package in a folder of its own on the path; its modules are forgotten afterwards."""
    installed: set[str] = set()

    def one(package: str, entry_points: str, metadata: bool = True, **modules: str) -> Path:
        folder = tmp_path / f"site-{len(list(tmp_path.iterdir()))}"
        write_package(folder, package, entry_points, metadata, **modules)
        monkeypatch.syspath_prepend(folder)
        installed.update(modules)
        return folder

    yield one
    for name in installed:
        sys.modules.pop(name, None)


def placers(**names: str) -> str:
    lines = (f"{name} = {path}" for name, path in names.items())
    return "\n".join(("[slotwise.placers]", *lines))


def broken(noun: str = "placer") -> dict[str, str | None]:
    """What cannot be used, with the reason."""
    found = registry.members(registry.FAMILIES[noun])
    return {member.name: member.problem for member in found if member.algorithm is None}


class TestAPackage:
    def test_adds_a_placer_with_options(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        plan = slotwise.plan("linear", rate=50, allocator="lsa", placer="level:slot=1")
        assert plan.placement.algorithm == "level"
        assert plan.placement.used_slots.tolist() == [1]
        assert registry.names("placer") == (*registry.PLACERS, "level")
        assert broken() == {}

    def test_adds_an_allocator_and_a_provisioner(self, install: Install) -> None:
        groups = "[slotwise.allocators]\ntwice = mine:Twice\n[slotwise.provisioners]\nfirst = m:F"
        install("slotwise-mine", groups, mine=TWICE, m=FIRST + "\nF = First\n")
        plan = slotwise.plan(
            "linear", rate=50, allocator="twice", provisioner="first", placer="sam"
        )
        assert plan.threads == slotwise.plan("linear", 100, allocator="lsa", placer="sam").threads
        assert {node.type for node in plan.cluster.nodes} == {plan.pipeline.catalog[0].name}

    def test_is_compared_with_the_others_but_not_tried_by_auto(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        found = slotwise.compare("linear", [50], allocators=["lsa"])
        assert [each.placer for each in found] == [*registry.PLACERS, "level"]
        reasons = slotwise.plan("linear", rate=50, allocator="lsa", placer="auto").reasons
        tried = {name for name in registry.PLACERS for reason in reasons if f" + {name}" in reason}
        assert len(tried) > 1
        assert not any("level" in reason for reason in reasons)

    def test_is_suggested_for_a_misspelt_name(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        with pytest.raises(SlotwiseError, match=r"unknown placer 'levle': did you mean 'level'\?"):
            registry.placer(Choice("levle"))

    def test_is_not_imported_for_a_built_in_name(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), levels="raise RuntimeError")
        registry.placer(Choice("sam"))
        with pytest.raises(SlotwiseError, match="unknown placer 'x'"):
            registry.placer(Choice("x"))
        assert "levels" not in sys.modules

    def test_that_is_on_the_path_twice_counts_once(self, install: Install) -> None:
        for _ in range(2):
            install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        assert registry.placer(Choice("level")).name == "level"

    def test_without_metadata_is_named_by_its_module(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), metadata=False, levels="")
        with pytest.raises(SlotwiseError, match="placer 'level' of levels cannot be used"):
            registry.placer(Choice("level"))

    def test_with_an_unreadable_file_does_not_hide_the_others(self, install: Install) -> None:
        install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        install("garbled", "[slotwise.placers]\nno equals sign\n")
        assert registry.placer(Choice("level")).name == "level"


PROBLEMS = {
    "no module": ("nowhere:Level", "", "importing 'nowhere:Level' fails with ModuleNotFoundError"),
    "no class": ("levels:Levels", LEVEL, "importing 'levels:Levels' fails with AttributeError"),
    "raises": ("levels:Level", "1 / 0", "fails with ZeroDivisionError: division by zero"),
    "exits": ("levels:Level", "raise SystemExit(3)", "fails with SystemExit: 3"),
    "no path": ("levels", LEVEL, "importing 'levels' fails with"),
    "a function": ("levels:Level", "def Level(): ...", "'levels:Level' is not a dataclass"),
    "a plain class": ("levels:Level", LEVEL.replace("@data", "#"), "is not a dataclass"),
    "no verb": ("levels:Level", LEVEL.replace("def place", "def puts"), "has no 'place'"),
    "no guarantees": ("levels:Level", LEVEL.replace("guarantees", "claims"), "no 'guarantees'"),
    "few arguments": (
        "levels:Level",
        LEVEL.replace("(self, problem)", "(self)"),
        "has a method 'place' that does not accept (problem): too many positional arguments",
    ),
    "more arguments": (
        "levels:Level",
        LEVEL.replace("(self, problem)", "(self, problem, speed)"),
        "has a method 'place' that does not accept (problem): missing a required argument",
    ),
    "other name": (
        "levels:Level",
        LEVEL.replace('= "level"', '= "flat"'),
        "has the name 'flat', and its entry point has the name 'level'",
    ),
    "option without default": (
        "levels:Level",
        LEVEL.replace("slot: int = 0", "slot: int"),
        "has no default of None, a number or a string for its option 'slot'",
    ),
}


@pytest.mark.parametrize(("path", "module", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_does_not_fit_is_one_sentence_with_the_package(
    install: Install, path: str, module: str, problem: str
) -> None:
    install("slotwise-level", placers(level=path), levels=module)
    with pytest.raises(SlotwiseError) as raised:
        registry.placer(Choice("level"))
    sentence = str(raised.value)
    assert sentence.startswith("placer 'level' of slotwise-level 1.0 cannot be used: ")
    assert problem in sentence
    assert "\n" not in sentence
    assert list(broken()) == ["level"]
    assert sentence.endswith(str(broken()["level"]))
    assert "level" not in registry.names("placer")


def test_a_built_in_name_stays_with_the_built_in_placer(install: Install) -> None:
    entry_points = placers(sam="levels:Level", auto="levels:Level")
    install("slotwise-level", entry_points, levels=LEVEL)
    assert type(registry.placer(Choice("sam"))).__module__ == "slotwise.placers.sam"
    assert broken() == dict.fromkeys(("auto", "sam"), "Slotwise itself has a placer of that name")


def test_a_name_that_two_packages_offer_is_nobodys(install: Install) -> None:
    install("slotwise-level", placers(level="levels:Level"), levels=LEVEL)
    install("flat-slots", placers(level="flats:Level"), flats=LEVEL)
    problem = "flat-slots 1.0 offers a placer of the same name"
    with pytest.raises(SlotwiseError, match=problem):
        registry.placer(Choice("level"))
    listed = [m for m in registry.members(registry.FAMILIES["placer"]) if m.name == "level"]
    assert [(member.package, member.algorithm) for member in listed] == [
        ("flat-slots 1.0", None),
        ("slotwise-level 1.0", None),
    ]
    assert listed[1].problem == problem


def test_a_family_to_come_needs_no_code_here(install: Install) -> None:
    entry_points = "[slotwise.controllers]\ntwice = mine:Twice\nnone = mine:None_\n"
    install("slotwise-mine", entry_points, mine=TWICE)
    family = registry.Family("controller", "slotwise.allocators.base:Allocator", {})
    found = {member.name: member for member in registry.members(family)}
    assert found["twice"].algorithm is not None
    assert found["none"].problem is not None


class TestCommandLine:
    """In a process of its own, as a user has it."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        """A good package, and one that ends the program when it is imported."""
        site = tmp_path / "site"
        write_package(site, "slotwise-level", placers(level="levels:Level"), levels=LEVEL)
        crash = "import sys; print('imported'); sys.exit(7)"
        write_package(site, "crash", placers(crash="crashes:Crash"), crashes=crash)
        return site

    def slotwise(self, site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        source = str(Path(slotwise.__file__).parents[1])
        path = os.pathsep.join((str(site), source))
        return subprocess.run(
            [sys.executable, "-m", "slotwise", *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        )

    def test_lists_good_and_broken_packages(self, site: Path) -> None:
        ran = self.slotwise(site, "algorithms", "--json")
        assert (ran.returncode, ran.stderr) == (0, "imported\n")
        found = {entry["name"]: entry for entry in json.loads(ran.stdout)}
        assert found["level"] == {
            "family": "placer",
            "name": "level",
            "what": "All threads in one slot.",
            "options": {"slot": 0},
            "package": "slotwise-level 1.0",
            "problem": None,
        }
        assert found["crash"]["package"] == "crash 1.0"
        assert found["crash"]["problem"] == "importing 'crashes:Crash' fails with SystemExit: 7"
        table = self.slotwise(site, "algorithms").stdout
        assert "All threads in one slot. (from slotwise-level 1.0)" in table
        assert "Cannot be used: importing" in table

    def test_plans_with_a_package_whatever_another_one_does(self, site: Path) -> None:
        arguments = ("plan", "linear", "--rate", "50", "--json", "--placer")
        ran = self.slotwise(site, *arguments, "level")
        assert ran.returncode == GOAL_MISSED  # one slot does not carry the rate
        used = {(each["node"], each["slot"]) for each in json.loads(ran.stdout)["placement"]}
        assert len(used) == 1
        assert "imported" not in ran.stderr
        ran = self.slotwise(site, *arguments, "sam")
        assert json.loads(ran.stdout)["placer"] == "sam"
        assert "imported" not in ran.stderr

    def test_names_the_broken_package_when_it_is_asked_for(self, site: Path) -> None:
        ran = self.slotwise(site, "plan", "linear", "--rate", "50", "--placer", "crash")
        assert ran.returncode == 1
        assert ran.stderr == (
            "imported\n"
            "slotwise: placer 'crash' of crash 1.0 cannot be used: "
            "importing 'crashes:Crash' fails with SystemExit: 7\n"
        )

    def test_help_looks_at_no_package(self, site: Path) -> None:
        ran = self.slotwise(site, "--help")
        assert (ran.returncode, ran.stderr) == (0, "")


def test_the_types_of_options_are_read_off_their_annotations() -> None:
    """As text or as types; what else a class is annotated with need not exist."""
    made = dataclasses.make_dataclass(
        "Made",
        [
            ("one", int, 0),
            ("two", float | None, None),
            ("three", "str | None", None),
            ("four", "bool", False),
            ("five", "int | str", 0),
            ("six", "NotImported", 0),
        ],
    )
    types = {"one": int, "two": float, "three": str, "four": bool, "five": object, "six": object}
    assert plugins.option_types(made) == types


def test_an_option_of_any_type_is_still_finite() -> None:
    form = Form(may_have={"x": object})
    assert form.read("it", {"x": "fast"}) == {"x": "fast"}
    assert form.read("it", {"x": 2}) == {"x": 2}
    with pytest.raises(SlotwiseError, match="it: x: invalid value 'nan': expected a finite number"):
        form.read("it", {"x": float("nan")})
