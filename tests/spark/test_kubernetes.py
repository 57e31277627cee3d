"""A plan on Kubernetes' API, as far as that goes without Kubernetes: pods are processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.programs import told_by

pytestmark = pytest.mark.cluster


def test_a_plan_runs_in_pods_and_goes_on_when_one_is_killed(tmp_path: Path) -> None:
    """With Spark's authentication; the secret is made for the run."""
    told = told_by("on_kubernetes", tmp_path)
    # Its nodes have names, so none of the pods is on the other node, which is as large.
    assert told["hosts"] == ["small", "large", "large"]
    assert len(told["placed"]) == len(told["after"]) == 7
    assert all(slot == planned >= 0 for slot, planned in told["placed"] + told["after"])
    assert told["complete"]
    assert told["left"] == []
    for pod in told["pods"]:
        (container,) = pod["containers"]
        assert container["image"] == "slotwise"
        assert container["resources"]["requests"]["cpu"] == "1"
    driver = told["driver"]
    assert driver["applied"] == ["ServiceAccount", "Role", "RoleBinding", "ConfigMap"]
    assert driver["pod"]["serviceAccountName"] == "slotwise"
    (container,) = driver["pod"]["containers"]
    assert container["resources"]["requests"]["cpu"] == "1"
    assert "/opt/slotwise/work" in [mount["mountPath"] for mount in container["volumeMounts"]]
    arguments = container["args"]
    program = arguments.index("local:///opt/slotwise/python/slotwise/spark/submitted.py")
    assert arguments[0] == "driver"
    assert arguments[program + 1 : program + 3] == ["run", "/opt/slotwise/work/spec.yaml"]
    assert arguments[-2:] == ["--for", "1h"]
