"""A pipeline in Python, for users of PySpark: what a spec file says, and functions beside it.

    flow = Flow("orders")
    orders = flow.read("orders", payload="words(2)")
    large = orders.where("large", "length(value) > 5").map("upper", lambda value: F.upper(value))
    large.group("per-word", by="value", n="count(*)").write("totals")
    print(flow)                                  # the spec file
    plan = flow.plan(rate=5_000, latency_p99_ms=200)
    flow.run(plan, controller="look-ahead")

A Flow grows with every operator; what a verb returns is a frozen handle on the operator's output,
which may be used several times. What an operator computes is Spark SQL over the fields of its input
tuples, a PySpark Column of them, or a function (see spark/query/functions.py). Columns become SQL
at once, because they end with their Spark session; functions stay as they are, and are in the spec
by their name if they can be imported by it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from slotwise.flow_given import checked, pipeline_of, profiles_of
from slotwise.flow_logic import (
    Computed,
    Function,
    Made,
    data_of,
    import_path,
    made_of,
    options_of,
)
from slotwise.flow_stream import DataStream, Outlet
from slotwise.formats import with_client
from slotwise.model import (
    FixedLoad,
    Logic,
    ModelError,
    Operator,
    Pipeline,
    Plan,
    Profile,
    Refused,
    SlotwiseError,
    Stream,
    Topology,
)
from slotwise.model.topology import ErrorPolicy
from slotwise.user_lines import user_line

if TYPE_CHECKING:
    from slotwise.model import Choice, Observation
    from slotwise.spark.run_summary import RunSummary


class Flow:
    """A pipeline that grows; see the module. `given` is what a spec has beside its topology, by
    the same names: `profiles`, `catalog` or `cluster`, `engine`, …, and the goals. `kafka` has the
    settings of Kafka's client for all of its sources, sinks and links.
    """

    def __init__(
        self, name: str, *, kafka: Mapping[str, object] | None = None, **given: Any
    ) -> None:
        self.name, self.given, self.kafka = name, checked(given), dict(kafka or {})
        self.bound: dict[str, Function] = {}
        """The functions that the spec has not, by their operators."""
        self.workers: int | None = None
        self._operators: list[Operator] = []
        self._streams: list[Stream] = []
        self._places: dict[str, str] = {}
        """Where in the user's program an operator was added."""

    # -- operators --------------------------------------------------------------------------

    def read(
        self,
        name: str | None = None,
        /,
        *,
        expr: Computed = None,
        share: float = 1.0,
        selectivity: float = 1.0,
        on_error: ErrorPolicy = "fail",
        **data: Any,
    ) -> DataStream:
        """A source. `data` has its format and that format's options, as `spark.readStream` takes
        them; without a format it is `paced`. `expr` is computed of its records, and `share` is its
        part of the input rate.
        """
        name = self._new(name, "source")
        if data.get("format") == "kafka" and "topic" in data:
            data["subscribe"] = data.pop("topic")
        rest = {"kind": "source", "share": share, "on_error": on_error, **data_of(data)}
        return self._add(name, None, made_of(expr), selectivity, **rest)

    def _named(self, named: tuple[Computed, ...], verb: str) -> tuple[str, Made]:
        """(the operator's name, what it computes) of `(NAME, COMPUTED)` or `(COMPUTED,)`."""
        if len(named) not in (1, 2) or (len(named) == 2 and not isinstance(named[0], str)):
            raise SlotwiseError(
                f"{verb} takes a name and what to compute, or the latter alone: "
                f'{verb}("NAME", "SQL")'
            )
        with self._told(self._new(named[0], verb) if len(named) == 2 else verb):
            made = made_of(named[-1])
        if len(named) == 2:
            return self._new(named[0], verb), made
        called = getattr(made.bound, "__name__", verb)
        return self._new(None, called if called.isidentifier() else verb), made

    def _new(self, name: str | None, verb: str) -> str:
        """The name given, or one that is made of the verb."""
        if name is None:
            numbered = chain([verb], (f"{verb}-{number}" for number in count(2)))
            return next(each for each in numbered if each not in self._places)
        if name in self._places:
            raise SlotwiseError(
                f"{user_line()}: there is an operator '{name}' already ({self._places[name]}): use "
                "another name"
            )
        return name

    def _add(
        self,
        name: str,
        inputs: DataStream | None,
        made: Made,
        selectivity: float = 1.0,
        *,
        kind: Any = "operator",
        share: float = 1.0,
        **logic: Any,
    ) -> DataStream:
        path = None if made.bound is None else import_path(made.bound)
        if made.bound is not None and path is None:
            self.bound[name] = made.bound
        logic |= {"expr": made.sql, "python": path}
        operator = Operator(name, kind, share, Logic(**logic))
        return self._append(operator, inputs.outlets if inputs else (), selectivity)

    def _append(
        self, operator: Operator, inputs: tuple[Outlet, ...], selectivity: float = 1.0
    ) -> DataStream:
        self._places[operator.name] = user_line()
        self._operators.append(self._with_client(operator))
        self._connect(inputs, operator.name)
        return DataStream(self, (Outlet(operator.name, selectivity),))

    def _with_client(self, operator: Operator) -> Operator:
        logic = operator.logic
        options = with_client(logic.format, dict(logic.options), self.kafka)
        return replace(operator, logic=replace(logic, options=options_of(options)))

    def _connect(self, inputs: tuple[Outlet, ...], target: str, loop: bool = False) -> None:
        self._streams += [
            Stream(each.operator, target, each.selectivity, each.grouping, loop) for each in inputs
        ]

    # -- what it is -------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        """As the spec file has it. Raises SlotwiseError with the operator's line in the program."""
        from slotwise.spec import build

        operators, streams = tuple(self._operators), tuple(self._streams)
        with self._told():
            return build.checked(Topology(self.name, operators, streams, self.workers))

    @property
    def profiles(self) -> dict[str, Profile]:
        """Those that are given or were measured, of its operators."""
        return profiles_of(self.given.get("profiles"))

    def pipeline(self, **given: Any) -> Pipeline:
        """As a spec file gives it; `given` is in place of what the flow was made with, or beside
        it. Without `catalog` and `cluster` it is for this machine, a slot per core.
        """
        profiles = self.profiles | profiles_of(checked(given).get("profiles"))
        topology = self.topology
        for operator in topology.operators:
            if operator.name not in profiles:
                raise SlotwiseError(
                    f"{self._places[operator.name]}: operator '{operator.name}' has no profile: "
                    f"measure it by flow.profile('{operator.name}'), or give profiles"
                )
        return self._pipeline(topology, profiles, given)

    def _pipeline(
        self, topology: Topology, profiles: Mapping[str, Profile], given: Mapping[str, Any]
    ) -> Pipeline:
        with self._told():
            return pipeline_of(topology, profiles, self.given, given)

    def __str__(self) -> str:
        """The spec file, with the profiles that are known. What functions compute that have no name
        to import them by, is not in it; comments name them.
        """
        from slotwise.spec.build import document_of
        from slotwise.spec.writing import dumped

        topology, known = self.topology, self.profiles
        all_profiles = {o.name: known.get(o.name, FixedLoad()) for o in topology.operators}
        document = document_of(self._pipeline(topology, all_profiles, {}))
        values = document.model_dump(exclude_defaults=True)
        values["profiles"] = {name: v for name, v in values["profiles"].items() if name in known}
        if not values["profiles"]:
            del values["profiles"]
        return "".join([*self._remarks(), dumped(values, None)])

    def _remarks(self) -> Iterator[str]:
        from slotwise.spec.errors import one_line

        for name, call in self.bound.items():
            what = getattr(call, "__qualname__", repr(call))
            text = f"operator '{name}' computes the function {what} ({self._places[name]}), "
            text += "which cannot be imported by a name: it is not in this file"
            yield f"# {one_line(text)}\n"

    # -- what it does -----------------------------------------------------------------------

    def plan(
        self,
        rate: float | None = None,
        *,
        allocator: Choice | str | None = None,
        provisioner: Choice | str | None = None,
        placer: Choice | str | None = None,
        current: Plan | None = None,
        measured: Observation | None = None,
        **given: Any,
    ) -> Plan:
        """As `slotwise.plan` of `pipeline(**given)`: `plan(rate=5_000, latency_p99_ms=200)`."""
        import slotwise

        return slotwise.plan(
            self.pipeline(**given),
            rate,
            allocator=allocator,
            provisioner=provisioner,
            placer=placer,
            current=current,
            measured=measured,
        )

    def simulate(
        self, plan: Plan | None = None, rate: float | None = None, **options: Any
    ) -> Observation:
        """As `slotwise.simulate`; its own plan if none is given."""
        import slotwise

        return slotwise.simulate(plan or self.plan(), rate, **options)

    def profile(self, *operators: str, **how: Any) -> dict[str, Profile]:
        """Measures these operators on Spark, all if none is named, and keeps their profiles.

        Takes two minutes per operator; `how` is as for `profilers.experiment.measured_profiles`.
        Raises SlotwiseError, when all the others are measured, for those that could not be.
        """
        from slotwise.profilers.experiment import measured_profiles

        any_profiles = {each.name: FixedLoad() for each in self._operators}
        pipeline = self._pipeline(self.topology, any_profiles, {})
        with self._told():
            for name, profile in measured_profiles(pipeline, operators, bound=self.bound, **how):
                self.given["profiles"] = self.profiles | {name: profile}
        return self.profiles

    def run(self, plan: Plan | None = None, seconds: float = 60.0, **how: Any) -> RunSummary:
        """Runs the plan on Spark for so long, its warm-up included, and says what it did.

        Without a plan, one is made for what this machine can hold. `how` has the options of
        `slotwise.spark.run_summary.run`: `controller`, `rate`, `master`, `checkpoint`, `output`, ….
        """
        from slotwise.spark.cluster import Site
        from slotwise.spark.run_summary import run
        from slotwise.spark.scaling import plan_for

        if plan is None:
            import slotwise

            plan = plan_for(self.pipeline(), None, None, Site(), slotwise.plan).plan
        self._check_plan(plan)
        with self._told():
            return run(plan, seconds, bound=self.bound, **how)

    def explain(self, plan: Plan) -> str:
        """What Spark makes of the plan: levels, partitions, slots and SQL. Starts no cluster.

        Raises SlotwiseError, naming the operator and its line, for what Spark refuses.
        """
        from slotwise.spark.query.explain import explain
        from slotwise.spark.query.outline import outline

        self._check_plan(plan)
        with self._told():
            return explain(outline(plan, self.bound))

    def _check_plan(self, plan: Plan) -> None:
        if plan.pipeline.topology != self.topology:
            raise SlotwiseError(
                f"the plan is not for flow '{self.name}' as it is now: plan it again"
            )

    # -- errors -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def _told(self, adding: str | None = None) -> Iterator[None]:
        """Errors inside get the operator's line in the user's program; `adding`: the operator that
        is being added there.
        """
        try:
            yield
        except Refused:
            raise
        except SlotwiseError as error:
            text = str(error)
            place = user_line() if adding is not None else self._place_of(error)
            if adding is not None:
                text = f"operator '{adding}': {text}"
            raise SlotwiseError(f"{place}: {text}" if place else text) from None

    def _place_of(self, error: SlotwiseError) -> str | None:
        """Of the operator that the error is about: by its path, or the first one that it names."""
        path = error.path if isinstance(error, ModelError) else ()
        match path:
            case ("topology", "operators", str(name), *_) if name in self._places:
                return self._places[name]
            case ("topology", "streams", int(position), *_):
                return self._places[self._streams[position].target]
        text = str(error)
        named = [(text.find(f"'{name}'"), place) for name, place in self._places.items()]
        return min(((at, place) for at, place in named if at >= 0), default=(0, None))[1]
