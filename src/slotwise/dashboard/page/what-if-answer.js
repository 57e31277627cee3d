// Two plans side by side: figures that differ are marked.
import { html } from "page/html.js";
import { figure, milliseconds, NAMES, percent, rate, UNKNOWN, whole, written } from "page/figures.js";
import { SlotMap } from "page/slot-map.js";

// What was planned differs, however little; figures differ if it is by more than this part of them.
const NOISE = 0.02;

const PLANNED = [
  ["Planned for", (plan) => plan.rate, rate],
  ["Allocator", (plan) => plan.allocator, String],
  ["Placer", (plan) => plan.placer, String],
  ["Threads", (plan) => Object.values(plan.threads).reduce((sum, count) => sum + count, 0), whole],
  ["Slots", (plan) => plan.slots, whole],
  ["Machines", (plan) => plan.nodes.length, whole],
  ["Cost per hour", (plan) => plan.cost_per_hour, (cost) => cost.toFixed(2)],
];
const PREDICTED = [
  ["Capacity, predicted", (plan) => plan.predicted?.capacity, rate],
  ["Busiest thread, predicted", (plan) => plan.predicted?.busiest, percent],
  ["p99 latency, predicted", (plan) => plan.predicted?.latency_p99_ms, milliseconds],
];
const LATENCIES = ["latency_p50_ms", "latency_p95_ms", "latency_p99_ms"].map((name) => [
  NAMES[name],
  (seen) => seen?.[name] ?? undefined,
  milliseconds,
]);

// Of the plan in effect, what is seen now; of the other one, what a short simulation shows.
const rows = (described, one, other, differ) =>
  described.map(([name, read, write]) => {
    const [now, then] = [read(one), read(other)];
    return html`<tr class=${differ(now, then) ? "differs" : ""}>
      <th scope="row">${name}</th><td>${write(now)}</td><td>${write(then)}</td>
    </tr>`;
  });

const isOther = (now, then) => now !== then;

function isFarther(now, then) {
  if (typeof now !== "number" || typeof then !== "number") return now !== then;
  return Math.abs(now - then) > NOISE * Math.max(Math.abs(now), Math.abs(then));
}

const SIGNS = { met: "✓", missed: "✗", "not tested": "?" };

function Verdict({ goal, wanted, seen, outcome, reason }) {
  const figures = `${NAMES[goal]} ${written(goal, seen)}, goal ${written(goal, wanted)}: ${outcome}`;
  const said = outcome === "not tested" ? reason : figures;
  return html`<p class=${outcome === "missed" ? "problem" : "quiet"} title=${reason}>${SIGNS[outcome]} ${said}</p>`;
}

export function Comparison({ plan, observation, answer, ended, apply }) {
  const other = answer.plan;
  const seen = observation ?? plan.simulated;
  const now = ended ? "As it ran" : "Running";
  return html`<div class="answer" role="region" aria-label="Answer" aria-live="polite">
    <table>
      <thead><tr><td></td><th scope="col">${now}</th><th scope="col">What if</th></tr></thead>
      <tbody>
        ${rows(PLANNED, plan, other, isOther)}
        ${rows(PREDICTED, plan, other, isFarther)}
        <tr class="quiet"><td></td><td>${seen?.origin ?? UNKNOWN}</td><td>${other.simulated?.origin ?? UNKNOWN}</td></tr>
        ${rows(LATENCIES, seen, other.simulated, isFarther)}
      </tbody>
    </table>
    <p class="quiet">Planned and simulated in ${figure(answer.seconds)} s.</p>
    ${(answer.verdicts ?? []).map(Verdict)}
    ${answer.changes?.length ? html`<ul class="changes">${answer.changes.map((change) => html`<li>${change}</li>`)}</ul>` : html`<p>This is the plan in effect.</p>`}
    ${apply && answer.kind !== "keep" && html`<button class="primary" onClick=${apply}>Apply this plan</button>`}
    ${answer.applied && html`<p role="status">The run changes to this plan at its next period.</p>`}
    <details><summary>Its slots</summary>
      <${SlotMap} plan=${other} observation=${null} title="Slots of this plan" id="slots-of-answer" />
    </details>
  </div>`;
}
