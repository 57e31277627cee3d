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
  const rates = new Map((seen?.streams ?? []).map((stream) => [streamKey(stream), stream.rate]));
  const highest = Math.max(1e-9, ...[...rates.values()].filter(Number.isFinite));
  return {
    operators: operators(plan).map((operator) => [
      operator.name,
      operatorLook(operator, loads.get(operator.name), seen, colours),
    ]),
    streams: streams(plan).map((stream) => {
      const held = isHeld(loads.get(stream.target));
      return [streamKey(stream), streamLook(rates.get(streamKey(stream)), highest, held)];
    }),
  };
}

// Back-pressure: tuples wait before an operator that is asked for more than it can do.
const isHeld = (load) => load !== undefined && level(load.utilisation)?.name === "over";

function operatorLook({ name, threads, kind }, load, seen, colours) {
  const busy = load?.utilisation;
  const found = level(busy);
  const bottleneck = seen?.bottleneck === name;
  const second = [counted(threads, "thread")];
  if (load) second.push(kind === "source" ? rate(load.emitted_rate ?? load.arrival_rate) : `${percent(busy)} busy`);
  return {
    label: [name, second.join(" · "), note(load, bottleneck, kind, seen)].filter(Boolean).join("\n"),
    fill: `${found ? colours[found.name] : colours.idle} ${colours.idle}`,
    filled: `${filled(busy)}% ${filled(busy)}%`,
    border: bottleneck ? 3 : 1,
  };
}

function note(load, bottleneck, kind, seen) {
  if (kind === "source" && seen?.backlog >= 1) return `backlog ${whole(seen.backlog)}`;
  if (isHeld(load)) return bottleneck ? "bottleneck, overloaded" : "overloaded";
  if (bottleneck) return "bottleneck";
  return load?.waiting_ms >= 1000 ? `waits ${milliseconds(load.waiting_ms)}` : "";
}

function streamLook(value, highest, held) {
  const part = Number.isFinite(value) ? Math.sqrt(value / highest) : 0;
  return { wide: Math.round((1.2 + 7 * part) * 4) / 4, label: Number.isFinite(value) ? rate(value) : "", held: held ? 1 : 0 };
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
        "text-background-color": colours.surface,
        "text-background-opacity": 1,
        "text-background-padding": 2,
        "line-color": colours.line,
        "target-arrow-color": colours.line,
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
