// Figures over time, with goals and predictions as lines, and marks for what happened. What is
// predicted of a line has its colour.
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
      ${charts.map((chart) => html`<${Chart} key=${chart.title} ...${chart} at=${history.at_s} start=${history.at_s[0] - history.width_s[0]} marks=${data.marks} />`)}
    </div>
  </section>`;
}

function described(history, { plans, run }) {
  const goals = run.goals ?? {};
  const predicted = (name) => history.plan.map((number) => plans[number]?.predicted?.[name] ?? null);
  const wide = isWide(history.p50, history.p99);
  return [
    {
      title: "Input rate",
      write: rate,
      lines: [["offered", history.offered_rate], ["taken in", history.taken_in_rate], ["finished", history.throughput]],
      goals: [["goal", goals.rate]],
      predictions: [["capacity, predicted", predicted("capacity")]],
    },
    { title: "Backlog", write: whole, lines: [["inputs due, not taken in", history.backlog], ["waiting at operators", history.waiting]], goals: [], predictions: [] },
    {
      title: wide ? "Latency, on a logarithmic scale" : "Latency",
      logarithmic: wide,
      write: milliseconds,
      lines: PERCENTILES.map((name) => [name, history[name]]),
      goals: [...PERCENTILES.map((name) => [`${name} goal`, goals[`latency_${name}_ms`]]), ["goal of the mean", goals.latency_ms]],
      predictions: PERCENTILES.map((name) => [`${name}, predicted`, predicted(`latency_${name}_ms`), name]),
    },
    { title: "CPU of slots", write: percent, lines: Object.entries(history.slot_cpu ?? {}), goals: [], predictions: [] },
    {
      title: "Traffic between nodes",
      write: rate,
      lines: [[run.origin, history.inter_node_traffic]],
      goals: [],
      predictions: [["predicted", predicted("inter_node_traffic"), run.origin]],
    },
    { title: "Slots in use", write: whole, lines: [["slots", history.slots]], stepped: true, goals: [], predictions: [] },
  ];
}

const PERCENTILES = ["p50", "p95", "p99"];
const WIDE = 50;

// Where one pause would leave nothing to be seen of all other times.
function isWide(usual, highest) {
  const known = Float64Array.from(usual.filter((value) => value > 0)).sort();
  const most = highest.reduce((found, value) => Math.max(found, value ?? 0), 0);
  return known.length > 0 && most > WIDE * known[Math.floor(known.length / 2)];
}
