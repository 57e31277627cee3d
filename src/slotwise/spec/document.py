"""The spec file as pydantic models: which keys there are, and what each may hold.

These models give the JSON Schema; `build` turns them into the model and back.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from slotwise.model import Goals, NetworkDelays, Scheduler
from slotwise.model.limits import MOST
from slotwise.model.pipeline import Engine
from slotwise.model.topology import KEY_GROUPS, ErrorPolicy, GroupingKind, JoinKind, OperatorKind
from slotwise.spec.base import Count, Document, Name, NotNegative, Positive
from slotwise.spec.profile_document import PlatformDocument, ProfileDocument

Speed = Annotated[
    Positive, Field(description="Speed of a core, relative to the core of the profiles.")
]
GROUPS = "key_groups"
"""The one number in an aggregate; whatever else it has is text."""


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers_in_place(aggregate: dict[str, str | int]) -> dict[str, str | int]:
    for name, value in aggregate.items():
        if (name == GROUPS) != _is_number(value):
            wanted = "an integer ≥ 1" if name == GROUPS else "Spark SQL, as text in quotes"
            sentence = f"'{name}' is {value!r}: expected {wanted}"
            raise PydanticCustomError("sentence", "{sentence}", {"sentence": sentence})
    return aggregate


Aggregate = Annotated[
    dict[
        Name,
        Annotated[
            Annotated[Count, Tag("number")] | Annotated[str, Tag("text")],
            Discriminator(lambda value: "number" if _is_number(value) else "text"),
        ],
    ],
    AfterValidator(_numbers_in_place),
]


OneOrSeveral = Annotated[
    Annotated[Name, Tag("one")]
    | Annotated[Annotated[list[Name], Field(min_length=1)], Tag("several")],
    Discriminator(lambda value: "one" if isinstance(value, str) else "several"),
]


class DistinctDocument(Document):
    """Keys, and the number of groups that they are divided into."""

    by: OneOrSeveral
    key_groups: Count = Field(
        default=KEY_GROUPS, description="The operator can have as many threads."
    )


def _keys_or_mapping(value: Any) -> str:
    return "a mapping" if isinstance(value, dict | DistinctDocument) else "keys"


Distinct = Annotated[
    Annotated[OneOrSeveral, Tag("keys")] | Annotated[DistinctDocument, Tag("a mapping")],
    Discriminator(_keys_or_mapping),
]


class JoinDocument(Document):
    """A table whose fields are added to tuples: one for each row with the same values in `on`."""

    table: Name = Field(description="A file or folder that the driver and all executors can read.")
    columns: Name = Field(alias="schema", description="The table's fields and types, as DDL.")
    on: OneOrSeveral = Field(description="The fields that tuples and table have in common.")
    how: JoinKind = Field(
        default="inner", description="A tuple without a row: inner drops it, left keeps it."
    )
    format: Name = Field(default="csv", description="A batch format of Spark's.")
    options: dict[Name, str | bool | int | float] = Field(
        default={}, description="Options of the format, such as header."
    )


def _option_form(value: Any) -> str | None:
    forms = {bool: "a boolean", int: "a number", float: "a number", str: "a text"}
    return next((form for kind, form in forms.items() if isinstance(value, kind)), None)


Option = Annotated[
    Annotated[bool, Tag("a boolean")]
    | Annotated[int | float, Tag("a number")]
    | Annotated[str, Tag("a text")],
    Discriminator(
        _option_form,
        custom_error_type="form",
        custom_error_message="expected a number, a text, true or false",
    ),
]


class OperatorDocument(Document):
    """One step of the dataflow; planning needs no logic, and nothing of formats."""

    kind: OperatorKind = "operator"
    share: Positive = Field(
        default=1.0, description="A source emits this many times the input rate."
    )
    expr: str | None = Field(
        default=None, description="Spark SQL over the operator's input record."
    )
    where: str | None = Field(
        default=None,
        description="A condition in Spark SQL: tuples for which it is true are sent on.",
    )
    flat: bool = Field(
        default=False, description="True if expr returns an array: one output tuple per element."
    )
    aggregate: Aggregate = Field(
        default={},
        description="The fields to group by ('by'), named Spark SQL aggregates, a condition on the "
        "answers that are sent on ('having'), how late tuples may come before a window closes "
        "('lateness'), and the number of groups that its keys are divided "
        "into ('key_groups'): it can have as many threads.",
        json_schema_extra={
            "properties": {
                "by": {"type": "string"},
                "having": {"type": "string"},
                "lateness": {"type": "string"},
                GROUPS: {"type": "integer", "minimum": 1, "maximum": MOST, "default": KEY_GROUPS},
            },
            "additionalProperties": {"type": "string"},
        },
    )
    join: JoinDocument | None = Field(
        default=None, description="A table whose fields are added to the tuples."
    )
    distinct: Distinct | None = Field(
        default=None,
        description="Keys: of the tuples that have the same, the first is sent on.",
    )
    stateful: Distinct | None = Field(
        default=None,
        description="Keys: the class in python, a StatefulProcessor, has a state for each.",
    )
    python: str | None = Field(
        default=None,
        description="A function of PySpark columns, or of Arrow batches: module:function.",
    )
    java: Name | None = Field(
        default=None,
        description="A class of Java or Scala in the spec's jars or packages: a MapFunction, "
        "FlatMapFunction or FilterFunction of rows.",
    )
    on_error: ErrorPolicy = Field(
        default="fail",
        description="What to do with a tuple on which the logic fails: end the run, or skip it.",
    )
    format: Name | None = Field(
        default=None,
        description="Of a source or sink: its data format, as Spark names it. Default: a source is "
        "paced, a sink writes where the run says. An operator with format kafka is a topic that "
        "its tuples go through.",
    )
    options: dict[Name, Option] = Field(default={}, description="Options of the format.")
    record_schema: str | None = Field(
        default=None,
        alias="schema",
        description="The fields of a source's records, of a topic's in between, or of what a class "
        "of Java returns, such as 'country STRING, n BIGINT'.",
    )
    id: Name | None = Field(
        default=None,
        description="Of a source: the field that is the tuple's id. Default: a field called id, or "
        "one made from where the record was read.",
    )
    event_time: Name | None = Field(
        default=None,
        description="Of a source: the field that says when the tuple was due. Default: a field "
        "called ts, or when the record arrived.",
    )
    partitions: Count | None = Field(
        default=None,
        description="Of a Kafka source: the partitions of its topic. It can have as many threads. "
        "Default: as many as the plan's threads.",
    )


class FieldsDocument(Document):
    """Tuples with the same values in these fields go to the same thread."""

    fields: OneOrSeveral


def _text_or_mapping(value: Any) -> str | None:
    if isinstance(value, str):
        return "a name"
    return "a mapping" if isinstance(value, dict | Document) else None


class StreamDocument(Document):
    """An edge from one operator to another."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    selectivity: Positive = Field(
        default=1.0, description="Tuples sent per tuple the source handles."
    )
    grouping: Annotated[
        Annotated[GroupingKind, Tag("a name")] | Annotated[FieldsDocument, Tag("a mapping")],
        Discriminator(
            _text_or_mapping,
            custom_error_type="form",
            custom_error_message="expected a grouping such as shuffle, or {fields: NAME}",
        ),
    ] = "auto"
    loop: bool = Field(
        default=False, description="True if the stream leads back to an earlier operator."
    )


