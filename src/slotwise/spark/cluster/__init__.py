"""Processes, executors and slots: a Spark cluster as the planner sees one."""

from slotwise.spark.cluster.executors import SlotExecutor, scheduler, slots
from slotwise.spark.cluster.machines import Machines
from slotwise.spark.cluster.sessions import connect, driver, has_functions, local, session
from slotwise.spark.cluster.site import Site
from slotwise.spark.cluster.standalone import (
    SparkCluster,
    check,
    check_master,
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
    "check_master",
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
    "worker_host",
]
