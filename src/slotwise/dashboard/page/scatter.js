// Cost against p99 latency, by ECharts: a diamond for each candidate on the Pareto front.
import { html, useEffect, useRef } from "page/html.js";
import { library } from "page/chart.js";
import { milliseconds, money } from "page/figures.js";
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

function options(candidates, goal, colours) {
  const text = { color: colours.quiet, fontFamily: "system-ui, sans-serif", fontSize: 12 };
  const point = (each) => ({ value: [each.cost_per_hour, each.latency_p99_ms], name: `${each.allocator} + ${each.placer}`, rate: each.rate });
  const front = candidates.filter(({ pareto }) => pareto).sort((one, other) => one.cost_per_hour - other.cost_per_hour);
  const kinds = [
    ["meets the goals", candidates.filter((each) => !each.pareto && !each.missed_goals), "circle", colours.first],
    ["misses a goal", candidates.filter((each) => !each.pareto && each.missed_goals), "triangle", colours.second],
  ];
  const axis = { type: "value", scale: true, nameLocation: "middle", nameTextStyle: text, splitLine: { lineStyle: { color: colours.line } }, axisLine: { lineStyle: { color: colours.line } } };
  return {
    animation: false,
    grid: { left: 64, right: 24, top: 40, bottom: 48 },
    legend: { left: 0, textStyle: text },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { ...text, color: colours.ink },
      formatter: ({ name, value }) => `${name}\n${money(value[0])}\np99 ${milliseconds(value[1])}`,
    },
    xAxis: { ...axis, name: "cost per hour", nameGap: 28, axisLabel: text },
    yAxis: { ...axis, type: "log", name: "p99 latency", nameGap: 52, axisLabel: { ...text, formatter: milliseconds } },
    series: [
      ...kinds.map(([name, some, symbol, colour]) => ({ name, type: "scatter", symbol, symbolSize: 9, itemStyle: { color: colour, opacity: 0.75 }, data: some.map(point) })),
      {
        name: "Pareto front",
        type: "line",
        step: "end",
        symbol: "diamond",
        symbolSize: 13,
        itemStyle: { color: colours.goal },
        lineStyle: { width: 1.5, type: "dashed" },
        data: front.map(point),
        ...(goal && { markLine: { silent: true, symbol: "none", lineStyle: { color: colours.quiet, type: [2, 3] }, label: { formatter: "goal", color: colours.quiet, position: "insideEndTop" }, data: [{ yAxis: goal }] } }),
      },
    ],
  };
}
