"""What the functions of a query find beside it: services to call, and a folder to write to.

`service_url('store')` is the address of the bundled store (workloads/store.py), which then runs as
long as the query; `write_lines` writes to a folder that is removed with it. Spark's settings carry
both: `spark.slotwise.service.NAME` and `spark.slotwise.files`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

from slotwise.model import SlotwiseError, Topology
from slotwise.spark.cluster.folders import passing_folder
from slotwise.suggestions import instead_of
from slotwise.workloads import store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVICES: Mapping[str, Callable[[str], AbstractContextManager[str]]] = {"store": store.serving}
"""Name -> serves on a host and gives the address."""
FILES = "spark.slotwise.files"
SERVICE = "spark.slotwise.service."
LOOPBACK = "127.0.0.1"


@contextmanager
def provided(spark: SparkSession, of: Topology, *, on_this_machine: bool = True) -> Iterator[None]:
    """Everything that the expressions of a topology name, started; stopped after.

    What the session's settings have already is left as it is. Executors on other machines reach
    services by this machine's name; the folder is then on each of them, and stays there.
    """
    with ExitStack() as stack:
        for name in services_of(of):
            if spark.conf.get(SERVICE + name, None) is None:
                host = LOOPBACK if on_this_machine else socket.gethostname()
                address = stack.enter_context(SERVICES[name](host))
                stack.enter_context(_set(spark, SERVICE + name, address))
        if _calls(of, r"write_lines\s*\(") and spark.conf.get(FILES, None) is None:
            folder = stack.enter_context(passing_folder())
            stack.enter_context(_set(spark, FILES, str(folder)))
        yield


@contextmanager
def named_only(spark: SparkSession, of: Topology) -> Iterator[None]:
    """Settings that let a query be analysed, with nothing started."""
    with ExitStack() as stack:
        for name in services_of(of):
            stack.enter_context(_set(spark, SERVICE + name, f"http://{name}"))
        stack.enter_context(_set(spark, FILES, "files"))
        yield


def services_of(of: Topology) -> list[str]:
    """The services that expressions call. Raises SlotwiseError for an unknown one."""
    names = sorted(set(_calls(of, r"service_url\s*\(\s*'([^']*)'\s*\)")))
    for name in names:
        if name not in SERVICES:
            raise SlotwiseError(f"unknown service '{name}': {instead_of(name, tuple(SERVICES))}")
    return names


def _calls(of: Topology, pattern: str) -> list[str]:
    texts = (text or "" for o in of.operators for text in (o.logic.expr, o.logic.where))
    return [found for text in texts for found in re.findall(pattern, text)]


@contextmanager
def _set(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if not spark.sparkContext._jsc.sc().isStopped():
            spark.conf.unset(name)
