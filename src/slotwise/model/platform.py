"""What the engine itself takes, beside the operators: hops between threads, meters, idle slots.

CPU is real: µs of one core for each tuple, and cores. Profiles count in reference slots; a slot of
`cores` cores converts between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from slotwise.model.errors import ModelError
from slotwise.model.limits import check_range, not_negative, positive, set_fields
from slotwise.model.measurement import Measurement


@dataclass(frozen=True)
class Hop:
    """What it takes to get a tuple from one thread to another that is so far away."""

    send_us: float = 0.0
    """CPU of the sender for each tuple."""
    receive_us: float = 0.0
    """CPU of the receiver for each tuple."""
    per_kb_us: float = 0.0
    """More CPU for each KB of the record, half of it at each end."""
    delay_ms: float = 0.0
    """Time on the way at a low rate, the wait in the send buffer included."""
    send_buffer_us: float = 0.0
    """CPU of the sending slot for each buffer that is sent, beside its thread."""
    receive_buffer_us: float = 0.0
    """Likewise of the receiving slot."""


@dataclass(frozen=True)
class Platform:
    """The engine's own costs; all 0 unless they were measured.

    An operator's typed profile is its own work only: predictions add hops, meters, source and sink.
    A profile measured by an experiment includes the meters and hops from and to other slots of the
    node (`in_node`): there only the difference to the actual hops counts. So with threads without
    tuples: it includes all but one.
    """

    slot_cpu: float = 0.0
    """Cores that a slot in use takes without threads."""
    thread_cpu: float = 0.0
    """Cores that each of its threads takes without tuples, beside that."""
    polling_cpu: float = 0.0
    """The part of `thread_cpu` that a thread takes only while it waits for tuples, looking for
    them; the rest it takes while it is busy, too. In cores."""
    slot_memory_mb: float = 0.0
    """Memory that a slot in use takes without tuples."""
    in_slot: Hop = Hop()
    in_node: Hop = Hop()
    """Between two slots of a node."""
    between_nodes: Hop = Hop()
    source_us: float = 0.0
    """CPU of a source for each tuple that it emits, hops apart."""
    sink_us: float = 0.0
    """CPU of a sink for each tuple that it writes, hops apart."""
    meter_us: float = 0.0
    """CPU of the meters for each tuple that an operator handles; not part of the hops' figures."""
    flush_ms: float = 0.0
    """A send buffer is sent when it is this old, or full."""
    buffer_bytes: float = 0.0
    """Size of a send buffer, of which each pair of threads has one; 0: it never fills."""
    record_kb: float = 0.0
    """Mean size of a record; 0: hops cost what they cost for the smallest."""
    cores: float = 1.0
    """Cores of the slot in which this was measured."""
    measurement: Measurement | None = None

    def __post_init__(self) -> None:
        set_fields(self, cores=positive(self.cores, "cores", path=("platform", "cores")))
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Hop):
                set_fields(self, **{field.name: _checked_hop(value, field.name)})
            elif not isinstance(value, Measurement | None):
                path = ("platform", field.name)
                figure = not_negative(value, f"platform {field.name}", path=path)
                check_range(figure, f"platform {field.name}", path=path)
                set_fields(self, **{field.name: figure})
        if self.polling_cpu > self.thread_cpu:
            raise ModelError(
                f"platform polling_cpu {self.polling_cpu:g} is a part of thread_cpu, "
                f"which is {self.thread_cpu:g}",
                path=("platform", "polling_cpu"),
            )

    @property
    def hops(self) -> tuple[Hop, Hop, Hop]:
        """By distance: within a slot, within a node, further."""
        return self.in_slot, self.in_node, self.between_nodes

    def buffers_per_s(self, pair_rate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Buffers that one thread sends to another at so many tuples/s: a buffer is sent `flush_ms`
        after its first tuple came, or when it is full.

        >>> platform = Platform(flush_ms=5, buffer_bytes=32768, record_kb=1)
        >>> platform.buffers_per_s(np.array([0, 200, 1e6])).tolist()
        [0.0, 100.0, 31250.0]
        """
        flushed = np.asarray(pair_rate / (1 + pair_rate * self.flush_ms / 1000))
        if self.buffer_bytes == 0:
            return flushed
        return np.maximum(flushed, 1024 * self.record_kb * pair_rate / self.buffer_bytes)

    def delay_ms(self, hop: Hop, pair_rate: float) -> float:
        """How long a tuple is on the way where one thread sends `pair_rate` tuples/s to another.

        A tuple waits in the send buffer for about half the time that the buffer lives, and that is
        shorter where the buffer is full before it is `flush_ms` old.

        >>> hop = Hop(delay_ms=3)
        >>> platform = Platform(in_node=hop, flush_ms=5, buffer_bytes=32768, record_kb=1)
        >>> [platform.delay_ms(hop, pair_rate) for pair_rate in (1, 6400, 32000)]
        [3.0, 3.0, 1.0]
        """
        filled_ms = self.flush_ms
        if self.buffer_bytes > 0 and pair_rate * self.record_kb > 0:
            filled_ms = 1000 * self.buffer_bytes / (1024 * self.record_kb * pair_rate)
        return max(hop.delay_ms - max(self.flush_ms - filled_ms, 0.0) / 2, 0.0)


def _checked_hop(hop: Hop, name: str) -> Hop:
    figures = {}
    for field in fields(hop):
        path = ("platform", name, field.name)
        what = f"platform {name}.{field.name}"
        figures[field.name] = not_negative(getattr(hop, field.name), what, path=path)
        check_range(figures[field.name], what, path=path)
    return Hop(**figures)
