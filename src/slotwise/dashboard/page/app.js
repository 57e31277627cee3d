// Everything on the page, in its order.
import { html } from "page/html.js";
import { Candidates } from "page/candidates.js";
import { Charts } from "page/charts.js";
import { Dataflow } from "page/dataflow.js";
import { Decisions } from "page/decisions.js";
import { Header } from "page/header.js";
import { Reasons } from "page/reasons.js";
import { SlotMap } from "page/slot-map.js";
import { Summary } from "page/summary.js";
import { WhatIf } from "page/what-if.js";

export function App({ state, act }) {
  const { document: data, history } = state;
  if (!data) return html`<p class="waiting">Loading…</p>`;
  if (data.kind === "comparison")
    return html`<${Header} state=${state} /><main><${Candidates} data=${data} /></main>`;
  const plan = data.plans[data.plan];
  const asks = data.choices && state.link !== "file";
  return html`
    <${Header} state=${state} />
    <main>
      <${Summary} data=${data} plan=${plan} />
      <${Dataflow} plan=${plan} observation=${data.observation} />
      <div class="columns">
        <div>
          <${SlotMap} plan=${plan} observation=${data.observation} places=${data.places} />
          ${history?.at_s.length > 0 && html`<${Charts} history=${history} data=${data} />`}
        </div>
        <div>
          ${data.kind === "run" && html`<${Decisions} data=${data} trusted=${state.trusted} act=${act} />`}
          ${asks && html`<${WhatIf} data=${data} plan=${plan} ended=${state.ended} trusted=${state.trusted} act=${act} />`}
          <${Reasons} plan=${plan} />
        </div>
      </div>
    </main>`;
}
