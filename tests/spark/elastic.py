"""A third node for the shared cluster's machines."""

from __future__ import annotations

from slotwise.model import Cluster, Node
from tests.spark.conftest import MODEL

MORE = Cluster((*MODEL.nodes, Node("more", 1, 1.0)), slot_memory_gb=1.0)
