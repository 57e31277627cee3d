// The figures that matter most: what was seen, the goal, what was predicted.
import { html } from "page/html.js";
import { milliseconds, money, percent, rate, whole, written } from "page/figures.js";

export function Summary({ data, plan }) {
  const seen = data.observation;
  const predicted = plan.predicted ?? {};
  const goals = new Map((data.verdicts ?? []).map((verdict) => [verdict.goal, verdict]));
  const shown = seen ?? predicted;
  const latency = ["latency_p99_ms", "latency_p95_ms", "latency_p50_ms", "latency_ms"].find((name) => goals.has(name)) ?? "latency_p99_ms";
  const title = { latency_p99_ms: "p99 latency", latency_p95_ms: "p95 latency", latency_p50_ms: "p50 latency", latency_ms: "Mean latency" };
  return html`${data.kind === "run" && !seen && html`<p class="quiet">Nothing has been measured: figures are those that are predicted.</p>`}
  <section class="tiles" aria-label="Summary">
    <${Tile} name="Offered rate" value=${rate(shown.offered_rate)}
      notes=${[`planned for ${rate(plan.rate)}`]} />
    <${Tile} name="Throughput" value=${rate(shown.throughput)} goal=${goals.get("rate")}
      notes=${[seen ? `capacity ${rate(predicted.capacity)} predicted` : `predicted, of at most ${rate(predicted.capacity)}`]} />
    <${Tile} name=${title[latency]} value=${milliseconds(shown[latency])} goal=${goals.get(latency)}
      notes=${[seen ? `${milliseconds(predicted[latency])} predicted` : "predicted"]} />
    <${Tile} name=${seen ? "Backlog" : "Busiest thread"} value=${seen ? whole(seen.backlog) : percent(predicted.busiest)}
      notes=${[seen ? "inputs due, not yet taken in" : `of ${predicted.bottleneck}, predicted`]} />
    <${Tile} name="Bottleneck" value=${shown.bottleneck ?? "–"} notes=${[seen ? `busiest thread ${percent(shown.busiest)}` : "predicted"]} />
    <${Tile} name="Slots" value=${whole(plan.slots)} goal=${goals.get("machines") ?? goals.get("cost_per_hour")}
      notes=${[`on ${whole(plan.nodes.length)} ${plan.nodes.length === 1 ? "node" : "nodes"}, ${money(plan.cost_per_hour)}`]} />
  </section>`;
}

const MARKS = { met: "✓", missed: "✗", "not tested": "?" };

function Tile({ name, value, goal, notes }) {
  return html`<div class="tile ${goal?.outcome === "missed" ? "missed" : ""}">
    <h2>${name}</h2>
    <p class="value">${value}</p>
    ${goal && html`<p class="goal" title=${goal.reason}>
      <span aria-hidden="true">${MARKS[goal.outcome]}</span> goal ${written(goal.goal, goal.wanted)} ${goal.outcome}
    </p>`}
    ${notes.map((note) => html`<p class="quiet">${note}</p>`)}
  </div>`;
}
