import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as IdGenerator from "../../src/domain/IdGenerator.js"
import { UserId } from "../../src/domain/Ids.js"
import { Requester } from "../../src/domain/Requester.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import {
  type Checkpoint,
  Checkpointer,
  layerMemory,
  layerNoop,
  makeMemory,
  type Service
} from "../../src/graph/Checkpointer.js"
import { CheckpointerError, GraphCheckpointError, type GraphWaitingError } from "../../src/graph/GraphError.js"
import * as StateGraph from "../../src/graph/StateGraph.js"

class Down extends Data.TaggedError("Down") {}

const State = Schema.Struct({ n: Schema.Number, log: Schema.Array(Schema.String) })
type State = typeof State.Type

const initial: State = { n: 0, log: [] }
const append = (current: ReadonlyArray<string>, update: ReadonlyArray<string>) => [...current, ...update]

const threadId = "thread"

/** What ran, in order. */
const recorder = () => {
  const ran: Array<string> = []
  const says =
    (name: string): StateGraph.Handler<State> =>
    (_, context) =>
      Effect.sync(() => {
        ran.push(name)
        return { log: [`${name}${context.step}`] }
      })
  return { ran, says }
}

const withMemory = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.merge(layerMemory(), IdGenerator.layerSequential()))

const waitingOf = <A, E>(run: Effect.Effect<A, E, Checkpointer>) =>
  Effect.map(Effect.flip(run), (error) => {
    assert.strictEqual((error as { readonly _tag?: string })._tag, "GraphWaitingError")
    return error as E & GraphWaitingError
  })

const reasonOf = <A, E>(run: Effect.Effect<A, E, Checkpointer>) =>
  Effect.map(Effect.flip(run), (error) => {
    assert.instanceOf(error, GraphCheckpointError)
    return (error as GraphCheckpointError).reason
  })

