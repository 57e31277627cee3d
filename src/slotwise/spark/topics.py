"""The Kafka topics of a plan's sources and sinks, as their broker knows them.

Asked with Kafka's own client, which the driver has from Spark's connector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JJavaError

from slotwise.formats import (
    KAFKA,
    SERVERS,
    completed_options,
    dead_letters_of,
    is_read,
    topic_of,
)
from slotwise.model import Operator, SlotwiseError, counted
from slotwise.spark.checkpoints import last_commit
from slotwise.spark.metering.meters import ThreadMeter, TopicState
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.sources import OFFSET_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TIMEOUT = "TimeoutException"
ANSWER_S = 10
"""A broker that has not answered after this time is not there."""
GLANCE_MS = 100
"""So long a reading of the meters waits for a broker; what comes later counts in the next one."""


def check(spark: SparkSession, of: Outline) -> None:
    """Raise SlotwiseError for a broker that does not answer, for a topic that is not there, and for
    one with another number of partitions than the query has tasks for.
    """
    letters = of.layout.topology.dead_letters
    also = () if letters is None else (dead_letters_of(letters),)
    for position, operator in enumerate((*of.layout.topology.operators, *also)):
        if operator.logic.format != KAFKA:
            continue
        admin = _admin(spark, operator)
        try:
            found = _partitions(spark, admin, operator)
        finally:
            _close(spark, admin)
        if not is_read(operator) or of.mode == "micro-batch":
            continue  # with micro-batches, records go to threads whatever partition they are from
        tasks = of.layout.tasks[position]
        if found != tasks:
            raise SlotwiseError(
                f"{operator.kind} '{operator.name}' has tasks for {counted(tasks, 'partition')}, "
                f"and topic '{topic_of(operator)}' has {found}: set partitions: {found} in the "
                f"{operator.kind}"
            )


@dataclass
class Topics:
    """What is still to be read of the topics of a query's sources.

    Nothing here waits for a broker but `begin`: a run goes on when its broker does not answer.
    """

    spark: SparkSession
    layout: Layout
    checkpoint: Path
    _sources: dict[int, _Topic] = field(default_factory=dict)
    """By the source's position."""

    def begin(self) -> None:
        """Before the query is started, for the first time or again."""
        written = _last_offsets(self.checkpoint)
        for number, source in enumerate(self.layout.levels[0]):
            operator = self.layout.topology.operators[source]
            if operator.logic.format != KAFKA:
                continue
            if source not in self._sources:
                admin = _admin(self.spark, operator)
                count = _partitions(self.spark, admin, operator)
                self._sources[source] = _Topic(self.spark, operator, admin, count, count)
            topic = self._sources[source]
            topic.begun = {} if written is None else _of_topic(written[number], topic.name)

    def close(self) -> None:
        for topic in self._sources.values():
            _close(self.spark, topic.admin)
        self._sources = {}

    def seen(
        self, query: StreamingQuery, threads: tuple[ThreadMeter, ...], now: float
    ) -> Mapping[int, TopicState]:
        """Per source with a topic that has answered. `threads`: the query's meters."""
        found = {}
        for source, topic in self._sources.items():
            ends = topic.ends()
            if ends is None:
                continue
            number = self.layout.levels[0].index(source)
            if not topic.begun:  # Spark finds out, and writes it down, when the query runs
                topic.begun = _of_topic(_first_offsets(self.checkpoint, number), topic.name)
            taken = {**topic.begun, **self._finished(query, source)}
            for partition, offset in _positions(threads, self.layout, source):
                taken[partition] = max(offset, taken.get(partition, 0))
            known = all(partition in taken for partition in ends)
            left = sum(max(end - taken.get(p, end), 0) for p, end in ends.items())
            found[source] = TopicState(now, sum(ends.values()), left if known else None)
        return found

    @property
    def lacks_broker(self) -> bool:
        """What was last asked about some topic got no answer."""
        return any(not topic.answers for topic in self._sources.values())

    def news(self) -> list[str]:
        """A sentence for each change since the last call: a broker that no longer answers, or does
        again; a topic that has grown.
        """
        return [*self._reachable(), *self._grown()]

    def _reachable(self) -> list[str]:
        told = []
        for topic in self._sources.values():
            if topic.answers != topic.told_answers:
                topic.told_answers = topic.answers
                what = "a broker answers again" if topic.answers else "no broker answers"
                told.append(f"{what} for topic '{topic.name}'")
        return told

    def _grown(self) -> list[str]:
        """Of topics that have more partitions than the query has tasks for: all are read, and Spark
        places the tasks of the sources.
        """
        told = []
        for source, topic in self._sources.items():
            if topic.partitions > max(topic.told, self.layout.tasks[source]):
                topic.told = topic.partitions
                told.append(
                    f"topic '{topic.name}' has {topic.partitions} partitions now: to give them "
                    f"places, set partitions: {topic.partitions} in {topic.operator.kind} "
                    f"'{topic.operator.name}' and continue from the checkpoint"
                )
        return told

    def _finished(self, query: StreamingQuery, source: int) -> dict[int, int]:
        """Where the query's last finished batch ended."""
        progress = query.lastProgress
        if progress is None:
            return {}
        number = self.layout.levels[0].index(source)
        operator = self.layout.topology.operators[source]
        return _of_topic(progress.sources[number].endOffset, topic_of(operator))


