"""Plan <-> JSON, exactly: plan_from_json(plan_to_json(plan)) == plan.

Some keys repeat what others imply (`threads`, `cost_per_hour`, …) for readers of the file. On
reading, the plan is written again and compared, so an edited file that contradicts itself is
refused instead of read halfway.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from slotwise import __version__
from slotwise.json_data import json_data
from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    CommunicationSchedule,
    Node,
    Observation,
    OperatorAllocation,
    OperatorLoad,
    Pipeline,
    Placement,
    Plan,
    Prediction,
    SlotLoad,
    SlotwiseError,
    StreamLoad,
    Topology,
    counted,
)
from slotwise.model.limits import MOST
from slotwise.spec.base import Document
from slotwise.spec.build import document_of, pipeline_of
from slotwise.spec.errors import one_line
from slotwise.spec.messages import sentence
from slotwise.spec.plan_document import (
    AllocationEntry,
    BundleEntry,
    NodeEntry,
    OperatorAllocationEntry,
    OperatorLoadEntry,
    PlanDocument,
    PredictionEntry,
    ScheduleEntry,
    SimulationEntry,
    StreamLoadEntry,
    ThreadEntry,
)
from slotwise.spec.reading import read_text


def plan_to_json(plan: Plan) -> str:
    """Equal plans give the same bytes. Infinity becomes null, equal bundles in a row one entry."""
    return _document_of(plan).model_dump_json(indent=2, exclude_defaults=True) + "\n"


def plan_from_json(text: str) -> Plan:
    """The plan, every value as it was. Raises SlotwiseError for anything but a consistent plan."""
    try:
        document = PlanDocument.model_validate_json(text)
        plan = _plan_of(document)
        written = _document_of(plan)
    except ValidationError as error:
        raise SlotwiseError(one_line(f"not a plan: {_first_problem(error)}")) from None
    except SlotwiseError as error:
        raise SlotwiseError(one_line(f"not a plan: {error}")) from None
    for key in PlanDocument.model_fields:
        same = getattr(document, key) == getattr(written, key)
        if not same and key not in ("slotwise", "pipeline"):
            raise SlotwiseError(f"not a plan: '{key}' contradicts the rest: plan again")
    return plan


def read_plan(path: str | Path) -> Plan:
    """The plan in a file that `plan --output` wrote. Errors name the file."""
    try:
        return plan_from_json(read_text(str(path), "plan"))
    except SlotwiseError as error:
        raise error if str(path) in str(error) else SlotwiseError(f"{path}: {error}") from None


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    if problem["type"] == "json_invalid":
        return str(problem["msg"])
    label = problem["loc"][:-1] if problem["type"] == "missing" else problem["loc"]
    return sentence(problem, label, "the plan")


def _document_of(plan: Plan) -> PlanDocument:
    pipeline, cluster, placement = plan.pipeline, plan.cluster, plan.placement
    return PlanDocument(
        slotwise=__version__,
        rate=plan.rate,
        allocator=plan.allocation.algorithm,
        provisioner=pipeline.scheduler.provisioner.name if pipeline.catalog else None,
        placer=placement.algorithm,
        slots=plan.slots,
        extra_slots=plan.extra_slots,
        threads=plan.threads,
        nodes=[NodeEntry(**dataclasses.asdict(node)) for node in cluster.nodes],
        slot_memory_gb=cluster.slot_memory_gb,
        cost_per_hour=plan.cost_per_hour,
        predicted=_prediction_entry(plan.predicted),
        simulated=_simulation_entry(plan.simulated),
        reasons=list(plan.reasons),
        warnings=list(plan.warnings),
        placement=_thread_entries(plan),
        placer_reasons=list(placement.reasons),
        proven_bound=placement.proven_bound,
        schedule=_schedule_entry(placement.schedule),
        weights={operator: list(shares) for operator, shares in plan.weights.items()},
        allocation=AllocationEntry(
            rate=plan.allocation.rate,
            operators=[_operator_allocation_entry(entry) for entry in plan.allocation],
        ),
        pipeline=document_of(pipeline),
    )


def _thread_entries(plan: Plan) -> list[ThreadEntry]:
    slots = [plan.cluster.slot(position) for position in range(plan.cluster.slots)]
    threads = (
        (entry.operator, thread) for entry in plan.allocation for thread in range(entry.threads)
    )
    return [
        ThreadEntry(operator=operator, thread=thread, node=slots[at].node, slot=slots[at].index)
        for (operator, thread), at in zip(threads, plan.placement.slots.tolist(), strict=True)
    ]


def _operator_allocation_entry(entry: OperatorAllocation) -> OperatorAllocationEntry:
    return OperatorAllocationEntry(
        operator=entry.operator,
        arrival_rate=entry.arrival_rate,
        bundles=[
            BundleEntry(**dataclasses.asdict(bundle), count=len(list(equal)))
            for bundle, equal in itertools.groupby(entry.bundles)
        ],
        reason=entry.reason,
        transfer_cpu=entry.transfer_cpu,
    )


def _schedule_entry(schedule: CommunicationSchedule | None) -> ScheduleEntry | None:
    if schedule is None:
        return None
    return ScheduleEntry(
        senders=schedule.senders.tolist(),
        stall_steps=schedule.stall_steps,
        stages=schedule.stages,
    )


def _prediction_entry(prediction: Prediction | None) -> PredictionEntry | None:
    if prediction is None:
        return None
    figures = _figures(PredictionEntry, prediction) | {
        "operators": [_figures(OperatorLoadEntry, load) for load in prediction.operators],
        "streams": [_figures(StreamLoadEntry, load) for load in prediction.streams],
        "slots": [dataclasses.asdict(load) for load in prediction.slots],
        "nodes": [dataclasses.asdict(load) for load in prediction.nodes],
    }
    return PredictionEntry.model_validate(json_data(figures))


def _simulation_entry(seen: Observation | None) -> SimulationEntry | None:
    if seen is None:
        return None
    return SimulationEntry.model_validate(json_data(_figures(SimulationEntry, seen)))


def _figures(entry: type[Document], value: Any) -> dict[str, Any]:
    """What the entry has a key for; what only a simulation or a measurement knows is left out."""
    return {key: getattr(value, key) for key in entry.model_fields}


def _plan_of(document: PlanDocument) -> Plan:
    cluster = _cluster(document)
    allocation = _allocation(document)
    pipeline = pipeline_of(document.pipeline)
    _check_operators(allocation, pipeline)
    _check_weights(document, allocation)
    return Plan(
        pipeline=pipeline,
        rate=document.rate,
        allocation=allocation,
        cluster=cluster,
        slots=document.slots,
        extra_slots=document.extra_slots,
        placement=Placement(
            document.placer,
            tuple(allocation.threads.tolist()),
            _slot_positions(document, cluster),
            tuple(document.placer_reasons),
            _schedule(document.schedule),
            document.proven_bound,
        ),
        weights={operator: tuple(shares) for operator, shares in document.weights.items()},
        predicted=_prediction(document.predicted, pipeline.topology),
        simulated=_simulation(document.simulated),
        reasons=tuple(document.reasons),
        warnings=tuple(document.warnings),
    )


def _check_operators(allocation: Allocation, pipeline: Pipeline) -> None:
    planned = [entry.operator for entry in allocation]
    present = [operator.name for operator in pipeline.topology.operators]
    if planned != present:
        raise SlotwiseError(
            f"it is for the operators {', '.join(planned)}, but its topology has "
            f"{', '.join(present)}: plan again"
        )


def _check_weights(document: PlanDocument, allocation: Allocation) -> None:
    for entry in allocation:
        shares = document.weights.get(entry.operator, [])
        if len(shares) != entry.threads or min(shares) < 0:
            raise SlotwiseError(
                f"it has no weight of 0 or more for each thread of '{entry.operator}': plan again"
            )


def _cluster(document: PlanDocument) -> Cluster:
    if sum(node.slots for node in document.nodes) > MOST:
        raise SlotwiseError(f"its nodes have more than {MOST:,} slots")
    nodes = tuple(Node(**node.model_dump()) for node in document.nodes)
    return Cluster(nodes, document.slot_memory_gb)


def _allocation(document: PlanDocument) -> Allocation:
    entries = document.allocation.operators
    allocated = sum(bundle.threads * bundle.count for entry in entries for bundle in entry.bundles)
    if allocated != len(document.placement):
        raise SlotwiseError(
            f"{counted(allocated, 'thread')} allocated, {len(document.placement):,} placed"
        )
    return Allocation(
        document.allocator,
        document.allocation.rate,
        tuple(
            OperatorAllocation(
                entry.operator,
                entry.arrival_rate,
                tuple(_bundles(entry.bundles)),
                entry.reason,
                entry.transfer_cpu,
            )
            for entry in entries
        ),
    )


def _bundles(entries: list[BundleEntry]) -> Iterator[Bundle]:
    for entry in entries:
        bundle = Bundle(entry.threads, entry.cpu, entry.mem, entry.full)
        yield from itertools.repeat(bundle, entry.count)


def _slot_positions(document: PlanDocument, cluster: Cluster) -> NDArray[np.int64]:
    """Per thread its slot, counted through the cluster."""
    first = {
        node.name: (int(slot), node.slots)
        for node, slot in zip(cluster.nodes, cluster.first_slot, strict=False)
    }
    for entry in document.placement:
        if entry.node not in first or entry.slot >= first[entry.node][1]:
            raise SlotwiseError(
                f"a thread is in {entry.node}/{entry.slot}, but there is no such slot"
            )
    return np.array([first[e.node][0] + e.slot for e in document.placement], dtype=np.int64)


def _schedule(entry: ScheduleEntry | None) -> CommunicationSchedule | None:
    if entry is None:
        return None
    if len({len(row) for row in entry.senders}) > 1:
        raise SlotwiseError("the rows of its schedule are not equally long")
    senders = np.array(entry.senders, dtype=np.int64)
    return CommunicationSchedule(senders, entry.stall_steps, entry.stages)


def _prediction(entry: PredictionEntry | None, topology: Topology) -> Prediction | None:
    if entry is None:
        return None
    figures = _with_infinity(entry)
    if not topology.ends:  # their null is no infinity: nothing ever ends there
        figures |= dict.fromkeys((key for key in figures if "latency" in key), None)
    return Prediction(
        **figures
        | {
            "operators": tuple(OperatorLoad(**_with_infinity(load)) for load in entry.operators),
            "streams": tuple(StreamLoad(**_with_infinity(load)) for load in entry.streams),
            "slots": tuple(SlotLoad(**_with_infinity(load)) for load in entry.slots),
            "nodes": tuple(SlotLoad(**_with_infinity(load)) for load in entry.nodes),
        }
    )


def _simulation(entry: SimulationEntry | None) -> Observation | None:
    if entry is None:
        return None
    parts: dict[str, Any] = dict.fromkeys(("operators", "streams", "slots", "nodes"), ())
    return Observation(**dict(entry) | parts | {"remarks": tuple(entry.remarks)})


def _with_infinity(entry: Document) -> dict[str, Any]:
    return {key: math.inf if value is None else value for key, value in entry}
