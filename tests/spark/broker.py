"""A Kafka broker for tests: one node, on a port and in a folder of its own."""

from __future__ import annotations

import base64
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.clock import await_condition
from slotwise.spark.cluster import java
from slotwise.spark.cluster.processes import free_port
from tests.spark import maven

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HOST = "127.0.0.1"
START_S = 60
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class Message(NamedTuple):
    key: str | None
    value: str
    partition: int
    offset: int
    headers: dict[str, str]


def _java(spark: SparkSession) -> Any:
    return spark._jvm


@dataclass
class Broker:
    """`start` and `kill` as often as a test likes; what topics hold stays."""

    folder: Path
    port: int
    controller: int
    _process: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        command = self._command("-Xmx256m", "kafka.Kafka", str(self.folder / "server.properties"))
        with (self.folder / "log").open("ab") as log:
            self._process.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        assert await_condition(self._answers, START_S), (self.folder / "log").read_text()[-3000:]

    def kill(self) -> None:
        """As with kill -9."""
        while self._process:
            process = self._process.pop()
            process.kill()
            process.wait()

    def format(self) -> None:
        (self.folder / "server.properties").write_text(
            SETTINGS.format(
                host=HOST, port=self.port, controller=self.controller, folder=self.folder
            )
        )
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        subprocess.run(
            self._command(
                *("kafka.tools.StorageTool", "format", "-t", cluster),
                *("-c", str(self.folder / "server.properties")),
            ),
            check=True,
            capture_output=True,
        )

    # -- what topics hold, by way of Spark ----------------------------------------------------

    def create(
        self, spark: SparkSession, topic: str, partitions: int = 1, *, by_broker: bool = False
    ) -> str:
        """`by_broker`: messages have the time at which the broker appended them."""
        made = _java(spark).org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1)
        if by_broker:
            made = made.configs({"message.timestamp.type": "LogAppendTime"})
        with self._admin(spark) as admin:
            admin.createTopics([made]).all().get()
        return topic

    def grow(self, spark: SparkSession, topic: str, partitions: int) -> None:
        to = _java(spark).org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        with self._admin(spark) as admin:
            admin.createPartitions({topic: to}).all().get()

    def send(self, frame: DataFrame, topic: str) -> None:
        """Rows with the column value, and if they like key and partition."""
        given = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        frame.write.format("kafka").options(**given).save()

    def messages(self, spark: SparkSession, topic: str) -> list[Message]:
        """All there are, by partition and offset."""
        given = {"kafka.bootstrap.servers": self.servers, "subscribe": topic}
        frame = spark.read.format("kafka").options(**given).option("includeHeaders", True).load()
        columns = ["CAST(key AS STRING)", "CAST(value AS STRING)", "partition", "offset", "headers"]
        rows = frame.selectExpr(*columns).orderBy("partition", "offset").collect()
        return [
            Message(
                *(row["key"], row["value"], row["partition"], row["offset"]),
                {header["key"]: header["value"].decode() for header in row["headers"] or ()},
            )
            for row in rows
        ]

    @contextmanager
    def _admin(self, spark: SparkSession) -> Iterator[Any]:
        clients = _java(spark).org.apache.kafka.clients.admin
        admin = clients.AdminClient.create({"bootstrap.servers": self.servers})
        try:
            yield admin
        finally:
            admin.close()

    def _command(self, *arguments: str) -> list[str]:
        quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        return [java.java(), *quick, "-cp", f"{maven.broker()}/*", *arguments]

    def _answers(self) -> bool:
        assert self._process[-1].poll() is None, (self.folder / "log").read_text()[-3000:]
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    """A broker that is up; it is gone at the end."""
    made = Broker(folder, free_port(HOST), free_port(HOST))
    made.format()
    try:
        made.start()
        yield made
    finally:
        made.kill()
