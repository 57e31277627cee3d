// Light or dark: as the system says, or as chosen on the page; and the colours that pictures on a
// canvas need, as style.css has them.
import { html, useEffect, useState } from "page/html.js";

const KEY = "slotwise theme";
const THEMES = ["system", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");
export const calm = matchMedia("(prefers-reduced-motion: reduce)");
const listeners = new Set();
let chosen = kept();

// A file that is opened from disk may have no storage.
function kept() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system";
  }
}

function choose(theme) {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds for this visit.
  }
  apply();
}

function apply() {
  document.documentElement.style.colorScheme = chosen === "system" ? "" : chosen;
  for (const listener of listeners) listener();
}

dark.addEventListener("change", apply);
apply();

const probe = document.createElement("span");
probe.hidden = true;
const painter = document.createElement("canvas").getContext("2d");

// The value of a colour of style.css, such as "--ink", now: #rrggbb.
function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  painter.fillStyle = getComputedStyle(probe).color;
  return painter.fillStyle;
}

const NAMES = [
  "ink", "quiet", "line", "surface", "accent", "low", "moderate", "high", "over", "idle",
  "mark-decision", "mark-restart", "mark-fault", "goal", "first", "second", "third", "fourth",
];

function colours() {
  return Object.fromEntries(NAMES.map((name) => [name, colour(`--${name}`)]));
}

// The colours by name; other ones when the theme changes.
export function useColours() {
  const [now, set] = useState(colours);
  useEffect(() => {
    const changed = () => set(colours());
    listeners.add(changed);
    return () => listeners.delete(changed);
  }, []);
  return now;
}

export function ThemeChoice() {
  const [now, set] = useState(chosen);
  return html`<label class="theme">Theme
    <select value=${now} onChange=${({ target }) => (choose(target.value), set(target.value))}>
      ${THEMES.map((theme) => html`<option value=${theme}>${theme}</option>`)}
    </select>
  </label>`;
}
