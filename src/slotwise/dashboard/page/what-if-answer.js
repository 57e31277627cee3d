// Two plans side by side: figures that differ are marked.
import { html } from "page/html.js";
import { figure, milliseconds, NAMES, percent, rate, UNKNOWN, whole } from "page/figures.js";
import { SlotMap } from "page/slot-map.js";

const ROWS = [
  ["Planned for", (plan) => plan.rate, rate],
  ["Allocator", (plan) => plan.allocator, String],
  ["Placer", (plan) => plan.placer, String],
  ["Threads", (plan) => Object.values(plan.threads).reduce((sum, count) => sum + count, 0), whole],
  ["Slots", (plan) => plan.slots, whole],
  ["Machines", (plan) => plan.nodes.length, whole],
  ["Cost per hour", (plan) => plan.cost_per_hour, (cost) => cost.toFixed(2)],
  ["Capacity, predicted", (plan) => plan.predicted?.capacity, rate],
  ["Busiest thread, predicted", (plan) => plan.predicted?.busiest, percent],
  ["p99 latency, predicted", (plan) => plan.predicted?.latency_p99_ms, milliseconds],
];

const LATENCIES = ["latency_p50_ms", "latency_p95_ms", "latency_p99_ms"];

// Of the plan that runs, what is seen now; of the other one, what a short simulation shows.
const latencies = (seen, simulated) =>
  LATENCIES.map((name) => [NAMES[name], milliseconds(seen?.[name]), milliseconds(simulated?.[name])]);

const Row = ([name, now, then]) => html`<tr class=${now === then ? "" : "differs"}>
  <th scope="row">${name}</th><td>${now}</td><td>${then}</td>
</tr>`;

export function Comparison({ plan, observation, answer, apply }) {
  const other = answer.plan;
  const seen = observation ?? plan.simulated;
  const rows = ROWS.map(([name, read, write]) => [name, write(read(plan)), write(read(other))]);
  return html`<div class="answer" role="region" aria-label="Answer" aria-live="polite">
    <table>
      <thead><tr><td></td><th scope="col">Running</th><th scope="col">What if</th></tr></thead>
      <tbody>
        ${rows.map(Row)}
        <tr class="quiet"><td></td><td>${seen?.origin ?? UNKNOWN}</td><td>${other.simulated?.origin ?? UNKNOWN}</td></tr>
        ${latencies(seen, other.simulated).map(Row)}
      </tbody>
    </table>
    <p class="quiet">Planned and simulated in ${figure(answer.seconds)} s.</p>
    ${(answer.verdicts ?? []).map(({ outcome, reason }) => html`<p class=${outcome === "missed" ? "problem" : "quiet"}>${outcome === "missed" ? "✗" : "✓"} ${reason}</p>`)}
    ${answer.changes?.length ? html`<ul class="changes">${answer.changes.map((change) => html`<li>${change}</li>`)}</ul>` : html`<p>The plan is the one that is running.</p>`}
    ${apply && answer.kind !== "keep" && html`<button class="primary" onClick=${apply}>Apply this plan</button>`}
    ${answer.applied && html`<p role="status">The run changes to this plan at its next period.</p>`}
    <details><summary>Its slots</summary>
      <${SlotMap} plan=${other} observation=${null} title="Slots of this plan" id="slots-of-answer" />
    </details>
  </div>`;
}
