// What the controller decided, what that was expected to do, and what became of it; and what a person
// says about it.
import { html, useState } from "page/html.js";
import { clock, money, NAMES, written } from "page/figures.js";
import { Token } from "page/token.js";

const KINDS = { "re-place": "other slots", "re-plan": "other threads or machines", keep: "no change" };
const OUTCOMES = { applied: "✓ applied", recommended: "◇ recommended", refused: "✗ refused" };
const PERIODS = {
  kept: "the plan stays",
  "warming up": "a short period, or too soon after the start or a change to decide",
  "not observed": "nothing was measured",
};
const SHOWN = 5;

export function Decisions({ data, trusted, act }) {
  const { control, decisions, step } = data;
  const [all, setAll] = useState(false);
  const [problem, setProblem] = useState("");
  const tell = async (wanted) => setProblem(await act.control(wanted));
  const latest = decisions.toReversed();
  const shown = all ? latest : latest.slice(0, SHOWN);
  return html`<section class="card" aria-labelledby="decisions">
    <h2 id="decisions">Decisions</h2>
    ${control && html`<${Control} control=${control} trusted=${trusted} act=${act} tell=${tell} problem=${problem} />`}
    ${step && html`<p class="quiet">At ${clock(step.at_s)}: ${step.reason || step.note || (PERIODS[step.outcome] ?? step.outcome)}</p>`}
    ${latest.length === 0 && html`<p class="quiet">${data.run.controller ? "Nothing was changed or recommended." : "This run has no controller, so its plan stays as it is."}</p>`}
    <ol class="decisions">
      ${shown.map((decision) => html`<${Decision} key=${decision.number} decision=${decision} control=${trusted ? control : null} tell=${tell} />`)}
    </ol>
    ${latest.length > shown.length && html`<button onClick=${() => setAll(true)}>Show all ${latest.length}</button>`}
    <${Events} marks=${data.marks} />
  </section>`;
}

function Control({ control, trusted, act, tell, problem }) {
  const forbids = (kind) => ({ target }) =>
    tell({ forbid: target.checked ? [...control.forbid, kind] : control.forbid.filter((each) => each !== kind) });
  if (!trusted) return html`<${Token} act=${act} />`;
  return html`<div class="control">
    <button class=${control.recommended !== null ? "primary" : ""} disabled=${control.recommended === null || control.pending !== null} onClick=${() => tell({ force: control.recommended })}>Apply recommended</button>
    <button aria-pressed=${control.hold} onClick=${() => tell({ hold: !control.hold })}>${control.hold ? "Changes are held" : "Hold changes"}</button>
    <fieldset><legend>Forbid</legend>
      ${["re-place", "re-plan"].map((kind) => html`<label><input type="checkbox" checked=${control.forbid.includes(kind)} onChange=${forbids(kind)} /> ${KINDS[kind]}</label>`)}
    </fieldset>
    ${control.pending && html`<p role="status">Asked for: a change is applied at the next period. <button class="link" onClick=${() => tell({ force: null })}>Take it back</button></p>`}
    ${(problem || control.problem) && html`<p class="problem" role="alert">${problem || control.problem}</p>`}
  </div>`;
}

// The buttons are at the recommendation that stands.
function Decision({ decision, control, tell }) {
  const { at_s: at, outcome, forced, kind, reason, expected, changes, change, note } = decision;
  return html`<li class="decision ${outcome}">
    <p class="head"><time>${clock(at)}</time> <b>${OUTCOMES[outcome] ?? outcome}</b>
      <span class="quiet">${KINDS[kind] ?? kind}${forced ? ", by a person" : ""}</span></p>
    <p>${reason}</p>
    <dl>
      ${expected?.gain && html`<${Gain} gain=${expected.gain} seen=${decision.seen} applied=${outcome === "applied"} />`}
      ${expected?.pause_s !== undefined && html`<div><dt>pause</dt><dd>expected ${seconds(expected.pause_s)}${change ? `, took ${seconds(change.pause_s)}, ${change.how}` : ""}</dd></div>`}
      ${expected?.cost_per_hour != null && html`<div><dt>cost</dt><dd>${money(expected.cost_per_hour)}</dd></div>`}
    </dl>
    ${changes?.length > 0 && html`<ul class="changes">${changes.map((each) => html`<li>${each}</li>`)}</ul>`}
    ${note && html`<p class="quiet">${note}</p>`}
    ${outcome === "recommended" && control && decision.plan === control.recommended && html`<div class="buttons">
      <button class="primary" disabled=${control.pending !== null} onClick=${() => tell({ force: decision.plan })}>Apply</button>
      <button disabled=${control.hold} onClick=${() => tell({ hold: true })}>Hold</button>
      <button disabled=${control.forbid.includes(kind)} onClick=${() => tell({ forbid: [...control.forbid, kind] })}>Forbid ${KINDS[kind]}</button>
    </div>`}
  </li>`;
}

const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

function Gain({ gain, seen, applied }) {
  const { figure, before, after } = gain;
  const became = applied ? `, became ${written(figure, seen ?? undefined)}` : "";
  return html`<div><dt>${NAMES[figure] ?? figure}</dt>
    <dd>${written(figure, before)} → ${written(figure, after)} expected${became}</dd></div>`;
}

function Events({ marks }) {
  const happened = marks.filter(({ kind }) => kind !== "decision").toReversed();
  if (!happened.length) return null;
  return html`<details><summary>Restarts, faults and other events (${happened.length})</summary>
    <ul>${happened.map(({ at_s: at, kind, text }) => html`<li><time>${clock(at)}</time> <b>${kind}</b> ${text}</li>`)}</ul>
  </details>`;
}
