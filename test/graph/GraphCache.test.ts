/** Nodes that keep their updates (`cache`), and values that nodes emit. */
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { layerMemory } from "../../src/graph/Checkpointer.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as CacheBackend from "../../src/llm/CacheBackend.js"

class Down extends Data.TaggedError("Down") {}

const State = Schema.Struct({ question: Schema.String, user: Schema.String, answer: Schema.NumberFromString })
type State = typeof State.Type

const about = (question: string, user = "ada"): State => ({ question, user, answer: 0 })

const cachedGraph = <E = never>(
  cache: StateGraph.CacheOptions<State>,
  handler: (count: number, state: State) => Effect.Effect<Partial<State>, E> = (count) =>
    Effect.succeed({ answer: count })
) => {
  const calls = { count: 0, begun: 0 }
  const graph = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "cached",
      state: State,
      nodes: {
        ask: {
          run: (state: State) => {
            calls.begun++
            return Effect.suspend(() => handler(++calls.count, state))
          },
          cache
        }
      },
      start: "ask",
      edges: { ask: "END" }
    })
  )
  return { calls, ask: (state: State) => Effect.map(StateGraph.invoke(graph, state), ({ answer }) => answer) }
}

const byQuestion = { key: ({ question }: State) => question }

describe("a cached node", () => {
  it.effect("runs once for a state, or for what its key takes of it", () =>
    Effect.gen(function* () {
      const whole = cachedGraph({})
      const answers = [about("a"), about("a"), about("b"), about("a", "eve"), about("a")]
      assert.deepStrictEqual(yield* Effect.forEach(answers, whole.ask), [1, 1, 2, 3, 1])
      const keyed = cachedGraph(byQuestion)
      assert.deepStrictEqual(yield* Effect.forEach(answers, keyed.ask), [1, 1, 2, 1, 1])
      assert.deepStrictEqual(keyed.calls, { count: 2, begun: 2 })
    })
  )

  it.effect("runs again when its time is over, in this process and in a store", () =>
    Effect.gen(function* () {
      const store = yield* CacheBackend.makeMemory()
      for (const options of [{}, { store }]) {
        const { ask } = cachedGraph({ ...byQuestion, ...options, ttl: "1 minute" })
        assert.strictEqual(yield* ask(about("a")), 1)
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(yield* ask(about("a")), 1)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* ask(about("a")), 2)
      }
    })
  )

  it.effect("forgets the least used update when it is full", () =>
    Effect.gen(function* () {
      const { ask } = cachedGraph({ ...byQuestion, capacity: 2 })
      const answers = yield* Effect.forEach(["a", "b", "a", "c", "a", "b"], (question) => ask(about(question)))
      assert.deepStrictEqual(answers, [1, 2, 1, 3, 1, 4])
    })
  )

  it.effect("does not keep failures", () =>
    Effect.gen(function* () {
      const { ask } = cachedGraph<Down>(byQuestion, (count) =>
        count === 1 ? new Down() : Effect.succeed({ answer: 7 })
      )
      assert.strictEqual((yield* Effect.flip(ask(about("a"))))._tag, "Down")
      assert.deepStrictEqual([yield* ask(about("a")), yield* ask(about("a"))], [7, 7])
    })
  )

  it.effect("shares a store with other processes, by the name of the graph and of the node", () =>
    Effect.gen(function* () {
      const store = yield* CacheBackend.makeMemory()
      const [one, two] = [cachedGraph({ ...byQuestion, store }), cachedGraph({ ...byQuestion, store })]
      assert.strictEqual(yield* one.ask(about("a")), 1)
      assert.strictEqual(yield* two.ask(about("a")), 1)
      assert.strictEqual(two.calls.count, 0)
    })
  )

  it.effect("runs as usual with a store that fails or holds nonsense", () =>
    Effect.gen(function* () {
      const failing = { get: () => new Down(), set: () => new Down() }
      const down = cachedGraph({ ...byQuestion, store: failing })
      assert.deepStrictEqual([yield* down.ask(about("a")), yield* down.ask(about("a"))], [1, 2])
      const texts = [
        "",
        "nonsense",
        "{}",
        "null",
        '[["answer",{}]]',
        '[["nothing",1]]',
        '[["",1]]',
        '[["__proto__",1]]'
      ]
      for (const text of texts) {
        const saved: Array<string> = []
        const store = {
          get: () => Effect.succeed(Option.some(text)),
          set: (_: string, value: string) => Effect.sync(() => void saved.push(value))
        }
        const { ask } = cachedGraph({ ...byQuestion, store })
        assert.strictEqual(yield* ask(about("a")), 1, text)
        assert.deepStrictEqual(saved, ['[["answer",{"answer":"1"}]]'], text)
      }
    })
  )

  it.effect("whose key is not JSON runs every time", () =>
    Effect.gen(function* () {
      const { ask } = cachedGraph({ key: () => new Map() })
      assert.deepStrictEqual([yield* ask(about("a")), yield* ask(about("a"))], [1, 2])
    })
  )

  it.effect("keeps where it went, and is cached with its wrapper", () =>
    Effect.gen(function* () {
      let wrapped = 0
      const store = yield* CacheBackend.makeMemory()
      const graph = StateGraph.unsafeCompile(
        StateGraph.wrapNode(
          StateGraph.make({
            name: "routed",
            state: State,
            nodes: {
              route: StateGraph.node(
                (_: State) => Effect.succeed(StateGraph.goto([StateGraph.send("answer", { answer: 20 })])),
                { cache: { store } }
              ),
              answer: (state) => Effect.succeed({ answer: state.answer + 1 })
            },
            start: "route",
            edges: { route: { to: ["answer", "END"] }, answer: "END" }
          }),
          "route",
          (next) => (state, context) =>
            Effect.zipRight(
              Effect.sync(() => void wrapped++),
              next(state, context)
            )
        )
      )
      for (let i = 0; i < 3; i++) assert.strictEqual((yield* StateGraph.invoke(graph, about("a"))).answer, 21)
      assert.strictEqual(wrapped, 1)
    })
  )
})

