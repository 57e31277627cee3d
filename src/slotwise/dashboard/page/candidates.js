// The candidates of `compare`: cost against p99 latency, those that no other one beats in both as a
// line; and all of them as a table.
import { html } from "page/html.js";
import { counted, milliseconds, money, rate, whole } from "page/figures.js";
import { keepsUp } from "page/plans.js";
import { pointsOf, Scatter } from "page/scatter.js";

export function Candidates({ data }) {
  const refused = data.candidates.filter((each) => each.refused !== null);
  const planned = data.candidates.filter((each) => each.refused === null).sort(inOrder);
  const drawn = planned.filter((each) => keepsUp(each) && typeof each.latency_p99_ms === "number");
  return html`<section class="card" aria-labelledby="candidates">
    <h2 id="candidates">Candidates</h2>
    <p>${said(data.candidates, planned)}</p>
    ${drawn.length > 0 && html`<${Scatter} candidates=${drawn} goal=${data.goals?.latency_p99_ms} />
      <p class="quiet">${counted(drawn.length, "candidate")} at ${counted(pointsOf(drawn).length, "point")}: hollow points miss a goal, lines are Pareto fronts.</p>`}
    <${Planned} candidates=${planned} />
    ${refused.length > 0 && html`<${Refused} candidates=${refused} />`}
  </section>`;
}

function said(all, planned) {
  const front = planned.filter(({ pareto }) => pareto).length;
  const met = planned.filter((each) => !each.missed_goals).length;
  const unbeaten = front ? `; ${whole(front)} are on the Pareto front of cost and p99 latency` : "";
  return `${whole(planned.length)} of ${counted(all.length, "candidate")} have a plan, ${whole(planned.filter(keepsUp).length)} keep up with their rate, ${whole(met)} meet all goals${unbeaten}.`;
}

// The best first: on the front, meets the goals, keeps up; then by rate, cost and latency.
function inOrder(one, other) {
  const rank = (each) => [!each.pareto, Boolean(each.missed_goals), !keepsUp(each), each.rate, each.cost_per_hour, each.latency_p99_ms ?? Infinity].map(Number);
  const [first, second] = [rank(one), rank(other)];
  const at = first.findIndex((value, position) => value !== second[position]);
  return at < 0 ? 0 : first[at] - second[at];
}

function Planned({ candidates }) {
  return html`<div class="scroller" tabindex="0" role="region" aria-label="Plans"><table class="wide">
    <thead><tr><th>Allocator</th><th>Placer</th><th>Rate</th><th>Slots</th><th>Machines</th><th>Cost</th><th>p99 latency</th><th>Goals</th></tr></thead>
    <tbody>${candidates.map((each) => html`<tr class=${each.pareto ? "differs" : ""}>
      <th scope="row">${each.pareto ? "◆ " : ""}${each.allocator}</th><td>${each.placer}</td><td>${rate(each.rate)}</td>
      <td>${whole(each.slots)}</td><td>${whole(each.machines)}</td><td>${money(each.cost_per_hour)}</td>
      <td>${keepsUp(each) ? milliseconds(each.latency_p99_ms ?? undefined) : "cannot keep up"}</td>
      <td class="sentence">${each.missed_goals ? `✗ ${each.missed_goals}` : "✓ met"}</td>
    </tr>`)}</tbody>
  </table></div>`;
}

// One row for all placers that are refused for the same reason.
function Refused({ candidates }) {
  const rows = new Map();
  for (const { allocator, placer, rate: at, refused } of candidates) {
    const key = `${allocator}\n${at}\n${refused}`;
    if (!rows.has(key)) rows.set(key, { allocator, at, refused, placers: [] });
    rows.get(key).placers.push(placer);
  }
  return html`<details><summary>Without a plan (${candidates.length})</summary>
    <div class="scroller" tabindex="0" role="region" aria-label="Without a plan"><table class="wide">
      <thead><tr><th>Allocator</th><th>Rate</th><th>Placers</th><th>Why</th></tr></thead>
      <tbody>${[...rows.values()].map(({ allocator, at, refused, placers }) => html`<tr>
        <th scope="row">${allocator}</th><td>${rate(at)}</td><td class="sentence">${placers.join(", ")}</td><td class="sentence">${refused}</td>
      </tr>`)}</tbody>
    </table></div>
  </details>`;
}
