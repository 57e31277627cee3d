// One chart: lines over the run's time, drawn by ECharts while it is on the screen.
import { html, useEffect, useMemo, useRef, useState } from "page/html.js";
import { inTurn } from "page/in-turn.js";
import { clock } from "page/figures.js";
import { options } from "page/chart-options.js";
import { useColours } from "page/theme.js";

const GROUP = "run";

// It comes when it is needed: the page is there before.
export const library = () => import("echarts").then(() => globalThis.echarts);

export function Chart({ title, lines, goals, predictions, stepped, at, start, marks, write, logarithmic }) {
  const place = useRef(null);
  const chart = useRef(null);
  const [visible, setVisible] = useState(false);
  const [echarts, setLibrary] = useState(null);
  const colours = useColours();

  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => {
      setVisible(entry.isIntersecting);
      if (entry.isIntersecting) library().then((found) => place.current && setLibrary(found));
    }, { rootMargin: "200px" });
    watch.observe(place.current);
    const size = new ResizeObserver(() => chart.current?.resize());
    size.observe(place.current);
    return () => {
      watch.disconnect();
      size.disconnect();
      chart.current?.dispose();
    };
  }, []);

  useEffect(() => {
    if (!echarts || !visible) return undefined;
    return inTurn(() => {
      if (!chart.current) {
        chart.current = echarts.init(place.current);
        chart.current.group = GROUP;
        echarts.connect(GROUP);
      }
      chart.current.setOption(options({ lines, goals, predictions, stepped, at, start, marks, write, logarithmic, colours }), { notMerge: true });
    });
  }, [echarts, visible, lines, marks, colours]);

  const said = useMemo(() => summary(title, lines, goals, predictions, at, write), [lines]);
  return html`<figure>
    <figcaption>${title}</figcaption>
    <div class="chart" ref=${place} role="img" aria-label=${said}></div>
  </figure>`;
}

// The chart in words: the last value of each line, and its highest.
function summary(title, lines, goals, predictions, at, write) {
  const parts = lines.map(([name, values]) => {
    const known = values.filter((value) => value != null);
    const highest = known.reduce((most, value) => Math.max(most, value), -Infinity);
    return known.length ? `${name} ${write(known.at(-1))}, at most ${write(highest)}` : `${name} not known`;
  });
  const fixed = goals.filter(([, value]) => value != null).map(([name, value]) => `${name} ${write(value)}`);
  const expected = predictions.map(([name, values]) => [name, values.findLast((value) => value != null)]);
  const told = expected.filter(([, value]) => value != null).map(([name, value]) => `${name} ${write(value)}`);
  return `${title} until ${clock(at.at(-1) ?? 0)}: ${[...parts, ...fixed, ...told].join("; ")}`;
}
