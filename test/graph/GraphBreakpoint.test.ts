import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../src/domain/IdGenerator.js"
import { Checkpointer, type Service as CheckpointerService, layerMemory } from "../../src/graph/Checkpointer.js"
import { GraphBreakpointError } from "../../src/graph/GraphError.js"
import * as StateGraph from "../../src/graph/StateGraph.js"

class Down extends Data.TaggedError("Down") {}

const State = Schema.Struct({ log: Schema.Array(Schema.String), text: Schema.String })
type State = typeof State.Type

const initial: State = { log: [], text: "draft" }

/** `write`, then `check` and `count` in parallel, then `publish`. */
const makeGraph = (handlers: { readonly [name: string]: StateGraph.Handler<State, any> } = {}) => {
  const ran: Array<string> = []
  const says = (name: string): StateGraph.Handler<State, any> => {
    const handler = handlers[name] ?? ((state) => Effect.succeed({ log: [`${name} ${state.text}`] }))
    return (state, context) =>
      Effect.zipRight(
        Effect.sync(() => void ran.push(name)),
        handler(state, context)
      )
  }
  const graph = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "article",
      state: State,
      nodes: { write: says("write"), check: says("check"), count: says("count"), publish: says("publish") },
      start: "write",
      edges: { write: ["check", "count"], check: "publish", count: "publish", publish: "END" },
      reducers: { log: (current, update) => [...current, ...update] }
    })
  )
  return { graph, ran }
}

const withMemory = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.merge(layerMemory(), IdGenerator.layerSequential()))

const threadId = "t"

const pausedOf = <A, E>(run: Effect.Effect<A, E, Checkpointer>) =>
  Effect.map(Effect.flip(run), (error) => {
    assert.instanceOf(error, GraphBreakpointError)
    const { after, before } = error as GraphBreakpointError
    return { before, after }
  })

