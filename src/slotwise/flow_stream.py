"""What a verb of a flow returns: operators' output, to be sent to the next one; part of flow.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.flow_logic import (
    Computed,
    Function,
    Made,
    data_of,
    keys_of,
    made_of,
    options_of,
    sql_of,
    without_name,
)
from slotwise.model import (
    Grouping,
    Join,
    Logic,
    Operator,
    SlotwiseError,
)
from slotwise.model.topology import KEY_GROUPS, ErrorPolicy, GroupingKind, JoinKind

if TYPE_CHECKING:
    from slotwise.flow import Flow

AUTO = Grouping()


@dataclass(frozen=True)
class Outlet:
    """An operator's output, and how it is sent to the next operator."""

    operator: str
    selectivity: float = 1.0
    grouping: Grouping = AUTO


@dataclass(frozen=True)
class DataStream:
    """The output of an operator, or of several (see `union`). Its verbs add the next operator."""

    flow: Flow = field(repr=False)
    outlets: tuple[Outlet, ...]

    def map(
        self, *named: Computed, selectivity: float = 1.0, on_error: ErrorPolicy = "fail"
    ) -> DataStream:
        """`map("upper", "upper(value)")`, or without the name: one tuple out for each tuple in.

        The result is the tuple: a struct as it is, anything else as the field `value`; for a NULL
        there is none. `selectivity` is how many tuples come out per tuple, for planning. What is to
        be planned only may compute None.
        """
        name, made = self.flow._named(named, "map")
        return self.flow._add(name, self, made, selectivity, on_error=on_error)

    def flat_map(
        self, *named: Computed, selectivity: float = 1.0, on_error: ErrorPolicy = "fail"
    ) -> DataStream:
        """As `map`, with an array as the result: one tuple out per element."""
        name, made = self.flow._named(named, "flat_map")
        return self.flow._add(name, self, made, selectivity, flat=True, on_error=on_error)

    def where(
        self, *named: Computed, selectivity: float = 1.0, on_error: ErrorPolicy = "fail"
    ) -> DataStream:
        """`where("large", "amount > 100")`: the tuples for which the condition is true."""
        name, made = self.flow._named(named, "where")
        if made.bound is not None:
            from slotwise.spark.query.columns import keeping

            function = Made(bound=keeping(made.bound))
            return self.flow._add(name, self, function, selectivity, on_error=on_error)
        return self.flow._add(name, self, Made(), selectivity, where=made.sql, on_error=on_error)

    def java(
        self,
        name: str | None = None,
        /,
        *,
        of: str,
        schema: str | None = None,
        flat: bool = False,
        selectivity: float = 1.0,
        on_error: ErrorPolicy = "fail",
    ) -> DataStream:
        """`java("enrich", of="com.example.Enrich", schema="name STRING, cents BIGINT")`: a class of
        Java or Scala, which is a MapFunction, a FlatMapFunction (`flat`) or a FilterFunction of
        rows. Its jar is in `Flow(…, jars=[…])`.
        """
        name = self.flow._new(name, "java")
        given: dict[str, Any] = {"java": of, "schema": schema, "flat": flat, "on_error": on_error}
        return self.flow._add(name, self, Made(), selectivity, **given)

    def process(
        self,
        name: str,
        processor: type,
        /,
        *,
        by: Computed | Sequence[Computed],
        schema: str,
        key_groups: int = KEY_GROUPS,
        selectivity: float = 1.0,
    ) -> DataStream:
        """`process("sessions", Sessions, by="user", schema="user STRING, n BIGINT")`: a class of
        Spark's StatefulProcessor, with a state per key: with micro-batches.
        """
        keys = keys_of(by)
        made, grouped = self.flow._new(name, "process"), replace(self, outlets=self._keyed(keys))
        given: dict[str, Any] = {"stateful": keys, "schema": schema, "key_groups": key_groups}
        return self.flow._add(made, grouped, Made(bound=processor), selectivity, **given)

    def through(
        self, name: str | None = None, /, *, schema: str, selectivity: float = 1.0, **data: Any
    ) -> DataStream:
        """`through("retry", topic="retry", schema="n BIGINT", …)`: the same tuples, by way of a
        topic of Kafka. A loop needs one. `data` has its options, and `partitions`.
        """
        name = self.flow._new(name, "through")
        given = data_of({"format": "kafka", **data, "schema": schema})
        return self.flow._add(name, self, Made(), selectivity, **given)

    def drop_duplicates(
        self,
        name: str | None = None,
        /,
        *,
        by: Computed | Sequence[Computed],
        key_groups: int = KEY_GROUPS,
        selectivity: float = 1.0,
    ) -> DataStream:
        """`drop_duplicates(by="order_id")`: of the tuples with equal keys, the first."""
        keys = keys_of(by)
        logic = Logic(distinct=keys, key_groups=key_groups)
        made = self.flow._new(name, "drop_duplicates")
        return self.flow._append(Operator(made, logic=logic), self._keyed(keys), selectivity)

    def join(
        self,
        name: str | None = None,
        /,
        *,
        table: str | Path,
        schema: str,
        on: str | Sequence[str],
        how: JoinKind = "inner",
        format: str = "csv",
        selectivity: float = 1.0,
        **options: Any,
    ) -> DataStream:
        """`join(table="countries.csv", schema="country STRING, name STRING", on="country")`: each
        tuple with the fields of every row that has the same values in `on`.
        """
        keys = (on,) if isinstance(on, str) else tuple(on)
        logic = Logic(join=Join(str(table), schema, keys, format, options_of(options), how))
        made = self.flow._new(name, "join")
        return self.flow._append(Operator(made, logic=logic), self.outlets, selectivity)

    def group(
        self,
        name: str | None = None,
        /,
        *,
        by: Computed | Sequence[Computed],
        having: Computed = None,
        lateness: str | None = None,
        key_groups: int = KEY_GROUPS,
        **results: Computed,
    ) -> DataStream:
        """`group("per-country", by="country", total="sum(amount)")`: for each tuple, its keys and
        the results so far.

        Tuples with equal keys go to the same thread, unless `routed` says otherwise. With
        `lateness`, such as "10 seconds", one of the keys is a window, and it is answered once, when
        no tuple comes to it any more: with micro-batches.
        """
        keys = keys_of(by)
        aggregate = {"by": ", ".join(keys)}
        aggregate |= {result: sql_of(made) for result, made in results.items()}
        if having is not None:
            aggregate["having"] = sql_of(having)
        if lateness is not None:
            aggregate["lateness"] = lateness
        logic = Logic(aggregate=tuple(aggregate.items()), key_groups=key_groups)
        made = self.flow._new(name, "group")
        return self.flow._append(Operator(made, logic=logic), self._keyed(keys))

    def _keyed(self, keys: tuple[str, ...]) -> tuple[Outlet, ...]:
        """Tuples with equal keys to the same thread, unless `routed` said otherwise."""
        keyed = Grouping("fields", tuple(without_name(key) for key in keys))
        return tuple(
            replace(each, grouping=keyed) if each.grouping == AUTO else each
            for each in self.outlets
        )

    def union(self, *others: DataStream) -> DataStream:
        """These tuples and the others', to the same operator; no operator by itself."""
        for other in others:
            if other.flow is not self.flow:
                raise SlotwiseError(
                    f"flow '{self.flow.name}' cannot be united with flow '{other.flow.name}': read "
                    "all sources in one flow"
                )
        return replace(self, outlets=sum((each.outlets for each in others), self.outlets))

    def routed(
        self,
        grouping: GroupingKind | None = None,
        *,
        fields: str | Sequence[str] = (),
        selectivity: float | None = None,
    ) -> DataStream:
        """The same tuples, choosing their thread of the next operator by this grouping:
        `routed("shuffle")`, `routed(fields="country")`. With `selectivity`, so many of them per
        tuple that the operator takes in.
        """
        if grouping is None:
            grouping = "fields" if fields else None
        names = (fields,) if isinstance(fields, str) else tuple(fields)
        changes: dict[str, Any] = {} if selectivity is None else {"selectivity": selectivity}
        if grouping is not None:
            changes["grouping"] = Grouping(grouping, names)
        return replace(self, outlets=tuple(replace(each, **changes) for each in self.outlets))

    def back_to(self, earlier: DataStream) -> None:
        """A loop: these tuples are the input of an earlier operator, too. On Spark it runs if it
        goes `through` a topic.
        """
        for target in earlier.outlets:
            self.flow._connect(self.outlets, target.operator, loop=True)

    def write(
        self,
        name: str | None = None,
        /,
        *,
        expr: Computed = None,
        foreach: Function | None = None,
        on_error: ErrorPolicy = "fail",
        **data: Any,
    ) -> None:
        """A sink, the end of the stream. `data` has its format and that format's options; `foreach`
        is a function that is called with batches of tuples.
        """
        name = self.flow._new(name, "sink")
        made = made_of(expr)
        if foreach is not None:
            made, data = Made(bound=foreach), {"format": "foreach", **data}
        self.flow._add(name, self, made, kind="sink", on_error=on_error, **data_of(data))
