// The page's state, and what each event of the run changes in it. Values are replaced, not changed.

const MOST_POINTS = 1200;

export const empty = { document: null, history: null, runs: [], ended: false, link: "connecting", trusted: false };

export const events = {
  observation(state, data) {
    const { point, ...seen } = data;
    const { places } = state.document;
    if (JSON.stringify(seen.places) === JSON.stringify(places)) seen.places = places;
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
  const { slot_cpu: seen = {}, ...row } = { plan, ...point };
  const added = {};
  for (const [name, column] of Object.entries(history))
    if (Array.isArray(column)) added[name] = [...column, row[name] ?? null];
  const many = history.many || isMany(seen);
  const before = many && !history.many ? few(history) : history;
  const cpu = many ? quantiles(Object.values(seen)) : seen;
  const slots = {};
  for (const name of new Set([...Object.keys(before.slot_cpu ?? {}), ...Object.keys(cpu)]))
    slots[name] = [...(before.slot_cpu?.[name] ?? Array(count).fill(null)), cpu[name] ?? null];
  return { ...added, slot_cpu: slots, many };
}

const MOST_LINES = 4;
const QUANTILES = { "busiest slot": 1, median: 0.5, "least busy": 0 };

const isMany = (slots) => Object.keys(slots ?? {}).length > MOST_LINES;

// The CPU of more slots than a chart can have lines becomes that of the busiest slot, the median and
// the least busy one at each moment.
export function few(history) {
  if (!history || history.many || !isMany(history.slot_cpu)) return history;
  const columns = Object.values(history.slot_cpu);
  const rows = history.at_s.map((_, at) => quantiles(columns.map((column) => column[at])));
  const slots = {};
  for (const name of Object.keys(QUANTILES)) slots[name] = rows.map((row) => row[name] ?? null);
  return { ...history, slot_cpu: slots, many: true };
}

function quantiles(values) {
  const known = Float64Array.from(values.filter((value) => value != null)).sort();
  if (!known.length) return {};
  return Object.fromEntries(
    Object.entries(QUANTILES).map(([name, part]) => [name, known[Math.floor(part * (known.length - 1))]]),
  );
}
