"""A plan's JSON as pydantic models: the keys of `slotwise plan --json`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from slotwise.model.limits import MOST
from slotwise.model.observation import Origin
from slotwise.spec.base import Count, Document, Name, NotNegative, Positive
from slotwise.spec.document import SpecDocument

Unbounded = float | None
"""JSON has no infinity: null stands for it."""


class NodeEntry(Document):
    """A machine of the plan."""

    name: Name
    type: Name | None
    slots: Count
    memory_gb: Positive
    speed: Positive
    rack: str
    price_per_hour: NotNegative


class BundleEntry(Document):
    """`count` equal bundles in a row."""

    threads: int = Field(ge=1)
    cpu: float
    mem: float
    full: bool
    count: int = Field(ge=1)


class OperatorAllocationEntry(Document):
    """One operator's share of the allocation."""

    operator: str
    arrival_rate: float
    bundles: list[BundleEntry]
    reason: str
    transfer_cpu: float


class AllocationEntry(Document):
    """model.Allocation, but for the algorithm's name."""

    rate: float
    operators: list[OperatorAllocationEntry]


class ThreadEntry(Document):
    """Where one thread runs: slot `slot` of `node`, counted from 0."""

    operator: str
    thread: int = Field(ge=0)
    node: str
    slot: int = Field(ge=0)


class ScheduleEntry(Document):
    """Paper 4's communication schedule."""

    senders: list[list[Annotated[int, Field(ge=0, le=MOST)]]]
    stall_steps: int
    stages: int


class OperatorLoadEntry(Document):
    """model.OperatorLoad"""

    operator: str
    arrival_rate: Unbounded
    emitted_rate: Unbounded
    capacity: Unbounded
    utilisation: Unbounded
    waiting_ms: Unbounded
    service_ms: Unbounded
    network_ms: Unbounded
    service_scv: Unbounded
    cpu: Unbounded
    queue: Unbounded


class StreamLoadEntry(Document):
    """model.StreamLoad"""

    source: str
    target: str
    rate: Unbounded
    selectivity: Unbounded


class SlotLoadEntry(Document):
    """model.SlotLoad"""

    name: str
    cpu: Unbounded
    mem: Unbounded


class PredictionEntry(Document):
    """model.Prediction"""

    origin: Origin
    offered_rate: Unbounded
    throughput: Unbounded
    capacity: Unbounded
    proportional_capacity: Unbounded
    shuffle_capacity: Unbounded
    stable: bool
    busiest: Unbounded
    bottleneck: str
    latency_ms: Unbounded
    latency_p50_ms: Unbounded
    latency_p95_ms: Unbounded
    latency_p99_ms: Unbounded
    sojourn_ms: Unbounded
    shared_queue_latency_ms: Unbounded
    shared_queue_sojourn_ms: Unbounded
    network_ms: Unbounded
    operators: list[OperatorLoadEntry]
    streams: list[StreamLoadEntry]
    slots: list[SlotLoadEntry]
    nodes: list[SlotLoadEntry]
    cost_per_hour: Unbounded
    inter_slot_traffic: Unbounded
    inter_node_traffic: Unbounded


class SimulationEntry(Document):
    """model.Observation of the plan's own simulation: null is a figure that is not known."""

    origin: Origin
    seed: int
    start_s: float
    end_s: float
    offered_rate: float
    throughput: float | None
    capacity: float | None
    backlog: float | None
    stable: bool
    busiest: float
    bottleneck: str
    latency_ms: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    latency_slope: float | None
    sojourn_ms: float | None
    sojourn_margin_ms: float | None
    network_ms: float | None
    cost_per_hour: float
    inter_slot_traffic: float
    inter_node_traffic: float
    remarks: list[str]


class PlanDocument(Document):
    """The keys of `slotwise plan --json`, in the order they are printed."""

    slotwise: str
    rate: Positive
    allocator: str
    provisioner: str | None
    placer: str
    slots: int
    extra_slots: int
    threads: dict[str, int]
    nodes: list[NodeEntry]
    slot_memory_gb: Positive
    cost_per_hour: float
    predicted: PredictionEntry | None
    simulated: SimulationEntry | None
    reasons: list[str]
    warnings: list[str] = Field(default=[])
    placement: list[ThreadEntry]
    placer_reasons: list[str]
    proven_bound: int | None
    schedule: ScheduleEntry | None
    weights: dict[str, list[float]]
    allocation: AllocationEntry
    pipeline: SpecDocument