@dataclass
class _Topic:
    """One source's."""

    spark: SparkSession
    operator: Operator
    admin: Any
    partitions: int
    told: int
    """Partitions of which nothing is to be told."""
    begun: dict[int, int] = field(default_factory=dict)
    """Per partition, the offset from which on the query reads."""
    answers: bool = True
    """As far as it is known: a question fails only after `ANSWER_S`."""
    told_answers: bool = True
    _described: Any = None
    _listed: Any = None
    """Answers that are still to come."""

    @property
    def name(self) -> str:
        return topic_of(self.operator)

    def ends(self) -> dict[int, int] | None:
        """Per partition, the offset after its last message; None: not known yet."""
        if self._listed is None:
            self._described = self.admin.describeTopics([self.name]).allTopicNames()
            self._listed = self._offsets()
        found = _waited(self.spark, self._listed, GLANCE_MS)
        if not self._listed.isDone():
            return None
        described = _waited(self.spark, self._described, GLANCE_MS)
        if described is not None:
            self.partitions = described.get(self.name).partitions().size()
        self.answers = found is not None or not _has_timed_out(self.spark, self._listed)
        self._listed = None
        return None if found is None else _by_partition(found)

    def _offsets(self) -> Any:
        kafka = _java(self.spark).org.apache.kafka
        spec = kafka.clients.admin.OffsetSpec.latest()
        partitions = [kafka.common.TopicPartition(self.name, p) for p in range(self.partitions)]
        return self.admin.listOffsets(dict.fromkeys(partitions, spec)).all()


def _admin(spark: SparkSession, operator: Operator) -> Any:
    made = _java(spark).org.apache.kafka.clients.admin
    if isinstance(made.AdminClient, JavaPackage):
        raise SlotwiseError(
            f"{operator.kind} '{operator.name}': this session has no connector to Kafka"
        )
    own = {
        name.removeprefix("kafka."): value
        for name, value in completed_options(operator).items()
        if name.startswith("kafka.") and not name.startswith("kafka.group.")
    }
    limits = {"default.api.timeout.ms": str(1000 * ANSWER_S), "request.timeout.ms": "5000"}
    try:
        return made.AdminClient.create({**limits, **own})
    except Py4JJavaError as error:
        cause = _cause(error)
        raise SlotwiseError(
            f"{operator.kind} '{operator.name}': {cause.getMessage()} "
            f"({SERVERS}: {own['bootstrap.servers']})"
        ) from None


def _partitions(spark: SparkSession, admin: Any, operator: Operator) -> int:
    topic = topic_of(operator)
    seconds = _java(spark).java.util.concurrent.TimeUnit.SECONDS
    try:
        found = admin.describeTopics([topic]).allTopicNames().get(2 * ANSWER_S, seconds)
    except Py4JJavaError as error:
        cause = _cause(error)
        who = f"{operator.kind} '{operator.name}'"
        name = cause.getClass().getSimpleName()
        if name == "UnknownTopicOrPartitionException":
            raise SlotwiseError(f"{who}: there is no topic '{topic}'") from None
        if name == TIMEOUT:
            servers = completed_options(operator)[SERVERS]
            raise SlotwiseError(
                f"{who}: no broker of Kafka answers at {servers} within {ANSWER_S} s"
            ) from None
        raise SlotwiseError(f"{who}: topic '{topic}': {cause.getMessage()}") from None
    return int(found.get(topic).partitions().size())


def _java(spark: SparkSession) -> Any:
    return spark._jvm


def _close(spark: SparkSession, admin: Any) -> None:
    admin.close(_java(spark).java.time.Duration.ZERO)


def _waited(spark: SparkSession, answer: Any, wait_ms: int) -> Any:
    """The answer; None: it has not come in time, or there is none."""
    try:
        return answer.get(wait_ms, _java(spark).java.util.concurrent.TimeUnit.MILLISECONDS)
    except Py4JJavaError:
        return None


def _has_timed_out(spark: SparkSession, answer: Any) -> bool:
    """Of a question that failed: nobody has answered, and not that a broker has refused it."""
    try:
        answer.get(GLANCE_MS, _java(spark).java.util.concurrent.TimeUnit.MILLISECONDS)
    except Py4JJavaError as error:
        return str(_cause(error).getClass().getSimpleName()) == TIMEOUT
    return False


def _cause(error: Py4JJavaError) -> Any:
    return error.java_exception.getCause() or error.java_exception


def _by_partition(offsets: Any) -> dict[int, int]:
    return {key.partition(): offsets.get(key).offset() for key in offsets.keySet()}


def _positions(
    threads: tuple[ThreadMeter, ...], layout: Layout, source: int
) -> list[tuple[int, int]]:
    """(partition, the offset after the last record taken in) of the source's tasks."""
    first = layout.first_partition[source]
    own = range(first, first + layout.tasks[source])
    positions = (
        meter.position
        for meter in threads
        if meter.level == 0 and meter.partition in own and meter.position is not None
    )
    return [(at >> OFFSET_BITS, (at & (2**OFFSET_BITS - 1)) + 1) for at in positions]


def _of_topic(written: str | None, topic: str) -> dict[int, int]:
    """An offset of Spark's: {topic: {partition: offset}}, or - for none."""
    found = json.loads(written) if written and written.startswith("{") else {}
    return {int(partition): offset for partition, offset in found.get(topic, {}).items()}


def _last_offsets(checkpoint: Path) -> list[str] | None:
    """Per source, where the last batch ended that Spark has committed; None: there is none."""
    last = last_commit(checkpoint)
    if last is None:
        return None
    # A version, settings, and a line for each source.
    written = (checkpoint / "spark" / "offsets" / str(last)).read_text("utf-8")
    return written.splitlines()[2:]


def _first_offsets(checkpoint: Path, source: int) -> str | None:
    """Where a new query began to read; None: it has not yet."""
    file = checkpoint / "spark" / "sources" / str(source) / "0"
    # A zero byte and a version come before it.
    return file.read_text("utf-8").partition("\n")[2] if file.exists() else None
