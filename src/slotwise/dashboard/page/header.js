// What this page is about: the topology, the run and its state, other runs.
import { html } from "page/html.js";
import { rate } from "page/figures.js";
import { ThemeChoice } from "page/theme.js";

const LINKS = {
  live: "live",
  lost: "connecting again",
  ended: "recorded",
  file: "report",
  connecting: "connecting",
};

export function Header({ state }) {
  const { document: data, link, runs } = state;
  const { run } = data;
  document.title = `${run?.topology ?? data.topology} – Slotwise`;
  return html`<header>
    <div class="brand">
      <h1>${run?.topology ?? data.topology}</h1>
      <p class="quiet">${run ? told(data) : "candidates of a comparison"}</p>
    </div>
    <div class="tools">
      <span class="badge ${link}" role="status">${LINKS[link]}</span>
      ${runs?.length > 1 && html`<${Runs} runs=${runs} run=${state.run} />`}
      <${ThemeChoice} />
    </div>
    ${run?.why && html`<p class="problem" role="alert">The run failed: ${run.why}</p>`}
  </header>`;
}

function told({ kind, run, observation }) {
  if (kind === "plan") return `plan for ${rate(run.rate)}${observation ? `, ${observation.origin}` : ""}`;
  const controller = run.controller ? `controller ${run.controller}` : "no controller";
  const started = new Date(run.started).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return `run ${run.id} · ${run.origin} · ${controller} · started ${started} · ${run.state}`;
}

function Runs({ runs, run }) {
  const go = ({ target }) => location.assign(`?run=${encodeURIComponent(target.value)}`);
  return html`<label>Run
    <select value=${run} onChange=${go}>
      ${runs.map((each) => html`<option value=${each.id}>${each.id} · ${each.topology} · ${each.state}</option>`)}
    </select>
  </label>`;
}
