// What is marked on all charts: a letter and a colour each.
export const MARKS = {
  decision: { letter: "D", name: "decision", colour: "mark-decision", dash: "solid" },
  restart: { letter: "R", name: "restart", colour: "mark-restart", dash: [6, 3] },
  event: { letter: "E", name: "event", colour: "quiet", dash: [1, 3] },
  fault: { letter: "F", name: "fault", colour: "mark-fault", dash: [2, 2] },
};
