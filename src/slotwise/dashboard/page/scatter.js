// Cost against p99 latency, by ECharts: a diamond for each candidate on the Pareto front of its rate.
import { html, useEffect, useRef } from "page/html.js";
import { library } from "page/chart.js";
import { milliseconds, money, rate } from "page/figures.js";
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

function options(drawn, goal, colours) {
  const text = { color: colours.quiet, fontFamily: "system-ui, sans-serif", fontSize: 12 };
  const axis = { nameLocation: "middle", nameTextStyle: text, splitLine: { lineStyle: { color: colours.line } }, axisLine: { lineStyle: { color: colours.line } } };
  const series = [...clouds(drawn, colours), ...fronts(drawn, colours)];
  if (goal) series[0].markLine = goalLine(goal, colours);
  return {
    animation: false,
    grid: { left: 68, right: 24, top: 48, bottom: 48 },
    legend: { left: 0, top: 0, itemWidth: 14, itemHeight: 10, textStyle: text, data: series.filter(({ data }) => data.length).map(({ name }) => name) },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { ...text, color: colours.ink },
      formatter: ({ name, value }) => `${name}\n${money(value[0])}\np99 ${milliseconds(value[1])}`,
    },
    xAxis: { ...axis, type: "value", scale: true, name: "cost per hour", nameGap: 28, axisLabel: { ...text, formatter: (cost) => cost.toFixed(2) } },
    yAxis: { ...axis, type: "log", name: "p99 latency, simulated, on a logarithmic scale", nameGap: 54, axisLabel: { ...text, formatter: milliseconds } },
    series,
  };
}

const point = (each) => ({
  value: [each.cost_per_hour, each.latency_p99_ms],
  name: `${each.allocator} + ${each.placer} at ${rate(each.rate)}`,
});

function clouds(drawn, colours) {
  const others = drawn.filter(({ pareto }) => !pareto);
  const kinds = [
    ["meets the goals", others.filter((each) => !each.missed_goals), "circle", colours.first],
    ["misses a goal", others.filter((each) => each.missed_goals), "triangle", colours.second],
  ];
  return kinds.map(([name, some, symbol, colour]) => ({
    name,
    type: "scatter",
    symbol,
    symbolSize: 9,
    itemStyle: { color: colour, opacity: 0.75 },
    data: some.map(point),
  }));
}

const DASHES = ["dashed", "dotted", "solid"];

function fronts(drawn, colours) {
  const rates = [...new Set(drawn.map((each) => each.rate))].sort((one, other) => one - other);
  return rates.map((at, position) => ({
    name: rates.length > 1 ? `Pareto front at ${rate(at)}` : "Pareto front",
    type: "line",
    step: "end",
    symbol: "diamond",
    symbolSize: 13,
    itemStyle: { color: colours.goal },
    lineStyle: { width: 1.5, type: DASHES[position % DASHES.length], color: colours.goal },
    data: drawn.filter((each) => each.pareto && each.rate === at).sort((one, other) => one.cost_per_hour - other.cost_per_hour).map(point),
  }));
}

function goalLine(goal, colours) {
  const label = { formatter: "goal", color: colours.quiet, position: "insideEndTop" };
  return { silent: true, symbol: "none", lineStyle: { color: colours.quiet, type: [2, 3] }, label, data: [{ yAxis: goal }] };
}