describe("a run in a thread", () => {
  it.effect("ends like a run without a thread, and saves every step", () =>
    withMemory(
      Effect.gen(function* () {
        const { ran, says } = recorder()
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "kept",
            state: State,
            nodes: { start: says("start"), a: says("a"), b1: says("b1"), b2: says("b2"), merge: says("merge") },
            start: "start",
            edges: { start: ["a", "b1"], a: "merge", b1: "b2", b2: "merge", merge: "END" },
            joins: { merge: ["a", "b2"] },
            reducers: { log: append }
          })
        )
        yield* TestClock.setTime(1000)
        const end = yield* StateGraph.invokeThread(graph, { threadId, initial, metadata: { user: "ada" } })
        assert.deepStrictEqual(end, yield* StateGraph.invoke(graph, initial))
        assert.deepStrictEqual(ran.slice(0, 5), ["start", "a", "b1", "b2", "merge"])
        const history = yield* StateGraph.history(graph, threadId)
        assert.deepStrictEqual(
          history.map(({ metadata, next, state, step }) => [step, metadata["source"], next.join(), state.log.length]),
          [
            [4, "loop", "", 5],
            [3, "loop", "merge", 4],
            [2, "loop", "b2", 3],
            [1, "loop", "a,b1", 1],
            [0, "input", "start", 0]
          ]
        )
        for (const [i, { id, at, metadata }] of history.entries()) {
          assert.strictEqual(at, 1000)
          assert.deepInclude(metadata, { user: "ada", graph: "kept" })
          if (i > 0) assert.strictEqual(history[i - 1]?.parentId, id)
        }
        assert.notProperty(history[4], "parentId")
        const page = yield* StateGraph.history(graph, threadId, { before: history[1]?.id, limit: 2 })
        assert.deepStrictEqual(page, history.slice(2, 4))
      })
    )
  )

  it.effect("emits events of nodes, including those of subgraphs", () =>
    withMemory(
      Effect.gen(function* () {
        const { says } = recorder()
        const inner = StateGraph.unsafeCompile(
          StateGraph.make({ name: "inner", state: State, nodes: { in: says("in") }, start: "in", edges: { in: "END" } })
        )
        const sub = StateGraph.subgraph(inner, {
          input: (state: State) => state,
          output: (end) => ({ n: end.log.length })
        })
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "outer",
            state: State,
            nodes: { a: says("a"), sub },
            start: "a",
            edges: { a: "sub", sub: "END" }
          })
        )
        const events: Array<string> = []
        yield* StateGraph.invokeThread(graph, {
          threadId,
          initial,
          onNode: (event) =>
            Effect.sync(() => void events.push([...(event.path ?? []), event.node, event.step].join(" ")))
        })
        assert.deepStrictEqual(events, ["a 1", "sub in 1", "sub 2"])
      })
    )
  )

  it.effect("may follow other runs, whose history remains", () =>
    withMemory(
      Effect.gen(function* () {
        const { says } = recorder()
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({ name: "again", state: State, nodes: { a: says("a") }, start: "a", edges: { a: "END" } })
        )
        yield* StateGraph.invokeThread(graph, { threadId, initial })
        yield* StateGraph.invokeThread(graph, { threadId, initial: { ...initial, n: 5 } })
        const history = yield* StateGraph.history(graph, threadId)
        assert.deepStrictEqual(
          history.map(({ state, step }) => [step, state.n]),
          [
            [1, 5],
            [0, 5],
            [1, 0],
            [0, 0]
          ]
        )
        assert.strictEqual(history[1]?.parentId, history[2]?.id)
      })
    )
  )

  it.effect("returns its state again after its end, and runs nothing", () =>
    withMemory(
      Effect.gen(function* () {
        const { ran, says } = recorder()
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({ name: "ended", state: State, nodes: { a: says("a") }, start: "a", edges: { a: "END" } })
        )
        const end = yield* StateGraph.invokeThread(graph, { threadId, initial })
        assert.deepStrictEqual(yield* StateGraph.resume(graph, { threadId }), end)
        assert.deepStrictEqual(ran, ["a"])
      })
    )
  )

  it.effect("resumes at the node that failed", () =>
    withMemory(
      Effect.gen(function* () {
        const { ran, says } = recorder()
        let broken = true
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "failing",
            state: State,
            nodes: {
              a: says("a"),
              b: says("b"),
              bad: (state, context) =>
                Effect.suspend(() =>
                  broken ? Effect.zipRight(Effect.yieldNow(), Effect.fail(new Down())) : says("bad")(state, context)
                ),
              c: says("c")
            },
            start: "a",
            edges: { a: ["b", "bad"], b: "c", bad: "c", c: "END" },
            reducers: { log: append }
          })
        )
        const error = yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.strictEqual(error._tag, "Down")
        assert.deepStrictEqual(ran, ["a", "b"])
        broken = false
        const end = yield* StateGraph.resume(graph, { threadId })
        assert.deepStrictEqual(ran, ["a", "b", "bad", "c"])
        assert.deepStrictEqual(end.log, ["a1", "b2", "bad2", "c3"])
      })
    )
  )

  it.effect("resumes with a new limit after the step limit", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "long",
            state: State,
            nodes: { add: (state) => Effect.succeed({ n: state.n + 1 }) },
            start: "add",
            edges: { add: { to: ["add", "END"], when: (state) => (state.n < 5 ? "add" : "END") } }
          })
        )
        const first = yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial, maxSteps: 2 }))
        assert.deepInclude(first, { _tag: "GraphStepLimitError", limit: 2, nodes: ["add"] })
        const second = yield* Effect.flip(StateGraph.resume(graph, { threadId, maxSteps: 2 }))
        assert.deepInclude(second, { _tag: "GraphStepLimitError", state: { n: 4, log: [] } })
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, maxSteps: 2 })).n, 5)
      })
    )
  )

  it.effect("runs without storage, but cannot be resumed", () =>
    Effect.gen(function* () {
      const { says } = recorder()
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({ name: "noop", state: State, nodes: { a: says("a") }, start: "a", edges: { a: "END" } })
      )
      assert.deepStrictEqual((yield* StateGraph.invokeThread(graph, { threadId, initial })).log, ["a1"])
      assert.strictEqual(yield* reasonOf(StateGraph.resume(graph, { threadId })), "unknown-thread")
      assert.deepStrictEqual(yield* StateGraph.history(graph, threadId), [])
    }).pipe(Effect.provide(layerNoop))
  )

  it.effect("keeps to its own id, whatever its characters", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "g",
            state: State,
            nodes: { a: () => Effect.succeed({}) },
            start: "a",
            edges: { a: "END" }
          })
        )
        const ids = ["", "__proto__", "constructor", "日本\u{1f600}", "a|b", "x".repeat(10_000), "\ud800"]
        for (const [n, threadId] of ids.entries()) {
          yield* StateGraph.invokeThread(graph, { threadId, initial: { ...initial, n } })
        }
        for (const [n, threadId] of ids.entries()) {
          assert.strictEqual((yield* StateGraph.resume(graph, { threadId })).n, n)
          assert.strictEqual((yield* StateGraph.history(graph, threadId)).length, 2)
        }
        assert.strictEqual(yield* reasonOf(StateGraph.resume(graph, { threadId: "toString" })), "unknown-thread")
      })
    )
  )

  it.effect("runs at most the configured number of nodes at a time", () =>
    withMemory(
      Effect.gen(function* () {
        const sleep = () => Effect.as(Effect.sleep(100), {})
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "overlap",
            state: State,
            nodes: { start: () => Effect.succeed({}), a: sleep, b: sleep, c: sleep },
            start: "start",
            edges: { start: ["a", "b", "c"], a: "END", b: "END", c: "END" }
          })
        )
        for (const [concurrency, expected] of [
          [undefined, "Duration(100ms)"],
          [2, "Duration(200ms)"]
        ] as const) {
          const run = StateGraph.invokeThread(graph, { threadId, initial, concurrency })
          const fiber = yield* Effect.fork(Effect.timed(run))
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* Fiber.join(fiber))[0].toString(), expected)
        }
      })
    )
  )

  it.effect("saves nothing of a graph that a node invokes itself", () =>
    Effect.gen(function* () {
      const { says } = recorder()
      const memory = makeMemory()
      const namespaces = new Set<string>()
      const service: Service = {
        ...memory,
        put: (one) =>
          Effect.zipRight(
            Effect.sync(() => namespaces.add(one.namespace)),
            memory.put(one)
          )
      }
      const leaf = StateGraph.unsafeCompile(
        StateGraph.make({ name: "leaf", state: State, nodes: { a: says("a") }, start: "a", edges: { a: "END" } })
      )
      const sub = StateGraph.subgraph(leaf, { input: (state: State) => state, output: (end) => end })
      const inner = StateGraph.unsafeCompile(
        StateGraph.make({ name: "inner", state: State, nodes: { sub }, start: "sub", edges: { sub: "END" } })
      )
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "outer",
          state: State,
          nodes: { own: (state) => StateGraph.invoke(inner, state) },
          start: "own",
          edges: { own: "END" }
        })
      )
      const run = StateGraph.invokeThread(graph, { threadId, initial })
      assert.deepStrictEqual((yield* Effect.provideService(run, Checkpointer, service)).log, ["a1"])
      assert.deepStrictEqual([...namespaces], [""])
    })
  )

  it.effect("fails with the storage's error", () =>
    Effect.gen(function* () {
      const { says } = recorder()
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({ name: "g", state: State, nodes: { a: says("a") }, start: "a", edges: { a: "END" } })
      )
      const memory = makeMemory()
      const full = new CheckpointerError({ message: "the disk is full", operation: "put" })
      let puts = 0
      const failing: Service = { ...memory, put: (one) => (puts++ === 0 ? memory.put(one) : Effect.fail(full)) }
      const run = StateGraph.invokeThread(graph, { threadId, initial })
      assert.strictEqual(yield* Effect.flip(Effect.provideService(run, Checkpointer, failing)), full)
      const again = yield* Effect.provideService(StateGraph.resume(graph, { threadId }), Checkpointer, memory)
      assert.deepStrictEqual(again.log, ["a1"])
    })
  )
})

