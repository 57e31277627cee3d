// Reads a plan, as docs/reference/plan-json.md has it.

export function operators(plan) {
  return Object.entries(plan.threads).map(([name, threads]) => ({
    name,
    threads,
    kind: plan.pipeline.topology.operators[name]?.kind ?? "operator",
  }));
}

export const streams = (plan) =>
  plan.pipeline.topology.streams.map((stream) => ({ source: stream.from, target: stream.to }));

// As observations name it.
const slotName = (node, slot) => `${node.name}/${slot}`;

// Nodes with their slots; of each slot, its threads by operator. `places` are the threads that run
// elsewhere than planned: they are where they run.
export function slotMap(plan, places = []) {
  const nodes = plan.nodes.map((node) => ({
    ...node,
    slots: Array.from({ length: node.slots }, (_, slot) => ({
      name: slotName(node, slot),
      number: slot,
      groups: new Map(),
    })),
  }));
  const slots = new Map(nodes.flatMap((node) => node.slots.map((slot) => [slot.name, slot])));
  const byNode = new Map(nodes.map((node) => [node.name, node]));
  const moved = new Map(places.map((place) => [`${place.operator}\n${place.thread}`, place]));
  for (const { operator, thread, node, slot } of plan.placement) {
    const place = moved.get(`${operator}\n${thread}`);
    const home = byNode.get(node).slots[slot];
    const { groups } = (place && slots.get(place.slot)) ?? home;
    if (!groups.has(operator)) groups.set(operator, []);
    groups.get(operator).push({ number: thread, planned: place?.planned });
  }
  return nodes;
}

export const byName = (loads, key = "name") => new Map((loads ?? []).map((load) => [load[key], load]));

export const streamKey = (stream) => `${stream.source}\n${stream.target}`;

// Of a candidate of a comparison: a predicted latency of null has no bound.
export const keepsUp = (candidate) => candidate.latency_ms !== null;
