/**
 * Draws graphs as Mermaid flowcharts.
 *
 * @since 0.1.0
 * @private
 */
import * as Graph from "effect/Graph"
import type { Edge, StateGraph } from "./GraphDefinition.js"
import * as GraphTables from "./GraphTables.js"

type Erased = StateGraph<string, any, any, any, any>

interface Drawn {
  readonly label: string
  readonly shape: Graph.MermaidNodeShape
}

type Canvas = Graph.MutableDirectedGraph<Drawn, string>

interface Box {
  readonly label: string
  readonly nodes: ReadonlyArray<Graph.NodeIndex>
  readonly boxes: ReadonlyArray<Box>
}

/** The ends of a node's edges: the node itself, or the ends of the graph it runs. */
interface Ends {
  readonly in: Graph.NodeIndex
  readonly out: Graph.NodeIndex
}

/** The label of an edge: its condition in words, or nothing for an unconditional edge. */
const conditionOf = (edge: Edge<any, string>, target: string): string =>
  GraphTables.isBranch(edge)
    ? (edge.labels?.[target] ?? (edge.when === undefined ? "goto" : edge.when.name)) || "when"
    : ""

const draw = (canvas: Canvas, graph: Erased, label: string): Ends & { readonly box: Box } => {
  const nodes: Array<Graph.NodeIndex> = []
  const boxes: Array<Box> = []
  const add = (drawn: Drawn): Graph.NodeIndex => {
    const index = Graph.addNode(canvas, drawn)
    nodes.push(index)
    return index
  }
  const start = add({ label: "START", shape: "stadium" })
  const ends = new Map<string, Ends>()
  const endsOf = (name: string): Ends => {
    let known = ends.get(name)
    if (known === undefined) {
      const subgraph = graph.nodes.get(name)?.subgraph
      if (subgraph === undefined) {
        const index = add({ label: name, shape: graph.joins.has(name) ? "hexagon" : "rectangle" })
        known = { in: index, out: index }
      } else {
        const inner = draw(canvas, subgraph.graph, name)
        boxes.push(inner.box)
        known = inner
      }
      ends.set(name, known)
    }
    return known
  }
  for (const name of graph.nodes.keys()) endsOf(name)
  const end = add({ label: "END", shape: "stadium" })
  ends.set("END", { in: end, out: end })

  Graph.addEdge(canvas, start, endsOf(graph.start).in, "")
  for (const [name, edge] of graph.edges) {
    for (const target of GraphTables.targetsOf(edge)) {
      Graph.addEdge(canvas, endsOf(name).out, endsOf(target).in, conditionOf(edge, target))
    }
  }
  return { in: start, out: end, box: { label, nodes, boxes } }
}

/** Mermaid accepts neither quotes nor line breaks in a quoted label. */
const title = (label: string): string =>
  label.replace(/[#"<>&\\]/g, (char) => `#${char.charCodeAt(0)};`).replace(/\s+/g, " ")

const lines = (box: Box, id: string, indent: string): ReadonlyArray<string> => [
  `${indent}subgraph ${id}["${title(box.label)}"]`,
  ...box.nodes.map((index) => `${indent}  ${index}`),
  ...box.boxes.flatMap((inner, i) => lines(inner, `${id}_${i}`, `${indent}  `)),
  `${indent}end`
]

export const mermaid = (graph: Erased): string => {
  let box: Box = { label: graph.name, nodes: [], boxes: [] }
  const drawn = Graph.directed<Drawn, string>((canvas) => {
    box = draw(canvas, graph, graph.name).box
  })
  const flowchart = Graph.toMermaid(drawn, {
    nodeLabel: (node) => node.label,
    nodeShape: (node) => node.shape,
    edgeLabel: (label) => label
  })
  return [flowchart, ...box.boxes.flatMap((inner, i) => lines(inner, `box${i}`, "  "))].join("\n")
}
