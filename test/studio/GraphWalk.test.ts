import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { DrawnGraph } from "../../src/studio/api/StudioRunApi.js"
import * as StudioAgents from "../../src/studio/endpoint/StudioAgents.js"
import { RunFold } from "../../studio/runs/fold.js"
import { GraphWalk } from "../../studio/runs/walk.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"

const node = (name: string, parent?: string): DrawnGraph["nodes"][number] => {
  const id = parent === undefined ? name : `${parent}/${name}`
  const within = parent === undefined ? {} : { parent }
  return name === "START" || name === "END"
    ? { id, node: name, ...within }
    : { id, node: name, graph: parent ?? "top", ...within }
}

const end = (name: string, step: number, graph = "top") => ({ key: `${graph}\u0000${name}`, step })

const marked = (graph: DrawnGraph, walk: GraphWalk) =>
  graph.nodes.flatMap(({ id }) => {
    const state = walk.stateOf(id)
    return state === undefined ? [] : [`${id} ${state}`]
  })

/** Fans out and in, then loops or ends. */
const fan: DrawnGraph = {
  nodes: ["START", "plan", "left", "right", "judge", "END"].map((name) => node(name)),
  edges: [
    { from: "START", to: "plan" },
    { from: "plan", to: "left" },
    { from: "plan", to: "right" },
    { from: "left", to: "judge" },
    { from: "right", to: "judge" },
    { from: "judge", to: "plan", branch: true },
    { from: "judge", to: "END", branch: true }
  ]
}

describe("where a run is in its graph", () => {
  it("marks what runs at once, and what follows when all of it has ended", () => {
    const walk = new GraphWalk(fan)
    const ends = [end("plan", 1), end("left", 2), end("right", 2), end("judge", 3), end("plan", 4)]
    const seen = [marked(fan, walk)]
    for (let at = 1; at <= ends.length; at++) {
      walk.follow(ends.slice(0, at))
      seen.push(marked(fan, walk))
    }
    assert.deepStrictEqual(seen, [
      ["plan running"],
      ["left running", "right running"],
      ["right running"],
      ["judge running"],
      // A branch is taken or not: the events say it later.
      ["plan perhaps"],
      ["left running", "right running"]
    ])
  })

  it("marks the nodes of a graph inside a node, and the node around them", () => {
    const graph: DrawnGraph = {
      nodes: [
        ...["START", "outer", "END"].map((name) => node(name)),
        ...["START", "first", "second", "END"].map((name) => node(name, "outer"))
      ],
      edges: [
        { from: "START", to: "outer" },
        { from: "outer", to: "END" },
        { from: "outer/START", to: "outer/first" },
        { from: "outer/first", to: "outer/second" },
        { from: "outer/second", to: "outer/END" }
      ]
    }
    const walk = new GraphWalk(graph)
    assert.deepStrictEqual(marked(graph, walk), ["outer running", "outer/first running"])
    walk.follow([end("first", 1, "outer")])
    assert.deepStrictEqual(marked(graph, walk), ["outer running", "outer/second running"])
    walk.follow([end("first", 1, "outer"), end("second", 2, "outer"), end("outer", 1)])
    assert.deepStrictEqual(marked(graph, walk), [])
  })

  it("takes what it does not know for nothing", () => {
    const walk = new GraphWalk(fan)
    walk.follow([end("nobody", 1), end("judge", 1), end("__proto__", 2)])
    assert.deepStrictEqual(marked(fan, walk), ["plan running"])
  })

  for (const sample of EveryStrategy.samples) {
    const { strategy } = EveryStrategy.agentOf(sample).definition
    if (strategy === undefined || "_tag" in strategy || strategy.graph === undefined) continue
    const graph = StudioAgents.drawn(strategy.graph)
    it.effect(`marks each node of ${sample.name} before it ends`, () =>
      Effect.gen(function* () {
        const { events } = yield* EveryStrategy.succeed(sample)
        const walk = new GraphWalk(graph)
        const fold = new RunFold()
        const known = new Map(graph.nodes.map(({ graph, id, node }) => [`${graph}\u0000${node}`, id]))
        const seen = new Set<string>()
        const unmarked: Array<string> = []
        for (const event of events.filter(({ runId }) => runId === events[0]?.runId)) {
          walk.follow(fold.nodeEnds)
          if (event._tag === "NodeFinished") {
            const id = known.get(`${event.graph}\u0000${event.node}`)
            const once = `${id} ${event.step}`
            // Other strategies have graphs of their own. A node that is sent to runs several times in one step.
            if (id !== undefined && !seen.has(once) && walk.stateOf(id) === undefined)
              unmarked.push(`${event.node} ${event.step}`)
            seen.add(once)
          }
          fold.push(event)
        }
        assert.isAbove(seen.size, 1)
        assert.deepStrictEqual(unmarked, [])
      })
    )
  }
})
