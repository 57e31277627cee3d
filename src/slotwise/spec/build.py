"""Document -> Pipeline and back; a ModelError on the way says where in the document it arose."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from slotwise import formats, registry
from slotwise.model import (
    Choice,
    Cluster,
    Goals,
    Grouping,
    Join,
    Logic,
    ModelError,
    NetworkDelays,
    Node,
    Operator,
    Pipeline,
    Profiles,
    Scheduler,
    SlotwiseError,
    Stream,
    Topology,
    VmType,
)
from slotwise.model.limits import MOST
from slotwise.model.topology import KEY_GROUPS
from slotwise.rates import arrival_rates
from slotwise.record_schemas import ddl_of
from slotwise.spec.base import given, located
from slotwise.spec.build_profiles import (
    platform_document,
    platform_of,
    profile_document,
    profiles_of,
)
from slotwise.spec.document import (
    GROUPS,
    DeadLettersDocument,
    DistinctDocument,
    FieldsDocument,
    JoinDocument,
    NodeDocument,
    OperatorDocument,
    SchedulerDocument,
    SpecDocument,
    StreamDocument,
    TopologyDocument,
    VmTypeDocument,
)

MB_PER_GB = 1024
NOTHING: Mapping[str, object] = MappingProxyType({})


def pipeline_of(document: SpecDocument) -> Pipeline:
    """The checked model. Raises ModelError with a path into the document."""
    topology = _topology(document.topology, document.kafka)
    slot_memory_gb = _slot_memory_gb(document)
    if document.include is not None:
        raise ModelError("'include' is for spec files: write the profiles out here", ("include",))
    return Pipeline(
        topology,
        Profiles(profiles_of(document.profiles), slot_memory_gb * MB_PER_GB),
        catalog=catalog_of(document.catalog),
        cluster=cluster_of(document.cluster, slot_memory_gb),
        goals=Goals(**given(document.goals)),
        network=NetworkDelays(**given(document.network)),
        scheduler=_scheduler(document.scheduler or SchedulerDocument()),
        engine=document.engine,
        platform=platform_of(document.platform),
        packages=tuple(document.packages),
        jars=tuple(document.jars),
        conf=_options(document.conf),
    )


def document_of(pipeline: Pipeline) -> SpecDocument:
    """What a spec file says of `pipeline`; `count` is never used, every node is written out."""
    cluster = pipeline.cluster
    if cluster and cluster.slot_memory_gb != pipeline.slot_memory_gb:
        raise ModelError(
            f"the cluster counts in slots of {cluster.slot_memory_gb} GB but the profiles in slots "
            f"of {pipeline.slot_memory_gb} GB: a spec has one slot_memory_gb"
        )
    return SpecDocument.model_validate(
        {
            "topology": _topology_document(pipeline.topology),
            "profiles": {
                name: profile_document(profile)
                for name, profile in pipeline.profiles.by_operator.items()
            },
            "catalog": [_renamed(t, name="type") for t in pipeline.catalog] or None,
            "cluster": [dataclasses.asdict(node) for node in cluster.nodes] if cluster else None,
            "goals": _unless_default(pipeline.goals, Goals()),
            "network": _unless_default(pipeline.network, NetworkDelays()),
            "platform": platform_document(pipeline.platform),
            "scheduler": _scheduler_document(pipeline.scheduler),
            "engine": pipeline.engine,
            "packages": list(pipeline.packages),
            "jars": list(pipeline.jars),
            "conf": dict(pipeline.conf),
            "slot_memory_gb": pipeline.slot_memory_gb,
        }
    )


def checked(topology: Topology) -> Topology:
    """Equal to `topology`, if a spec file can say it. Raises ModelError as for a spec file."""
    return _topology(TopologyDocument.model_validate(_topology_document(topology)))


def _topology(document: TopologyDocument, kafka: Mapping[str, object] = NOTHING) -> Topology:
    streams = []
    for position, stream in enumerate(document.streams):
        with located("topology", "streams", position):
            streams.append(_stream(stream))
    topology = Topology(
        document.name,
        tuple(
            _operator(name, operator or OperatorDocument(), kafka)
            for name, operator in document.operators.items()
        ),
        tuple(streams),
        document.workers,
        _dead_letters(document.dead_letters, kafka),
    )
    # Raises for loops that multiply their tuples, and selectivities whose product is out of range.
    arrival_rates(topology, 1.0)
    return topology


def _dead_letters(
    document: DeadLettersDocument | None, kafka: Mapping[str, object]
) -> Logic | None:
    if document is None:
        return None
    options = formats.with_client(document.format, document.options, kafka)
    logic = Logic(format=document.format, options=_options(options))
    try:
        formats.check_dead_letters(logic)
    except ModelError as error:
        path = ("topology", "dead_letters", *error.path[3:])
        raise ModelError(error.message, path) from None
    return logic


def _operator(name: str, document: OperatorDocument, kafka: Mapping[str, object]) -> Operator:
    aggregate, keys = dict(document.aggregate), document.distinct
    groups = aggregate.pop(GROUPS, KEY_GROUPS)
    if isinstance(keys, DistinctDocument):
        groups = keys.key_groups
        keys = keys.by
    states = document.stateful
    if isinstance(states, DistinctDocument):
        groups = states.key_groups
        states = states.by
    logic = Logic(
        document.expr,
        document.flat,
        where=document.where,
        join=_join(document.join),
        distinct=() if keys is None else _as_tuple(keys),
        stateful=() if states is None else _as_tuple(states),
        key_groups=int(groups),
        aggregate=tuple((name, str(sql)) for name, sql in aggregate.items()),
        python=document.python,
        java=document.java,
        on_error=document.on_error,
        format=document.format,
        options=_options(formats.with_client(document.format, document.options, kafka)),
        schema=_schema(name, document.record_schema),
        id=document.id,
        event_time=document.event_time,
        partitions=document.partitions,
    )
    operator = Operator(name, document.kind, document.share, logic)
    formats.check(operator)
    return operator


def _schema(operator: str, schema: str | None) -> str | None:
    try:
        return None if schema is None else ddl_of(schema)
    except SlotwiseError as error:
        raise ModelError(str(error), ("topology", "operators", operator, "schema")) from None


def _join(document: JoinDocument | None) -> Join | None:
    if document is None:
        return None
    return Join(
        document.table,
        document.columns,
        _as_tuple(document.on),
        document.format,
        _options(document.options),
        document.how,
    )


def _options(options: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """As Spark reads them: true and false in lower case."""
    return tuple(
        (key, str(value).lower() if isinstance(value, bool) else str(value))
        for key, value in options.items()
    )


def _stream(document: StreamDocument) -> Stream:
    grouping = (
        Grouping("fields", _as_tuple(document.grouping.fields))
        if isinstance(document.grouping, FieldsDocument)
        else Grouping(document.grouping)
    )
    return Stream(document.source, document.target, document.selectivity, grouping, document.loop)


def _as_tuple(fields: str | list[str]) -> tuple[str, ...]:
    return (fields,) if isinstance(fields, str) else tuple(fields)


def catalog_of(entries: list[VmTypeDocument] | None) -> tuple[VmType, ...]:
    types = []
    for position, kind in enumerate(entries or ()):
        figures = kind.slots, kind.memory_gb, kind.price_per_hour, kind.speed
        with located("catalog", position):
            types.append(VmType(kind.type, *figures))
    return tuple(types)


def cluster_of(entries: list[NodeDocument] | None, slot_memory_gb: float) -> Cluster | None:
    """Raises ModelError with a path that starts at `cluster`."""
    if entries is None:
        return None
    if sum(entry.slots * (entry.count or 1) for entry in entries) > MOST:
        raise ModelError(f"the cluster has more than {MOST:,} slots: use fewer", ("cluster",))
    nodes, positions = [], []
    for position, entry in enumerate(entries):
        with located("cluster", position):
            nodes += _nodes(entry)
        positions += [position] * (entry.count or 1)
    try:
        return Cluster(tuple(nodes), slot_memory_gb)
    except ModelError as error:
        match error.path:
            case ("cluster", int(node)):
                raise ModelError(error.message, ("cluster", positions[node])) from None
        raise


def _nodes(entry: NodeDocument) -> list[Node]:
    figures = entry.model_dump(exclude={"count", "name"})
    if entry.count is None:
        return [Node(entry.name, **figures)]
    return [Node(f"{entry.name}-{number}", **figures) for number in range(1, entry.count + 1)]


def _slot_memory_gb(document: SpecDocument) -> float:
    """As given, or else the smallest memory per slot of any machine."""
    if document.catalog and document.cluster:
        raise ModelError("there is a catalog and a cluster: remove one of them", ("cluster",))
    machines = [*(document.catalog or ()), *(document.cluster or ())]
    if not machines:
        raise ModelError("there are no machines: add a 'catalog' of types or a fixed 'cluster'")
    return document.slot_memory_gb or min(m.memory_gb / m.slots for m in machines)


def _scheduler(document: SchedulerDocument) -> Scheduler:
    chosen = {}
    for family in ("allocator", "provisioner", "placer"):
        with located("scheduler", family):
            chosen[family] = choice_of(getattr(document, family))
    return Scheduler(**chosen)


def choice_of(document: Any) -> Choice:
    """From a checked ChoiceDocument. Raises ModelError."""
    if isinstance(document, str):
        return registry.choice(document)
    ((name, options),) = document.items()
    return Choice(name, options or {})


def _topology_document(topology: Topology) -> dict[str, Any]:
    return {
        "name": topology.name,
        "operators": {
            operator.name: _operator_document(operator) for operator in topology.operators
        },
        "streams": [
            _renamed(stream, source="from", target="to")
            | {"grouping": _grouping_document(stream.grouping)}
            for stream in topology.streams
        ],
        "workers": topology.workers,
        "dead_letters": None
        if (letters := topology.dead_letters) is None
        else {"format": letters.format, "options": dict(letters.options)},
    }


def _operator_document(operator: Operator) -> dict[str, Any]:
    logic = dataclasses.asdict(operator.logic)
    logic |= {key: dict(logic[key]) for key in ("aggregate", "options")}
    groups = logic.pop(GROUPS)
    logic |= {key: list(logic[key]) or None for key in ("distinct", "stateful")}
    keyed = next((key for key in ("distinct", "stateful") if logic[key]), None)
    if groups != KEY_GROUPS and keyed:
        logic[keyed] = {"by": logic[keyed], GROUPS: groups}
    elif groups != KEY_GROUPS:
        logic["aggregate"][GROUPS] = groups
    if join := logic["join"]:
        logic["join"] = join | {"on": list(join["on"]), "options": dict(join["options"])}
    return {"kind": operator.kind, "share": operator.share, **logic}


def _grouping_document(grouping: Grouping) -> Any:
    if grouping.kind != "fields":
        return grouping.kind
    return {"fields": grouping.fields[0] if len(grouping.fields) == 1 else list(grouping.fields)}


def _scheduler_document(scheduler: Scheduler) -> dict[str, Any] | None:
    if scheduler == Scheduler():
        return None
    return {
        family.name: _choice_document(getattr(scheduler, family.name))
        for family in dataclasses.fields(scheduler)
    }


def _choice_document(choice: Choice) -> Any:
    reads_back = ":" not in choice.name and choice.name == choice.name.strip()
    return choice.name if reads_back and not choice.options else {choice.name: dict(choice.options)}


def _unless_default(value: Any, default: Any) -> dict[str, Any] | None:
    return None if value == default else dataclasses.asdict(value)


def _renamed(value: Any, **names: str) -> dict[str, Any]:
    """A dataclass's fields as a mapping, some under the name the spec file has for them."""
    return {names.get(name, name): item for name, item in dataclasses.asdict(value).items()}