/** A graph with all that a run can be made of, whose nodes take time. */
const everything = (onRun: (key: string) => void) => {
  const node =
    (graph: string, name: string, ms: number): StateGraph.Handler<State> =>
    (_, context) =>
      Effect.zipRight(
        Effect.sleep(ms),
        Effect.sync(() => {
          onRun(`${graph} ${name} ${context.step}`)
          return { log: [`${name}${context.step}`] }
        })
      )
  const inner = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "inner",
      state: State,
      nodes: {
        first: node("inner", "first", 5),
        left: node("inner", "left", 10),
        right: node("inner", "right", 20)
      },
      start: "first",
      edges: { first: ["left", "right"], left: "END", right: "END" },
      reducers: { log: append }
    })
  )
  return StateGraph.unsafeCompile(
    StateGraph.make({
      name: "outer",
      state: State,
      nodes: {
        loop: (state, context) =>
          Effect.map(node("outer", "loop", 1)(state, context), (update) => ({ ...update, n: state.n + 1 })),
        a: node("outer", "a", 3),
        sub: StateGraph.subgraph(inner, {
          input: (_: State) => initial,
          output: (end) => ({ log: end.log.map((line) => `in.${line}`) })
        }),
        b: node("outer", "b", 12),
        b2: node("outer", "b2", 1),
        merge: node("outer", "merge", 1)
      },
      start: "loop",
      edges: {
        loop: { to: ["loop", "a", "sub", "b"], when: (state) => (state.n < 3 ? "loop" : ["a", "sub", "b"]) },
        a: "merge",
        sub: "merge",
        b: "b2",
        b2: "merge",
        merge: "END"
      },
      joins: { merge: ["a", "sub", "b2"] },
      reducers: { log: append }
    })
  )
}

class Crash extends Data.TaggedError("Crash") {}

/** A storage whose process dies with the k-th write, right after or right before it. */
const crashing = (memory: Service, at: number, saved: Set<string>, parents: Map<string, Checkpoint>, lost: boolean) => {
  let count = 0
  const write = (save: Effect.Effect<void, CheckpointerError>, note: () => void) =>
    Effect.suspend(() => {
      count++
      if (count > at || (count === at && lost)) return Effect.die(new Crash())
      note()
      return count === at ? Effect.zipRight(save, Effect.die(new Crash())) : save
    })
  const key = (checkpoint: Checkpoint, node: string) => `${checkpoint.metadata["graph"]} ${node} ${checkpoint.step + 1}`
  const service: Service = {
    ...memory,
    put: (checkpoint) =>
      write(memory.put(checkpoint), () => {
        parents.set(checkpoint.id, checkpoint)
        const before = parents.get(checkpoint.parentId ?? "")
        if (before === undefined || before.step === checkpoint.step) return
        for (const node of before.next) saved.add(key(before, node))
      }),
    putWrites: (thread, id, node, writes) =>
      write(memory.putWrites(thread, id, node, writes), () => saved.add(key(parents.get(id) as Checkpoint, node)))
  }
  return { service, count: () => count }
}

describe("a crash", () => {
  const finish = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.exit(effect))
      yield* TestClock.adjust("1 second")
      return yield* Fiber.join(fiber)
    })

  for (const lost of [false, true]) {
    it.effect(`${lost ? "before" : "after"} any write changes neither the result nor reruns saved nodes`, () =>
      Effect.gen(function* () {
        const whole = yield* finish(
          StateGraph.invoke(
            everything(() => {}),
            initial
          )
        )
        assert.isTrue(Exit.isSuccess(whole))
        let crashes = 0
        for (let at = 1; ; at++) {
          const memory = makeMemory()
          const saved = new Set<string>()
          const parents = new Map<string, Checkpoint>()
          const twice: Array<string> = []
          const graph = everything((key) => saved.has(key) && twice.push(key))
          const crash = crashing(memory, at, saved, parents, lost)
          const first = yield* finish(
            Effect.provideService(StateGraph.invokeThread(graph, { threadId, initial }), Checkpointer, crash.service)
          )
          if (Exit.isSuccess(first)) {
            assert.isBelow(crash.count(), at)
            break
          }
          crashes++
          assert.isTrue(Option.isSome(Cause.dieOption(first.cause)))
          if (lost && at === 1) continue
          const second = yield* finish(
            Effect.provideService(StateGraph.resume(graph, { threadId }), Checkpointer, memory)
          )
          assert.deepStrictEqual(second, whole, `crash at write ${at}`)
          assert.deepStrictEqual(twice, [], `crash at write ${at}`)
        }
        // 3 loops and the input, 3 branches, the inner graph's input, 2 steps and 2 branches, 3 further steps.
        assert.strictEqual(crashes, 15)
      })
    )
  }

  it.effect("at every write, repeatedly, still reaches the end", () =>
    Effect.gen(function* () {
      const whole = yield* finish(
        StateGraph.invoke(
          everything(() => {}),
          initial
        )
      )
      const memory = makeMemory()
      const saved = new Set<string>()
      const parents = new Map<string, Checkpoint>()
      const twice: Array<string> = []
      const graph = everything((key) => saved.has(key) && twice.push(key))
      const attempt = <A, E>(run: Effect.Effect<A, E, Checkpointer>) =>
        finish(Effect.provideService(run, Checkpointer, crashing(memory, 1, saved, parents, false).service))
      let exit = yield* attempt(StateGraph.invokeThread(graph, { threadId, initial }))
      let attempts = 1
      for (; Exit.isFailure(exit) && attempts < 50; attempts++) {
        assert.isTrue(Option.isSome(Cause.dieOption(exit.cause)))
        exit = yield* attempt(StateGraph.resume(graph, { threadId }))
      }
      assert.deepStrictEqual(exit, whole)
      assert.deepStrictEqual(twice, [])
      assert.isAbove(attempts, 10)
    })
  )
})

