"""Profiles and the platform's costs as pydantic models; specs and files they include hold them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from slotwise.model import Hop, Measurement, Platform, ServiceRate
from slotwise.model.measurement import MeasurementSource
from slotwise.spec.base import Count, Document, Name, NotNegative, Positive

FORMS = ("threads", "costs", "service")


def _key_in_json(key: Any, info: ValidationInfo) -> Any:
    """JSON has text keys only, so there "4" is the way to write 4; in YAML it is a mistake."""
    is_number = isinstance(key, str) and re.fullmatch("[1-9][0-9]{0,9}", key)
    return int(key) if is_number and info.mode == "json" else key


ThreadCount = Annotated[Count, BeforeValidator(_key_in_json)]


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


class MeasuredDocument(Document):
    """When and on what figures were measured."""

    at: Name = Field(description="Date and time, such as 2026-11-18T09:30:00Z.")
    spark: Name
    java: Name
    cpu: Name = Field(description="The CPU model.")
    cores: Positive | None = Field(
        default=None, description="CPU quota of the slot, in cores; none: without a quota."
    )
    memory_mb: Positive | None = Field(default=None, description="Memory of the slot.")
    trials: Count = 1
    spread: NotNegative | None = Field(
        default=None, description="Relative standard deviation of repeated figures."
    )
    source: MeasurementSource = Measurement.source


class ProfileDocument(Document):
    """An operator's cost: a fixed load, or one or more of the other three forms."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"anyOf": [{"required": [form]} for form in FORMS]},
                {"required": ["fixed"], "not": {"required": ["measured"]}},
            ]
        }
    )

    threads: Annotated[dict[ThreadCount, ThreadRowDocument], Field(min_length=1)] | None = None
    costs: CostsDocument | None = None
    service: ServiceDocument | None = None
    fixed: FixedDocument | None = None
    measured: MeasuredDocument | None = Field(
        default=None, description="How the figures were measured; none: they were typed."
    )

    @model_validator(mode="after")
    def _some_form(self) -> ProfileDocument:
        given = [key for key in type(self).model_fields if getattr(self, key) is not None]
        forms = [form for form in given if form in FORMS]
        if self.fixed and len(given) > 1:
            other = next(key for key in given if key != "fixed")
            raise PydanticCustomError(
                "sentence", f"the profile has both fixed and {other}: expected fixed alone"
            )
        if not self.fixed and not forms:
            raise PydanticCustomError(
                "sentence",
                "the profile has no figures: expected threads, costs, service, or fixed",
            )
        return self


class HopDocument(Document):
    """What a tuple takes from one thread to another."""

    send_us: NotNegative = Field(default=Hop.send_us, description="CPU of the sender, in µs.")
    receive_us: NotNegative = Field(default=Hop.receive_us, description="CPU of the receiver.")
    per_kb_us: NotNegative = Field(
        default=Hop.per_kb_us, description="More CPU per KB, half of it at each end."
    )
    delay_ms: NotNegative = Field(
        default=Hop.delay_ms, description="Time on the way at a low rate, buffers included."
    )
    send_buffer_us: NotNegative = Field(
        default=Hop.send_buffer_us, description="CPU of the sending slot per buffer that is sent."
    )
    receive_buffer_us: NotNegative = Field(
        default=Hop.receive_buffer_us, description="CPU of the receiving slot per buffer."
    )


class PlatformDocument(Document):
    """What the engine itself takes, beside the operators."""

    slot_cpu: NotNegative = Field(
        default=Platform.slot_cpu, description="Cores that a slot takes without threads."
    )
    thread_cpu: NotNegative = Field(
        default=Platform.thread_cpu,
        description="Cores that each thread in a slot takes without tuples.",
    )
    polling_cpu: NotNegative = Field(
        default=Platform.polling_cpu,
        description="Part of thread_cpu that a thread takes only while it waits for tuples.",
    )
    slot_memory_mb: NotNegative = Field(
        default=Platform.slot_memory_mb, description="Memory that a slot takes without tuples."
    )
    in_slot: HopDocument | None = None
    in_node: HopDocument | None = None
    between_nodes: HopDocument | None = None
    source_us: NotNegative = Field(
        default=Platform.source_us, description="CPU per tuple of a source, in µs."
    )
    sink_us: NotNegative = Field(
        default=Platform.sink_us, description="CPU per tuple of a sink, in µs."
    )
    meter_us: NotNegative = Field(
        default=Platform.meter_us, description="CPU of meters per tuple that an operator handles."
    )
    flush_ms: NotNegative = Field(
        default=Platform.flush_ms, description="A send buffer is sent when it is this old, or full."
    )
    buffer_bytes: NotNegative = Field(
        default=Platform.buffer_bytes, description="Size of a send buffer; 0: it never fills."
    )
    record_kb: NotNegative = Field(
        default=Platform.record_kb, description="Mean size of a record in KB."
    )
    cores: Positive = Field(
        default=Platform.cores, description="Cores of the slot in which this was measured."
    )
    measured: MeasuredDocument | None = None


class IncludedDocument(Document):
    """A file that specs include: profiles, the platform's costs, or both."""

    profiles: dict[Name, ProfileDocument] = Field(default={})
    platform: PlatformDocument | None = None
