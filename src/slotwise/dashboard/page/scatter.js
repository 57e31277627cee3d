// Cost against p99 latency, by ECharts: each rate with a colour and a symbol of its own, hollow where a goal is
// missed, and a line along its Pareto front.
import { html, useEffect, useRef } from "page/html.js";
import { library } from "page/chart.js";
import { counted, milliseconds, money, rate } from "page/figures.js";
import { useColours } from "page/theme.js";

export function Scatter({ candidates, goal }) {
  const place = useRef(null);
  const colours = useColours();
  useEffect(() => {
    let chart = null;
    let gone = false;
    const size = new ResizeObserver(() => chart?.resize());
    library().then((echarts) => {
      if (gone) return;
      chart = echarts.init(place.current);
      chart.setOption(options(candidates, goal, colours));
      size.observe(place.current);
    });
    return () => {
      gone = true;
      size.disconnect();
      chart?.dispose();
    };
  }, [candidates, goal, colours]);
  return html`<div class="scatter" ref=${place} role="img" aria-label="Cost against p99 latency of all candidates; the table below says the same in words"></div>`;
}

// Candidates of a rate with the same figures are one point.
export function pointsOf(candidates) {
  const found = new Map();
  for (const each of candidates) {
    const key = JSON.stringify([each.rate, each.cost_per_hour, each.latency_p99_ms, Boolean(each.missed_goals)]);
    if (!found.has(key)) found.set(key, { ...each, names: [] });
    const point = found.get(key);
    point.pareto ||= each.pareto;
    point.names.push(`${each.allocator} + ${each.placer}`);
  }
  return [...found.values()];
}

function options(candidates, goal, colours) {
  const text = { color: colours.quiet, fontFamily: "system-ui, sans-serif", fontSize: 12 };
  const axis = { nameLocation: "middle", nameTextStyle: text, splitLine: { lineStyle: { color: colours.line } }, axisLine: { lineStyle: { color: colours.line } } };
  const points = pointsOf(candidates);
  const series = [...new Set(points.map((each) => each.rate))]
    .sort((one, other) => one - other)
    .flatMap((at, position) => ofRate(at, points.filter((each) => each.rate === at), look(position, colours)));
  if (goal) series[0].markLine = goalLine(goal, colours);
  return {
    animation: false,
    grid: { left: 68, right: 24, top: 48, bottom: 48 },
    legend: { left: 0, top: 0, itemWidth: 14, itemHeight: 10, textStyle: text },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { ...text, color: colours.ink },
      formatter: ({ name, value }) => `${name}\n${money(value[0])}\np99 ${milliseconds(value[1])}`,
    },
    xAxis: { ...axis, type: "value", scale: true, boundaryGap: ["8%", "8%"], name: "cost per hour", nameGap: 28, axisLabel: { ...text, formatter: (cost) => cost.toFixed(2) } },
    yAxis: { ...axis, type: "log", ...decades([...points.map((each) => each.latency_p99_ms), goal ?? points[0].latency_p99_ms]), name: "p99 latency, simulated, on a logarithmic scale", nameGap: 54, axisLabel: { ...text, formatter: milliseconds } },
    series,
  };
}

// So that no point is on the border.
const ROOM = 1.2;
const decades = (values) => ({
  min: 10 ** Math.floor(Math.log10(Math.min(...values) / ROOM)),
  max: 10 ** Math.ceil(Math.log10(Math.max(...values) * ROOM)),
});

const COLOURS = ["first", "second", "third", "fourth"];
const SYMBOLS = ["circle", "triangle", "rect", "diamond"];
const DASHES = ["solid", "dashed", "dotted", [9, 3, 2, 3]];

function look(position, colours) {
  const turn = position + Math.floor(position / COLOURS.length);
  return {
    colour: colours[COLOURS[position % COLOURS.length]],
    symbol: SYMBOLS[turn % SYMBOLS.length],
    dash: DASHES[turn % DASHES.length],
    surface: colours.surface,
  };
}

// The front has the name of its points in the legend: both are one entry.
function ofRate(at, points, { colour, symbol, dash, surface }) {
  const name = `at ${rate(at)}`;
  const filled = (each) => ({ color: each.missed_goals ? surface : colour, borderColor: colour, borderWidth: 2 });
  const item = (each) => ({ value: [each.cost_per_hour, each.latency_p99_ms], name: said(each), itemStyle: filled(each) });
  const front = points.filter(({ pareto }) => pareto).sort((one, other) => one.cost_per_hour - other.cost_per_hour);
  return [
    { name, type: "scatter", symbol, symbolSize: 11, itemStyle: { color: colour }, data: points.map(item) },
    { name, type: "line", step: "end", symbol, symbolSize: 14, itemStyle: { color: colour }, lineStyle: { width: 1.5, type: dash, color: colour }, data: front.map(item) },
  ];
}

const MOST_NAMES = 5;

function said({ names, rate: at }) {
  const more = names.length > MOST_NAMES ? `\nand ${counted(names.length - MOST_NAMES, "other")}` : "";
  return `${names.slice(0, MOST_NAMES).join("\n")}${more}\nat ${rate(at)}`;
}

function goalLine(goal, colours) {
  const label = { formatter: "p99 goal", color: colours.goal, position: "insideEndTop" };
  return { silent: true, symbol: "none", lineStyle: { color: colours.goal, type: [12, 4] }, label, data: [{ yAxis: goal }] };
}
