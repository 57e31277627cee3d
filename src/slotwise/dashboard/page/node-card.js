// One node of the slot map: its slots with their threads, CPU and memory. What is not on the screen is
// drawn again when it comes there, or when other threads are in it.
import { Component, html, unchanging } from "page/html.js";
import { filled, level } from "page/levels.js";

export class NodeCard extends Component {
  componentDidMount() {
    this.watch = new IntersectionObserver(([entry]) => {
      this.hidden = !entry.isIntersecting;
      if (!this.hidden && this.old) this.forceUpdate();
    }, { rootMargin: "300px" });
    this.watch.observe(this.card);
  }

  componentWillUnmount() {
    this.watch.disconnect();
  }

  shouldComponentUpdate(next) {
    this.old = this.hidden && next.node === this.props.node;
    return !this.old;
  }

  render({ node, loads, wide }) {
    this.old = false;
    const look = (kind, seen, planned) => meterLook(kind, loads.measured ? seen : planned, loads.measured ? planned : undefined);
    const meters = (seen, planned) => ({ ...look("cpu", seen, planned), ...look("mem", seen, planned) });
    return html`<article class="node" ref=${(card) => (this.card = card)} style=${{ "--wide": wide }}>
      <h3>${node.name}${node.type && node.type !== node.name ? html` <span class="quiet">${node.type}</span>` : ""}</h3>
      ${node.slots.length > 1 && html`<${Meters} ...${meters(loads.nodes.get(node.name), loads.plannedNodes.get(node.name))} />`}
      <div class="slots">${node.slots.map((slot) => html`<${Slot} key=${slot.name} ...${slotLook(slot, loads.threads)}
        ...${meters(loads.slots.get(slot.name), loads.plannedSlots.get(slot.name))} />`)}</div>
    </article>`;
  }
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

function meterLook(kind, shown, planned) {
  return { [kind]: hundredths(shown?.[kind]), [`${kind}Planned`]: hundredths(planned?.[kind]) };
}

const hundredths = (value) => (typeof value === "number" ? Math.round(value * 100) : undefined);

const Slot = unchanging(({ name, number, threads, cpu, cpuPlanned, mem, memPlanned }) => {
  const groups = JSON.parse(threads);
  return html`<div class="slot ${groups.length ? "" : "empty"}" data-slot=${name} role="group" aria-label="slot ${name}">
    <h4><button class="link">slot ${number}</button></h4>
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

function Meters({ cpu, cpuPlanned, mem, memPlanned }) {
  return html`<div class="node-meters">
    <${Meter} kind="CPU" value=${cpu} planned=${cpuPlanned} />
    <${Meter} kind="Memory" value=${mem} planned=${memPlanned} />
  </div>`;
}

const fullness = (value) => (value > 100 ? "over" : value >= 80 ? "high" : "");

const Meter = unchanging(({ kind, value, planned }) => {
  const text = value === undefined ? "–" : `${value} %`;
  const label = `${kind} ${text}${planned === undefined ? "" : `, planned ${planned} %`}`;
  const width = `${Math.min(100, value ?? 0)}%`;
  return html`<div class="meter-row" title=${label}>
    <span class="kind">${kind}</span>
    <span class="meter" role="img" aria-label=${label}>
      <i class="used ${fullness(value)}" style=${{ width }}></i>
      ${planned !== undefined && html`<i class="tick" style=${{ left: `${Math.min(100, planned)}%` }}></i>`}
    </span>
    <span class="part">${text}</span>
  </div>`;
});
