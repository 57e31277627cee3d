"""What is left in a topic, from the broker's offsets and the meters' positions; without either."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JJavaError

from slotwise.model import Logic
from slotwise.spark.metering.meters import TopicState
from slotwise.spark.metering.observe import observe
from slotwise.spark.query.levels import layout
from slotwise.spark.query.sources import OFFSET_BITS
from slotwise.spark.topics import Topics, _last_offsets, _Topic
from tests.spark.plans import plan, topology
from tests.spark.snapshots import START, meter, snapshot, watched

SERVERS = (("kafka.bootstrap.servers", "host:9092"), ("subscribe", "orders"))


@dataclass
class ScriptedTopic:
    """As the driver's view of a topic with two partitions."""

    written: dict[int, int]
    begun: dict[int, int]
    partitions: int = 2
    told: int = 0
    answers: bool = True
    told_answers: bool = True
    name: str = "orders"
    operator: Any = field(default_factory=lambda: SimpleNamespace(kind="source", name="s"))

    def ends(self) -> dict[int, int]:
        return self.written


def topics(topic: ScriptedTopic, folder: Path) -> Topics:
    of = topology("s>k", logic={"s": Logic(format="kafka", options=SERVERS, partitions=2)})
    spark: Any = None
    made = Topics(spark, layout(plan(of)), folder)
    made._sources[0] = topic  # type: ignore[assignment]
    return made


def query(**ended: int) -> Any:
    """Whose last batch ended at these offsets of partitions 0 and 1."""
    offsets = json.dumps({"orders": ended}).replace("p", "")
    progress = SimpleNamespace(sources=[SimpleNamespace(endOffset=offsets)])
    return SimpleNamespace(lastProgress=progress if ended else None)


def at(partition: int, offset: int) -> int:
    return partition << OFFSET_BITS | offset


def test_a_topic_is_read_from_where_the_query_began(tmp_path: Path) -> None:
    made = topics(ScriptedTopic({0: 100, 1: 50}, {0: 90, 1: 50}), tmp_path)
    assert made.seen(query(), (), START)[0] == TopicState(START, 150, 10)


def test_where_a_query_began_is_in_its_checkpoint(tmp_path: Path) -> None:
    made = topics(ScriptedTopic({0: 100, 1: 50}, {}), tmp_path)
    assert made.seen(query(), (), START)[0].left is None
    first = tmp_path / "spark" / "sources" / "0" / "0"
    first.parent.mkdir(parents=True)
    first.write_bytes(b'\0v1\n{"orders":{"0":95,"1":50}}')
    assert made.seen(query(), (), START)[0].left == 5


def test_a_batch_that_was_not_committed_is_read_again(tmp_path: Path) -> None:
    assert _last_offsets(tmp_path) is None
    for batch, folders in (
        (9, ("offsets", "commits")),
        (10, ("offsets", "commits")),
        (11, ("offsets",)),
    ):
        for folder in folders:
            file = tmp_path / "spark" / folder / str(batch)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'v1\n{{}}\n{{"orders":{{"0":{batch}}}}}\n-')
    assert _last_offsets(tmp_path) == ['{"orders":{"0":10}}', "-"]


def test_positions_and_finished_batches_count_as_taken(tmp_path: Path) -> None:
    made = topics(ScriptedTopic({0: 100, 1: 50}, {0: 0, 1: 0}), tmp_path)
    assert made.seen(query(p0=60, p1=50), (), START)[0].left == 40
    # Task 0 may read any partition; positions are of the last record, so the next one is to come.
    taken = (
        meter(0, 0, position=at(1, 49)),
        meter(0, 1, position=at(0, 97)),
        meter(1),
    )
    assert made.seen(query(p0=60, p1=20), taken, START)[0].left == 2


def test_what_is_left_is_not_known_before_it_is_known_where_a_partition_began(
    tmp_path: Path,
) -> None:
    made = topics(ScriptedTopic({0: 100, 1: 50}, {}), tmp_path)
    first = (meter(0, 0, position=at(0, 99)),)
    assert made.seen(query(), first, START)[0].left is None
    assert made.seen(query(), (*first, meter(0, 1, position=at(1, 9))), START)[0].left == 40