describe("emit", () => {
  const inner = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "inner",
      state: State,
      nodes: { dig: () => Effect.as(StateGraph.emit("digging"), {}) },
      start: "dig",
      edges: { dig: "END" }
    })
  )
  const graph = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "emitting",
      state: State,
      nodes: {
        think: () =>
          Effect.as(
            Effect.forEach([1, 2], (done) => StateGraph.emit({ done })),
            { answer: 1 }
          ),
        sub: StateGraph.subgraph(inner, { input: (state: State) => state, output: () => ({}) })
      },
      start: "think",
      edges: { think: "sub", sub: "END" }
    })
  )
  const expected = [
    ["think", 1, undefined, { done: 1 }],
    ["think", 1, undefined, { done: 2 }],
    ["dig", 1, ["sub"], "digging"]
  ]
  const shown = ({ node, path, step, value }: StateGraph.NodeEmitted) => [node, step, path, value]

  it.effect("shows values in the stream, while the node runs", () =>
    Effect.gen(function* () {
      const events = Array.from(yield* Stream.runCollect(StateGraph.stream(graph, about("a"))))
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        [
          "NodeStarted",
          "NodeEmitted",
          "NodeEmitted",
          "NodeFinished",
          "NodeStarted",
          "NodeStarted",
          "NodeEmitted",
          "NodeFinished",
          "NodeFinished",
          "Finished"
        ]
      )
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "NodeEmitted" ? [shown(event)] : [])),
        expected
      )
    })
  )

  it.effect("tells observers of runs with and without a thread, and nobody otherwise", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const onEmit = (emitted: StateGraph.NodeEmitted) => Effect.sync(() => void seen.push(shown(emitted)))
      yield* StateGraph.invoke(graph, about("a"), { onEmit })
      assert.deepStrictEqual(seen.splice(0), expected)
      yield* Effect.provide(
        StateGraph.invokeThread(graph, { threadId: "t", initial: about("a"), onEmit }),
        layerMemory()
      )
      assert.deepStrictEqual(seen.splice(0), expected)
      yield* StateGraph.invoke(graph, about("a"))
      yield* StateGraph.emit("outside")
      assert.deepStrictEqual(seen, [])
    })
  )
})
