"""Sweep files: a grid of plans to simulate, in YAML.

    spec: linear                  # a spec file beside this one, or a bundled example
    rates: [50, 100]              # default: the spec's goals.rate
    allocators: [lsa, mba]        # default: the spec's, here and below
    placers: [sam, {topology: {alpha: 0.2}}]
    seeds: [0, 1, 2]              # default: [0]
    clusters:                     # default: the spec's own machines
      small: {catalog: [{type: D2, slots: 2, memory_gb: 7}]}
      fixed: {cluster: [{name: node, slots: 4, memory_gb: 14, count: 6}]}
    simulation: {arrivals: poisson, service: {gamma: {scv: 2}}, duration: 5m}

Every combination is a point: clusters, then rates, allocators, placers, seeds, the last the
fastest. Clusters count in the spec's own reference slot, on which its profiles were measured.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from slotwise import durations, registry, schedules
from slotwise.model import Choice, ModelError, Pipeline, Scheduler, SlotwiseError
from slotwise.model.limits import MOST
from slotwise.simulation import Options, choices
from slotwise.simulation.sweep import Point, Question
from slotwise.spec.base import Document, Name, Positive
from slotwise.spec.build import catalog_of, choice_of, cluster_of, document_of
from slotwise.spec.document import (
    ChoiceDocument,
    NodeDocument,
    VmTypeDocument,
)
from slotwise.spec.errors import SpecError
from slotwise.spec.files import load
from slotwise.spec.reading import checked, read_text
from slotwise.spec.tree import Key, Tree, read_tree

T = TypeVar("T")


def _seconds(given: Any) -> float:
    try:
        return durations.positive_seconds(given)
    except ModelError as error:
        raise PydanticCustomError("sentence", "{problem}", {"problem": error.message}) from None


Seconds = Annotated[float, BeforeValidator(_seconds)]
Choices = Annotated[list[ChoiceDocument], Field(min_length=1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class MachinesDocument(Document):
    """Machines to buy, or a fixed cluster."""

    catalog: Annotated[list[VmTypeDocument], Field(min_length=1)] | None = None
    cluster: Annotated[list[NodeDocument], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> MachinesDocument:
        if (self.catalog is None) == (self.cluster is None):
            raise PydanticCustomError("sentence", "expected either a 'catalog' or a 'cluster'")
        return self


class SimulationDocument(Document):
    """The options of every simulation; names and options as on the command line."""

    arrivals: ChoiceDocument = "poisson"
    schedule: ChoiceDocument | None = None
    service: ChoiceDocument = "profile"
    keys: ChoiceDocument = "uniform"
    buffers: ChoiceDocument = "unbounded"
    routing: dict[Name, Any] = Field(default={})
    network: dict[Name, Any] = Field(default={})
    tuples: Annotated[int, Field(ge=1)] | None = None
    duration: Seconds | None = None
    warm_up: Annotated[float, Field(ge=0, lt=1)] = Options.warm_up


class SweepDocument(Document):
    """A sweep file."""

    spec: Name
    rates: Annotated[list[Positive], Field(min_length=1)] | None = None
    allocators: Choices | None = None
    provisioner: ChoiceDocument | None = None
    placers: Choices | None = None
    seeds: list[Seed] = Field(default=[0], min_length=1)
    clusters: Annotated[dict[Name, MachinesDocument], Field(min_length=1)] | None = None
    simulation: SimulationDocument = SimulationDocument()


def load_sweep(source: str | Path) -> tuple[Point, ...]:
    """The points of a sweep file, in the order of the grid. Raises SpecError."""
    name = os.fspath(source)
    tree = read_tree(read_text(name, "sweep").removeprefix("\ufeff"), name)
    if tree is None or tree.value is None:
        problem = "the sweep is empty: expected at least 'spec: FILE' and the 'rates' to try"
        raise SpecError(name, problem, 1, 1)
    document = checked(SweepDocument, tree, name, "sweep")
    return _Grid(document, tree, name).points()


class _Grid:
    """One sweep file on its way to points; knows where everything stands."""

    def __init__(self, document: SweepDocument, tree: Tree, name: str) -> None:
        self.document = document
        self.tree = tree
        self.name = name
        self.folder = Path(name).parent

    def points(self) -> tuple[Point, ...]:
        pipeline = self.pipeline()
        options = self.options()
        rates = self.rates(pipeline)
        seeds = self.distinct("seeds", self.document.seeds)
        schedulers = self.schedulers(pipeline)
        machines = self.machines(pipeline)
        size = math.prod(map(len, (machines, rates, schedulers, seeds)))
        if size > MOST:
            raise self.error((), f"the grid has {size:,} points: expected at most {MOST:,}")
        return tuple(
            Point(question, replace(options, seed=seed))
            for (cluster, on), rate, scheduler in itertools.product(machines, rates, schedulers)
            for question in [_question(cluster, on, rate, scheduler)]
            for seed in seeds
        )

    def pipeline(self) -> Pipeline:
        """The spec beside the sweep file, or else the bundled example of that name."""
        spec = self.document.spec
        beside = self.folder / spec
        is_file = beside.exists() or os.sep in spec
        return load(beside if is_file else spec)

    def options(self) -> Options:
        document = self.document.simulation
        schedule = self.chosen("schedule", schedules.schedule) if document.schedule else None
        with_files: dict[str, Callable[..., Any]] = {
            "arrivals": functools.partial(choices.arrivals, schedule=schedule),
            "service": choices.service_times,
            "keys": choices.keys,
            "buffers": choices.buffers,
        }
        made = {
            key: self.chosen(key, functools.partial(build, folder=self.folder))
            for key, build in with_files.items()
        }
        for key, read in (("routing", choices.routing), ("network", choices.network)):
            with self.located("simulation", key):
                made[key] = read(getattr(document, key))
        with self.located("simulation"):
            return Options(
                **made,
                tuples=document.tuples,
                duration_s=document.duration,
                warm_up=document.warm_up,
            )

    def chosen(self, key: str, build: Callable[[Choice], Any]) -> Any:
        with self.located("simulation", key):
            return build(choice_of(getattr(self.document.simulation, key)))

    def rates(self, pipeline: Pipeline) -> Sequence[float]:
        if self.document.rates is not None:
            return self.distinct("rates", [float(rate) for rate in self.document.rates])
        if pipeline.goals.rate is None:
            problem = "no rate to plan for: set 'rates', or goals.rate in the spec"
            raise self.error((), problem)
        return [pipeline.goals.rate]

    def schedulers(self, pipeline: Pipeline) -> list[Scheduler]:
        own, document = pipeline.scheduler, self.document
        provisioner = own.provisioner
        if document.provisioner is not None:
            with self.located("provisioner"):
                provisioner = choice_of(document.provisioner)
                registry.provisioner(provisioner)
        return [
            Scheduler(allocator, provisioner, placer)
            for allocator in self.algorithms("allocators", document.allocators, own.allocator)
            for placer in self.algorithms("placers", document.placers, own.placer)
        ]

    def algorithms(self, key: str, written: Any, own: Choice) -> Sequence[Choice]:
        """Made once here, so that a misspelt option stops the sweep before it starts."""
        if written is None:
            return [own]
        found = [choice_of(choice) for choice in written]
        for position, choice in enumerate(found):
            with self.located(key, position):
                if key == "allocators":
                    registry.allocator(choice)
                elif choice.name != registry.AUTO:
                    registry.placer(choice)
        self.distinct(key, [str(choice) for choice in found])
        return found

    def machines(self, pipeline: Pipeline) -> list[tuple[str | None, Pipeline]]:
        if self.document.clusters is None:
            return [(None, pipeline)]
        found: list[tuple[str | None, Pipeline]] = []
        for name, entry in self.document.clusters.items():
            with self.located("clusters", name):
                catalog = catalog_of(entry.catalog)
                cluster = cluster_of(entry.cluster, pipeline.slot_memory_gb)
                found.append((name, replace(pipeline, catalog=catalog, cluster=cluster)))
        return found

    def distinct(self, key: str, values: Sequence[T]) -> Sequence[T]:
        seen = set()
        for position, value in enumerate(values):
            if value in seen:
                raise self.error((key, position), f"{key}: duplicate value {value}: remove one")
            seen.add(value)
        return values

    @contextmanager
    def located(self, *path: Key) -> Iterator[None]:
        """What is wrong with the values at `path` is reported with its place in the file."""
        try:
            yield
        except ModelError as error:
            raise self.error((*path, *error.path), error.message) from None
        except SpecError:
            raise
        except SlotwiseError as error:
            raise self.error(path, str(error)) from None

    def error(self, path: tuple[Key, ...], problem: str) -> SpecError:
        return SpecError(self.name, problem, *self.tree.place(path))


def _question(
    cluster: str | None, pipeline: Pipeline, rate: float, scheduler: Scheduler
) -> Question:
    """The rate asked for is a goal while planning, so that `auto` prefers plans that hold it."""
    goals = replace(pipeline.goals, rate=rate)
    asked = replace(pipeline, goals=goals, scheduler=scheduler)
    content = document_of(asked).model_dump_json()
    return Question(hashlib.sha256(content.encode()).hexdigest(), cluster, asked)