describe("a wait", () => {
  const Approval = Schema.Struct({ ok: Schema.Boolean, amount: Schema.NumberFromString })

  const asking = () => {
    const { ran, says } = recorder()
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "asking",
        state: State,
        nodes: {
          before: says("before"),
          ask: (state, context) =>
            Effect.gen(function* () {
              yield* says("ask")(state, context)
              const approval = yield* StateGraph.wait("approval", Approval, { payload: { amount: 3 } })
              return { n: approval.amount, log: [approval.ok ? "yes" : "no"] }
            }),
          after: says("after")
        },
        start: "before",
        edges: { before: "ask", ask: "after", after: "END" },
        reducers: { log: append }
      })
    )
    return { ran, graph }
  }

  it.effect("stops the run, and a value resumes it", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = asking()
        const error = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.deepStrictEqual(error.waiting, [{ name: "approval", node: "ask", path: [], payload: { amount: 3 } }])
        assert.strictEqual(error.threadId, threadId)
        const [last] = yield* StateGraph.history(graph, threadId, { limit: 1 })
        assert.strictEqual(error.checkpointId, last?.id)
        assert.deepStrictEqual(last?.waiting, error.waiting)
        const end = yield* StateGraph.resume(graph, { threadId, value: { ok: true, amount: "7" } })
        assert.deepStrictEqual(end, { n: 7, log: ["before1", "yes", "after3"] })
        assert.deepStrictEqual(ran, ["before", "ask", "ask", "after"])
        const sources = (yield* StateGraph.history(graph, threadId)).map((one) => one.metadata["source"])
        assert.deepStrictEqual(sources, ["loop", "loop", "resume", "wait", "loop", "input"])
      })
    )
  )

  it.effect("keeps waiting without a value, and runs nothing", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = asking()
        const first = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        const again = yield* waitingOf(StateGraph.resume(graph, { threadId }))
        assert.deepStrictEqual(again.waiting, first.waiting)
        assert.strictEqual(again.checkpointId, first.checkpointId)
        assert.deepStrictEqual(ran, ["before", "ask"])
        assert.strictEqual((yield* StateGraph.history(graph, threadId)).length, 3)
      })
    )
  )

  it.effect("rejects a value that does not match, names the place, and continues", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = asking()
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        for (const wrong of [null, "secret", { ok: true, amount: "secret" }, { ok: "secret", amount: "1" }]) {
          const error = yield* waitingOf(StateGraph.resume(graph, { threadId, value: wrong }))
          assert.include(error.waiting[0]?.problem, "does not fit")
          assert.notInclude(JSON.stringify(error), "secret")
        }
        const asked = yield* waitingOf(StateGraph.resume(graph, { threadId, update: { n: 1 } }))
        assert.notProperty(asked.waiting[0], "problem")
        const end = yield* StateGraph.resume(graph, { threadId, value: { ok: false, amount: "1" } })
        assert.deepStrictEqual(end.log, ["before1", "no", "after3"])
      })
    )
  )

  it.effect("keeps an accepted value across a crash", () =>
    Effect.gen(function* () {
      const memory = makeMemory()
      let broken = true
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "crashing",
          state: State,
          nodes: {
            ask: () =>
              Effect.flatMap(StateGraph.wait("n", Schema.Number), (n) =>
                Effect.suspend(() => (broken ? Effect.die(new Crash()) : Effect.succeed({ n })))
              )
          },
          start: "ask",
          edges: { ask: "END" }
        })
      )
      const provided = Effect.provideService(Checkpointer, memory)
      yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial })).pipe(provided)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(provided(StateGraph.resume(graph, { threadId, value: 5 })))))
      assert.strictEqual(yield* provided(reasonOf(StateGraph.resume(graph, { threadId, value: 6 }))), "not-waiting")
      broken = false
      assert.strictEqual((yield* provided(StateGraph.resume(graph, { threadId }))).n, 5)
    })
  )

  it.effect("may follow another in one node, and each is asked once", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "two",
            state: State,
            nodes: {
              ask: () =>
                Effect.gen(function* () {
                  const a = yield* StateGraph.wait("a", Schema.Number)
                  const b = yield* StateGraph.wait("b", Schema.Number)
                  return { n: a * 10 + b }
                })
            },
            start: "ask",
            edges: { ask: "END" }
          })
        )
        const names = (error: GraphWaitingError) => error.waiting.map((one) => one.name)
        assert.deepStrictEqual(names(yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))), ["a"])
        assert.deepStrictEqual(names(yield* waitingOf(StateGraph.resume(graph, { threadId, value: 1 }))), ["b"])
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, value: 2 })).n, 12)
      })
    )
  )

  it.effect("asks again when its node runs again", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "round",
            state: State,
            nodes: { ask: (state) => Effect.map(StateGraph.wait("n", Schema.Number), (n) => ({ n: state.n + n })) },
            start: "ask",
            edges: { ask: { to: ["ask", "END"], when: (state) => (state.n < 10 ? "ask" : "END") } }
          })
        )
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        yield* waitingOf(StateGraph.resume(graph, { threadId, value: 4 }))
        yield* waitingOf(StateGraph.resume(graph, { threadId, value: 5 }))
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, value: 6 })).n, 15)
      })
    )
  )

  const parallel = () => {
    const { ran, says } = recorder()
    const ask = (name: string) => (state: State, context: StateGraph.NodeContext) =>
      Effect.zipRight(
        says(name)(state, context),
        Effect.map(StateGraph.wait("answer", Schema.String), (answer) => ({ log: [`${name}=${answer}`] }))
      )
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "parallel",
        state: State,
        nodes: {
          start: says("start"),
          left: ask("left"),
          work: (state, context) => Effect.zipRight(Effect.yieldNow(), says("work")(state, context)),
          right: ask("right"),
          end: says("end")
        },
        start: "start",
        edges: { start: ["left", "work", "right"], left: "end", work: "end", right: "end", end: "END" },
        reducers: { log: append }
      })
    )
    return { ran, graph }
  }

  it.effect("in parallel branches lets the others finish, and is answered by name", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = parallel()
        const first = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.deepStrictEqual(
          first.waiting.map((one) => one.node),
          ["left", "right"]
        )
        assert.deepStrictEqual(ran, ["start", "left", "right", "work"])
        assert.strictEqual(yield* reasonOf(StateGraph.resume(graph, { threadId, value: "x" })), "ambiguous")
        const unknown = StateGraph.resume(graph, { threadId, value: "x", wait: "nothing" })
        assert.strictEqual(yield* reasonOf(unknown), "not-waiting")
        const second = yield* waitingOf(StateGraph.resume(graph, { threadId, value: "r", wait: "right/answer" }))
        assert.deepStrictEqual(
          second.waiting.map((one) => one.node),
          ["left"]
        )
        assert.deepStrictEqual(ran.slice(4), ["right"])
        const end = yield* StateGraph.resume(graph, { threadId, value: "l" })
        assert.deepStrictEqual(end.log, ["start1", "left=l", "work2", "right=r", "end3"])
        assert.deepStrictEqual(ran.slice(5), ["left", "end"])
      })
    )
  )

  const nested = () => {
    const { ran, says } = recorder()
    const inner = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "inner",
        state: State,
        nodes: {
          first: says("first"),
          ask: (state, context) =>
            Effect.zipRight(
              says("ask")(state, context),
              Effect.map(StateGraph.wait("answer", Schema.String), (answer) => ({ log: [`ask=${answer}`] }))
            ),
          other: (state, context) =>
            Effect.zipRight(
              says("other")(state, context),
              Effect.map(StateGraph.wait("second", Schema.String), (answer) => ({ log: [`other=${answer}`] }))
            ),
          last: says("last")
        },
        start: "first",
        edges: { first: ["ask", "other"], ask: "last", other: "last", last: "END" },
        reducers: { log: append }
      })
    )
    const middle = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "middle",
        state: State,
        nodes: {
          deep: StateGraph.subgraph(inner, { input: (state: State) => state, output: (end) => ({ log: end.log }) })
        },
        start: "deep",
        edges: { deep: "END" }
      })
    )
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "outer",
        state: State,
        nodes: {
          start: says("start"),
          sub: StateGraph.subgraph(middle, { input: (_: State) => initial, output: (end) => ({ log: end.log }) }),
          side: says("side"),
          end: says("end")
        },
        start: "start",
        edges: { start: ["sub", "side"], sub: "end", side: "end", end: "END" },
        reducers: { log: append }
      })
    )
    return { ran, graph }
  }

  it.effect("inside subgraphs resumes at its place", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = nested()
        const first = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.deepStrictEqual(
          first.waiting.map(({ name, node, path }) => [...path, node, name].join("/")),
          ["sub/deep/ask/answer", "sub/deep/other/second"]
        )
        assert.deepStrictEqual([...ran].sort(), ["ask", "first", "other", "side", "start"])
        const second = yield* waitingOf(StateGraph.resume(graph, { threadId, value: "A", wait: "answer" }))
        assert.deepStrictEqual(
          second.waiting.map((one) => one.name),
          ["second"]
        )
        assert.deepStrictEqual(ran.slice(5), ["ask"])
        const end = yield* StateGraph.resume(graph, { threadId, value: "B" })
        assert.deepStrictEqual(ran.slice(6), ["other", "last", "end"])
        assert.deepStrictEqual(end.log, ["start1", "first1", "ask=A", "other=B", "last3", "side2", "end3"])
      })
    )
  )

  it.effect("can be answered differently from its checkpoint", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = nested()
        const asked = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        const value = (value: string, wait: string, checkpointId?: string) =>
          StateGraph.resume(graph, { threadId, value, wait, checkpointId })
        const second = yield* waitingOf(value("A", "answer"))
        yield* value("B", "second")
        ran.length = 0
        const otherwise = yield* value("C", "second", second.checkpointId)
        assert.deepStrictEqual(otherwise.log, ["start1", "first1", "ask=A", "other=C", "last3", "side2", "end3"])
        assert.deepStrictEqual(ran, ["other", "last", "end"])
        yield* waitingOf(value("D", "answer", asked.checkpointId))
        const third = yield* value("E", "second")
        assert.deepStrictEqual(third.log, ["start1", "first1", "ask=D", "other=E", "last3", "side2", "end3"])
      })
    )
  )

  it.effect("in a subgraph asks again only if the surrounding state was edited", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = nested()
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        ran.length = 0
        yield* waitingOf(StateGraph.resume(graph, { threadId, update: { n: 1 } }))
        assert.deepStrictEqual([...ran].sort(), ["ask", "first", "other"])
        ran.length = 0
        const options = { threadId, update: { n: 2 }, value: "A", wait: "answer" }
        yield* waitingOf(StateGraph.resume(graph, options))
        assert.deepStrictEqual(ran, ["ask"])
        const end = yield* StateGraph.resume(graph, { threadId, value: "B" })
        assert.deepStrictEqual(end, { n: 2, log: ["start1", "first1", "ask=A", "other=B", "last3", "side2", "end3"] })
      })
    )
  )

  it.effect("in a subgraph remains while another wait is answered", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph: given, ran } = nested()
        const ask = () => Effect.map(StateGraph.wait("side", Schema.String), (answer) => ({ log: [`side=${answer}`] }))
        const graph = StateGraph.unsafeCompile(StateGraph.replaceNode(given.graph, "side", ask))
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        yield* waitingOf(StateGraph.resume(graph, { threadId, value: "S", wait: "side" }))
        yield* waitingOf(StateGraph.resume(graph, { threadId, value: "A", wait: "answer" }))
        const end = yield* StateGraph.resume(graph, { threadId, value: "B" })
        assert.deepStrictEqual(end.log, ["start1", "first1", "ask=A", "other=B", "last3", "side=S", "end3"])
        assert.strictEqual(ran.filter((name) => name === "first").length, 1)
      })
    )
  )

  it.effect("in the second of two subgraph runs of a node does not rerun the first", () =>
    withMemory(
      Effect.gen(function* () {
        const ran: Array<string> = []
        const inner = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "inner",
            state: State,
            nodes: {
              work: (state) => Effect.sync(() => ({ log: [`work${ran.push(`work${state.n}`)}`] })),
              ask: (state) =>
                state.n === 1
                  ? Effect.succeed({})
                  : Effect.map(StateGraph.wait("answer", Schema.String), (answer) => ({ log: [answer] }))
            },
            start: "work",
            edges: { work: "ask", ask: "END" },
            reducers: { log: append }
          })
        )
        const graph = StateGraph.make({
          name: "outer",
          state: State,
          nodes: {
            sub: StateGraph.subgraph(inner, { input: (state: State) => state, output: (end) => ({ log: end.log }) })
          },
          start: "sub",
          edges: { sub: "END" }
        }).pipe(
          StateGraph.wrapNode(
            "sub",
            (next) => (state, context) =>
              Effect.gen(function* () {
                const first = yield* next({ ...state, n: 1 }, context)
                const second = yield* next({ ...state, n: 2 }, context)
                return { log: [...(first.log ?? []), ...(second.log ?? [])] }
              })
          ),
          StateGraph.unsafeCompile
        )
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        const end = yield* StateGraph.resume(graph, { threadId, value: "A" })
        assert.deepStrictEqual(end.log, ["work1", "work2", "A"])
        assert.deepStrictEqual(ran, ["work1", "work2"])
      })
    )
  )

  it.effect("of a graph that a node invokes itself belongs to that node", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph: inner } = asking()
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "around",
            state: State,
            nodes: { own: (state) => StateGraph.invoke(inner, state) },
            start: "own",
            edges: { own: "END" }
          })
        )
        const error = yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.deepInclude(error.waiting[0], { name: "approval", node: "own", path: [] })
        const end = yield* StateGraph.resume(graph, { threadId, value: { ok: true, amount: "7" } })
        assert.deepStrictEqual(end, { n: 7, log: ["before1", "yes", "after3"] })
      })
    )
  )

  it.effect("is not retried by a node's retries", () =>
    withMemory(
      Effect.gen(function* () {
        let tries = 0
        const ask = () =>
          Effect.suspend(() => {
            tries++
            return Effect.map(StateGraph.wait("n", Schema.Number), (n) => ({ n }))
          })
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "retried",
            state: State,
            nodes: { ask: { run: ask, retry: { times: 5, while: () => true }, timeout: "1 second" } },
            start: "ask",
            edges: { ask: "END" }
          })
        )
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        assert.strictEqual(tries, 1)
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, value: 1 })).n, 1)
      })
    )
  )

  it.effect("fails at once outside of a thread, with nothing to resume", () =>
    Effect.gen(function* () {
      const { graph } = asking()
      const error = yield* Effect.flip(StateGraph.invoke(graph, initial))
      assert.strictEqual(error._tag, "GraphWaitingError")
      assert.notProperty(error, "threadId")
      const alone = yield* Effect.flip(StateGraph.wait("alone", Schema.Number))
      assert.deepStrictEqual(alone.waiting, [{ name: "alone", node: "", path: [] }])
    })
  )

  it.effect("cannot be saved with a payload that is not JSON", () =>
    withMemory(
      Effect.gen(function* () {
        for (const payload of [() => 1, { deep: [1n] }, new Date(0), Number.NaN]) {
          const graph = StateGraph.unsafeCompile(
            StateGraph.make({
              name: "payload",
              state: State,
              nodes: { ask: () => Effect.as(StateGraph.wait("n", Schema.Number, { payload }), {}) },
              start: "ask",
              edges: { ask: "END" }
            })
          )
          assert.strictEqual(yield* reasonOf(StateGraph.invokeThread(graph, { threadId, initial })), "encoding")
        }
      })
    )
  )
})

