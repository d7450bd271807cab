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

const short = (text: string): string => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text)

interface Placed extends Node {
  readonly x: number
  readonly y: number
}

const placed = (nodes: ReadonlyArray<Node>, edges: ReadonlyArray<Edge>) => {
  const graph = new DagreGraph({ multigraph: true })
  graph.setGraph({ nodesep: 24, ranksep: 40, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { id } of nodes) graph.setNode(id, { width: WIDTH, height: HEIGHT })
  const known = new Set(nodes.map(({ id }) => id))
  const kept = edges.filter(({ from, to }) => known.has(from) && known.has(to))
  kept.forEach(({ from, to }, at) => {
    graph.setEdge(from, to, {}, String(at))
  })
  layout(graph)
  const { height = 0, width = 0 } = graph.graph()
  return {
    height,
    width,
    nodes: nodes.map((node): Placed => {
      const { x = 0, y = 0 } = graph.node(node.id)
      return { ...node, x, y }
    }),
    edges: kept.map((edge, at) => {
      const { points = [] } = graph.edge({ v: edge.from, w: edge.to, name: String(at) })
      return { ...edge, key: at, points: points as ReadonlyArray<{ readonly x: number; readonly y: number }> }
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
            {plan.edges.map(({ key, label, points }) => (
              <g key={key}>
                <polyline
                  className="graph-edge"
                  points={points.map(({ x, y }) => `${x},${y}`).join(" ")}
                  markerEnd={`url(#${arrow})`}
                />
                {label === undefined || points.length === 0 ? null : (
                  <text
                    className="graph-label"
                    x={points[Math.floor(points.length / 2)]?.x}
                    y={points[Math.floor(points.length / 2)]?.y}
                  >
                    {short(label)}
                  </text>
                )}
              </g>
            ))}
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
                      {short(state)}
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
