// The dataflow in words: the details of one operator or stream, and tables of all.
import { html } from "page/html.js";
import { figure, milliseconds, percent, rate, whole } from "page/figures.js";
import { byName, operators, streamKey, streams } from "page/plans.js";

const OPERATOR_ROWS = [
  ["arriving", "arrival_rate", rate],
  ["sent", "emitted_rate", rate],
  ["capacity", "capacity", rate],
  ["busy", "utilisation", percent],
  ["busiest thread", "busiest", percent],
  ["waiting", "waiting_ms", milliseconds],
  ["service", "service_ms", milliseconds],
  ["network", "network_ms", milliseconds],
  ["queue", "queue", figure],
  ["cores in use", "cpu", figure],
];
const STREAM_ROWS = [
  ["rate", "rate", rate],
  ["sent per tuple handled", "selectivity", figure],
];

export function Details({ plan, observation, shown }) {
  const { title, rows, predicted, seen } = shown.stream ? stream(plan, observation, shown.stream) : operator(plan, observation, shown.operator);
  return html`<div class="details">
    <h3>${title}${observation ? "" : ", predicted"}</h3>
    <dl>
      ${rows.map(([name, key, write]) => html`<div>
        <dt>${name}</dt>
        ${observation && html`<dd>${write(seen?.[key] ?? undefined)}</dd>`}
        ${(!observation || predicted?.[key] !== undefined) && html`<dd class=${observation ? "quiet" : ""}>${write(predicted?.[key])}${observation ? " predicted" : ""}</dd>`}
      </div>`)}
    </dl>
  </div>`;
}

function operator(plan, observation, name) {
  const threads = plan.threads[name];
  return {
    title: `${name}: ${whole(threads)} thread${threads === 1 ? "" : "s"}`,
    rows: OPERATOR_ROWS,
    predicted: byName(plan.predicted?.operators, "operator").get(name),
    seen: withBusiest(byName(observation?.operators, "operator").get(name), observation?.threads),
  };
}

function withBusiest(load, threads = []) {
  const busy = threads.filter(({ operator }) => operator === load?.operator).map(({ utilisation }) => utilisation ?? Infinity);
  return busy.length ? { ...load, busiest: Math.max(...busy) } : load;
}

function stream(plan, observation, key) {
  const find = (loads) => (loads ?? []).find((load) => streamKey(load) === key);
  return {
    title: named(key),
    rows: STREAM_ROWS,
    predicted: find(plan.predicted?.streams),
    seen: find(observation?.streams),
  };
}

export function DataflowTables({ plan, observation, choose }) {
  return html`<details class="table">
    <summary>Operators and streams as tables</summary>
    <${Operators} plan=${plan} observation=${observation} choose=${choose} />
    <${Streams} plan=${plan} observation=${observation} choose=${choose} />
  </details>`;
}

const Scrolled = ({ name, children }) => html`<div class="scroller" tabindex="0" role="region" aria-label=${name}><table>${children}</table></div>`;

function Operators({ plan, observation, choose }) {
  const seen = byName(observation?.operators, "operator");
  const predicted = byName(plan.predicted?.operators, "operator");
  const bottleneck = (observation ?? plan.predicted)?.bottleneck;
  return html`<${Scrolled} name="Operators">
    <thead><tr><th>Operator</th><th>Threads</th>${observation && html`<th>Busy</th><th>Arriving</th><th>Waiting</th>`}
      <th>Busy, predicted</th><th>Arriving, predicted</th><th>Waiting, predicted</th></tr></thead>
    <tbody>${operators(plan).map(({ name, threads }) => html`<tr>
      <th scope="row"><button class="link" onClick=${() => choose({ operator: name })}>${name}</button>${name === bottleneck ? " (bottleneck)" : ""}</th>
      <td>${whole(threads)}</td>
      ${observation && cells(known(seen.get(name)))}${cells(predicted.get(name))}
    </tr>`)}</tbody>
  <//>`;
}

function Streams({ plan, observation, choose }) {
  const byStream = (loads) => new Map((loads ?? []).map((load) => [streamKey(load), load]));
  const [seen, predicted] = [byStream(observation?.streams), byStream(plan.predicted?.streams)];
  return html`<${Scrolled} name="Streams">
    <thead><tr><th>Stream</th>${observation && html`<th>Rate</th>`}<th>Rate, predicted</th></tr></thead>
    <tbody>${streams(plan).map(streamKey).map((key) => html`<tr>
      <th scope="row"><button class="link" onClick=${() => choose({ stream: key })}>${named(key)}</button></th>
      ${observation && html`<td>${rate(seen.get(key)?.rate ?? undefined)}</td>`}<td>${rate(predicted.get(key)?.rate)}</td>
    </tr>`)}</tbody>
  <//>`;
}

const named = (key) => key.replace("\n", " → ");

const cells = (load) => html`<td>${percent(load?.utilisation)}</td><td>${rate(load?.arrival_rate)}</td><td>${milliseconds(load?.waiting_ms)}</td>`;

// What was seen has no figure for what is not known; a prediction has none without a bound.
const known = (load = {}) => Object.fromEntries(Object.entries(load).filter(([, value]) => value !== null));
