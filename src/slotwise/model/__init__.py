"""The nouns of Slotwise: frozen values that know nobody and do no I/O."""

from slotwise.model.allocation import Allocation, Bundle, OperatorAllocation, whole
from slotwise.model.cluster import Cluster, Node, Slot, VmType
from slotwise.model.decision import Decision, Gain
from slotwise.model.deployment import Change, Deployment, Fault
from slotwise.model.errors import ModelError, Refused, SlotwiseError
from slotwise.model.goals import USUAL_HEADROOM, Goals, Verdict, missed
from slotwise.model.measurement import Measurement
from slotwise.model.observation import (
    LinkLoad,
    Observation,
    OperatorLoad,
    Prediction,
    SlotLoad,
    StreamLoad,
    ThreadLoad,
    TimeSeries,
    is_stable,
)
from slotwise.model.pipeline import Choice, NetworkDelays, Pipeline, Scheduler
from slotwise.model.placement import CommunicationSchedule, Placement
from slotwise.model.plan import Plan
from slotwise.model.platform import Hop, Platform
from slotwise.model.profile import (
    FixedLoad,
    Profile,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.model.profiles import Profiles
from slotwise.model.refusal import Refusal
from slotwise.model.schedule import Schedule
from slotwise.model.topology import Grouping, Join, Logic, Operator, Stream, Topology
from slotwise.model.traffic import ThreadTraffic
from slotwise.model.words import counted

__all__ = [
    "USUAL_HEADROOM",
    "Allocation",
    "Bundle",
    "Change",
    "Choice",
    "Cluster",
    "CommunicationSchedule",
    "Decision",
    "Deployment",
    "Fault",
    "FixedLoad",
    "Gain",
    "Goals",
    "Grouping",
    "Hop",
    "Join",
    "LinkLoad",
    "Logic",
    "Measurement",
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
    "Platform",
    "Prediction",
    "Profile",
    "ProfileForms",
    "Profiles",
    "Refusal",
    "Refused",
    "Schedule",
    "Scheduler",
    "ServiceRate",
    "Slot",
    "SlotLoad",
    "SlotwiseError",
    "Stream",
    "StreamLoad",
    "TaskCosts",
    "ThreadLoad",
    "ThreadRow",
    "ThreadTable",
    "ThreadTraffic",
    "TimeSeries",
    "Topology",
    "Verdict",
    "VmType",
    "counted",
    "is_stable",
    "missed",
    "whole",
]
