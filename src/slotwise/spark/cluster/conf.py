"""Settings of Spark that a user gives: `conf` of a spec and `--spark-conf`.

They are passed to Spark as they are, with three exceptions. What a plan says itself is refused.
Lists that Slotwise has an entry in, such as Spark's plugins, get the user's after it. And an
embedded cluster's master and workers get those of authentication and encryption, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from slotwise.model import SlotwiseError

PREFIX = "spark."
OWNED = {
    "spark.master": "use --master",
    "spark.submit.deployMode": "the driver runs where slotwise runs",
    "spark.cores.max": "the plan says how many slots there are",
    "spark.executor.instances": "the plan says how many slots there are",
    "spark.executor.cores": "a slot is an executor of one core",
    "spark.task.cpus": "it follows from the number of threads of the plan",
    "spark.executor.memory": "use --slot-memory-mb",
    "spark.jars": "list the files under 'jars' in the spec",
    "spark.jars.packages": "list the libraries under 'packages' in the spec",
    "spark.speculation": "threads of a plan run once, each in its slot",
    "spark.sql.adaptive.enabled": "the plan says how many threads there are",
    "spark.sql.shuffle.partitions": "the plan says how many threads there are",
    "spark.sql.variable.substitute": "names and texts of a spec are taken as they are",
    "spark.scheduler.mode": "threads of a plan run all at the same time",
}
"""What the plan or another option says, and what to do instead."""
OWNED_GROUPS = {
    "spark.dynamicAllocation.": "use --controller, which adds and gives back machines",
    "spark.locality.wait": "the plan says where each thread runs",
    "spark.scheduler.pipelinedGroup.": "the plan was admitted by the planner",
    "spark.slotwise.cgroup": "use --cores-per-slot",
}
LISTS = {
    "spark.plugins": ",",
    "spark.sql.extensions": ",",
    "spark.driver.extraClassPath": os.pathsep,
    "spark.executor.extraClassPath": os.pathsep,
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
}
"""Settings with several values, and what separates these."""
AT_LAUNCH = (
    "spark.driver.extraClassPath",
    "spark.driver.extraJavaOptions",
    "spark.driver.memory",
    "spark.jars.packages",
)
"""What a driver's Java has from its start on."""
OF_DAEMONS = ("spark.authenticate", "spark.network.", "spark.ssl.", "spark.rpc.")
"""What the two ends of a connection must agree on."""


def check(conf: Mapping[str, str]) -> None:
    """Raise SlotwiseError, with one sentence, for a setting that is not the user's to make."""
    for name in conf:
        if not name.startswith(PREFIX):
            raise SlotwiseError(
                f"'{name}' is no setting of Spark: their names begin with '{PREFIX}', those of "
                f"Hadoop with '{PREFIX}hadoop.'"
            )
        groups = (why for group, why in OWNED_GROUPS.items() if name.startswith(group))
        if (why := OWNED.get(name) or next(groups, None)) is not None:
            raise SlotwiseError(f"{name} is set by slotwise: remove it; {why}")


def joined(ours: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Both; where they differ, `given`, and of a list ours first.

    >>> joined({"spark.plugins": "a", "spark.ui.enabled": "false"}, {"spark.plugins": "b"})
    {'spark.plugins': 'a,b', 'spark.ui.enabled': 'false'}
    """
    made = {**ours, **given}
    for name, separator in LISTS.items():
        if ours.get(name) and name in given:
            made[name] = f"{ours[name]}{separator}{given[name]}"
    return made


def watched(event_log: str | None, page: bool) -> dict[str, str]:
    """Of a run that Spark itself shows: its event log, in a folder of this machine, which is made,
    or at an address such as hdfs://host/logs; and its page.
    """
    made = {"spark.ui.enabled": "true"} if page else {}
    if event_log is not None:
        made |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": _address(event_log)}
    return made


def _address(folder: str) -> str:
    if "://" in folder:
        return folder
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SlotwiseError(f"--event-log {folder}: {error.strerror}") from None
    return path.resolve().as_uri()


def of_daemons(conf: Mapping[str, str]) -> dict[str, str]:
    """Of the settings those that an embedded cluster's master and workers need, too."""
    return {name: value for name, value in conf.items() if name.startswith(OF_DAEMONS)}
