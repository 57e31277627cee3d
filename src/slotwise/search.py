"""The default: of all plans that the algorithms make, the cheapest that holds its goals.

Sizes are sought best first. A *sizing* is what one allocator gives at one margin over the rate; no
placement of it costs less than the machines for its slots, so sizings are opened by that cost, and
plans wait beside them with what they do cost. Whatever is next when a plan's turn comes cannot be
cheaper. Its goals must be met by the prediction, and then by a simulation: the first plan that
passes both is the answer. Plans of one cost come in order of latency, then of slots.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from slotwise import registry
from slotwise.advice import advice
from slotwise.allocators.percentile import Percentile
from slotwise.confirmation import confirmed
from slotwise.fitting import first_true, grown
from slotwise.model import (
    USUAL_HEADROOM,
    Allocation,
    Choice,
    Plan,
    Refusal,
    Refused,
    Topology,
    missed,
)
from slotwise.model.limits import LARGEST, check_range
from slotwise.placers.partition import Partition
from slotwise.planner import Request
from slotwise.ranking import described, distance, in_short, is_met, is_promising, latency_ms, pair

MARGINS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Times the rate that just leaves the headroom: more threads make up for unequal slots, keys of
unequal frequency, and waiting."""
LESS = (0.8, 0.6, 0.4, 0.2, 0.1, 0.05)
"""Where a cluster holds none of these: parts of the rate, to find the nearest plan."""
PROVISIONER = Choice("cheapest")
FEW_MARGINS = (1.0, 1.5, 3.0)
"""To find out how many machines would be enough."""
EXACT = Choice("exact", {"effort": 0.05})
"""Tried where all other placers need more machines than the slots of the allocation fill."""
ONLINE = Choice("traffic")
"""Paper 2's online placer is tried where traffic was measured; before that, its offline one."""
FINE_MARGINS = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0)
QUICK_PLACERS = ("sam", "p-deployer", "partition", "round-robin")
"""They pack, each in another way, or spread evenly; all take milliseconds."""
MOST_QUICK, MOST_QUICKLY_PLACED = 60, 40_000
"""Placements of a quick search, and threads over all of them."""
LARGE = 1000
"""With more threads than this, a quick search takes larger steps, with QUICK_PLACERS[:1] only."""
MOST_QUICKLY_CUT = 200_000
"""Pairs of threads: METIS takes a second for a million, so beyond this `partition` is not quick."""
CLEARLY_MORE, CLEARLY_MORE_OF_LARGE = 1.05, 1.15
"""Threads for which no placement was promising get another chance in so many times the slots; where
they are LARGE, all others, too."""
MOST_THREADS_PLACED = 300_000
"""Over all placers and sizings: bounds the time of a search, whatever the size of the pipeline."""
MOST_SIMULATED = 16
ESTIMATED = 1.05
"""Predicted latencies may be off by so much: such a plan is worth a simulation."""
SURE = 0.92
"""A latency within this part of its goal in one simulation holds with other random numbers, too."""
OTHER_SEEDS = (101, 102, 103, 104)
"""They decide where a latency is closer to its goal."""
RUNNERS_UP = 5


def search(request: Request, most_s: float = math.inf) -> Plan:
    """The cheapest plan that meets the goals; where none does, the nearest, with what would help.

    What the request's scheduler names is kept; every built-in algorithm is tried for what is
    `auto`. Raises the first refusal if nothing can be placed at all. Deterministic: the effort
    is bounded by counts, not by time, unless somebody waits for the answer: after `most_s` seconds
    and the step that is under way, what has come nearest is the answer.
    """
    until_s = time.monotonic() + most_s
    check_range(request.rate, "the rate")
    goals = request.pipeline.goals
    if goals.headroom is None:
        goals = replace(goals, headroom=USUAL_HEADROOM)
    whole = replace(request, pipeline=replace(request.pipeline, goals=goals))
    state = _Search(whole, until_s=until_s)
    found = state.cheapest()
    if found is not None:
        return state.explained(found, f"the cheapest of {state.made} plans that meets all goals")
    nearest = state.nearest()
    report = f"no plan of {state.made} meets all goals: this one comes nearest"
    if state.is_late:
        report = f"no plan of {state.made} meets all goals, as many as were made in {most_s:g} s"
    if not missed(nearest.judged()):
        report = f"no plan of {state.made} meets all goals for certain: this one just meets them"
    helps = advice(nearest, lambda: None if state.is_late else _enough_machines(state.request))
    return state.explained(nearest, report, (*state.limits, *helps))


def promising(request: Request, latencies: float) -> Iterator[Plan]:
    """Plans that meet the goals by the prediction, cheapest first; predicted latencies may be over
    their goals by the factor `latencies`. Not simulated, and in little time: for controllers.

    In finer steps of size than a search, by QUICK_PLACERS only. Plans of one cost come in order of
    slots, then of latency. Sizes of the same threads in hardly more slots are left out where none
    of the smaller ones was promising, so that the effort reaches plans with more threads.
    Deterministic. Time: at most MOST_QUICK placements, of MOST_QUICKLY_PLACED threads together but
    for the last.
    """
    state = _Search(request, FINE_MARGINS, quick=True)
    return state.in_order(latencies)