describe("time travel", () => {
  const steps = () => {
    const { ran, says } = recorder()
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "steps",
        state: State,
        nodes: {
          a: says("a"),
          b: (state, context) => Effect.map(says("b")(state, context), () => ({ log: [`b${state.n}`] })),
          c: says("c")
        },
        start: "a",
        edges: { a: ["b", "c"], b: "END", c: "END" },
        reducers: { log: append }
      })
    )
    return { ran, graph }
  }

  it.effect("from an earlier checkpoint reruns the later nodes in its own line", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, ran } = steps()
        yield* StateGraph.invokeThread(graph, { threadId, initial })
        const before = yield* StateGraph.history(graph, threadId)
        const past = before[1]
        const end = yield* StateGraph.resume(graph, { threadId, checkpointId: past?.id })
        assert.deepStrictEqual(end.log, ["a1", "b0", "c2"])
        assert.deepStrictEqual(ran, ["a", "b", "c", "b", "c"])
        const after = yield* StateGraph.history(graph, threadId)
        assert.deepStrictEqual(after.slice(2), before)
        assert.deepInclude(after[1], { parentId: past?.id, step: 1 })
        assert.strictEqual(after[1]?.metadata["source"], "fork")
      })
    )
  )

  it.effect("with another state takes another path, and the old one remains", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = steps()
        yield* StateGraph.invokeThread(graph, { threadId, initial })
        const before = yield* StateGraph.history(graph, threadId)
        const update = { n: 9, log: ["edited"] }
        const end = yield* StateGraph.resume(graph, { threadId, checkpointId: before[1]?.id, update })
        assert.deepStrictEqual(end, { n: 9, log: ["edited", "b9", "c2"] })
        const after = yield* StateGraph.history(graph, threadId)
        assert.deepStrictEqual(after.slice(2), before)
        assert.strictEqual(after[1]?.metadata["source"], "update")
      })
    )
  )

  it.effect("edits the state of a wait, whose node then asks again", () =>
    withMemory(
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "edited",
            state: State,
            nodes: {
              ask: (state) =>
                state.n > 5
                  ? Effect.succeed({ log: ["enough"] })
                  : Effect.map(StateGraph.wait("n", Schema.Number, { payload: state.n }), (n) => ({ n }))
            },
            start: "ask",
            edges: { ask: "END" }
          })
        )
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial }))
        const still = yield* waitingOf(StateGraph.resume(graph, { threadId, update: { n: 3 } }))
        assert.strictEqual(still.waiting[0]?.payload, 3)
        assert.deepStrictEqual(yield* StateGraph.resume(graph, { threadId, update: { n: 6 } }), {
          n: 6,
          log: ["enough"]
        })
      })
    )
  )

  it.effect("with an unknown field dies", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = steps()
        yield* StateGraph.invokeThread(graph, { threadId, initial })
        const update = { m: 1 } as {}
        const exit = yield* Effect.exit(StateGraph.resume(graph, { threadId, update }))
        assert.isTrue(Exit.isFailure(exit) && Option.isSome(Cause.dieOption(exit.cause)))
      })
    )
  )

  it.effect("reruns a subgraph from its start", () =>
    withMemory(
      Effect.gen(function* () {
        const runs: Array<string> = []
        const graph = everything((key) => void runs.push(key))
        const finish = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.gen(function* () {
            const fiber = yield* Effect.fork(effect)
            yield* TestClock.adjust("1 second")
            return yield* Fiber.join(fiber)
          })
        const end = yield* finish(StateGraph.invokeThread(graph, { threadId, initial }))
        const history = yield* StateGraph.history(graph, threadId)
        const fan = history.find((one) => one.next.length === 3)
        runs.length = 0
        assert.deepStrictEqual(yield* finish(StateGraph.resume(graph, { threadId, checkpointId: fan?.id })), end)
        assert.deepStrictEqual(
          runs.filter((key) => key.startsWith("inner")),
          ["inner first 1", "inner left 2", "inner right 2"]
        )
      })
    )
  )
})

