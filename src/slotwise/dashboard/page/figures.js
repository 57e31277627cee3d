// Figures as people read them, with units, on the same line. Of what is not known (undefined) it is a dash; null is
// a figure without a bound.

export const UNKNOWN = "–";

const plain = (digits) =>
  new Intl.NumberFormat("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });
const formats = [plain(0), plain(1), plain(2), plain(3)];

// Three digits that count: 12,346 · 123 · 12.3 · 1.23 · 0.123
export function figure(value) {
  if (value === undefined) return UNKNOWN;
  if (value === null) return "unbounded";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return formats[digits].format(value);
}

export const rate = (value) => withUnit(value, "/s");
export const milliseconds = (value) =>
  typeof value === "number" && value >= 1000 ? `${figure(value / 1000)}\u00a0s` : withUnit(value, "\u00a0ms");
export const percent = (value) =>
  typeof value === "number" ? `${Math.round(value * 100)}\u00a0%` : figure(value);
export const whole = (value) => (typeof value === "number" ? formats[0].format(value) : figure(value));
export const money = (value) =>
  typeof value === "number" ? `${value.toFixed(2)} per hour` : figure(value);

function withUnit(value, unit) {
  return typeof value === "number" ? figure(value) + unit : figure(value);
}

// Seconds of the run's clock: 0:07, 12:30, 3:00:05.
export function clock(seconds) {
  const all = Math.max(0, Math.round(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}

export const counted = (number, noun) => `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;

// The figures of an Observation by name: what people call them, and how they are written.
export const NAMES = {
  rate: "rate",
  latency_ms: "mean latency",
  latency_p50_ms: "p50 latency",
  latency_p95_ms: "p95 latency",
  latency_p99_ms: "p99 latency",
  sojourn_ms: "mean sojourn time",
  throughput: "throughput",
  backlog: "backlog",
  capacity: "capacity",
  inter_node_traffic: "traffic between nodes",
  inter_slot_traffic: "traffic between slots",
  cost_per_hour: "cost",
  machines: "machines",
  slots: "slots",
  headroom: "headroom",
  busiest: "busiest thread",
};

export function written(name, value) {
  if (name.endsWith("_ms")) return milliseconds(value);
  if (["rate", "throughput", "capacity", "inter_node_traffic", "inter_slot_traffic"].includes(name))
    return rate(value);
  if (name === "cost_per_hour") return money(value);
  if (name === "machines") return counted(value, "machine");
  if (name === "headroom" || name === "busiest") return percent(value);
  return figure(value);
}
