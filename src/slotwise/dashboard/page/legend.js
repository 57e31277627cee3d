// What the fillings mean.
import { html } from "page/html.js";
import { LEVELS } from "page/levels.js";

const HEIGHTS = { low: 35, moderate: 65, high: 90, over: 100 };

export function Legend({ children }) {
  return html`<ul class="legend" aria-label="Legend">
    <li>Busy:</li>
    ${LEVELS.map(
      ({ name, text }) => html`<li><i class="thread ${name}" style=${{ "--filled": `${HEIGHTS[name]}%` }}></i> ${text}</li>`,
    )}
    ${children}
  </ul>`;
}
