// Where the threads run: nodes, their slots, and a square for each thread, filled by how busy it is.
// When the placement changes, the threads move.
import { html, unchanging, useLayoutEffect, useMemo, useRef } from "page/html.js";
import { percent, rate } from "page/figures.js";
import { Legend } from "page/legend.js";
import { filled, level } from "page/levels.js";
import { byName, slotMap } from "page/plans.js";
import { movedFrom, places } from "page/moving.js";

const MANY = 8;

export function SlotMap({ plan, observation, places: elsewhere, title = "Slots", id = "slots" }) {
  const nodes = useMemo(() => slotMap(plan, elsewhere), [plan, elsewhere]);
  const root = useMoving(nodes);
  const threads = useMemo(() => byThread(observation?.threads), [observation]);
  const seen = byName(observation?.slots);
  const planned = byName(plan.predicted?.slots);
  const seenNodes = byName(observation?.nodes);
  const plannedNodes = byName(plan.predicted?.nodes);
  const tell = ({ target }) => {
    if (target.dataset?.thread) target.title = told(target, threads);
  };
  return html`<section class="card" aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    <${Legend}>
      ${observation && html`<li><i class="meter sample"><i class="used" style=${{ width: "60%" }}></i><i class="tick" style=${{ left: "40%" }}></i></i> in use, and planned (line)</li>`}
      <li><i class="thread fell"></i> runs elsewhere than planned</li>
    <//>
    <div class="nodes ${nodes.length > MANY ? "many" : ""}" ref=${root} onMouseOver=${tell} ...${nodes.length > MANY && { tabIndex: 0, role: "region", "aria-label": `${title} by node` }}>
      ${nodes.map((node) => html`<article class="node" key=${node.name} style=${{ "--wide": nodes.length > MANY ? 1 : Math.min(node.slots.length, 4) }}>
        <h3>${node.name}${node.type && node.type !== node.name ? html` <span class="quiet">${node.type}</span>` : ""}</h3>
        ${node.slots.length > 1 && html`<${Meters} seen=${seenNodes.get(node.name)} planned=${plannedNodes.get(node.name)} measured=${Boolean(observation)} />`}
        <div class="slots">${node.slots.map((slot) => html`<${Slot} key=${slot.name} ...${slotLook(slot, threads)}
          ...${meterLook("cpu", seen.get(slot.name), planned.get(slot.name), observation)}
          ...${meterLook("mem", seen.get(slot.name), planned.get(slot.name), observation)} />`)}</div>
      </article>`)}
    </div>
  </section>`;
}

// Where the threads are is read just before they are drawn elsewhere.
function useMoving(nodes) {
  const root = useRef(null);
  const last = useRef(nodes);
  const before = useRef(null);
  if (last.current !== nodes) before.current = root.current && places(root.current);
  last.current = nodes;
  useLayoutEffect(() => {
    if (before.current) movedFrom(before.current, root.current);
  }, [nodes]);
  return root;
}

function byThread(loads) {
  return new Map((loads ?? []).map((load) => [`${load.operator}\n${load.thread}`, load]));
}

function told(target, threads) {
  const load = threads.get(target.dataset.thread);
  const name = target.dataset.thread.replace("\n", " ");
  const figures = load ? `: ${percent(load.utilisation)} busy, ${rate(load.arrival_rate)}` : "";
  return `${name}${figures}${target.dataset.planned ? `, planned in ${target.dataset.planned}` : ""}`;
}

// A slot's threads as text, so that a slot that looks the same is not drawn again: one line per
// operator, and of each thread its number, level, filling, and where it should be.
function slotLook(slot, threads) {
  const groups = [...slot.groups].map(([operator, members]) => [
    operator,
    members.map(({ number, planned }) => {
      const busy = threads.get(`${operator}\n${number}`)?.utilisation;
      return [number, level(busy)?.name ?? "", filled(busy), planned ?? ""];
    }),
  ]);
  return { name: slot.name, number: slot.number, threads: JSON.stringify(groups) };
}

function meterLook(kind, seen, planned, observation) {
  return {
    [kind]: hundredths((observation ? seen : planned)?.[kind]),
    [`${kind}Planned`]: observation ? hundredths(planned?.[kind]) : undefined,
  };
}

const hundredths = (value) => (typeof value === "number" ? Math.round(value * 100) : undefined);

const Slot = unchanging(({ name, number, threads, cpu, cpuPlanned, mem, memPlanned }) => {
  const groups = JSON.parse(threads);
  return html`<div class="slot ${groups.length ? "" : "empty"}" data-slot=${name} role="group" aria-label="slot ${name}">
    <h4>slot ${number}</h4>
    <${Meter} kind="CPU" value=${cpu} planned=${cpuPlanned} />
    <${Meter} kind="Memory" value=${mem} planned=${memPlanned} />
    ${groups.length ? groups.map(Group) : html`<p class="quiet">empty</p>`}
  </div>`;
});

function Group([operator, members]) {
  const count = members.length > 1 ? ` ×${members.length}` : "";
  const fell = members.filter(([, , , planned]) => planned).length;
  return html`<div class="group" key=${operator}>
    <span class="name" title=${operator}>${operator}</span><span class="count">${count}</span>
    <span class="threads">${members.map(([thread, name, part, planned]) => html`<i
      key=${thread} class="thread ${name}${planned ? " fell" : ""}" style=${{ "--filled": `${part}%` }}
      data-thread=${`${operator}\n${thread}`} data-planned=${planned || undefined}></i>`)}</span>
    ${fell > 0 && html`<span class="fell-text">${fell} planned elsewhere</span>`}
  </div>`;
}

function Meters({ seen, planned, measured }) {
  const look = { ...meterLook("cpu", seen, planned, measured), ...meterLook("mem", seen, planned, measured) };
  return html`<div class="node-meters">
    <${Meter} kind="CPU" value=${look.cpu} planned=${look.cpuPlanned} />
    <${Meter} kind="Memory" value=${look.mem} planned=${look.memPlanned} />
  </div>`;
}

const Meter = unchanging(({ kind, value, planned }) => {
  const text = value === undefined ? "–" : `${value} %`;
  const label = `${kind} ${text}${planned === undefined ? "" : `, planned ${planned} %`}`;
  const width = `${Math.min(100, value ?? 0)}%`;
  return html`<div class="meter-row" title=${label}>
    <span class="kind">${kind}</span>
    <span class="meter" role="img" aria-label=${label}>
      <i class="used ${value > 100 ? "over" : ""}" style=${{ width }}></i>
      ${planned !== undefined && html`<i class="tick" style=${{ left: `${Math.min(100, planned)}%` }}></i>`}
    </span>
    <span class="part">${text}</span>
  </div>`;
});
