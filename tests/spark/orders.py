"""Orders that are written to a topic while a test goes on: some are always in flight."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.spark.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE = 100
TEXTS = "org.apache.kafka.common.serialization.StringSerializer"


@dataclass
class Orders:
    """As they are written: `sent` of them until now."""

    countries: tuple[str, ...]
    partitions: int
    sent: int = 0
    _end: threading.Event = field(default_factory=threading.Event)

    def order(self, number: int) -> dict[str, Any]:
        country = self.countries[number % len(self.countries)]
        return {"number": number, "country": country, "amount": float(number % 200)}

    def end(self) -> None:
        self._end.set()

    def write(self, clients: Any, producer: Any, topic: str) -> None:
        while not self._end.wait(1 / RATE):
            text = json.dumps(self.order(self.sent))
            partition = self.sent % self.partitions
            producer.send(clients.ProducerRecord(topic, partition, None, text))
            self.sent += 1


@contextmanager
def flowing(
    spark: SparkSession, broker: Broker, topic: str, partitions: int, countries: tuple[str, ...]
) -> Iterator[Orders]:
    """Orders are written until `end`, also while the broker is gone; each once."""
    java: Any = spark._jvm
    clients = java.org.apache.kafka.clients.producer
    settings = {"bootstrap.servers": broker.servers}
    settings |= dict.fromkeys(("key.serializer", "value.serializer"), TEXTS)
    producer = clients.KafkaProducer(settings)
    orders = Orders(countries, partitions)
    writing = threading.Thread(target=orders.write, args=(clients, producer, topic))
    writing.start()
    try:
        yield orders
    finally:
        orders.end()
        writing.join()
        producer.close()
