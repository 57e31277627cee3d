// Another rate, algorithm or number of machines: the plan for it beside the one in effect.
import { html, useState } from "page/html.js";
import { Comparison } from "page/what-if-answer.js";
import { Token } from "page/token.js";

export function WhatIf({ data, plan, ended, trusted, act }) {
  const { choices } = data;
  const scheduler = plan.pipeline.scheduler ?? {};
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState("");
  const [asking, setAsking] = useState(false);
  const ask = async (event) => {
    event.preventDefault();
    setAsking(true);
    setProblem("");
    try {
      setAnswer(await act.whatIf(question(new FormData(event.target))));
    } catch (refused) {
      setAnswer(null);
      setProblem(refused.message);
    }
    setAsking(false);
  };
  const apply = async () => {
    const refused = await act.control({ force: answer.id });
    setProblem(refused);
    if (!refused) setAnswer({ ...answer, applied: true });
  };
  return html`<section class="card what-if" aria-labelledby="what-if">
    <h2 id="what-if">What if</h2>
    ${trusted ? html`<form onSubmit=${ask}>
      <label>Rate, tuples/s <input name="rate" type="number" min="0" step="any" inputmode="decimal" defaultValue=${choices.rate} /></label>
      <${Choice} name="allocator" title="Allocator" names=${choices.allocators} spec=${scheduler.allocator} />
      <${Choice} name="placer" title="Placer" names=${choices.placers} spec=${scheduler.placer} />
      <label>Machines <input name="machines" type="number" min="1" step="1" placeholder=${choices.machines === null ? "as needed" : String(choices.machines)} /></label>
      <button class="primary" disabled=${asking}>${asking ? "Planning…" : "Plan"}</button>
    </form>` : html`<${Token} act=${act} />`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${answer && html`<${Comparison} plan=${plan} observation=${data.observation} answer=${answer} ended=${ended} apply=${choices.can_apply && !ended && !answer.applied && apply} />`}
  </section>`;
}

function Choice({ name, title, names, spec }) {
  return html`<label>${title}
    <select name=${name}><option value="">${named(spec)}, as in the spec</option>
      ${names.map((each) => html`<option value=${each}>${each}</option>`)}
    </select></label>`;
}

// An algorithm with options is {name: options}; none is auto.
const named = (algorithm = "auto") => (typeof algorithm === "string" ? algorithm : Object.keys(algorithm)[0]);

// What is left empty is as in the plan's spec.
function question(form) {
  const given = Object.fromEntries([...form].filter(([, value]) => value !== ""));
  for (const name of ["rate", "machines"]) if (name in given) given[name] = Number(given[name]);
  return given;
}
