// How operators and streams look: what is drawn of each, for Cytoscape.
import { counted, milliseconds, percent, rate, whole } from "page/figures.js";
import { filled, level } from "page/levels.js";
import { byName, operators, streamKey, streams } from "page/plans.js";

const FONT = "system-ui, sans-serif";
const WIDEST = "1,000 threads · 100 % busy";
const measured = document.createElement("canvas").getContext("2d");

export function nodeSize(name) {
  measured.font = `13px ${FONT}`;
  const widest = Math.max(...[name, WIDEST].map((text) => measured.measureText(text).width));
  return { width: Math.ceil(widest) + 20, height: 62 };
}

// Which values the elements have now: by operator, and by stream.
export function looks(plan, observation, colours) {
  const seen = observation ?? plan.predicted;
  const loads = byName(seen?.operators, "operator");
  const busiest = busiestThreads(seen);
  const held = (name) => isHeld(busiest.get(name));
  const rates = new Map((seen?.streams ?? []).map((stream) => [streamKey(stream), stream.rate]));
  const highest = Math.max(1e-9, ...[...rates.values()].filter(Number.isFinite));
  return {
    operators: operators(plan).map((operator) => [
      operator.name,
      operatorLook(operator, loads.get(operator.name), busiest.get(operator.name), seen, colours),
    ]),
    streams: streams(plan).map((stream) => [
      streamKey(stream),
      streamLook(rates.get(streamKey(stream)), highest, held(stream.target)),
    ]),
  };
}

// By operator, how busy its busiest thread is; in a prediction, which has no single threads, all are alike.
function busiestThreads(seen) {
  const found = new Map((seen?.operators ?? []).map((load) => [load.operator, load.utilisation]));
  for (const { operator, utilisation } of seen?.threads ?? [])
    if (found.get(operator) !== null && (utilisation === null || utilisation > (found.get(operator) ?? 0))) found.set(operator, utilisation);
  return found;
}

// Back-pressure: tuples wait before an operator with a thread that is asked for more than it can do.
const isHeld = (busy) => level(busy)?.name === "over";

function operatorLook({ name, threads, kind }, load, busiest, seen, colours) {
  const busy = load?.utilisation;
  const found = level(busy);
  const bottleneck = seen?.bottleneck === name;
  const second = [counted(threads, "thread")];
  if (load) second.push(kind === "source" ? rate(load.emitted_rate ?? load.arrival_rate) : `${percent(busy)} busy`);
  return {
    label: [name, second.join(" · "), note({ load, busiest, bottleneck, kind, seen })].filter(Boolean).join("\n"),
    fill: `${found ? colours[found.name] : colours.idle} ${colours.idle}`,
    filled: `${filled(busy)}% ${filled(busy)}%`,
    border: bottleneck ? 3 : 1,
  };
}

// The bottleneck has the busiest thread of all; other operators can be busier on average.
function note({ load, busiest, bottleneck, kind, seen }) {
  if (kind === "source" && seen?.backlog >= 1) return `backlog ${whole(seen.backlog)}`;
  const said = bottleneck ? ["bottleneck"] : [];
  if (isHeld(load?.utilisation)) said.push("overloaded");
  else if ((bottleneck || isHeld(busiest)) && percent(busiest) !== percent(load?.utilisation)) said.push(`one thread ${percent(busiest)}`);
  if (said.length) return said.join(", ");
  return load?.waiting_ms >= 1000 ? `waits ${milliseconds(load.waiting_ms)}` : "";
}

function streamLook(value, highest, held) {
  const part = Number.isFinite(value) ? Math.sqrt(value / highest) : 0;
  return { wide: Math.round((1.2 + (WIDEST_STREAM - 1.2) * part) * 4) / 4, label: Number.isFinite(value) ? rate(value) : "", held: held ? 1 : 0 };
}

const LABEL = { width: 52, height: 16 };
const WIDEST_STREAM = 8.2;

// Where a stream's label stands beside its line, which goes on by `x` and `y`: above it, or to its right.
export function beside({ x, y }) {
  const long = Math.hypot(x, y) || 1;
  const [acrossX, acrossY] = x * y < 0 ? [-Math.abs(y) / long, -Math.abs(x) / long] : [Math.abs(y) / long, -Math.abs(x) / long];
  const away = (WIDEST_STREAM + LABEL.height * Math.abs(acrossY) + LABEL.width * Math.abs(acrossX)) / 2;
  return { besideX: acrossX * away, besideY: acrossY * away };
}

export function style(colours) {
  const text = { "font-family": FONT, color: colours.ink, "min-zoomed-font-size": 5 };
  return [
    {
      selector: "node",
      style: {
        ...text,
        shape: "round-rectangle",
        width: "data(width)",
        height: "data(height)",
        label: "data(label)",
        "font-size": 13,
        "text-wrap": "wrap",
        "text-valign": "center",
        "line-height": 1.35,
        "background-fill": "linear-gradient",
        "background-gradient-direction": "to-right",
        "background-gradient-stop-colors": "data(fill)",
        "background-gradient-stop-positions": "data(filled)",
        "border-width": "data(border)",
        "border-color": colours.quiet,
      },
    },
    { selector: "node[border = 3]", style: { "border-color": colours.ink } },
    {
      selector: "edge",
      style: {
        ...text,
        width: "data(wide)",
        label: "data(label)",
        "font-size": 12,
        color: colours.quiet,
        "text-margin-x": "data(besideX)",
        "text-margin-y": "data(besideY)",
        "text-outline-color": colours.surface,
        "text-outline-width": 2,
        "line-color": colours.quiet,
        "target-arrow-color": colours.quiet,
        "target-arrow-shape": "triangle",
        "arrow-scale": 0.9,
        "curve-style": "bezier",
      },
    },
    {
      selector: "edge[held = 1]",
      style: { "line-style": "dashed", "line-color": colours["mark-fault"], "target-arrow-color": colours["mark-fault"] },
    },
  ];
}
