/** What a run is made of besides its events in a row: its plan, its search, its outline, and the graph of its strategy. */
import * as Effect from "effect/Effect"
import { lazy, Suspense, useMemo } from "react"
import type { DrawnGraph } from "../../src/studio/api/StudioRunApi.js"
import { useQuery } from "../lib/hooks.js"
import { Empty, Loaded } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { RunFold, Section } from "./fold.js"
import type { Node } from "./Graph.js"
import { GraphWalk } from "./walk.js"

const Graph = lazy(() => import("./Graph.js"))

const waiting = <p className="empty">Loading…</p>

const planTones = { completed: "good", failed: "bad", skipped: "warn", pending: "plain" } as const

export const PlanGraph = ({ fold: { plan = [] } }: { readonly fold: RunFold }) => (
  <Suspense fallback={waiting}>
    <Graph
      label="Plan"
      nodes={plan.map(({ description, id, status, tool }) => ({
        id,
        label: tool === undefined ? description : `${tool}: ${description}`,
        state: status,
        tone: planTones[status]
      }))}
      edges={plan.flatMap(({ dependsOn, id }, at) =>
        dependsOn === undefined
          ? at === 0
            ? []
            : [{ from: plan[at - 1]?.id ?? "", to: id }]
          : dependsOn.map((from) => ({ from, to: id }))
      )}
    />
  </Suspense>
)

export const SearchTree = ({ fold: { tree } }: { readonly fold: RunFold }) => {
  const nodes = Array.from(tree.values())
  return (
    <Suspense fallback={waiting}>
      <Graph
        label="Search tree"
        nodes={nodes.map(({ id, isTerminal, label, value, visits }) => ({
          id: String(id),
          label,
          state: `value ${value.toFixed(2)} · ${visits} visits`,
          tone: isTerminal ? "good" : "plain"
        }))}
        edges={nodes.flatMap(({ id, parent }) =>
          parent === undefined ? [] : [{ from: String(parent), to: String(id) }]
        )}
      />
    </Suspense>
  )
}

export const Outline = ({ sections }: { readonly sections: ReadonlyArray<Section> }) => (
  <ol>
    {sections.map(({ sections: inner, title }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: titles may repeat, and the places are what they are
      <li key={at}>
        {title}
        {inner.length === 0 ? null : <Outline sections={inner} />}
      </li>
    ))}
  </ol>
)

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** The graph of a strategy: the node that runs, and how often each one ended. */
const Walked = ({ fold, graph }: { readonly fold: RunFold; readonly graph: DrawnGraph }) => {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run is walked from its begin
  const walk = useMemo(() => new GraphWalk(graph), [fold, graph])
  walk.follow(fold.nodeEnds)
  const isLive = fold.ended === undefined
  return (
    <Graph
      label={`Strategy ${fold.started?.strategy ?? ""}`}
      nodes={graph.nodes.map(({ graph, id, node }): Node => {
        const count = graph === undefined ? undefined : fold.nodes.get(`${graph}\u0000${node}`)
        const now = isLive ? walk.stateOf(id) : undefined
        const done = count === undefined ? undefined : times(count)
        return now === undefined
          ? { id, label: node, state: done, tone: count === undefined ? "plain" : "good" }
          : {
              id,
              label: node,
              state: [now === "running" ? "running" : "perhaps running", ...(done === undefined ? [] : [done])].join(
                " · "
              ),
              tone: now === "running" ? "busy" : "warn"
            }
      })}
      edges={graph.edges}
    />
  )
}

export const StrategyGraph = ({ fold }: { readonly fold: RunFold }) => {
  const { studio } = useConnection()
  const name = fold.started?.strategy
  const agent = fold.started?.agent ?? ""
  const named = studio.studioRuns.studioStrategy({ path: { name: name ?? "" } })
  // A strategy that an agent made itself is in no registry.
  const query = useQuery(name === undefined ? undefined : `strategy ${agent} ${name}`, () =>
    studio.studioRuns.studioAgent({ path: { name: agent } }).pipe(
      Effect.map(({ strategy }) => strategy),
      Effect.filterOrElse(
        ({ graph, name: own }) => own === name && graph !== undefined,
        () => named
      ),
      Effect.catchAll(() => named)
    )
  )
  if (name === undefined) return <Empty>The run has not begun.</Empty>
  return (
    <Loaded query={query}>
      {({ graph }) =>
        graph === undefined ? (
          <Empty>{`The strategy ${name} is a loop of the model and its tools, without a graph.`}</Empty>
        ) : (
          <Suspense fallback={waiting}>
            <Walked fold={fold} graph={graph} />
          </Suspense>
        )
      }
    </Loaded>
  )
}