describe("a thread that cannot resume reports the reason", () => {
  const make = (change?: object) =>
    StateGraph.unsafeCompile(
      StateGraph.make({
        name: "changing",
        state: State,
        nodes: { a: () => Effect.succeed({}), b: () => Effect.as(StateGraph.wait("n", Schema.Number), {}) },
        start: "a",
        edges: { a: "b", b: "END" },
        ...change
      } as any)
    ) as StateGraph.Compiled<"a" | "b", State, State, GraphWaitingError>

  const waiting = waitingOf(StateGraph.invokeThread(make(), { threadId, initial }))

  it.effect("for an unknown thread or checkpoint", () =>
    withMemory(
      Effect.gen(function* () {
        assert.strictEqual(yield* reasonOf(StateGraph.resume(make(), { threadId })), "unknown-thread")
        assert.strictEqual(
          yield* reasonOf(StateGraph.resume(make(), { threadId, checkpointId: "x" })),
          "unknown-thread"
        )
        yield* waiting
        for (const checkpointId of ["x", "__proto__", "", "y".repeat(10_000)]) {
          const error = yield* Effect.flip(StateGraph.resume(make(), { threadId, checkpointId }))
          assert.deepInclude(error, { reason: "unknown-checkpoint", checkpointId })
          assert.isBelow(error.message.length, 300)
        }
      })
    )
  )

  it.effect("for a missing node or another graph", () =>
    withMemory(
      Effect.gen(function* () {
        yield* waiting
        const gone = make({ nodes: { a: () => Effect.succeed({}) }, edges: { a: "END" } })
        const error = yield* Effect.flip(StateGraph.resume(gone, { threadId }))
        assert.deepInclude(error, { _tag: "GraphCheckpointError", reason: "changed-graph" })
        assert.include(error.message, '"b"')
        assert.strictEqual(yield* reasonOf(StateGraph.resume(make({ name: "x" }), { threadId })), "changed-graph")
      })
    )
  )

  it.effect("for a state that no longer matches", () =>
    withMemory(
      Effect.gen(function* () {
        yield* waiting
        const other = make({ state: Schema.Struct({ n: Schema.String, log: Schema.Array(Schema.String) }) })
        const error = yield* Effect.flip(StateGraph.resume(other, { threadId }))
        assert.deepInclude(error, { _tag: "GraphCheckpointError", reason: "state" })
        assert.include(error.message, "n does not fit")
        assert.strictEqual(yield* reasonOf(StateGraph.history(other, threadId)), "state")
      })
    )
  )

  it.effect("for a value without a wait, or one that is not JSON", () =>
    withMemory(
      Effect.gen(function* () {
        yield* waiting
        assert.strictEqual(yield* reasonOf(StateGraph.resume(make(), { threadId, value: () => 1 })), "encoding")
        yield* StateGraph.resume(make(), { threadId, value: 1 })
        assert.strictEqual(yield* reasonOf(StateGraph.resume(make(), { threadId, value: 1 })), "not-waiting")
      })
    )
  )

  it.effect("for a state that its schema or JSON cannot represent, without showing it", () =>
    withMemory(
      Effect.gen(function* () {
        const Loose = Schema.Struct({ n: Schema.Unknown, log: Schema.Array(Schema.String) })
        const cyclic: Record<string, unknown> = { secret: 1 }
        cyclic["self"] = cyclic
        for (const n of [Number.NaN, 1n, new Map([["secret", 1]]), [undefined], cyclic, () => "secret"]) {
          const graph = make({ state: Loose, nodes: { a: () => Effect.succeed({ n }), b: () => Effect.succeed({}) } })
          const error = yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial }))
          assert.deepInclude(error, { _tag: "GraphCheckpointError", reason: "encoding" })
          assert.notInclude(error.message, "secret")
        }
        const wrong = make({ nodes: { a: () => Effect.succeed({ n: "secret" }), b: () => Effect.succeed({}) } })
        const error = yield* Effect.flip(StateGraph.invokeThread(wrong, { threadId, initial }))
        assert.include(error.message, "n does not fit")
        assert.notInclude(error.message, "secret")
      })
    )
  )
})

