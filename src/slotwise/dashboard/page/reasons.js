// Why the plan is as it is.
import { rate } from "page/figures.js";
import { html } from "page/html.js";

export function Reasons({ plan }) {
  const warnings = plan.warnings ?? [];
  return html`<section class="card" aria-labelledby="reasons">
    <h2 id="reasons">The plan</h2>
    <p>By ${plan.allocator} and ${plan.placer}, for ${rate(plan.rate)}.</p>
    ${warnings.map((warning) => html`<p class="warning">⚠ ${warning}</p>`)}
    <details><summary>Reasons</summary>
      <ul>${plan.reasons.map((reason) => html`<li>${reason}</li>`)}</ul>
    </details>
  </section>`;
}
