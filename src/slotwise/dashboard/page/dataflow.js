// The dataflow: operators filled by how busy they are, streams as wide as their rate. Details of what
// is pointed at, tapped, or chosen in the table.
import cytoscape from "cytoscape";
import dagre from "cytoscape-dagre";
import { html, useEffect, useRef, useState } from "page/html.js";
import { DataflowTables, Details } from "page/dataflow-text.js";
import { beside, looks, nodeSize, style } from "page/dataflow-style.js";
import { Legend } from "page/legend.js";
import { operators, streamKey, streams } from "page/plans.js";
import { comeIntoView } from "page/moving.js";
import { useColours } from "page/theme.js";

dagre(cytoscape);

export function Dataflow({ plan, observation }) {
  const [chosen, point] = useState(null);
  const details = useRef(null);
  const wanted = useRef(false);
  const choose = (one) => {
    wanted.current = true;
    point(one);
  };
  useEffect(() => {
    if (wanted.current) comeIntoView(details.current);
    wanted.current = false;
  }, [chosen]);
  const seen = observation ?? plan.predicted;
  const shown = chosen ?? { operator: seen?.bottleneck ?? operators(plan)[0].name };
  return html`<section class="card" aria-labelledby="dataflow">
    <h2 id="dataflow">Dataflow</h2>
    <${Legend}><li><i class="stroke held"></i> tuples wait</li><//>
    <${Drawing} plan=${plan} observation=${observation} point=${point} choose=${choose} />
    <div ref=${details}><${Details} plan=${plan} observation=${observation} shown=${shown} /></div>
    <${DataflowTables} plan=${plan} observation=${observation} choose=${choose} />
  </section>`;
}

function Drawing({ plan, observation, point, choose }) {
  const place = useRef(null);
  const drawn = useRef(null);
  const colours = useColours();
  const shape = JSON.stringify([operators(plan).map(({ name }) => name), streams(plan)]);

  useEffect(() => {
    const graph = cytoscape({
      container: place.current,
      elements: elements(plan, looks(plan, observation, colours)),
      style: style(colours),
      autoungrabify: true,
      userPanningEnabled: false,
      userZoomingEnabled: false,
      boxSelectionEnabled: false,
      selectionType: "single",
    });
    drawn.current = graph;
    arrange(graph, place.current);
    graph.on("mouseover", "node, edge", ({ target }) => point(named(target)));
    graph.on("tap", "node, edge", ({ target }) => choose(named(target)));
    let width = place.current.parentElement.clientWidth;
    const watch = new ResizeObserver(() => {
      const now = place.current?.parentElement.clientWidth;
      if (now && now !== width) {
        width = now;
        arrange(graph, place.current);
      }
    });
    watch.observe(place.current.parentElement);
    return () => {
      watch.disconnect();
      graph.destroy();
      drawn.current = null;
    };
  }, [shape]);

  useEffect(() => void drawn.current?.style(style(colours)), [colours, shape]);

  useEffect(() => {
    const graph = drawn.current;
    if (!graph) return;
    const { operators: nodes, streams: edges } = looks(plan, observation, colours);
    graph.batch(() => {
      for (const [name, look] of nodes) change(graph.getElementById(`operator ${name}`), look);
      for (const [key, look] of edges) change(graph.getElementById(`stream ${key}`), look);
    });
  }, [plan, observation, colours, shape]);

  return html`<div class="scroller" tabindex="0" role="region" aria-label="Operators and streams">
    <div class="dataflow" ref=${place} role="img" aria-label="Picture of the dataflow; the table below says the same in words"></div>
  </div>`;
}

const named = (element) => (element.isNode() ? { operator: element.data("name") } : { stream: element.data("key") });

// Only what is another value is drawn again.
function change(element, look) {
  for (const [name, value] of Object.entries(look)) if (element.data(name) !== value) element.data(name, value);
}

function elements(plan, look) {
  const kinds = new Map(operators(plan).map(({ name, kind }) => [name, kind]));
  const nodes = look.operators.map(([name, values]) => ({
    group: "nodes",
    data: { id: `operator ${name}`, name, kind: kinds.get(name), ...nodeSize(name), ...values },
  }));
  const edges = streams(plan).map((stream, position) => ({
    group: "edges",
    data: {
      id: `stream ${streamKey(stream)}`,
      key: streamKey(stream),
      source: `operator ${stream.source}`,
      target: `operator ${stream.target}`,
      ...beside({ x: 1, y: 0 }),
      ...look.streams[position][1],
    },
  }));
  return [...nodes, ...edges];
}

const [SMALLEST, LARGEST] = [0.8, 1.1];
const NARROW = 800;

// From left to right where there is room, on a narrow screen else from top to bottom; scrolled rather
// than too small to read, and then to the bottleneck.
function arrange(graph, place) {
  const room = place.parentElement.clientWidth;
  let box = laidOut(graph, "LR");
  if (room < NARROW && box.w * SMALLEST > room - 24) box = laidOut(graph, "TB");
  const zoom = Math.min(LARGEST, Math.max(SMALLEST, (room - 24) / box.w));
  place.style.width = `${Math.max(room, box.w * zoom + 24)}px`;
  place.style.height = `${box.h * zoom + 32}px`;
  graph.resize();
  graph.zoom(zoom);
  graph.center();
  const bottleneck = graph.nodes("[border = 3]");
  if (bottleneck.nonempty()) place.parentElement.scrollLeft = bottleneck.renderedPosition().x - room / 2;
}

function laidOut(graph, rankDir) {
  graph.layout({ name: "dagre", rankDir, nodeSep: 22, rankSep: rankDir === "LR" ? 72 : 44, fit: false, animate: false }).run();
  for (const edge of graph.edges().toArray()) edge.data(beside(between(edge)));
  return graph.elements().boundingBox();
}

function between(edge) {
  const [from, to] = [edge.source().position(), edge.target().position()];
  return { x: to.x - from.x, y: to.y - from.y };
}