class DeadLettersDocument(Document):
    """Where records go that an operator with 'on_error: skip' fails on."""

    format: Name
    options: dict[Name, Option] = Field(default={}, description="As those of a sink.")


class TopologyDocument(Document):
    """Operators, and the streams between them."""

    name: Name
    operators: dict[Name, OperatorDocument | None]
    streams: list[StreamDocument] = Field(default=[])
    workers: Count | None = Field(
        default=None, description="Number of slots to use. Default: chosen by the planner."
    )
    dead_letters: DeadLettersDocument | None = Field(
        default=None,
        description="Where records go, each with the reason, that operators with 'on_error: skip' "
        "fail on. Default: they are only counted.",
    )


class VmTypeDocument(Document):
    """A kind of machine on offer; a slot is one core with an even share of the memory."""

    type: Name
    slots: Count
    memory_gb: Positive
    price_per_hour: NotNegative = 0.0
    speed: Speed = 1.0


class NodeDocument(Document):
    """One machine of a fixed cluster, or `count` equal ones called name-1, name-2, …"""

    name: Name
    slots: Count
    memory_gb: Positive
    price_per_hour: NotNegative = 0.0
    speed: Speed = 1.0
    rack: Name = "rack-1"
    type: Name | None = None
    count: Count | None = None