describe("a breakpoint", () => {
  it.effect("before a node pauses the run, which goes on with the state as it is or changed", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = makeGraph()
        const options = { threadId, breakpoints: { before: ["publish"] } } as const
        const error = (yield* Effect.flip(
          StateGraph.invokeThread(graph, { ...options, initial })
        )) as GraphBreakpointError
        assert.deepStrictEqual([error.before, error.after], [["publish"], []])
        assert.include(error.message, 'Graph "article" paused before "publish"')
        assert.deepStrictEqual(ran, ["write", "check", "count"])
        const [last] = yield* StateGraph.history(graph, threadId)
        assert.strictEqual(last?.id, error.checkpointId)
        assert.strictEqual(last?.metadata["source"], "pause")
        assert.deepStrictEqual(last?.next, ["publish"])
        const edited = yield* StateGraph.resume(graph, { ...options, update: { text: "final" } })
        assert.deepStrictEqual(edited.log.at(-1), "publish final")
        const again = yield* StateGraph.resume(graph, { ...options, checkpointId: error.checkpointId })
        assert.deepStrictEqual(again.log.at(-1), "publish draft")
        assert.deepStrictEqual(ran, ["write", "check", "count", "publish", "publish"])
      })
    )
  )

  it.effect("after nodes pauses when their step has ended, and names those that were asked for", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = makeGraph()
        const options = { threadId, breakpoints: { before: ["publish"], after: ["count", "write"] } } as const
        const run = StateGraph.invokeThread(graph, { ...options, initial })
        assert.deepStrictEqual(yield* pausedOf(run), { before: [], after: ["write"] })
        const resumed = StateGraph.resume(graph, options)
        assert.deepStrictEqual(yield* pausedOf(resumed), { before: ["publish"], after: ["count"] })
        assert.deepStrictEqual((yield* StateGraph.resume(graph, options)).log.length, 4)
        assert.strictEqual(ran.length, 4)
        assert.deepStrictEqual((yield* StateGraph.resume(graph, options)).log.length, 4, "the end is no breakpoint")
      })
    )
  )

  it.effect("at every node steps through the graph", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = makeGraph()
        const options = { threadId, breakpoints: { before: "all" } } as const
        assert.deepStrictEqual(yield* pausedOf(StateGraph.invokeThread(graph, { ...options, initial })), {
          before: ["write"],
          after: []
        })
        assert.deepStrictEqual(ran, [])
        assert.deepStrictEqual((yield* pausedOf(StateGraph.resume(graph, options))).before, ["check", "count"])
        assert.deepStrictEqual((yield* pausedOf(StateGraph.resume(graph, options))).before, ["publish"])
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId })).log.length, 4)
      })
    )
  )

  it.effect("holds for a run that crashed before it", () =>
    withMemory(
      Effect.gen(function* () {
        let isDown = true
        const { graph, ran } = makeGraph({
          count: () => Effect.suspend(() => (isDown ? new Down() : Effect.succeed({ log: ["count"] })))
        })
        const options = { threadId, breakpoints: { before: ["publish", "check"] } } as const
        yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial }))
        isDown = false
        ran.length = 0
        // The step of `check` had begun, so its breakpoint is behind the run.
        assert.deepStrictEqual((yield* pausedOf(StateGraph.resume(graph, options))).before, ["publish"])
        assert.deepStrictEqual(ran, ["count"])
      })
    )
  )

  it.effect("after a node is not lost in a crash: a step that has ended has paused", () => {
    const { graph } = makeGraph()
    const options = { threadId, breakpoints: { after: ["write", "count"] } } as const
    const after = (log: ReadonlyArray<string>) => log.at(-1)?.startsWith("write") || log.length === 3
    /** Stops at every write; goes on until the end. Answers the writes. */
    const runs = (most: number) =>
      Effect.gen(function* () {
        const memory = yield* Checkpointer
        let writes = 0
        const dying = <A, E>(write: Effect.Effect<A, E>) =>
          Effect.suspend(() => (++writes > most ? Effect.die("crash") : write))
        const service: CheckpointerService = {
          ...memory,
          put: (checkpoint) => dying(memory.put(checkpoint)),
          putWrites: (...args) => dying(memory.putWrites(...args))
        }
        yield* Effect.exit(
          Effect.provideService(StateGraph.invokeThread(graph, { ...options, initial }), Checkpointer, service)
        )
        const pauses: Array<number> = []
        for (let at = 0; at < 5; at++) {
          const history = yield* StateGraph.history(graph, threadId)
          for (const { metadata, state, step } of history) {
            if (metadata["source"] === "loop") assert.isFalse(after(state.log), `step ${step}, ${most} writes`)
          }
          if (history.length === 0) break
          const run = yield* Effect.either(StateGraph.resume(graph, options))
          if (run._tag === "Right") {
            assert.lengthOf(run.right.log, 4)
            break
          }
          assert.instanceOf(run.left, GraphBreakpointError)
          pauses.push(at)
        }
        return [writes, pauses.length] as const
      })
    return Effect.gen(function* () {
      const found: Array<readonly [number, number]> = []
      for (let most = 1; most <= 6; most++) found.push(yield* withMemory(runs(most)))
      assert.isAbove(new Set(found.map(([, pauses]) => pauses)).size, 1, "crashes before and behind a pause")
    })
  })

  it.effect("is behind a node that waits", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = makeGraph({
          publish: () => Effect.map(StateGraph.wait("ok", Schema.String), (ok) => ({ log: [ok] }))
        })
        const options = { threadId, breakpoints: { before: ["publish"] } } as const
        yield* pausedOf(StateGraph.invokeThread(graph, { ...options, initial }))
        const waiting = yield* Effect.flip(StateGraph.resume(graph, options))
        assert.strictEqual(waiting._tag, "GraphWaitingError")
        const end = yield* StateGraph.resume(graph, { ...options, value: "yes" })
        assert.deepStrictEqual(end.log.at(-1), "yes")
      })
    )
  )

  it.effect("does not stop a subgraph with a node of the same name", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph: inner } = makeGraph()
        const outer = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "outer",
            state: State,
            nodes: {
              sub: StateGraph.subgraph(inner, { input: (state: State) => state, output: ({ log }) => ({ log }) }),
              write: () => Effect.succeed({ text: "end" })
            },
            start: "sub",
            edges: { sub: "write", write: "END" }
          })
        )
        const options = { threadId, breakpoints: { before: ["write"] } } as const
        yield* pausedOf(StateGraph.invokeThread(outer, { ...options, initial }))
        const [last] = yield* StateGraph.history(outer, threadId)
        assert.strictEqual(last?.state.log.length, 4)
      })
    )
  )
})
