// Where the threads run: nodes, their slots, and a square for each thread, filled by how busy it is.
// When the placement changes, the threads move.
import { html, useLayoutEffect, useMemo, useRef, useState } from "page/html.js";
import { percent, rate } from "page/figures.js";
import { Legend } from "page/legend.js";
import { movedFrom, places } from "page/moving.js";
import { NodeCard } from "page/node-card.js";
import { SlotDetails } from "page/slot-details.js";
import { byName, slotMap } from "page/plans.js";

const MANY = 8;

export function SlotMap({ plan, observation, places: elsewhere, title = "Slots", id = "slots" }) {
  const nodes = useMemo(() => slotMap(plan, elsewhere), [plan, elsewhere]);
  const root = useMoving(nodes);
  const loads = useMemo(() => loadsOf(plan, observation), [plan, observation]);
  const [chosen, choose] = useState(null);
  const click = ({ target }) => {
    const slot = target.closest("[data-slot]")?.dataset.slot;
    if (slot) choose({ slot, thread: target.dataset.thread });
  };
  const tell = ({ target }) => {
    if (target.dataset?.thread) target.title = told(target, loads.threads);
  };
  const many = nodes.length > MANY;
  const scrolled = many && { tabIndex: 0, role: "region", "aria-label": `${title} by node` };
  return html`<section class="card" aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    <${Legend}>
      ${observation && html`<li><i class="meter sample"><i class="used" style=${{ width: "60%" }}></i><i class="tick" style=${{ left: "40%" }}></i></i> in use, and planned (line)</li>`}
      ${observation && html`<li><i class="thread fell"></i> runs elsewhere than planned</li>`}
    <//>
    <div class="nodes ${many ? "many" : ""}" ref=${root} onMouseOver=${tell} onClick=${click} ...${scrolled}>
      ${nodes.map((node) => html`<${NodeCard} key=${node.name} node=${node} loads=${loads} wide=${many ? 1 : Math.min(node.slots.length, 4)} />`)}
    </div>
    ${chosen && html`<${SlotDetails} title=${title} chosen=${chosen} nodes=${nodes} threads=${loads.threads} measured=${loads.measured} />`}
  </section>`;
}

// A prediction has no figures of single threads: they are as busy as their operator.
function loadsOf(plan, observation) {
  const predicted = byName(plan.predicted?.operators, "operator");
  const threads = observation
    ? observation.threads ?? []
    : plan.placement.map(({ operator, thread }) => ({ operator, thread, utilisation: predicted.get(operator)?.utilisation }));
  return {
    measured: Boolean(observation),
    threads: new Map(threads.map((load) => [`${load.operator}\n${load.thread}`, load])),
    slots: byName(observation?.slots),
    nodes: byName(observation?.nodes),
    plannedSlots: byName(plan.predicted?.slots),
    plannedNodes: byName(plan.predicted?.nodes),
  };
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

function told(target, threads) {
  const load = threads.get(target.dataset.thread);
  const name = target.dataset.thread.replace("\n", " ");
  const figures = load ? `: ${percent(load.utilisation)} busy, ${rate(load.arrival_rate)}` : "";
  return `${name}${figures}${target.dataset.planned ? `, planned in ${target.dataset.planned}` : ""}`;
}