describe("a state of any schema", () => {
  const fields = Schema.Struct({
    at: Schema.Date,
    some: Schema.OptionFromNullOr(Schema.Number),
    set: Schema.Set(Schema.String),
    renamed: Schema.propertySignature(Schema.NumberFromString).pipe(Schema.fromKey("other-name")),
    withDefault: Schema.optionalWith(Schema.Number, { default: () => 7 }),
    maybe: Schema.optional(Schema.String),
    undef: Schema.UndefinedOr(Schema.String)
  })
  type Fields = typeof fields.Type
  const refined = fields.pipe(Schema.filter((value) => value.withDefault < 100))
  const transformed = Schema.transform(Schema.Struct({ all: Schema.parseJson(fields) }), Schema.typeSchema(fields), {
    strict: true,
    decode: (from) => from.all,
    encode: (all) => ({ all })
  })
  const start: Fields = {
    at: new Date(0),
    some: Option.none(),
    set: new Set(),
    renamed: 1,
    withDefault: 1,
    maybe: "here",
    undef: "there"
  }

  for (const [name, schema] of Object.entries({ fields, refined, transformed })) {
    it.effect(`is saved and resumed, including updates of finished nodes: ${name}`, () =>
      withMemory(
        Effect.gen(function* () {
          let broken = true
          const graph = StateGraph.unsafeCompile(
            StateGraph.make({
              name: "rich",
              state: schema as Schema.Schema<Fields, any>,
              nodes: {
                start: () => Effect.succeed({ at: new Date(5) }),
                a: () => Effect.succeed({ some: Option.some(3), set: new Set(["x"]), renamed: 2 }),
                b: () => Effect.succeed({ withDefault: 9, maybe: undefined, undef: undefined }),
                bad: () => Effect.suspend(() => (broken ? Effect.fail(new Down()) : Effect.succeed({})))
              },
              start: "start",
              edges: { start: ["a", "b", "bad"], a: "END", b: "END", bad: "END" }
            })
          )
          const direct = Either.getOrThrow(
            yield* Effect.either(
              StateGraph.invoke(
                StateGraph.unsafeCompile(StateGraph.replaceNode(graph.graph, "bad", () => Effect.succeed({}))),
                start
              )
            )
          )
          yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial: start }))
          const [saved] = yield* StateGraph.history(graph, threadId, { limit: 1 })
          assert.deepStrictEqual(saved?.state, { ...start, at: new Date(5) })
          broken = false
          const end = yield* StateGraph.resume(graph, { threadId })
          assert.deepStrictEqual({ ...end, maybe: undefined, undef: undefined }, direct)
          assert.deepStrictEqual(end.some, Option.some(3))
          assert.strictEqual(end.maybe, undefined)
        })
      )
    )
  }
})

