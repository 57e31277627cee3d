// Where the page's data come from: the file itself (a report), or the server of a run.

const KEY = "slotwise token";

export function embedded() {
  const element = document.getElementById("slotwise-data");
  return element && JSON.parse(element.textContent);
}

// The token comes in the address behind #token=, and leaves the address at once.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

export const keepToken = (token) => sessionStorage.setItem(KEY, token);

export const isTrusted = async () => (await ask("api/access")).token;

export const readRuns = () => ask("api/runs");
export const readDocument = (run) => ask(`api/runs/${encodeURIComponent(run)}`);
export const readHistory = (run) => ask(`api/runs/${encodeURIComponent(run)}/history?points=600`);
export const control = (run, wanted) => tell(`api/runs/${encodeURIComponent(run)}/control`, wanted);
export const whatIf = (run, question) => tell(`api/runs/${encodeURIComponent(run)}/what-if`, question);

// Calls `onEvent(name, data)` for each event of the run from `cursor` on, `onLink(true | false)` when the server is
// there or not. The browser connects again by itself, and goes on where it was. A page that nobody looks at holds no
// connection: browsers have six for all their pages of a server.
export function follow(run, cursor, names, onEvent, onLink) {
  let stream = null;
  const open = () => {
    stream = new EventSource(`api/runs/${encodeURIComponent(run)}/events?after=${encodeURIComponent(cursor)}`);
    for (const name of names)
      stream.addEventListener(name, (event) => {
        cursor = event.lastEventId || cursor;
        onEvent(name, JSON.parse(event.data));
        if (name === "end") end();
      });
    stream.onopen = () => onLink(true);
    stream.onerror = () => onLink(false);
  };
  const look = () => {
    if (document.hidden) {
      stream?.close();
      stream = null;
    } else if (!stream) open();
  };
  const end = () => {
    stream.close();
    document.removeEventListener("visibilitychange", look);
  };
  document.addEventListener("visibilitychange", look);
  look();
}

const tell = (path, data) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) });

// Raises an Error with a sentence; `status` is that of the answer.
async function ask(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(path, { ...options, headers }).catch(() => {
    throw new Error("the server does not answer: the run may be over");
  });
  const data = await answer.json().catch(() => ({ problem: `the server answered with ${answer.status}` }));
  if (answer.ok) return data;
  throw Object.assign(new Error(data.problem ?? `the server answered with ${answer.status}`), { status: answer.status });
}
