// Two plans side by side: figures that differ are marked.
import { html } from "page/html.js";
import { milliseconds, money, percent, rate, whole } from "page/figures.js";
import { SlotMap } from "page/slot-map.js";

const ROWS = [
  ["Planned for", (plan) => plan.rate, rate],
  ["Allocator", (plan) => plan.allocator, String],
  ["Placer", (plan) => plan.placer, String],
  ["Threads", (plan) => Object.values(plan.threads).reduce((sum, count) => sum + count, 0), whole],
  ["Slots", (plan) => plan.slots, whole],
  ["Machines", (plan) => plan.nodes.length, whole],
  ["Cost", (plan) => plan.cost_per_hour, money],
  ["Capacity, predicted", (plan) => plan.predicted?.capacity, rate],
  ["Busiest thread, predicted", (plan) => plan.predicted?.busiest, percent],
  ["p99 latency, predicted", (plan) => plan.predicted?.latency_p99_ms, milliseconds],
  ["p50 latency, simulated", (plan) => plan.simulated?.latency_p50_ms, milliseconds],
  ["p95 latency, simulated", (plan) => plan.simulated?.latency_p95_ms, milliseconds],
  ["p99 latency, simulated", (plan) => plan.simulated?.latency_p99_ms, milliseconds],
];

export function Comparison({ plan, answer, apply }) {
  const other = answer.plan;
  return html`<div class="answer" role="region" aria-label="Answer" aria-live="polite">
    <table>
      <thead><tr><th></th><th>Running</th><th>What if</th></tr></thead>
      <tbody>${ROWS.map(([name, read, write]) => {
        const [now, then] = [write(read(plan)), write(read(other))];
        return html`<tr class=${now === then ? "" : "differs"}><th scope="row">${name}</th><td>${now}</td><td>${then}</td></tr>`;
      })}</tbody>
    </table>
    ${(answer.verdicts ?? []).map(({ outcome, reason }) => html`<p class=${outcome === "missed" ? "problem" : "quiet"}>${outcome === "missed" ? "✗" : "✓"} ${reason}</p>`)}
    ${answer.changes?.length ? html`<ul class="changes">${answer.changes.map((change) => html`<li>${change}</li>`)}</ul>` : html`<p>The plan is the one that is running.</p>`}
    ${apply && answer.kind !== "keep" && html`<button class="primary" onClick=${apply}>Apply this plan</button>`}
    ${answer.applied && html`<p role="status">The run changes to this plan at its next period.</p>`}
    <details><summary>Its slots</summary>
      <${SlotMap} plan=${other} observation=${null} title="Slots of this plan" id="slots-of-answer" />
    </details>
  </div>`;
}
