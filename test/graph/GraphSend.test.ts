/** Nodes with fields of their own (`send`), and nodes that decide where they go (`goto`). */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as IdGenerator from "../../src/domain/IdGenerator.js"
import { Checkpointer, layerMemory } from "../../src/graph/Checkpointer.js"
import { GraphDefectError, type GraphWaitingError } from "../../src/graph/GraphError.js"
import * as StateGraph from "../../src/graph/StateGraph.js"

class Down extends Data.TaggedError("Down") {}

const State = Schema.Struct({
  items: Schema.Array(Schema.String),
  /** Encoded as text, so that a resumed run shows whether it was decoded. */
  item: Schema.NumberFromString,
  done: Schema.Array(Schema.String),
  total: Schema.Number
})
type State = typeof State.Type

const reducers: StateGraph.Reducers<State> = { done: (current, update) => [...current, ...update] }

const initial: State = { items: ["a", "b", "c"], item: -1, done: [], total: 0 }

const sendAll = (state: State) => state.items.map((_, item) => StateGraph.send("work", { item }))

const work: StateGraph.Handler<State> = (state) =>
  Effect.succeed({ done: [`${state.item}:${state.items[state.item]}`] })

const mapped = <E>(handler: StateGraph.Handler<State, E> = work) =>
  StateGraph.unsafeCompile(
    StateGraph.make({
      name: "mapped",
      state: State,
      nodes: {
        split: () => Effect.succeed({}),
        work: handler,
        collect: (state) => Effect.succeed({ total: state.done.length })
      },
      start: "split",
      edges: { split: { to: ["work"], when: sendAll }, work: "collect", collect: "END" },
      reducers
    })
  )

const withMemory = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.merge(layerMemory(), IdGenerator.layerSequential()))

const defectOf = <A, E>(run: Effect.Effect<A, E>): Effect.Effect<string> =>
  Effect.map(Effect.exit(run), (exit) => {
    const defect = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
    assert.instanceOf(defect, GraphDefectError)
    return (defect as GraphDefectError).message
  })

