"""The nouns of Slotwise: frozen values that know nobody and do no I/O."""

from slotwise.model.allocation import Allocation, Bundle, OperatorAllocation, whole
from slotwise.model.cluster import Cluster, Node, Slot, VmType
from slotwise.model.errors import ModelError, Refused, SlotwiseError
from slotwise.model.observation import (
    Observation,
    OperatorLoad,
    Prediction,
    SlotLoad,
    ThreadLoad,
    TimeSeries,
)
from slotwise.model.pipeline import Choice, Goals, NetworkDelays, Pipeline, Scheduler
from slotwise.model.placement import CommunicationSchedule, Placement
from slotwise.model.plan import Plan
from slotwise.model.profile import (
    FixedLoad,
    Profile,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.model.refusal import Refusal
from slotwise.model.topology import Grouping, Logic, Operator, Stream, Topology
from slotwise.model.traffic import ThreadTraffic, Traffic

__all__ = [
    "Allocation",
    "Bundle",
    "Choice",
    "Cluster",
    "CommunicationSchedule",
    "FixedLoad",
    "Goals",
    "Grouping",
    "Logic",
    "ModelError",
    "NetworkDelays",
    "Node",
    "Observation",
    "Operator",
    "OperatorAllocation",
    "OperatorLoad",
    "Pipeline",
    "Placement",
    "Plan",
    "Prediction",
    "Profile",
    "Profiles",
    "Refusal",
    "Refused",
    "Scheduler",
    "ServiceRate",
    "Slot",
    "SlotLoad",
    "SlotwiseError",
    "Stream",
    "TaskCosts",
    "ThreadLoad",
    "ThreadRow",
    "ThreadTable",
    "ThreadTraffic",
    "TimeSeries",
    "Topology",
    "Traffic",
    "VmType",
    "whole",
]