def test_a_topic_that_has_grown_is_told_once(tmp_path: Path) -> None:
    topic = ScriptedTopic({}, {})
    made = topics(topic, tmp_path)
    assert made.news() == []
    topic.partitions = 3
    (told,) = made.news()
    assert told.startswith("topic 'orders' has 3 partitions now: to give them places, set")
    assert made.news() == []


def test_a_broker_that_no_longer_answers_is_told_once(tmp_path: Path) -> None:
    topic = ScriptedTopic({}, {})
    made = topics(topic, tmp_path)
    assert not made.lacks_broker
    topic.answers = False
    assert made.lacks_broker
    assert made.news() == ["no broker answers for topic 'orders'"]
    assert made.news() == []
    topic.answers = True
    assert made.news() == ["a broker answers again for topic 'orders'"]


class Answer:
    """As a future of Kafka's client; a question that failed is done, and has no offsets."""

    def __init__(self, offsets: Any = None, failure: str = "TimeoutException") -> None:
        self.offsets, self.is_done, self.failure = offsets, False, failure

    def get(self, wait: int, unit: Any) -> Any:
        if not self.is_done or self.offsets is None:
            kind = SimpleNamespace(getSimpleName=lambda: self.failure)
            cause = SimpleNamespace(getClass=lambda: kind)
            thrown = SimpleNamespace(_target_id="o1", getCause=lambda: cause)
            raise Py4JJavaError("no answer", thrown)
        return self.offsets

    def isDone(self) -> bool:  # noqa: N802
        return self.is_done


def test_a_broker_answers_until_a_question_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    java: Any = SimpleNamespace(
        java=SimpleNamespace(
            util=SimpleNamespace(
                concurrent=SimpleNamespace(TimeUnit=SimpleNamespace(MILLISECONDS="ms"))
            )
        )
    )
    questions: list[Answer] = []
    admin: Any = SimpleNamespace(
        describeTopics=lambda names: SimpleNamespace(allTopicNames=lambda: Answer())
    )
    operator: Any = SimpleNamespace(logic=SimpleNamespace(options=SERVERS), kind="source")
    topic = _Topic(SimpleNamespace(_jvm=java), operator, admin, 1, 1)  # type: ignore[arg-type]
    monkeypatch.setattr(_Topic, "_offsets", lambda self: questions[-1])
    questions.append(Answer())
    assert topic.ends() is None
    assert topic.answers  # the question is not answered yet, and has not failed
    questions[-1].is_done = True
    assert topic.ends() is None
    assert not topic.answers
    offsets: Any = OneOffset()
    questions.append(Answer(offsets))
    questions[-1].is_done = True
    assert topic.ends() == {0: 7}
    assert topic.answers
    questions.append(Answer(failure="UnknownTopicOrPartitionException"))
    questions[-1].is_done = True
    assert topic.ends() is None
    assert topic.answers  # it says that there is no such topic


class OneOffset:
    """As Java's map of partitions to offsets."""

    def keySet(self) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(partition=lambda: 0)]

    def get(self, key: Any) -> Any:
        return SimpleNamespace(offset=lambda: 7)


@pytest.mark.parametrize(("left", "backlog"), [(700, 700), (0, 0), (None, None)])
def test_rate_and_backlog_come_from_the_topic(left: int | None, backlog: int | None) -> None:
    of = replace(watched("s>k", offered=100.0), is_scheduled=True)
    counted = {"arrivals": 500, "last_due": START + 1}
    seen = observe(
        of,
        [
            replace(
                snapshot([meter(0, **c), meter(1)], {"a": START + second}),  # type: ignore[arg-type]
                topics={0: TopicState(START + second, written, left)},
            )
            for second, written, c in ((0, 1000, {}), (2, 1600, counted))
        ],
    )
    assert (seen.offered_rate, seen.backlog) == (300, backlog)
