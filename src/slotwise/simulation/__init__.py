"""simulate(plan, rate) -> Observation: what would this plan do?

    simulate(
        plan,
        rate=None,                  # input tuples/s; None: the rate the plan is for
        arrivals=Arrivals(),        # constant, poisson, uniform, trace; with a Schedule
        service=ServiceTimes(),     # or {operator: ServiceTimes(...)}
        keys=Keys(),                # what `fields` grouping groups by
        routing=Routing(),          # round robin or random; fixed or random selectivity; queues
        network=Network(),          # delays, costs at both ends, bandwidth, paper 4's steps
        buffers=Buffers(),          # unbounded; bounded: back-pressure, or loss and resend
        speeds=Speeds(),            # operators and nodes that become slower or faster in mid-run
        tuples=100_000,             # input tuples; or
        duration_s=None,            # how long sources emit
        warm_up=0.1,                # this part of the duration does not count
        seed=0,
        changes=(),                 # PlanChange(at_s, plan, pause_s), in order of time
        kernel=None,                # "feed-forward" or "events"; None: the fastest that can
    ) -> Observation

`SimulatedDeployment` (deployment.py) is the same run in steps, for controllers: `advance`,
`observe` the last seconds, `apply` another plan.

Sources emit for the duration, then all that is under way is handled to the end, so every tuple is
counted in full and a run always ends. Every figure but the time series counts the tuples *caused
by inputs that arrived after the warm-up*. See model.Observation for what comes out.

Two kernels give one answer. `feed_forward` computes whole operators at a time, in time chunks;
it needs a topology without loops, unbounded buffers, no bandwidth limit, and no change of plan or
of speed.
`events` does all. Random numbers are a function of (seed, thread, how many tuples it handled
before), and tuples that reach a thread at the same time are taken by (sender, number), so neither
the kernel nor the order of computing changes a single number: see draws.py.
"""

from slotwise.simulation.deployment import SimulatedDeployment
from slotwise.simulation.options import (
    Arrivals,
    Buffers,
    Keys,
    Network,
    Options,
    PlanChange,
    Routing,
    ServiceTimes,
    Speeds,
)
from slotwise.simulation.run import simulate

__all__ = [
    "Arrivals",
    "Buffers",
    "Keys",
    "Network",
    "Options",
    "PlanChange",
    "Routing",
    "ServiceTimes",
    "SimulatedDeployment",
    "Speeds",
    "simulate",
]
