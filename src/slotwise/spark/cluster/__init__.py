"""Processes, executors and slots: a Spark cluster as the planner sees one."""

from slotwise.spark.cluster.connecting import connect
from slotwise.spark.cluster.executors import SlotExecutor, scheduler, slots, threads_per_slot
from slotwise.spark.cluster.machines import Machines
from slotwise.spark.cluster.sessions import driver, has_functions, local, session
from slotwise.spark.cluster.site import Site
from slotwise.spark.cluster.standalone import (
    SparkCluster,
    check,
    embedded,
    existing,
    prepared,
    started,
    worker_host,
)

__all__ = [
    "Machines",
    "Site",
    "SlotExecutor",
    "SparkCluster",
    "check",
    "connect",
    "driver",
    "embedded",
    "existing",
    "has_functions",
    "local",
    "prepared",
    "scheduler",
    "session",
    "slots",
    "started",
    "threads_per_slot",
    "worker_host",
]