describe("send", () => {
  it.effect("runs a node for each item in one step, and what follows once", () =>
    Effect.gen(function* () {
      const end = yield* StateGraph.invoke(mapped(), initial)
      assert.deepStrictEqual(end, { ...initial, done: ["0:a", "1:b", "2:c"], total: 3 })
    })
  )

  it.effect("numbers the events of its runs", () =>
    Effect.gen(function* () {
      const events = Array.from(yield* Stream.runCollect(StateGraph.stream(mapped(), initial)))
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "NodeStarted" ? [[event.node, event.step, event.send]] : [])),
        [
          ["split", 1, undefined],
          ["work", 2, 0],
          ["work", 2, 1],
          ["work", 2, 2],
          ["collect", 3, undefined]
        ]
      )
      const finished = events.filter((event) => event._tag === "NodeFinished" && event.node === "work")
      assert.deepStrictEqual(
        finished.map((event) => (event as StateGraph.NodeFinished<State>).send),
        [0, 1, 2]
      )
    })
  )

  it.effect("to nothing ends the branch", () =>
    Effect.gen(function* () {
      const end = yield* StateGraph.invoke(mapped(), { ...initial, items: [] })
      assert.deepStrictEqual(end, { ...initial, items: [] })
    })
  )

  it.effect("runs a thousand items, as many at once as allowed", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const graph = mapped((state) =>
        Effect.acquireUseRelease(
          Effect.sync(() => (most = Math.max(most, ++running))),
          () => Effect.as(Effect.yieldNow(), { done: [`${state.item}`] }),
          () => Effect.sync(() => void running--)
        )
      )
      const items = Array.from({ length: 1000 }, (_, index) => String(index))
      const end = yield* StateGraph.invoke(graph, { ...initial, items }, { concurrency: 7 })
      assert.deepStrictEqual(end.done, items)
      assert.strictEqual(most, 7)
    })
  )

  it.effect("reaches a join as one source", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "joined",
          state: State,
          nodes: {
            split: () => Effect.succeed({}),
            work,
            slow: () => Effect.succeed({ done: ["slow"] }),
            slower: () => Effect.succeed({ done: ["slower"] }),
            collect: (state) => Effect.succeed({ total: state.done.length })
          },
          start: "split",
          edges: {
            split: { to: ["work", "slow"], when: (state) => [...sendAll(state), "slow" as const] },
            work: "collect",
            slow: "slower",
            slower: "collect",
            collect: "END"
          },
          joins: { collect: ["work", "slower"] },
          reducers
        })
      )
      const end = yield* StateGraph.invoke(graph, initial)
      assert.deepStrictEqual(end.done, ["0:a", "1:b", "2:c", "slow", "slower"])
      assert.strictEqual(end.total, 5)
      assert.deepStrictEqual(yield* withMemory(StateGraph.invokeThread(graph, { threadId: "t", initial })), end)
    })
  )

  it.effect("of what the graph does not have is a defect", () =>
    Effect.gen(function* () {
      const sending = (when: (state: State) => any) =>
        StateGraph.invoke(
          StateGraph.unsafeCompile(
            StateGraph.make({
              name: "wrong",
              state: State,
              nodes: { a: () => Effect.succeed({}), b: () => Effect.succeed({}), c: work, d: work },
              start: "a",
              edges: { a: { to: ["b", "c", "d", "END"], when }, b: "d", c: "d", d: "END" },
              joins: { d: ["a", "b", "c"] },
              reducers
            })
          ),
          initial
        )
      assert.include(yield* defectOf(sending(() => StateGraph.send("e", { item: 1 }))), 'branched to "e"')
      assert.include(yield* defectOf(sending(() => [StateGraph.send("a", { item: 1 })])), 'branched to "a"')
      assert.include(yield* defectOf(sending(() => StateGraph.send("END", { item: 1 }))), 'sent to "END"')
      assert.include(yield* defectOf(sending(() => StateGraph.send("d", { item: 1 }))), "which is a join")
      assert.include(
        yield* defectOf(sending(() => StateGraph.send("c", { itme: 1 }))),
        'sent "itme", which is no field'
      )
      assert.include(yield* defectOf(sending(() => [{ node: "c" }])), "branched to")
      const twice = mapped((state) => Effect.succeed({ total: state.item }))
      assert.include(yield* defectOf(StateGraph.invoke(twice, initial)), 'twice wrote "total" in one step')
    })
  )

  it.effect("resumes after a crash: finished items do not run again, the others get what was sent", () =>
    withMemory(
      Effect.gen(function* () {
        const ran: Array<number> = []
        let isDown = true
        const graph = mapped((state) =>
          Effect.suspend((): Effect.Effect<Partial<State>, Down> => {
            ran.push(state.item)
            return isDown && state.item === 1 ? new Down() : Effect.succeed({ done: [`${state.item + 10}`] })
          })
        )
        const options = { threadId: "t", concurrency: 1 }
        const failed = yield* Effect.flip(StateGraph.invokeThread(graph, { ...options, initial }))
        assert.strictEqual(failed._tag, "Down")
        assert.deepStrictEqual(ran, [0, 1])
        assert.deepStrictEqual((yield* StateGraph.history(graph, "t"))[0]?.next, ["work", "work", "work"])
        isDown = false
        const end = yield* StateGraph.resume(graph, options)
        assert.deepStrictEqual(ran, [0, 1, 1, 2])
        assert.deepStrictEqual(end.done, ["10", "11", "12"])
      })
    )
  )

  it.effect("waits in each of its runs under a name of its own", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = mapped((state) =>
          Effect.map(StateGraph.wait("ok", Schema.String, { payload: { item: state.item } }), (ok) => ({ done: [ok] }))
        )
        const waiting = (yield* Effect.flip(
          StateGraph.invokeThread(graph, { threadId: "t", initial: { ...initial, items: ["a", "b"] } })
        )) as GraphWaitingError
        assert.deepStrictEqual(
          waiting.waiting.map(({ name, node, payload }) => [node, name, payload]),
          [
            ["work#0", "ok", { item: 0 }],
            ["work#1", "ok", { item: 1 }]
          ]
        )
        const ambiguous = yield* Effect.flip(StateGraph.resume(graph, { threadId: "t", value: "yes" }))
        assert.include(ambiguous, { _tag: "GraphCheckpointError", reason: "ambiguous" })
        const one = yield* Effect.flip(StateGraph.resume(graph, { threadId: "t", value: "second", wait: "work#1/ok" }))
        assert.strictEqual((one as GraphWaitingError).waiting.length, 1)
        const end = yield* StateGraph.resume(graph, { threadId: "t", value: "first", wait: "work#0/ok" })
        assert.deepStrictEqual(end.done, ["first", "second"])
      })
    )
  )

  it.effect("runs subgraphs apart from each other, whose waits and events have its number", () =>
    withMemory(
      Effect.gen(function* () {
        const inner = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "inner",
            state: Schema.Struct({ item: Schema.Number, text: Schema.String }),
            nodes: {
              ask: (state) =>
                Effect.map(StateGraph.wait("text", Schema.String), (text) => ({ text: `${state.item}${text}` }))
            },
            start: "ask",
            edges: { ask: "END" }
          })
        )
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "outer",
            state: State,
            nodes: {
              split: () => Effect.succeed({}),
              work: StateGraph.subgraph(inner, {
                input: (state: State) => ({ item: state.item, text: "" }),
                output: (sub) => ({ done: [sub.text] })
              })
            },
            start: "split",
            edges: { split: { to: ["work"], when: sendAll }, work: "END" },
            reducers
          })
        )
        const paths: Array<string> = []
        const options = {
          threadId: "t",
          onNode: (event: StateGraph.NodeFinished<State>) =>
            Effect.sync(() => void paths.push([...(event.path ?? []), event.node, event.send].join(" ").trim()))
        }
        const waiting = (yield* Effect.flip(
          StateGraph.invokeThread(graph, { ...options, initial: { ...initial, items: ["a", "b"] } })
        )) as GraphWaitingError
        assert.deepStrictEqual(
          waiting.waiting.map(({ path }) => path),
          [["work#0"], ["work#1"]]
        )
        yield* Effect.flip(StateGraph.resume(graph, { ...options, value: "x", wait: "work#1/ask/text" }))
        const end = yield* StateGraph.resume(graph, { ...options, value: "y" })
        assert.deepStrictEqual(end.done, ["0y", "1x"])
        assert.deepStrictEqual(paths, ["split", "work#1 ask", "work 1", "work#0 ask", "work 0"])
      })
    )
  )
})