def quick_placers(topology: Topology, allocation: Allocation) -> Sequence[str]:
    """Those of QUICK_PLACERS that take little time for so many threads."""
    if allocation.total_threads > LARGE:
        return QUICK_PLACERS[:1]
    threads = [entry.threads for entry in allocation]
    pairs = sum(threads[source] * threads[target] for source, target in topology.edges)
    slow = {Partition.name} if pairs > MOST_QUICKLY_CUT else set()
    return [name for name in QUICK_PLACERS if name not in slow]


def least_cost(request: Request) -> tuple[float, int]:
    """Cost per hour and slots that no plan of `promising` is below. Takes little time. Raises the
    first refusal if no allocator has an answer.
    """
    state = _Search(request, quick=True)
    sizes = [(each.cost_per_hour, each.allocation.slots) for each in state._sizings(MARGINS[:1])]
    if not sizes:
        raise Refused(state.refusals[0])
    return min(cost for cost, _ in sizes), min(slots for _, slots in sizes)


def _enough_machines(request: Request) -> int | None:
    """How many machines, the new ones like the last, hold the goals: up to four times as many."""
    cluster = request.pipeline.cluster
    assert cluster is not None

    def holds(count: int) -> bool:
        pipeline = replace(request.pipeline, cluster=grown(cluster, count))
        trial = _Search(replace(request, pipeline=pipeline), FEW_MARGINS, most_simulated=2)
        return trial.cheapest() is not None

    size = len(cluster.nodes)
    return first_true(size + 1, 4 * size, holds)


@dataclass(frozen=True)
class _Sizing:
    allocator: Choice
    allocation: Allocation
    cost_per_hour: float
    """What the machines for its slots cost at least."""


