// Starts the page: from the data inside a report, or from the server's, following the run's events.
import { html, render } from "page/html.js";
import { App } from "page/app.js";
import * as source from "page/source.js";
import { empty, events, few, isLong } from "page/state.js";

const root = document.getElementById("page");
root.replaceChildren();
let state = empty;
let drawing = false;

function show(next) {
  state = next;
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw() {
  const started = performance.now();
  render(html`<${App} state=${state} act=${act} />`, root);
  performance.measure("slotwise update", { start: started });
}

// What a person does on the page. Each answers with a problem's sentence, or with "".
const act = {
  control: (wanted) => (said = said.then(() => say(wanted))),
  trust: (token) =>
    trying(async () => {
      source.keepToken(token);
      const trusted = await source.isTrusted();
      show({ ...state, trusted });
      if (!trusted) throw new Error("this is not the token that was printed when the run started");
    }),
  whatIf: (question) => source.whatIf(state.run, question),
};

// One after the other, so that the last answer is the last word.
let said = Promise.resolve();
const say = (wanted) =>
  trying(async () => {
    const control = await source.control(state.run, wanted);
    if (state.document.control) show(events.control(state, control));
  });

async function trying(action) {
  try {
    await action();
    return "";
  } catch (problem) {
    if (problem.status === 401) show({ ...state, trusted: false });
    return problem.message;
  }
}

async function start() {
  const data = source.embedded();
  if (data) {
    show({ ...empty, ...data, history: few(data.history), ended: true, link: "file" });
    return;
  }
  source.takeToken();
  const runs = await source.readRuns();
  const run = new URLSearchParams(location.search).get("run") ?? runs[0]?.id;
  if (run === undefined) throw new Error("there is no run yet: start one with slotwise run --page");
  const [document, trusted] = await Promise.all([source.readDocument(run), source.isTrusted()]);
  const over = document.run.state !== "running";
  show({ ...state, document, runs, run, trusted, ended: over, link: over ? "ended" : "connecting" });
  if (over) readAgain(run);
  else follow(run);
}

function follow(run) {
  const onEvent = (name, data) => {
    show(events[name](state, data));
    if (isLong(state.history)) readAgain(run);
  };
  const onLink = (there) => {
    if (!state.ended) show({ ...state, link: there ? "live" : "lost" });
    if (there) readAgain(run); // with what was seen before, or meanwhile
  };
  source.follow(run, state.document.cursor ?? "", Object.keys(events), onEvent, onLink);
}

// The history, down-sampled; again once the run can be followed, so that nothing is missing in between.
let reading = false;
async function readAgain(run) {
  if (reading) return;
  reading = true;
  const history = await source.readHistory(run).catch(() => state.history);
  reading = false;
  show({ ...state, history: few(history) });
}

start().catch((problem) => render(html`<p class="waiting problem" role="alert">${problem.message}</p>`, root));
