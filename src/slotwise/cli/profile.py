"""`slotwise profile`: models of operators and of the platform, measured on Spark or from a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from slotwise.cli import DONE, ERROR, INTERRUPTED
from slotwise.cli.output import note, show, write_file
from slotwise.cli.parameters import Json, integer_from
from slotwise.json_data import json_data, json_text

if TYPE_CHECKING:
    from slotwise.model import Pipeline, Platform
    from slotwise.profilers.bench import Bench
    from slotwise.profilers.experiment import Slot
    from slotwise.profilers.operators import Procedure
    from slotwise.profilers.trial import Profiled

Spec = Annotated[
    str | None, Parameter(help="A spec file, or the name of a bundled example.", show_default=False)
]
File = Annotated[Path | None, Parameter(show_default=False)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
PLATFORM_S = 240.0
"""Its trials take so long, on two cores."""
Count = Annotated[int, Parameter(converter=integer_from(1))]


def profile(
    spec: Spec = None,
    /,
    *operators: Annotated[str, Parameter(help="The operators to measure. Default: all.")],
    platform: Annotated[
        Flag, Parameter(help="Measure what Spark itself takes: idle slots, hops, source, sink.")
    ] = False,
    from_run: Annotated[
        File, Parameter(help="Take profiles from this file, written by 'slotwise run --json'.")
    ] = None,
    procedure: Annotated[
        Literal["saturation", "staircase"],
        Parameter(help="How the highest stable rate is found; staircase is paper 1's."),
    ] = "saturation",
    rate_step: Annotated[
        float | None,
        Parameter(help="The staircase's step, in tuples/s. Default: 1/20 of an estimate."),
    ] = None,
    cores: Annotated[float, Parameter(help="CPU quota of the slot, in cores.")] = 1.0,
    no_quota: Annotated[Flag, Parameter(help="Measure without a CPU quota.")] = False,
    slot_memory_mb: Annotated[Count, Parameter(help="Memory of the slot, in MB.")] = 512,
    max_threads: Annotated[Count, Parameter(help="The most threads to try.")] = 64,
    output: Annotated[
        File, Parameter(help="Write profiles to this file. Default: NAME.profiles.yaml.")
    ] = None,
    in_place: Annotated[
        Flag, Parameter(help="Write the profiles into the spec file, and keep its comments.")
    ] = False,
    figures: Annotated[
        File, Parameter(help="Write figures and one HTML page to this directory.")
    ] = None,
    trials: Annotated[
        File, Parameter(help="Keep finished trials in this file. Default: NAME.trials.jsonl.")
    ] = None,
    json: Json = False,
) -> int:
    """Measure, show and write profiles."""
    from slotwise.model import SlotwiseError
    from slotwise.profilers.experiment import Slot, chosen

    if spec is None and (not platform or from_run is not None):
        raise SlotwiseError("there is nothing to measure: give a spec, or --platform")
    pipeline = None if spec is None else _read(spec, in_place)
    made = Made()
    if from_run is not None and pipeline is not None:
        made.take_from_run(pipeline, from_run)
    else:
        if pipeline is not None:
            chosen(pipeline, operators)  # refuses an unknown one before anything starts
        slot = Slot(None if no_quota else cores, slot_memory_mb)
        how = _procedure(procedure, rate_step, max_threads)
        made.measure(slot, how, pipeline, operators, trials, platform=platform)
    name = "platform" if pipeline is None else pipeline.topology.name
    if in_place and spec is not None:
        made.write_into(Path(spec))
    else:
        made.write_to(output or Path(f"{name}.profiles.yaml"))
    if figures is not None:
        made.draw(figures)
    made.show(json=json)
    return made.status


@dataclass
class Made:
    """What was measured so far, and what happened."""

    profiled: list[Profiled] = field(default_factory=list)
    platform: Platform | None = None
    selectivities: Mapping[tuple[str, str], float] = field(default_factory=dict)
    status: int = DONE

    def measure(
        self,
        slot: Slot,
        how: Procedure,
        pipeline: Pipeline | None,
        operators: Sequence[str],
        trials: Path | None,
        *,
        platform: bool,
    ) -> None:
        """On Spark. Ctrl-C keeps what is finished."""
        from slotwise.profilers.experiment import prepared
        from slotwise.spark.cluster.libraries import settings
        from slotwise.spark.failures import silence_pyspark

        silence_pyspark()
        libraries = None if pipeline is None else settings(pipeline)
        try:
            with prepared(slot, note, libraries) as on:
                if platform:
                    self._measure_platform(on)
                if pipeline is not None:
                    kept = trials or Path(f"{pipeline.topology.name}.trials.jsonl")
                    self._measure_operators(on, pipeline, operators, how, kept)
        except KeyboardInterrupt:
            note(f"interrupted: {self._going_on(platform)}")
            self.status = INTERRUPTED

    def _going_on(self, platform: bool) -> str:
        if platform and self.platform is None:
            return "the platform's costs come from all trials together, and begin anew"
        if platform:
            return (
                "the platform is measured; run the same command without --platform to go on after "
                "the last finished thread count"
            )
        return "run the same command again to go on after the last finished thread count"

    def _measure_platform(self, on: Bench) -> None:
        from slotwise.profilers.operators import measurement
        from slotwise.profilers.platform import measure_platform
        from slotwise.profilers.time_left import about

        began_s = on.clock.now_s()

        def noted(sentence: str) -> None:
            left_s = PLATFORM_S - (on.clock.now_s() - began_s)
            note(f"{sentence}; about {about(left_s)} left")

        note(f"measuring the platform takes about {about(PLATFORM_S)}")
        platform, trials = measure_platform(on, noted)
        self.platform = replace(platform, measurement=measurement(on, trials))

    def _measure_operators(
        self, on: Bench, pipeline: Pipeline, operators: Sequence[str], how: Procedure, kept: Path
    ) -> None:
        from slotwise.profilers.experiment import Failed, measure

        for found in measure(on, pipeline, operators, how, trials=kept, progress=note):
            if isinstance(found, Failed):
                note(f"slotwise: operator '{found.operator}' was not measured: {found.reason}")
                self.status = ERROR
            else:
                self.profiled.append(found)

    def take_from_run(self, pipeline: Pipeline, run: Path) -> None:
        from slotwise.profilers.from_run import profiles_from_run

        found = profiles_from_run(run, pipeline.topology)
        self.profiled, self.selectivities = list(found.profiled), found.selectivities
        for remark in found.remarks:
            note(remark)

    def write_to(self, file: Path) -> None:
        """A file that specs include."""
        from slotwise.spec.rewriting import profiles_text

        if self.profiled or self.platform:
            profiles = {each.operator: each.profile for each in self.profiled}
            write_file(file, profiles_text(profiles, self.platform))
            note(f"wrote {file}; a spec takes it with 'include: {file.name}'")

    def write_into(self, file: Path) -> None:
        """The spec itself, as it is now: somebody may have edited it in the meantime."""
        from slotwise.spec.reading import read_text
        from slotwise.spec.rewriting import with_profiles

        if self.profiled or self.platform:
            profiles = {each.operator: each.profile for each in self.profiled}
            text = with_profiles(read_text(str(file)), profiles, self.platform, str(file))
            write_file(file, text)
            note(f"wrote {file}")

    def draw(self, directory: Path) -> None:
        from slotwise.report.profile_figures import PAGE, figures

        directory.mkdir(parents=True, exist_ok=True)
        for name, content in figures(self.profiled, self.platform).items():
            write_file(directory / name, content)
        note(f"wrote {directory / PAGE} and the figures in it")

    def show(self, *, json: bool) -> None:
        from slotwise.report.profile import profiles_report, selectivities_report

        if json:
            print(json_text(self._data()), end="")
        elif self.profiled or self.platform:
            show(profiles_report(self.profiled, self.platform))
            if self.selectivities:
                show(selectivities_report(self.selectivities))

    def _data(self) -> dict[str, object]:
        return {
            "operators": json_data(self.profiled),
            "platform": json_data(self.platform),
            "selectivities": [
                {"from": source, "to": target, "selectivity": selectivity}
                for (source, target), selectivity in self.selectivities.items()
            ],
        }


def _procedure(name: str, rate_step: float | None, max_threads: int) -> Procedure:
    from slotwise.model import SlotwiseError
    from slotwise.profilers.bench import MOST_THREADS
    from slotwise.profilers.operators import Procedure
    from slotwise.profilers.peaks import Staircase, saturation

    if max_threads > MOST_THREADS:
        raise SlotwiseError(f"--max-threads must be at most {MOST_THREADS}")
    if name == "saturation":
        if rate_step is not None:
            raise SlotwiseError("--rate-step needs --procedure staircase")
        return Procedure(saturation, max_threads)
    if rate_step is not None and not 0 < rate_step < float("inf"):
        raise SlotwiseError("--rate-step must be greater than 0")
    return Procedure(Staircase(rate_step), max_threads)


def _read(spec: str, in_place: bool) -> Pipeline:
    import slotwise
    from slotwise import workloads
    from slotwise.model import SlotwiseError

    pipeline = slotwise.load(spec)
    if in_place and spec in workloads.names() and not Path(spec).is_file():
        raise SlotwiseError(
            f"--in-place needs a spec file, and '{spec}' is a bundled example: write it to a "
            f"file first, with 'slotwise examples --show {spec}'"
        )
    return pipeline