describe("ownership of a thread", () => {
  /** A node that tells what it holds, then a wait, inside of a graph and of a subgraph. */
  const holding = () => {
    const held: Array<boolean> = []
    const looks = Effect.tap(SystemAccess.isGranted, (granted) => Effect.sync(() => void held.push(granted)))
    const told = () => Effect.as(looks, { n: 1 })
    const asks = () => Effect.map(StateGraph.wait("answer", Schema.Number), (n) => ({ n }))
    const inner = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "inner",
        state: State,
        nodes: { told, asks },
        start: "told",
        edges: { told: "asks", asks: "END" }
      })
    )
    const sub = StateGraph.subgraph(inner, { input: (state: State) => state, output: ({ n }) => ({ n }) })
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "owned",
        state: State,
        nodes: { told, sub },
        start: "told",
        edges: { told: "sub", sub: "END" }
      })
    )
    return { graph, held, looks }
  }

  it.effect("is that of its first user: nobody else resumes or reads it", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = holding()
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial, userId: "ada" }))
        for (const userId of ["bob", undefined]) {
          assert.strictEqual(
            yield* reasonOf(StateGraph.resume(graph, { threadId, value: 1, userId })),
            "unknown-thread"
          )
          assert.deepStrictEqual(yield* StateGraph.history(graph, threadId, { userId }), [])
          const taken = yield* Effect.flip(StateGraph.invokeThread(graph, { threadId, initial, userId }))
          assert.deepInclude(taken, { _tag: "CheckpointerError", reason: "taken" })
        }
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, value: 7, userId: "ada" })).n, 7)
        assert.isNotEmpty(yield* StateGraph.history(graph, threadId, { userId: "ada" }))
      })
    )
  )

  it.effect("is that of the user of the surrounding agent run", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph } = holding()
        const asAda = Effect.provideService(Requester, { userId: UserId.make("ada") })
        yield* asAda(waitingOf(StateGraph.invokeThread(graph, { threadId, initial })))
        assert.deepStrictEqual(yield* StateGraph.history(graph, threadId), [])
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, value: 7, userId: "ada" })).n, 7)
        assert.isNotEmpty(yield* asAda(StateGraph.history(graph, threadId)))
      })
    )
  )

  it.effect("does not restrict the system, whose capability no node gets", () =>
    withMemory(
      Effect.gen(function* () {
        const { graph, held, looks } = holding()
        yield* waitingOf(StateGraph.invokeThread(graph, { threadId, initial, userId: "ada" }))
        const onNode = () => Effect.asVoid(looks)
        const end = yield* SystemAccess.grant(StateGraph.resume(graph, { threadId, value: 7, onNode }))
        assert.strictEqual(end.n, 7)
        assert.isNotEmpty(yield* SystemAccess.grant(StateGraph.history(graph, threadId)))
        assert.strictEqual((yield* StateGraph.resume(graph, { threadId, userId: "ada" })).n, 7)
        assert.isAbove(held.length, 3)
        assert.notInclude(held, true)
      })
    )
  )

  it.effect("gives nodes no capability outside of a thread", () =>
    Effect.gen(function* () {
      const { graph, held, looks } = holding()
      yield* Effect.flip(SystemAccess.grant(StateGraph.invoke(graph, initial, { onNode: () => Effect.asVoid(looks) })))
      yield* Effect.flip(SystemAccess.grant(Stream.runDrain(StateGraph.stream(graph, initial))))
      assert.isAbove(held.length, 3)
      assert.notInclude(held, true)
    })
  )
})
