// Figures over time, with goals and predictions as lines, and marks for what happened.
import { html, useMemo } from "page/html.js";
import { Chart } from "page/chart.js";
import { milliseconds, percent, rate, whole } from "page/figures.js";
import { MARKS } from "page/marks.js";

export function Charts({ history, data }) {
  const charts = useMemo(() => described(history, data), [history, data.plans, data.run]);
  return html`<section class="card" aria-labelledby="charts">
    <h2 id="charts">Over time</h2>
    <ul class="legend" aria-label="Legend">
      ${Object.values(MARKS).map(({ letter, name, colour }) => html`<li><b class="mark" style=${{ color: `var(--${colour})` }}>${letter}</b> ${name}</li>`)}
      <li><i class="stroke goal"></i> goal</li><li><i class="stroke predicted"></i> predicted</li>
    </ul>
    <div class="charts">
      ${charts.map((chart) => html`<${Chart} key=${chart.title} ...${chart} at=${history.at_s} marks=${data.marks} />`)}
    </div>
  </section>`;
}

function described(history, { plans, run }) {
  const goals = run.goals ?? {};
  const predicted = (name) => history.plan.map((number) => plans[number]?.predicted?.[name] ?? null);
  return [
    {
      title: "Input rate",
      write: rate,
      lines: [["offered", history.offered_rate], ["finished", history.throughput]],
      goals: [["goal", goals.rate]],
      predictions: [["capacity, predicted", predicted("capacity")]],
    },
    { title: "Backlog", write: whole, lines: [["inputs due, not taken in", history.backlog]], goals: [], predictions: [] },
    {
      title: "Latency",
      write: milliseconds,
      lines: [["p50", history.p50], ["p95", history.p95], ["p99", history.p99]],
      goals: ["p50", "p95", "p99"].map((name) => [`${name} goal`, goals[`latency_${name}_ms`]]),
      predictions: [["p99, predicted", predicted("latency_p99_ms")]],
    },
    { title: "CPU of slots", write: percent, lines: cpu(history), goals: [], predictions: [] },
    {
      title: "Traffic between nodes",
      write: rate,
      lines: [["measured", history.inter_node_traffic]],
      goals: [],
      predictions: [["predicted", predicted("inter_node_traffic")]],
    },
    { title: "Slots in use", write: whole, lines: [["slots", history.slots]], goals: [], predictions: [] },
  ];
}

const MOST_LINES = 4;

// A line per slot; of many slots, the busiest, the median and the least busy at each moment.
function cpu({ at_s: times, slot_cpu: slots = {} }) {
  const entries = Object.entries(slots);
  if (entries.length <= MOST_LINES) return entries;
  const sorted = times.map((_, at) => Float64Array.from(entries.map(([, column]) => column[at]).filter((value) => value != null)).sort());
  const pick = (part) => sorted.map((values) => (values.length ? values[Math.floor(part * (values.length - 1))] : null));
  return [["busiest slot", pick(1)], ["median", pick(0.5)], ["least busy", pick(0)]];
}
