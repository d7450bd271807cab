/** Draws nodes and edges in layers, from the top down. */
import { Graph as DagreGraph, layout } from "@dagrejs/dagre"
import { useId, useMemo } from "react"
import { Empty } from "../lib/parts.js"

export interface Node {
  readonly id: string
  readonly label: string
  /** What it is or how it is, in a word. */
  readonly state?: string | undefined
  readonly tone?: "good" | "bad" | "warn" | "busy" | "plain" | undefined
}

export interface Edge {
  readonly from: string
  readonly to: string
  readonly label?: string | undefined
}

interface Props {
  readonly label: string
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
}

/** Larger graphs are shown as text alone. */
const MOST_DRAWN = 250
const WIDTH = 176
const HEIGHT = 44
const MOST_LETTERS = 24
const MOST_STATE = 30

const short = (text: string, most = MOST_LETTERS): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

interface Point {
  readonly x: number
  readonly y: number
}

interface Placed extends Node, Point {}

interface Line {
  readonly key: number
  readonly path: string
  readonly label: (Point & { readonly text: string; readonly anchor: "middle" | "start" }) | undefined
}

/** Of a letter of a label, in pixels. */
const LETTER = 6.2
const LINE = 14
/** How far a loop of a node to itself goes to the right; a further one of the same node goes further. */
const LOOP = 22

const labelWidth = (label: string | undefined): number => (label === undefined ? 0 : short(label).length * LETTER + 10)

/** A smooth line through points. */
const curve = ([first, ...rest]: ReadonlyArray<Point>): string => {
  if (first === undefined) return ""
  const inner = rest.slice(0, -1)
  const end = rest.at(-1) ?? first
  const parts = inner.map(({ x, y }, at) => {
    const next = rest[at + 1] ?? end
    const to = at === inner.length - 1 ? next : { x: (x + next.x) / 2, y: (y + next.y) / 2 }
    return `Q${x} ${y} ${to.x} ${to.y}`
  })
  return `M${first.x} ${first.y} ${inner.length === 0 ? `L${end.x} ${end.y}` : parts.join(" ")}`
}

/** The line of a node to itself, the `nth` of `all`. */
const loop = ({ x, y }: Point, text: string | undefined, nth: number, all: number): Omit<Line, "key"> => {
  const right = x + WIDTH / 2
  const [far, half] = [right + LOOP + nth * 10, HEIGHT / 4 + nth * 3]
  return {
    path: `M${right} ${y - half} C${far} ${y - half - 8} ${far} ${y + half + 8} ${right} ${y + half}`,
    label:
      text === undefined
        ? undefined
        : { text, anchor: "start", x: right + LOOP + (all - 1) * 10, y: y + 4 + (nth - (all - 1) / 2) * LINE }
  }
}

const placed = (nodes: ReadonlyArray<Node>, edges: ReadonlyArray<Edge>) => {
  const graph = new DagreGraph({ multigraph: true })
  graph.setGraph({ nodesep: 24, edgesep: 16, ranksep: 40, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT })
  const known = new Set(nodes.map(({ id }) => id))
  const kept = edges.filter(({ from, to }) => known.has(from) && known.has(to))
  kept.forEach(({ from, label, to }, at) => {
    // The layout has a place for each label.
    const size = { width: labelWidth(label) + (from === to ? LOOP : 0), height: label === undefined ? 0 : LINE }
    graph.setEdge(from, to, { ...size, labelpos: "c" }, String(at))
  })
  layout(graph)
  const { height = 0, width = 0 } = graph.graph()
  const at = (id: string): Point => {
    const { x = 0, y = 0 } = graph.node(id)
    return { x, y }
  }
  return {
    height,
    width,
    nodes: nodes.map((node): Placed => ({ ...node, ...at(node.id) })),
    edges: kept.map((edge, key): Line => {
      const { from, label, to } = edge
      if (from === to) {
        const same = kept.filter((other) => other.from === from && other.to === to)
        return { key, ...loop(at(from), label, same.indexOf(edge), same.length) }
      }
      const { points = [], x = 0, y = 0 } = graph.edge({ v: from, w: to, name: String(key) })
      return {
        key,
        path: curve(points as ReadonlyArray<Point>),
        label: label === undefined ? undefined : { text: label, anchor: "middle", x, y: y + 4 }
      }
    })
  }
}

const AsText = ({ edges, nodes }: Pick<Props, "edges" | "nodes">) => {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]))
  const next = new Map<string, Array<string>>()
  for (const { from, label, to } of edges) {
    const target = `${labels.get(to) ?? to}${label === undefined ? "" : ` (${label})`}`
    next.set(from, [...(next.get(from) ?? []), target])
  }
  return (
    <details>
      <summary>As text</summary>
      <ul>
        {nodes.slice(0, 1000).map(({ id, label, state }) => (
          <li key={id}>
            {label}
            {state === undefined ? "" : ` · ${state}`}
            {next.has(id) ? ` → ${next.get(id)?.join(", ")}` : ""}
          </li>
        ))}
      </ul>
    </details>
  )
}

const Graph = ({ edges, label, nodes }: Props) => {
  const arrow = useId()
  const isDrawn = nodes.length > 0 && nodes.length <= MOST_DRAWN
  // Equal graphs are laid out once, whoever made them.
  const key = isDrawn ? JSON.stringify([nodes.map(({ id }) => id), edges]) : ""
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` is what the layout depends on
  const plan = useMemo(() => (isDrawn ? placed(nodes, edges) : undefined), [key])
  if (nodes.length === 0) return <Empty>There is nothing to draw yet.</Empty>
  const byId = new Map(nodes.map((node) => [node.id, node]))
  return (
    <figure className="graph">
      {plan === undefined ? (
        <Empty>{`${nodes.length} nodes are too many to draw.`}</Empty>
      ) : (
        <div className="graph-scroll" tabIndex={0} role="region" aria-label={`${label}, drawn`}>
          <svg
            width={plan.width}
            height={plan.height}
            viewBox={`0 0 ${plan.width} ${plan.height}`}
            role="img"
            aria-label={label}
          >
            <defs>
              <marker id={arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 0 L8 4 L0 8 z" className="graph-arrow" />
              </marker>
            </defs>
            {plan.edges.map(({ key, path }) => (
              <path key={key} className="graph-edge" d={path} markerEnd={`url(#${arrow})`} />
            ))}
            {plan.edges.map(({ key, label }) =>
              label === undefined ? null : (
                <text key={key} className="graph-label" x={label.x} y={label.y} textAnchor={label.anchor}>
                  <title>{label.text}</title>
                  {short(label.text)}
                </text>
              )
            )}
            {plan.nodes.map(({ id, x, y }) => {
              const { label = id, state, tone = "plain" } = byId.get(id) ?? {}
              return (
                <g
                  key={id}
                  className={`graph-node ${tone}`}
                  transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
                >
                  <title>{state === undefined ? label : `${label}: ${state}`}</title>
                  <rect width={WIDTH} height={HEIGHT} rx={8} />
                  <text x={WIDTH / 2} y={state === undefined ? HEIGHT / 2 + 4 : 18}>
                    {short(label)}
                  </text>
                  {state === undefined ? null : (
                    <text x={WIDTH / 2} y={35} className="graph-state">
                      {short(state, MOST_STATE)}
                    </text>
                  )}
                </g>
              )
            })}
          </svg>
        </div>
      )}
      <AsText nodes={nodes} edges={edges} />
    </figure>
  )
}

export default Graph
