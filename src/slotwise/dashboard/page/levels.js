// How busy a thread or an operator is: a colour, a word, and the height it is filled to, so that the
// colour is never alone.

export const LEVELS = [
  { name: "low", below: 0.5, text: "under 50 %" },
  { name: "moderate", below: 0.8, text: "50 to 80 %" },
  { name: "high", below: 1, text: "80 to 100 %" },
  { name: "over", below: Infinity, text: "overloaded: cannot keep up" },
];

// `busy` is the work asked for per second, in seconds: from 1 on it cannot keep up.
export function level(busy) {
  if (busy === undefined) return null;
  if (busy === null) return LEVELS[3];
  return LEVELS.find((each) => Math.round(busy * 100) / 100 < each.below) ?? LEVELS[3];
}

// In steps of 5 %, so that small changes change nothing on the page.
export const filled = (busy) =>
  busy === undefined ? 0 : Math.min(100, Math.round((busy ?? 1) * 20) * 5);
