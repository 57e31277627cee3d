// A chart as ECharts takes it. Tooltips are drawn on the canvas: names never become HTML.
import { clock, whole } from "page/figures.js";
import { MARKS } from "page/marks.js";

const FONT = "system-ui, sans-serif";
const DASHES = ["solid", [7, 3], [9, 3, 2, 3], [3, 3]];
const PREDICTED = [2, 3];
const COLOURS = ["first", "second", "third", "fourth"];

export function options({ lines, goals, predictions, stepped, at, start, marks, write, logarithmic, colours }) {
  const limits = goals.filter(([, value]) => value != null);
  const expected = predictions.filter(([, values]) => values.some((value) => value != null));
  const text = { color: colours.quiet, fontFamily: FONT, fontSize: 11 };
  const every = tick(at.at(-1) - start);
  const seen = marks.filter(({ at_s: time }) => time >= start && time <= at.at(-1));
  const colourOf = new Map(lines.map(([name], position) => [name, colours[COLOURS[position]]]));
  return {
    animation: false,
    textStyle: { fontFamily: FONT },
    grid: { left: 8, right: 14, top: 42, bottom: 6, containLabel: true },
    legend: {
      data: [...lines, ...expected.filter(([, , of]) => !of)].map(([name]) => name),
      left: 0,
      top: 0,
      itemWidth: 28,
      itemHeight: 1, // no dot on the line
      textStyle: { ...text, fontSize: 12 },
      inactiveColor: colours.line,
    },
    tooltip: {
      trigger: "axis",
      renderMode: "richText",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { ...text, color: colours.ink, fontSize: 12 },
      formatter: (points) => tooltip(points, write, seen, at),
    },
    xAxis: {
      type: "value",
      min: Math.floor(start / every) * every,
      max: "dataMax",
      axisLabel: { ...text, formatter: clock, hideOverlap: true, showMinLabel: true },
      axisLine: { lineStyle: { color: colours.line } },
      axisTick: { show: false },
      splitLine: { show: false },
      interval: every,
    },
    yAxis: {
      ...(logarithmic ? { type: "log" } : { type: "value", min: 0 }),
      splitNumber: 4,
      minInterval: write === whole ? 1 : 0,
      axisLabel: { ...text, formatter: (value) => write(value) },
      splitLine: { lineStyle: { color: colours.line, opacity: 0.6 } },
    },
    series: [
      { type: "line", data: [], markLine: marked(seen, colours) },
      ...lines.map(([name, values], position) => line({ name, at, values, colour: colours[COLOURS[position]], dash: DASHES[position], stepped })),
      ...expected.map(([name, values, of]) => line({ name, at, values, colour: colourOf.get(of) ?? colours.ink, dash: PREDICTED, stepped: true })),
      ...limits.map(([name, value]) => limit(name, [start, at.at(-1)], value, colours)),
    ],
  };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

// Round times, about five of them.
const tick = (seconds) => STEPS.find((each) => seconds / each <= 5) ?? seconds / 5;

// `stepped`: the values hold until the next one.
function line({ name, at, values, colour, dash, stepped }) {
  return {
    name,
    type: "line",
    symbol: "none",
    ...(stepped ? { step: "end" } : { sampling: "lttb" }),
    emphasis: { disabled: true },
    itemStyle: { color: colour },
    lineStyle: { width: dash === PREDICTED ? 2 : 1.8, type: dash, color: colour },
    data: at.map((time, position) => [time, values[position] ?? "-"]),
  };
}

// A line with its name on it.
function limit(name, ends, value, colours) {
  const label = { formatter: name, position: "insideEndTop", color: colours.goal, fontFamily: FONT, fontSize: 11 };
  return {
    ...line({ name, at: ends, values: [value, value], colour: colours.goal, dash: [12, 4] }),
    markLine: { ...MARK_LINE, lineStyle: { color: "transparent" }, data: [{ yAxis: value, label }] },
  };
}

const MARK_LINE = { silent: true, symbol: "none", animation: false };

const marked = (marks, colours) => ({
  ...MARK_LINE,
  data: marks.map(({ at_s: time, kind }) => {
    const { letter, colour, dash } = MARKS[kind];
    return {
      xAxis: time,
      lineStyle: { color: colours[colour], type: dash, width: 1.2 },
      label: { formatter: letter, color: colours[colour], fontFamily: FONT, fontWeight: 700, fontSize: 11, distance: 3 },
    };
  }),
});

function tooltip(points, write, marks, at) {
  if (!points.length) return "";
  const time = points[0].axisValue ?? points[0].value[0];
  const rows = points.filter(({ value }) => value[1] !== "-").map(({ seriesName, value }) => `${seriesName}: ${write(value[1])}`);
  const near = (at.at(-1) - at[0]) / 100;
  const happened = marks.filter(({ at_s: when }) => Math.abs(when - time) <= near).map(({ kind, text }) => `${MARKS[kind].letter}: ${shortened(text)}`);
  return [clock(time), ...rows, ...happened].join("\n");
}

const shortened = (text) => (text.length > 90 ? `${text.slice(0, 89)}…` : text);
