"""The spec file as pydantic models: which keys there are, and what each may hold.

These models give the JSON Schema; `build` turns them into the model and back.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from slotwise.model import Goals, NetworkDelays, Scheduler, ServiceRate
from slotwise.model.limits import LARGEST, MOST, RANGE, SMALLEST, in_range
from slotwise.model.pipeline import Engine
from slotwise.model.topology import ErrorPolicy, GroupingKind, OperatorKind
from slotwise.suggestions import instead_of

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=MOST)]


def _in_range(figure: float) -> float:
    if not in_range(figure):
        raise PydanticCustomError("range", "{expected}", {"expected": RANGE})
    return figure


Positive = Annotated[
    float,
    Field(gt=0, json_schema_extra={"minimum": SMALLEST, "maximum": LARGEST}),
    AfterValidator(_in_range),
]
NotNegative = Annotated[
    float,
    Field(
        ge=0,
        json_schema_extra={"anyOf": [{"const": 0}, {"minimum": SMALLEST, "maximum": LARGEST}]},
    ),
    AfterValidator(_in_range),
]
Speed = Annotated[
    Positive, Field(description="Speed of a core, relative to the core of the profiles.")
]


def _key_in_json(key: Any, info: ValidationInfo) -> Any:
    """JSON has text keys only, so there "4" is the way to write 4; in YAML it is a mistake."""
    is_number = isinstance(key, str) and re.fullmatch("[1-9][0-9]{0,9}", key)
    return int(key) if is_number and info.mode == "json" else key


ThreadCount = Annotated[Count, BeforeValidator(_key_in_json)]


class Document(BaseModel):
    """Exact types (no booleans or texts for numbers), finite numbers, no unknown keys."""

    model_config = ConfigDict(
        strict=True, extra="forbid", allow_inf_nan=False, frozen=True, serialize_by_alias=True
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value if isinstance(value, dict) else ():
            if key not in known:
                problem = {"key": key, "sentence": _suggestion(key, known)}
                raise PydanticCustomError("unknown_key", "{sentence}", problem)
        return value


def _suggestion(key: object, known: list[str]) -> str:
    shown = str(key)[:40]
    return f"unknown key '{shown}': {instead_of(shown, known)}"


class OperatorDocument(Document):
    """One step of the dataflow; planning needs no logic (expr, flat, aggregate, python)."""

    kind: OperatorKind = "operator"
    share: Positive = Field(
        default=1.0, description="A source emits this many times the input rate."
    )
    expr: str | None = Field(
        default=None, description="Spark SQL over the operator's input record."
    )
    flat: bool = Field(
        default=False, description="True if expr returns an array: one output tuple per element."
    )
    aggregate: dict[Name, str] = Field(
        default={},
        description="The fields to group by ('by'), named Spark SQL aggregates, and a condition on "
        "the answers that are sent on ('having').",
    )
    python: str | None = Field(
        default=None,
        description="A function of PySpark columns, or of Arrow batches: module:function.",
    )
    on_error: ErrorPolicy = Field(
        default="fail",
        description="What to do with a tuple on which the logic fails: end the run, or skip it.",
    )
    options: dict[Name, str | int | float] = Field(
        default={}, description="Options of a source's data source, such as payload or schedule."
    )


class FieldsDocument(Document):
    """Tuples with the same values in these fields go to the same thread."""

    fields: Annotated[
        Annotated[Name, Tag("one field")]
        | Annotated[Annotated[list[Name], Field(min_length=1)], Tag("several fields")],
        Discriminator(lambda value: "one field" if isinstance(value, str) else "several fields"),
    ]


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


class TopologyDocument(Document):
    """Operators, and the streams between them."""

    name: Name
    operators: dict[Name, OperatorDocument | None]
    streams: list[StreamDocument] = []
    workers: Count | None = Field(
        default=None, description="Number of slots to use. Default: chosen by the planner."
    )


class ThreadRowDocument(Document):
    """So many threads alone in one slot: tuples/s, and CPU and memory as parts of the slot."""

    rate: Positive
    cpu: NotNegative
    mem: NotNegative


class CostsDocument(Document):
    """What one tuple costs its task."""

    cpu_points: NotNegative = 0.0
    transfer_points: NotNegative = 0.0
    memory_mb: NotNegative = 0.0
    sojourn_ms: NotNegative = 0.0


class ServiceDocument(Document):
    """What one thread serves, and how much arrivals and service times vary."""

    rate: Positive
    cpu: NotNegative = ServiceRate.cpu
    mem: NotNegative = ServiceRate.mem
    arrival_scv: NotNegative = ServiceRate.arrival_scv
    service_scv: NotNegative = ServiceRate.service_scv


class FixedDocument(Document):
    """A load that does not depend on the rate."""

    threads: Count = 1
    cpu: NotNegative = 0.0
    mem: NotNegative = 0.0


class ProfileDocument(Document):
    """An operator's measured cost, in one of four forms."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [form]} for form in ("threads", "costs", "service", "fixed")]
        }
    )

    threads: Annotated[dict[ThreadCount, ThreadRowDocument], Field(min_length=1)] | None = None
    costs: CostsDocument | None = None
    service: ServiceDocument | None = None
    fixed: FixedDocument | None = None

    @model_validator(mode="after")
    def _one_form(self) -> ProfileDocument:
        given = [form for form in type(self).model_fields if getattr(self, form) is not None]
        if len(given) != 1:
            found = f"has both {given[0]} and {given[1]}" if given else "has no figures"
            raise PydanticCustomError(
                "sentence",
                f"the profile {found}: expected exactly one of threads, costs, service, fixed",
            )
        return self


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
    profiles: dict[Name, ProfileDocument]
    catalog: Annotated[list[VmTypeDocument], Field(min_length=1)] | None = None
    cluster: Annotated[list[NodeDocument], Field(min_length=1)] | None = None
    goals: GoalsDocument | None = None
    network: NetworkDocument | None = None
    scheduler: SchedulerDocument | None = None
    engine: Engine = Field(
        default="auto",
        description="Spark's processing mode; auto: real-time unless there is Python code.",
    )
    slot_memory_gb: Positive | None = Field(
        default=None,
        description="Memory of the slot the profiles were measured on; "
        "default: the smallest slot among the machines.",
    )
