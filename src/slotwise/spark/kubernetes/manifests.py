"""What a plan needs on Kubernetes before spark-submit runs: as YAML."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from slotwise.model import Cluster
from slotwise.spark.cluster.masters import EXECUTOR_POD
from slotwise.spark.kubernetes.image import WORK

ACCOUNT = "slotwise"
"""The driver's service account, and its role."""
EXECUTOR_TEMPLATE = "executor-pod.yaml"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
HOSTNAME = "kubernetes.io/hostname"
VOLUME = "slotwise-work"

Manifest = dict[str, Any]


def manifests(name: str, namespace: str, files: Mapping[str, str]) -> list[Manifest]:
    """The driver's account with its rights, and `files` for the driver, by their names."""
    labelled = {"namespace": namespace, "labels": {"app.kubernetes.io/name": "slotwise"}}
    account = {"metadata": {"name": ACCOUNT, **labelled}}
    api = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", **account},
        {"apiVersion": f"{api}/v1", "kind": "Role", **account, "rules": [_rights()]},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            **account,
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
            "roleRef": {"kind": "Role", "name": ACCOUNT, "apiGroup": api},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, **labelled},
            "data": {file: LiteralScalarString(text) for file, text in files.items()},
        },
    ]


def _rights() -> Manifest:
    """What Spark's driver does with the pods of its executors, and what belongs to these."""
    return {
        "apiGroups": [""],
        "resources": ["pods", "services", "configmaps", "persistentvolumeclaims"],
        "verbs": ["create", "get", "list", "watch", "patch", "delete", "deletecollection"],
    }


def driver_pod(name: str) -> Manifest:
    """The template of the driver's pod: it finds the files of `manifests` in its folder."""
    mount = {"name": VOLUME, "mountPath": WORK, "readOnly": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "containers": [{"name": "spark-kubernetes-driver", "volumeMounts": [mount]}],
            "volumes": [{"name": VOLUME, "configMap": {"name": name}}],
        },
    }


def executor_pod(cluster: Cluster) -> Manifest:
    """The template of the executors' pods: on nodes of the plan's types; of a cluster whose nodes
    are named, on these nodes.
    """
    made: Manifest = YAML(typ="safe").load(EXECUTOR_POD.read_text(encoding="utf-8"))
    types = [node.type for node in cluster.nodes]
    names = [node.name for node in cluster.nodes]
    key, values = (HOSTNAME, names) if None in types else (INSTANCE_TYPE, types)
    rule = {"key": key, "operator": "In", "values": sorted({str(value) for value in values})}
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    made["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    return made


def text(documents: Iterable[Manifest]) -> str:
    """As one YAML text."""
    yaml = YAML()
    yaml.width = 4096
    yaml.representer.ignore_aliases = lambda *_: True
    stream = io.StringIO()
    yaml.dump_all(list(documents), stream)
    return stream.getvalue()