class GoalsDocument(Document):
    """What the pipeline must reach."""

    rate: Positive | None = Field(
        default=Goals.rate, description="Input rate to sustain, in tuples/s."
    )
    latency_ms: Positive | None = Field(
        default=Goals.latency_ms, description="Highest mean latency at sinks."
    )
    latency_p50_ms: Positive | None = Goals.latency_p50_ms
    latency_p95_ms: Positive | None = Goals.latency_p95_ms
    latency_p99_ms: Positive | None = Goals.latency_p99_ms
    sojourn_ms: Positive | None = Field(
        default=Goals.sojourn_ms,
        description="Highest total sojourn time of an input and all it causes.",
    )
    headroom: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=Goals.headroom,
        description="Lowest part of its time that a thread is idle. Default of the search: 0.2.",
    )
    machines: Count | None = Field(
        default=Goals.machines, description="Highest number of machines."
    )
    cost_per_hour: Positive | None = Field(
        default=Goals.cost_per_hour, description="Highest cost of all machines together."
    )


class NetworkDocument(Document):
    """How long a tuple travels within a slot, a node, a rack, and between racks."""

    slot_ms: NotNegative = NetworkDelays.slot_ms
    node_ms: NotNegative = NetworkDelays.node_ms
    rack_ms: NotNegative = NetworkDelays.rack_ms
    cluster_ms: NotNegative = NetworkDelays.cluster_ms


ChoiceDocument = Annotated[
    Annotated[Name, Tag("a name")]
    | Annotated[
        Annotated[dict[Name, dict[Name, Option] | None], Field(min_length=1, max_length=1)],
        Tag("a mapping"),
    ],
    Discriminator(
        _text_or_mapping,
        custom_error_type="form",
        custom_error_message="expected a name, NAME:OPTION=VALUE or {NAME: {OPTION: VALUE}}",
    ),
]


class SchedulerDocument(Document):
    """The algorithms to plan with: a name, or a name with options (NAME:OPTION=VALUE)."""

    allocator: ChoiceDocument = Scheduler.allocator.name
    provisioner: ChoiceDocument = Scheduler.provisioner.name
    placer: ChoiceDocument = Scheduler.placer.name


class SpecDocument(Document):
    """A Slotwise pipeline: dataflow, profiles, machines, goals."""

    model_config = ConfigDict(
        title="Slotwise spec",
        json_schema_extra={"oneOf": [{"required": ["catalog"]}, {"required": ["cluster"]}]},
    )

    topology: TopologyDocument
    profiles: dict[Name, ProfileDocument] = Field(default={})
    include: OneOrSeveral | None = Field(
        default=None,
        description="Files with profiles or the platform's costs; paths relative to this file.",
    )
    catalog: Annotated[list[VmTypeDocument], Field(min_length=1)] | None = None
    cluster: Annotated[list[NodeDocument], Field(min_length=1)] | None = None
    goals: GoalsDocument | None = None
    network: NetworkDocument | None = None
    platform: PlatformDocument | None = None
    scheduler: SchedulerDocument | None = None
    engine: Engine = Field(
        default="auto",
        description="Spark's processing mode; auto: real-time where all operators and sources can.",
    )
    packages: list[Name] = Field(
        default=[],
        description="Java libraries that a run needs, such as Spark's connector to Kafka, by their "
        "Maven coordinates: group:artifact:version.",
    )
    jars: list[Name] = Field(
        default=[],
        description="Java libraries that a run needs, as files, or as folders with nothing else.",
    )
    kafka: dict[Name, Option] = Field(
        default={},
        description="Settings of Kafka's client, such as bootstrap.servers, for all operators with "
        "format kafka and for dead letters; an operator's own options come first.",
    )
    conf: dict[Name, Option] = Field(
        default={}, description="Settings of Spark for a run, beside those that Slotwise makes."
    )
    slot_memory_gb: Positive | None = Field(
        default=None,
        description="Memory of the slot the profiles were measured on; "
        "default: the smallest slot among the machines.",
    )
