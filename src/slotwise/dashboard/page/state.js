// The page's state, and what each event of the run changes in it. Values are replaced, not changed.

const MOST_POINTS = 1200;

export const empty = { document: null, history: null, runs: [], ended: false, link: "connecting", trusted: false };

export const events = {
  observation(state, data) {
    const { point, ...seen } = data;
    return { ...changed(state, seen), history: longer(state.history, point, data.plan) };
  },
  plan(state, { number, plan }) {
    return changed(state, { plans: { ...state.document.plans, [number]: plan } });
  },
  decision(state, decision) {
    return changed(state, { decisions: numbered(state.document.decisions, decision) });
  },
  mark(state, mark) {
    return changed(state, { marks: numbered(state.document.marks, mark) });
  },
  control(state, control) {
    return changed(state, { control });
  },
  end(state, data) {
    const run = { ...state.document.run, ...data };
    return { ...changed(state, { run, control: null }), ended: true, link: "ended" };
  },
};

// So many points that the history is to be read again, down-sampled.
export const isLong = (history) => (history?.at_s.length ?? 0) > MOST_POINTS;

function changed(state, part) {
  return { ...state, document: { ...state.document, ...part } };
}

function numbered(list, item) {
  const others = list.filter((each) => each.number !== item.number);
  return [...others, item].sort((one, other) => one.number - other.number);
}

// The columns with one more point; a slot that is new has no figures before.
function longer(history, point, plan) {
  if (!point || !history) return history;
  const count = history.at_s.length;
  if (count && point.at_s <= history.at_s[count - 1]) return history;
  const { slot_cpu: cpu = {}, ...row } = { plan, ...point };
  const added = {};
  for (const [name, column] of Object.entries(history))
    if (name !== "slot_cpu") added[name] = [...column, row[name] ?? null];
  const slots = {};
  for (const name of new Set([...Object.keys(history.slot_cpu ?? {}), ...Object.keys(cpu)]))
    slots[name] = [...(history.slot_cpu?.[name] ?? Array(count).fill(null)), cpu[name] ?? null];
  return { ...added, slot_cpu: slots };
}