describe("goto", () => {
  const counting = (handler: StateGraph.Handler<State, Down>, others: StateGraph.Handler<State, Down> = work) =>
    StateGraph.make({
      name: "counting",
      state: State,
      nodes: { count: handler, other: others },
      start: "count",
      edges: { count: { to: ["count", "other", "END"], labels: { END: "enough" } }, other: "END" },
      reducers
    })

  const upTo3: StateGraph.Handler<State> = (state) =>
    Effect.succeed(StateGraph.goto(state.total < 3 ? "count" : "END", { total: state.total + 1 }))

  it.effect("leads where the node says", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(counting(upTo3))
      const expected = { ...initial, total: 4 }
      assert.deepStrictEqual(yield* StateGraph.invoke(graph, initial), expected)
      assert.deepStrictEqual(yield* withMemory(StateGraph.invokeThread(graph, { threadId: "t", initial })), expected)
      const drawn = StateGraph.toMermaid(graph)
      assert.include(drawn, "goto")
      assert.include(drawn, "enough")
    })
  )

  it.effect("without an update leads on alone, to nothing, or to sends", () =>
    Effect.gen(function* () {
      const run = (to: Parameters<typeof StateGraph.goto>[0]) =>
        StateGraph.invoke(StateGraph.unsafeCompile(counting(() => Effect.succeed(StateGraph.goto(to)))), initial)
      assert.deepStrictEqual(yield* run([]), initial)
      assert.deepStrictEqual(yield* run("END"), initial)
      const sends = [StateGraph.send("other", { item: 2 }), StateGraph.send("other", { item: 0 })]
      assert.deepStrictEqual((yield* run(sends)).done, ["2:c", "0:a"])
    })
  )

  it.effect("is kept by a wrapper that changes the update", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        StateGraph.wrapNode(
          counting(upTo3),
          "count",
          (next) => (state, context) => Effect.map(next(state, context), (update) => ({ ...update, done: ["seen"] }))
        )
      )
      assert.strictEqual((yield* StateGraph.invoke(graph, initial)).done.length, 4)
    })
  )

  it.effect("that is missing, or that the edge does not allow, is a defect", () =>
    Effect.gen(function* () {
      const run = (handler: StateGraph.Handler<State>, other?: StateGraph.Handler<State>) =>
        defectOf(Effect.orDie(StateGraph.invoke(StateGraph.unsafeCompile(counting(handler, other)), initial)))
      assert.include(yield* run(() => Effect.succeed({ total: 1 })), "did not say where to go")
      assert.include(yield* run(() => Effect.succeed(StateGraph.goto("nowhere"))), 'branched to "nowhere"')
      const other = () => Effect.succeed(StateGraph.goto("count"))
      assert.include(yield* run(() => Effect.succeed(StateGraph.goto("other")), other), "said where to go")
    })
  )

  it.effect("survives a crash of another node of its step", () =>
    withMemory(
      Effect.gen(function* () {
        let isDown = true
        const ran: Array<string> = []
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "crash",
            state: State,
            nodes: {
              split: () => Effect.succeed({}),
              decide: () =>
                Effect.sync(() => {
                  ran.push("decide")
                  return StateGraph.goto([StateGraph.send("work", { item: 1 }), "last"], { total: 5 })
                }),
              fail: () => Effect.suspend(() => (isDown ? new Down() : Effect.succeed({}))),
              work,
              last: () => Effect.succeed({ done: ["last"] })
            },
            start: "split",
            edges: {
              split: ["decide", "fail"],
              decide: { to: ["work", "last", "END"] },
              fail: "END",
              work: "END",
              last: "END"
            },
            reducers
          })
        )
        yield* Effect.flip(StateGraph.invokeThread(graph, { threadId: "t", initial, concurrency: 1 }))
        isDown = false
        const end = yield* StateGraph.resume(graph, { threadId: "t" })
        assert.deepStrictEqual(end, { ...initial, total: 5, done: ["1:b", "last"] })
        assert.deepStrictEqual(ran, ["decide"])
      })
    )
  )

  it.effect("has no state field to be mistaken for", () =>
    Effect.gen(function* () {
      const issues = (fields: Schema.Struct.Fields, node = "a") =>
        Effect.map(
          Effect.flip(
            StateGraph.compile(
              StateGraph.make({
                name: "names",
                state: Schema.Struct(fields),
                nodes: { [node]: () => Effect.succeed({}) },
                start: node,
                edges: { [node]: "END" }
              } as any)
            )
          ),
          (error) => error.issues.map(({ reason }) => reason)
        )
      assert.deepStrictEqual(yield* issues({ "": Schema.Number }), ["state"])
      assert.deepStrictEqual(yield* issues({ n: Schema.Number }, "work#1"), ["reserved-name"])
    })
  )
})

describe("a checkpoint with sends", () => {
  it.effect("of a node that the graph no longer has is an error", () =>
    withMemory(
      Effect.gen(function* () {
        const old = mapped(() => new Down())
        yield* Effect.flip(StateGraph.invokeThread(old, { threadId: "t", initial }))
        const changed = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "mapped",
            state: State,
            nodes: { split: () => Effect.succeed({}) },
            start: "split",
            edges: { split: "END" }
          })
        )
        const error = yield* Effect.flip(StateGraph.resume(changed, { threadId: "t" }))
        assert.include(error, { _tag: "GraphCheckpointError", reason: "changed-graph" })
        const stricter = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "mapped",
            state: Schema.Struct({ ...State.fields, item: Schema.Literal("never") }),
            nodes: { split: () => Effect.succeed({}), work: () => Effect.succeed({}) },
            start: "split",
            edges: { split: "work", work: "END" }
          })
        )
        const wrong = yield* Effect.flip(StateGraph.resume(stricter, { threadId: "t" }))
        assert.include(wrong, { _tag: "GraphCheckpointError", reason: "state" })
        const { list } = yield* Checkpointer
        assert.strictEqual((yield* list("t"))[0]?.sends?.length, 3)
      })
    )
  )
})
