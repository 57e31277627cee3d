// The candidates of `compare`: cost against p99 latency, those that no other one beats in both as a
// line; and all of them as a table.
import { html } from "page/html.js";
import { milliseconds, money, rate, whole } from "page/figures.js";
import { Scatter } from "page/scatter.js";

export function Candidates({ data }) {
  const candidates = data.candidates;
  const drawn = candidates.filter((each) => each.refused === null && typeof each.latency_p99_ms === "number");
  const front = drawn.filter(({ pareto }) => pareto);
  return html`<section class="card" aria-labelledby="candidates">
    <h2 id="candidates">Candidates</h2>
    <p>${drawn.length} of ${candidates.length} have a plan with a bounded latency; ${front.length} are not beaten in both cost and latency.</p>
    <${Scatter} candidates=${drawn} goal=${data.goals?.latency_p99_ms} />
    <div class="scroller" tabindex="0" role="region" aria-label="All candidates"><table class="wide">
      <thead><tr><th>Allocator</th><th>Placer</th><th>Rate</th><th>Slots</th><th>Machines</th><th>Cost</th><th>p99 latency</th><th>Goals</th></tr></thead>
      <tbody>${candidates.map((each) => html`<tr class=${each.pareto ? "differs" : ""}>
        <th scope="row">${each.pareto ? "◆ " : ""}${each.allocator}</th><td>${each.placer}</td><td>${rate(each.rate)}</td>
        ${each.refused !== null ? html`<td colspan="5" class="quiet">no plan: ${each.refused}</td>` : html`
          <td>${whole(each.slots)}</td><td>${whole(each.machines)}</td><td>${money(each.cost_per_hour)}</td>
          <td>${milliseconds(each.latency_p99_ms)}</td><td>${each.missed_goals ? `✗ ${each.missed_goals}` : "✓ met"}</td>`}
      </tr>`)}</tbody>
    </table></div>
  </section>`;
}
