"""So much of Kubernetes' API as Spark's driver needs: pods are processes of this machine.

Nodes have cores, and a pod goes to the node with most cores left, among those that its affinity
allows; others wait. A pod's container runs the image's own entrypoint, at a loopback address.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import slotwise.spark.kubernetes
from slotwise.spark.cluster import java

ENTRYPOINT = Path(slotwise.spark.kubernetes.__file__).with_name("entrypoint.sh")
HOSTNAME = "kubernetes.io/hostname"
PODS, CONFIG_MAPS = "pods", "configmaps"


@dataclass
class Kubernetes:
    """Its state: objects as they were posted, and the processes of pods."""

    cores: Mapping[str, int]
    """Of each node."""
    folder: Path
    address: str = ""
    objects: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Kind, name, object."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    """By pod."""
    lock: Lock = field(default_factory=Lock)
    posted: int = 0

    def post(self, kind: str, made: dict[str, Any]) -> dict[str, Any]:
        self.posted += 1
        made["metadata"] |= {"uid": str(self.posted), "resourceVersion": str(self.posted)}
        made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        self.objects.setdefault(kind, {})[made["metadata"]["name"]] = made
        if kind == PODS and made["metadata"]["labels"]["spark-role"] == "executor":
            made["status"] = {"phase": "Pending", "podIP": f"127.0.0.{40 + self.posted}"}
            self._schedule()
        return made

    def listed(self, kind: str, selector: str) -> list[dict[str, Any]]:
        if kind == PODS:
            for pod in self.objects.get(PODS, {}).values():
                self._look_at(pod)
        return [each for each in self.objects.get(kind, {}).values() if _is(each, selector)]

    def delete(self, kind: str, name: str) -> None:
        made = self.objects[kind].pop(name)
        if kind == PODS and made["metadata"]["name"] in self.processes:
            self.end(name)
            self._schedule()

    def end(self, pod: str) -> None:
        """Kill its process."""
        self.processes[pod].kill()
        self.processes[pod].wait()

    def _schedule(self) -> None:
        for pod in self.objects[PODS].values():
            free = {node: self._free(node) for node in _allowed(pod, self.cores)}
            node = max(free, key=lambda name: free[name], default=None)
            if pod["status"]["phase"] == "Pending" and node and free[node] >= _cores(pod):
                self._run(pod, node)

    def _free(self, node: str) -> float:
        return self.cores[node] - sum(
            _cores(pod)
            for pod in self.objects[PODS].values()
            if pod["spec"].get("nodeName") == node and pod["status"]["phase"] == "Running"
        )

    def _run(self, pod: dict[str, Any], node: str) -> None:
        pod["spec"]["nodeName"] = node
        _state(pod, "Running", {"running": {}})
        name = pod["metadata"]["name"]
        (container,) = pod["spec"]["containers"]
        home = {"SPARK_HOME": str(java.spark_home()), "PATH": os.environ["PATH"]}
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                ["sh", str(ENTRYPOINT), *container["args"]],
                env={**home, **_environment(pod, container)},
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def _look_at(self, pod: dict[str, Any]) -> None:
        process = self.processes.get(pod["metadata"]["name"])
        if process is not None and process.poll() is not None:
            ended = {"terminated": {"exitCode": process.returncode}}
            _state(pod, "Failed" if process.returncode else "Succeeded", ended)


def _state(pod: dict[str, Any], phase: str, state: dict[str, Any]) -> None:
    name = pod["spec"]["containers"][0]["name"]
    pod["status"] |= {"phase": phase, "containerStatuses": [{"name": name, "state": state}]}


def _cores(pod: dict[str, Any]) -> float:
    return float(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _allowed(pod: dict[str, Any], nodes: Mapping[str, int]) -> list[str]:
    """The nodes that the pod's affinity names."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return list(nodes)
    (term,) = required["nodeSelectorTerms"]
    (rule,) = term["matchExpressions"]
    assert (rule["key"], rule["operator"]) == (HOSTNAME, "In")
    return [node for node in nodes if node in rule["values"]]


def _environment(pod: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
    fields = {
        "status.podIP": pod["status"]["podIP"],
        "metadata.name": pod["metadata"]["name"],
        "spec.nodeName": pod["spec"]["nodeName"],
    }
    return {
        each["name"]: fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        if "valueFrom" in each
        else each.get("value", "")
        for each in container["env"]
    }


def _is(made: dict[str, Any], selector: str) -> bool:
    """Whether the labels of an object are as a selector says: `a=b,c in (d,e),f!=g`."""
    labels = made["metadata"].get("labels", {})
    for name, values in re.findall(r"([\w./-]+) in \(([^)]*)\)", selector):
        if labels.get(name) not in values.split(","):
            return False
    plain = re.sub(r"[\w./-]+ in \([^)]*\)", "", selector)
    for name, operator, value in re.findall(r"([\w./-]+)(!?==?)([^,]*)", plain):
        if (labels.get(name) == value) == operator.startswith("!"):
            return False
    return True


@contextmanager
def serving(cores: Mapping[str, int], folder: Path) -> Iterator[Kubernetes]:
    """Its API; what pods run is ended after."""
    state = Kubernetes(cores, folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with state.lock:
                self._answer(201, state.post(self._place()[0], self._body()))

        def do_GET(self) -> None:
            kind, name = self._place()
            with state.lock:
                if name:
                    found = state.objects.get(kind, {}).get(name)
                    self._answer(200 if found else 404, found or {"kind": "Status"})
                else:
                    self._answer(200, {"kind": "List", "items": state.listed(kind, self._labels())})

        def do_PATCH(self) -> None:
            kind, name = self._place()
            with state.lock:
                change = self._body()
                made = state.objects.get(kind, {}).get(name) or state.post(kind, change)
                made["metadata"].setdefault("labels", {}).update(
                    change["metadata"].get("labels", {})
                )
                self._answer(200, made)

        def do_DELETE(self) -> None:
            kind, name = self._place()
            with state.lock:
                found = [name] if name else [_name(o) for o in state.listed(kind, self._labels())]
                for each in found:
                    if each in state.objects.get(kind, {}):
                        state.delete(kind, each)
                self._answer(200, {"kind": "Status", "status": "Success"})

        def _place(self) -> tuple[str, str]:
            """Kind and name in /api/v1/namespaces/NAMESPACE/KIND/NAME."""
            parts = [*urlsplit(self.path).path.split("/")[5:], ""]
            return parts[0], parts[1]

        def _labels(self) -> str:
            return parse_qs(urlsplit(self.path).query).get("labelSelector", [""])[0]

        def _body(self) -> dict[str, Any]:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            made: dict[str, Any] = json.loads(body or b"{}")
            return made

        def _answer(self, status: int, made: dict[str, Any]) -> None:
            if self.command == "DELETE":
                self._body()
            told = json.dumps({"apiVersion": "v1", **made}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.address = f"k8s://http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield state
        finally:
            server.shutdown()
            for pod, process in state.processes.items():
                if process.poll() is None:
                    state.end(pod)


def _name(made: dict[str, Any]) -> str:
    return str(made["metadata"]["name"])