@dataclass
class _Search:
    request: Request
    margins: tuple[float, ...] = MARGINS
    most_simulated: int = MOST_SIMULATED
    quick: bool = False
    until_s: float = math.inf
    """By time.monotonic(): from then on nothing more is tried once there is a plan."""
    made: int = 0
    plans: list[Plan] = field(default_factory=list)
    """Those that wait for a simulation, had one, or are ruled out by their prediction."""
    refusals: list[Refusal] = field(default_factory=list)
    _threads_placed: int = 0
    _in_vain: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Threads per operator -> the slots in which no placement of them was promising. Of LARGE
    numbers of threads, () -> the slots of the last size without a promising placement."""

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until_s and bool(self.plans)

    def cheapest(self) -> Plan | None:
        """The first that holds."""
        first = itertools.islice(self.in_order(ESTIMATED), self.most_simulated)
        plans = itertools.takewhile(lambda plan: not self.is_late, first)
        return next((self.plans[-1] for plan in plans if self._holds(plan)), None)

    def in_order(self, latencies: float) -> Iterator[Plan]:
        """Best first, as the module says."""
        order, known = itertools.count(), set()
        waiting: list[tuple[tuple[float, ...], _Sizing | Plan]] = []

        def push(key: tuple[float, ...], item: _Sizing | Plan) -> None:
            heapq.heappush(waiting, ((*key, next(order)), item))

        for sizing in self._sizings(self.margins):
            push((sizing.cost_per_hour, 0, sizing.allocation.slots, 0), sizing)
        while waiting and not self.is_late:
            _, item = heapq.heappop(waiting)
            if isinstance(item, Plan):
                yield item
                continue
            if self.quick and self._is_vain(item.allocation):
                continue
            found = [plan for plan in self._placed(item) if is_promising(plan, latencies)]
            if not found:
                self._in_vain[_kind(item.allocation)] = item.allocation.slots
            for plan in found:
                if in_short(plan) not in known:
                    known.add(in_short(plan))
                    then = (latency_ms(plan), float(plan.slots))
                    push((plan.cost_per_hour, 1, *(then[::-1] if self.quick else then)), plan)

    def _is_vain(self, allocation: Allocation) -> bool:
        """Hardly more than what was tried in vain."""
        tried = self._in_vain.get(_kind(allocation))
        more = CLEARLY_MORE_OF_LARGE if allocation.total_threads > LARGE else CLEARLY_MORE
        return tried is not None and allocation.slots < more * tried

    def nearest(self) -> Plan:
        """The plan that misses fewest goals, then by the least; simulated."""
        if not self.plans:
            for sizing in self._sizings(LESS):
                self.plans += self._placed(sizing)
                if self.plans:
                    break
        if not self.plans:
            raise Refused(self.refusals[0])
        best = min(self.plans, key=distance)
        return best if best.simulated is not None else confirmed(best)

    @property
    def limits(self) -> tuple[str, ...]:
        """Where larger sizes would have more threads of an operator than it can have."""
        found: dict[str, str] = {}
        for each in self.refusals:
            if each.resource == "threads" and each.operator is not None:
                found.setdefault(each.operator, each.explanation)
        return tuple(found.values())

    def explained(self, plan: Plan, report: str, helps: tuple[str, ...] = ()) -> Plan:
        """With the choice and the runners-up among its reasons."""
        margin = plan.allocation.rate / plan.rate
        chosen = (
            f"{report}: {plan.allocation.algorithm} + {plan.placement.algorithm}, "
            f"sized for {margin:.2f} times the rate"
        )
        others = sorted((each for each in self.plans if pair(each) != pair(plan)), key=distance)
        seen: dict[tuple[str, str], Plan] = {}
        for other in others:
            seen.setdefault(pair(other), other)
        runners_up = [described(other) for other in list(seen.values())[:RUNNERS_UP]]
        return replace(plan, reasons=(chosen, *helps, *runners_up, *plan.reasons))

    def _sizings(self, margins: tuple[float, ...]) -> Iterator[_Sizing]:
        """Every allocator at every margin, once each; refusals are kept."""
        request, known, largest = self.request, set(), 0
        headroom = request.pipeline.goals.headroom
        assert headroom is not None
        for margin, allocator in itertools.product(margins, self._choices("allocator")):
            if self.quick and allocator.name == Percentile.name and margin not in FEW_MARGINS:
                continue  # It takes much longer than all others together.
            if self.quick and largest > LARGE and margin not in MARGINS:
                continue
            rate = min(request.rate * margin / (1 - headroom), LARGEST)
            answer = request.allocate(self._sized_by(allocator, margin), rate)
            if isinstance(answer, Refusal):
                self.refusals.append(answer)
                continue
            key = tuple(entry.bundles for entry in answer)
            if key not in known:
                known.add(key)
                largest = max(largest, answer.total_threads)
                yield _Sizing(allocator, answer, self._least_cost(answer))

    def _least_cost(self, allocation: Allocation) -> float:
        pipeline = self.request.pipeline
        if pipeline.cluster is not None:
            return pipeline.cluster.price_per_hour
        slots = max(allocation.slots, pipeline.topology.workers or 0)
        bought = registry.provisioner(self._provisioner).provision(
            allocation, pipeline.catalog, pipeline.slot_memory_gb, slots
        )
        return math.inf if isinstance(bought, Refusal) else bought.price_per_hour

    @property
    def _provisioner(self) -> Choice:
        named = self.request.scheduler.provisioner
        return PROVISIONER if named.name == registry.AUTO else named

    def _is_open(self, family: str) -> bool:
        return bool(getattr(self.request.scheduler, family).name == registry.AUTO)

    def _choices(self, family: str) -> list[Choice]:
        if not self._is_open(family):
            return [getattr(self.request.scheduler, family)]
        built_in = registry.FAMILIES[family].built_in
        return [EXACT if name == EXACT.name else Choice(name) for name in built_in]

    @property
    def _most_placed(self) -> int:
        return MOST_QUICKLY_PLACED if self.quick else MOST_THREADS_PLACED

    def _sized_by(self, allocator: Choice, margin: float) -> Choice:
        """`percentile` keeps its margin from the latency goals, too: bursts and threads that share
        a slot, which it leaves out, make tuples wait longer.
        """
        if allocator.name != Percentile.name or not self._is_open("allocator"):
            return allocator
        return Choice(Percentile.name, {"share": Percentile.share / max(margin, 1.0)})

    def _placers(self, sizing: _Sizing) -> list[Choice]:
        if not (self.quick and self._is_open("placer")):
            return self._choices("placer")
        names = quick_placers(self.request.pipeline.topology, sizing.allocation)
        return [Choice(name) for name in names]

    def _placed(self, sizing: _Sizing) -> Iterator[Plan]:
        """The sizing by every placer, as long as there is effort left."""
        cheapest = math.inf
        for placer in self._placers(sizing):
            if (self.plans and self._threads_placed > self._most_placed) or self.is_late:
                return
            if self.quick and self.made >= MOST_QUICK:
                return
            if placer is EXACT and cheapest <= sizing.cost_per_hour:
                continue
            if placer == ONLINE and self.request.measured is None and self._is_open("placer"):
                continue
            self._threads_placed += sizing.allocation.total_threads
            try:
                plan = self.request.place(
                    sizing.allocation, self._provisioner, placer, thorough=False
                )
            except Refused as error:
                self.refusals.append(error.refusal)
                continue
            self.made += 1
            self.plans.append(plan)
            cheapest = min(cheapest, plan.cost_per_hour)
            yield plan

    def _holds(self, plan: Plan) -> bool:
        """Whether simulations confirm the goals; it then has its place at the end of `plans`."""
        self.plans = [*(each for each in self.plans if each is not plan), confirmed(plan)]
        verdicts = self.plans[-1].judged()
        if all(is_met(verdict, SURE) for verdict in verdicts):
            return True
        return all(map(is_met, verdicts)) and all(
            is_met(verdict) for seed in OTHER_SEEDS for verdict in confirmed(plan, seed).judged()
        )


def _kind(allocation: Allocation) -> tuple[int, ...]:
    """Of sizes in hardly more slots, those of one kind are not told apart."""
    if allocation.total_threads > LARGE:
        return ()
    return tuple(entry.threads for entry in allocation)
