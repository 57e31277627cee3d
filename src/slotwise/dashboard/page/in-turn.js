// Work that is not urgent, one piece per frame, so that no update holds up the page.
const waiting = new Set();
let running = false;

// Does `work` in a frame of its own; the answer takes it back.
export function inTurn(work) {
  waiting.add(work);
  if (!running) {
    running = true;
    requestAnimationFrame(next);
  }
  return () => waiting.delete(work);
}

function next() {
  const [work] = waiting;
  running = waiting.size > 1;
  if (running) requestAnimationFrame(next);
  if (!work) return;
  waiting.delete(work);
  const started = performance.now();
  work();
  performance.measure("slotwise chart", { start: started });
}
