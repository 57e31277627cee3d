// Lets threads move from where they were to where they are, and what was asked for come into view;
// at once if motion is not wanted.
import { calm } from "page/theme.js";

const MOST = 300;
const TIME = { duration: 700, easing: "cubic-bezier(.3, 0, .2, 1)" };

// Where each thread below `root` is now, and in which slot.
export function places(root) {
  const found = new Map();
  for (const element of root.querySelectorAll(".thread[data-thread]"))
    found.set(element.dataset.thread, {
      slot: element.closest("[data-slot]").dataset.slot,
      box: calm.matches ? null : element.getBoundingClientRect(),
    });
  return found;
}

// Threads that are in another slot than before are marked for a moment, and move there.
export function movedFrom(before, root) {
  let count = 0;
  for (const element of root.querySelectorAll(".thread[data-thread]")) {
    const old = before.get(element.dataset.thread);
    delete element.dataset.moved;
    if (!old || old.slot === element.closest("[data-slot]").dataset.slot) continue;
    element.dataset.moved = old.slot;
    count += 1;
    if (!old.box || calm.matches || count > MOST) continue;
    const box = element.getBoundingClientRect();
    const start = `translate(${old.box.left - box.left}px, ${old.box.top - box.top}px) scale(1.5)`;
    element.animate([{ transform: start, zIndex: 2 }, { transform: "none", zIndex: 2 }], TIME);
  }
}

export const comeIntoView = (element) =>
  element.scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
