// The threads of the slot that was tapped, or chosen by its button, with their figures.
import { html, useEffect, useRef } from "page/html.js";
import { percent, rate } from "page/figures.js";
import { comeIntoView } from "page/moving.js";

export function SlotDetails({ title, chosen, nodes, threads, measured }) {
  const place = useRef(null);
  useEffect(() => comeIntoView(place.current), [chosen]);
  const slot = nodes.flatMap((node) => node.slots).find(({ name }) => name === chosen.slot);
  const members = [...(slot?.groups ?? [])].flatMap(([operator, group]) => group.map((each) => ({ operator, ...each })));
  return html`<div class="details" ref=${place} role="region" aria-label=${`${title}: threads of ${chosen.slot}`}>
    <h3>${chosen.slot}${measured ? "" : ", predicted"}</h3>
    ${members.length ? html`<table>
      <thead><tr><th>Thread</th><th>Busy</th><th>Arriving</th><th>Planned in</th></tr></thead>
      <tbody>${members.map((member) => html`<${Thread} member=${member} chosen=${chosen} threads=${threads} />`)}</tbody>
    </table>` : html`<p class="quiet">No threads</p>`}
  </div>`;
}

function Thread({ member: { operator, number, planned }, chosen, threads }) {
  const key = `${operator}\n${number}`;
  const load = threads.get(key);
  return html`<tr aria-current=${key === chosen.thread ? "true" : undefined}>
    <th scope="row">${operator} ${number}</th>
    <td>${percent(load?.utilisation)}</td><td>${rate(load?.arrival_rate ?? undefined)}</td>
    <td>${planned ?? "this slot"}</td>
  </tr>`;
}
