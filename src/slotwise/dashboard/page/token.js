// Asks for the token: without it, the page only shows.
import { html, useState } from "page/html.js";

export function Token({ act }) {
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    setProblem(await act.trust(new FormData(event.target).get("token")));
  };
  return html`<form class="token" onSubmit=${submit}>
    <p>To change the run, enter the token that was printed with the page's address.</p>
    <label>Token <input name="token" autocomplete="off" spellcheck=${false} required /></label>
    <button>Unlock</button>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  </form>`;
}
