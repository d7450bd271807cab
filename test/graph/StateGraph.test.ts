import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import {
  GraphCompileError,
  GraphDefectError,
  type GraphIssue,
  GraphNodeTimeoutError
} from "../../src/graph/GraphError.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"

class Down extends Data.TaggedError("Down")<{ readonly attempt: number }> {}

const State = Schema.Struct({ n: Schema.Number, log: Schema.Array(Schema.String), note: Schema.String })
type State = typeof State.Type

const initial: State = { n: 0, log: [], note: "" }

const append = (current: ReadonlyArray<string>, update: ReadonlyArray<string>) => [...current, ...update]

/** A node that writes down that it ran, and in which step. */
const says = (name: string) => (_: State, context: StateGraph.NodeContext) =>
  Effect.succeed({ log: [`${name}${context.step}`] })

const logOf = <E, R>(run: Effect.Effect<State, E, R>) => Effect.map(run, (state) => state.log.join(" "))

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}

const defectOf = <A, E>(run: Effect.Effect<A, E>): Effect.Effect<GraphDefectError> =>
  Effect.map(Effect.exit(run), (exit) => {
    assert.isTrue(Exit.isFailure(exit), "the run dies")
    const defect = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
    assert.instanceOf(defect, GraphDefectError)
    return defect as GraphDefectError
  })

/** Whatever plain JavaScript could pass. */
const untyped = (definition: object): StateGraph.StateGraph<string, State, any, never, never> =>
  StateGraph.make(definition as any) as any

const one = (run: StateGraph.Handler<State>, edge: unknown = "END") =>
  StateGraph.unsafeCompile(
    untyped({ name: "one", state: State, nodes: { only: run }, start: "only", edges: { only: edge } })
  )

describe("a run", () => {
  it.effect("loops until its branch ends it", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "counting",
          state: State,
          nodes: { add: (state) => Effect.succeed({ n: state.n + 1 }) },
          start: "add",
          edges: { add: { to: ["add", "END"], when: (state) => (state.n < 10 ? "add" : "END") } }
        })
      )
      assert.strictEqual((yield* StateGraph.invoke(graph, initial)).n, 10)
    })
  )

  const fan = StateGraph.make({
    name: "fan",
    state: State,
    nodes: { start: says("start"), b: says("b"), a: says("a"), last: says("last") },
    start: "start",
    edges: { start: ["a", "b"], a: "last", b: "last", last: "END" },
    reducers: { log: append }
  })

  it.effect("merges the updates of a step in node order, and runs a common target once", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(fan)
      assert.strictEqual(yield* logOf(StateGraph.invoke(graph, initial)), "start1 b2 a2 last3")
    })
  )

  it.effect("shows an update from the next step on", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const see = (state: State) => Effect.sync(() => void seen.push(state.n))
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "visible",
          state: State,
          nodes: {
            start: () => Effect.succeed({}),
            writer: (state) => Effect.as(see(state), { n: 1 }),
            reader: (state) => Effect.as(Effect.zipRight(Effect.yieldNow(), see(state)), {}),
            last: (state) => Effect.as(see(state), {})
          },
          start: "start",
          edges: { start: ["writer", "reader"], writer: "last", reader: "last", last: "END" }
        })
      )
      yield* StateGraph.invoke(graph, initial)
      assert.deepStrictEqual(seen, [0, 0, 1])
    })
  )

  it.effect("runs the nodes of a step concurrently, up to the limit", () =>
    Effect.gen(function* () {
      const sleep = (ms: number) => () => Effect.as(Effect.sleep(ms), {})
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "overlap",
          state: State,
          nodes: { start: () => Effect.succeed({}), a: sleep(100), b: sleep(100), c: sleep(150) },
          start: "start",
          edges: { start: ["a", "b", "c"], a: "END", b: "END", c: "END" }
        })
      )
      const timed = (concurrency: number | undefined) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.timed(StateGraph.invoke(graph, initial, { concurrency })))
          yield* TestClock.adjust("1 second")
          const [duration] = yield* Fiber.join(fiber)
          return duration.toString()
        })
      assert.strictEqual(yield* timed(undefined), "Duration(150ms)")
      assert.strictEqual(yield* timed(2), "Duration(250ms)")
      assert.strictEqual(yield* timed(1), "Duration(350ms)")
    })
  )

  it.effect("never mutates a state", () =>
    Effect.gen(function* () {
      const states: Array<State> = []
      const keep = (state: State) => {
        states.push(state)
        return deepFreeze(state)
      }
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "frozen",
          state: State,
          nodes: {
            a: (state) => Effect.sync(() => deepFreeze({ n: keep(state).n + 1, log: ["a"] })),
            b: (state) => Effect.sync(() => deepFreeze({ log: [`b${keep(state).n}`] })),
            c: (state) => Effect.sync(() => deepFreeze({ log: [`c${keep(state).n}`] }))
          },
          start: "a",
          edges: {
            a: ["b", "c"],
            b: { to: ["a", "END"], when: (state) => (keep(state).n < 3 ? "a" : "END") },
            c: "END"
          },
          reducers: { log: append }
        })
      )
      const first = deepFreeze({ ...initial })
      const end = yield* StateGraph.invoke(graph, first)
      assert.deepStrictEqual(first, initial)
      assert.strictEqual(end.log.join(" "), "a b1 c1 a b2 c2 a b3 c3")
      assert.deepStrictEqual(
        states.map((state) => state.n),
        [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]
      )
    })
  )

  it.effect("is independent of other runs of its compiled graph", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        fan.pipe(StateGraph.replaceNode("a", (state) => Effect.as(Effect.yieldNow(), { log: [`a-${state.note}`] })))
      )
      const names = Array.from({ length: 100 }, (_, i) => `${i}`)
      const logs = yield* Effect.forEach(names, (note) => logOf(StateGraph.invoke(graph, { ...initial, note })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        logs,
        names.map((name) => `start1 b2 a-${name} last3`)
      )
    })
  )

  it.effect("fails with the error of a node and interrupts its siblings", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "failing",
          state: State,
          nodes: {
            start: () => Effect.succeed({}),
            slow: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void events.push("interrupted"))),
            bad: () => Effect.zipRight(Effect.yieldNow(), Effect.fail(new Down({ attempt: 1 })))
          },
          start: "start",
          edges: { start: ["slow", "bad"], slow: "END", bad: "END" }
        })
      )
      const error = yield* Effect.flip(StateGraph.invoke(graph, initial))
      assert.strictEqual(error._tag, "Down")
      assert.deepStrictEqual(events, ["interrupted"])
    })
  )

  it.effect("interrupts its running nodes when interrupted", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const events: Array<string> = []
      const hold = (name: string) => () =>
        Effect.onInterrupt(Effect.zipRight(Deferred.succeed(started, undefined), Effect.never), () =>
          Effect.sync(() => void events.push(name))
        )
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "held",
          state: State,
          nodes: { start: () => Effect.succeed({}), a: hold("a"), b: hold("b") },
          start: "start",
          edges: { start: ["a", "b"], a: "END", b: "END" }
        })
      )
      const fiber = yield* Effect.fork(StateGraph.invoke(graph, initial))
      yield* Deferred.await(started)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(events.sort(), ["a", "b"])
    })
  )

  it.effect("dies with what a node throws", () =>
    Effect.gen(function* () {
      const graph = one(() => {
        throw new RangeError("thrown")
      })
      const exit = yield* Effect.exit(StateGraph.invoke(graph, initial))
      assert.isTrue(Exit.isFailure(exit) && Option.isSome(Cause.dieOption(exit.cause)))
    })
  )

  it.effect("stops at the step limit and reports its progress", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "endless",
          state: State,
          nodes: { add: (state) => Effect.succeed({ n: state.n + 1 }) },
          start: "add",
          edges: { add: { to: ["add", "END"], when: () => "add" } }
        })
      )
      const byDefault = yield* Effect.flip(StateGraph.invoke(graph, initial))
      assert.strictEqual(byDefault._tag, "GraphStepLimitError")
      assert.strictEqual(byDefault.limit, 100)
      assert.deepStrictEqual(byDefault.nodes, ["add"])
      assert.deepStrictEqual(byDefault.state, { ...initial, n: 100 })
      assert.strictEqual((yield* Effect.flip(StateGraph.invoke(graph, initial, { maxSteps: 3 }))).limit, 3)
    })
  )

  it.effect("succeeds when it ends in its last allowed step", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(fan)
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(StateGraph.invoke(graph, initial, { maxSteps: 3 }))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(StateGraph.invoke(graph, initial, { maxSteps: 2 }))))
    })
  )

  it.effect("does as much work in step 2,000 as in step 1", () =>
    Effect.gen(function* () {
      // Counts what a step does with the state: reads of fields, and objects made from it.
      let operations = 0
      const counted = (state: State): State =>
        new Proxy(state, {
          get: (target, key) => {
            operations++
            return Reflect.get(target, key)
          },
          ownKeys: (target) => {
            operations++
            return Reflect.ownKeys(target)
          }
        })
      const perStep: Array<number> = []
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "flat",
          state: Schema.Struct({ n: Schema.Number, inner: State }),
          nodes: {
            add: (state) =>
              Effect.sync(() => {
                perStep.push(operations)
                operations = 0
                return { n: state.n + 1, inner: counted(initial) }
              })
          },
          start: "add",
          edges: { add: { to: ["add", "END"], when: (state) => (state.n < 2000 ? "add" : "END") } },
          reducers: { inner: (current, update) => (current.n === update.n ? update : current) }
        })
      )
      yield* StateGraph.invoke(graph, { n: 0, inner: counted(initial) }, { maxSteps: 2000 })
      assert.strictEqual(perStep.length, 2000)
      assert.deepStrictEqual(new Set(perStep.slice(1)), new Set([perStep[1]]))
    })
  )

  it("takes as many fiber turns at step 2,000 as at step 20", () => {
    const graph = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "flat",
        state: State,
        nodes: { add: (state) => Effect.succeed({ n: state.n + 1 }), pass: () => Effect.succeed({}) },
        start: "add",
        edges: {
          add: "pass",
          pass: { to: ["add", "END"], when: (state) => (state.n < Number(state.note) ? "add" : "END") }
        }
      })
    )
    const operations = (steps: number): number => {
      let count = 0
      const scheduler = {
        shouldYield: () => {
          count++
          return false as const
        },
        scheduleTask: (task: () => void) => task()
      }
      Effect.runSync(
        Effect.withScheduler(
          StateGraph.invoke(graph, { ...initial, note: `${steps / 2}` }, { maxSteps: steps }),
          scheduler
        )
      )
      return count
    }
    const [few, more, many] = [operations(20), operations(40), operations(2000)]
    assert.strictEqual(many - few, ((more - few) / 20) * 1980)
  })
})

describe("a branch", () => {
  const branching = (when: (state: State) => any) =>
    StateGraph.unsafeCompile(
      untyped({
        name: "branching",
        state: State,
        nodes: { start: says("start"), a: says("a"), b: says("b"), c: says("c") },
        start: "start",
        edges: { start: { to: ["a", "b", "END"], when }, a: "c", b: "c", c: "END" },
        reducers: { log: append }
      })
    )

  it.effect("may return several targets, in any order, with duplicates and END", () =>
    Effect.gen(function* () {
      const log = (when: () => any) => logOf(StateGraph.invoke(branching(when), initial))
      assert.strictEqual(yield* log(() => "b"), "start1 b2 c3")
      assert.strictEqual(yield* log(() => ["b"]), "start1 b2 c3")
      assert.strictEqual(yield* log(() => ["b", "a", "b"]), "start1 a2 b2 c3")
      assert.strictEqual(yield* log(() => ["END", "a"]), "start1 a2 c3")
      assert.strictEqual(yield* log(() => "END"), "start1")
    })
  )

  it.effect("sees the state after the step", () =>
    Effect.gen(function* () {
      const graph = branching((state) => (state.log.includes("start1") ? "a" : "b"))
      assert.strictEqual(yield* logOf(StateGraph.invoke(graph, initial)), "start1 a2 c3")
    })
  )

  it.effect("to an undeclared target is a defect", () =>
    Effect.gen(function* () {
      for (const wrong of ["c", "nowhere", "__proto__", "constructor", ["a", "c"], undefined, null, 1]) {
        const defect = yield* defectOf(
          StateGraph.invoke(
            branching(() => wrong),
            initial
          )
        )
        assert.strictEqual(defect.node, "start")
        assert.include(defect.message, 'Node "start" of graph "branching" branched')
      }
    })
  )
})

describe("an update", () => {
  it.effect("of another type is a defect", () =>
    Effect.gen(function* () {
      for (const wrong of [undefined, null, 1, "n", [1]]) {
        const defect = yield* defectOf(
          StateGraph.invoke(
            one(() => Effect.succeed(wrong as any)),
            initial
          )
        )
        assert.include(defect.message, "did not return an update")
      }
    })
  )

  it.effect("of an unknown field is a defect that names the nearest field", () =>
    Effect.gen(function* () {
      for (const [wrong, hint] of [
        [{ n: 1, nots: 2 }, 'perhaps "note" was meant'],
        [JSON.parse('{"__proto__":{"n":1}}'), '"__proto__"'],
        [{ constructor: 1 }, '"constructor"']
      ] as const) {
        const defect = yield* defectOf(
          StateGraph.invoke(
            one(() => Effect.succeed(wrong)),
            initial
          )
        )
        assert.include(defect.message, "which is no field of the state")
        assert.include(defect.message, hint)
      }
    })
  )

  it.effect("of a field that another node of the step writes is a defect without a reducer", () =>
    Effect.gen(function* () {
      const graph = StateGraph.make({
        name: "both",
        state: State,
        nodes: {
          start: () => Effect.succeed({}),
          a: () => Effect.succeed({ n: 1, log: ["a"] }),
          b: () => Effect.succeed({ n: 2, log: ["b"] })
        },
        start: "start",
        edges: { start: ["a", "b"], a: "END", b: "END" },
        reducers: { log: append }
      })
      const defect = yield* defectOf(StateGraph.invoke(StateGraph.unsafeCompile(graph), initial))
      assert.strictEqual(
        defect.message,
        'Node "b" of graph "both" and node "a" wrote "n" in one step: give the field a reducer'
      )
      const alone = StateGraph.replaceNode(graph, "b", () => Effect.succeed({ log: ["b"] }))
      const end = yield* StateGraph.invoke(StateGraph.unsafeCompile(alone), initial)
      assert.deepStrictEqual(end, { n: 1, log: ["a", "b"], note: "" })
    })
  )
})

describe("a join", () => {
  const uneven = (when: (state: State) => any) =>
    StateGraph.unsafeCompile(
      untyped({
        name: "uneven",
        state: State,
        nodes: {
          fan: says("fan"),
          a: says("a"),
          b1: says("b1"),
          b2: says("b2"),
          merge: says("merge")
        },
        start: "fan",
        edges: {
          fan: { to: ["a", "b1"], when },
          a: "merge",
          b1: "b2",
          b2: "merge",
          merge: { to: ["fan", "END"], when: (state: State) => (state.log.length < 8 ? "fan" : "END") }
        },
        joins: { merge: ["a", "b2"] },
        reducers: { log: append }
      })
    )

  it.effect("runs once after all its sources, in every round", () =>
    Effect.gen(function* () {
      const log = yield* logOf(
        StateGraph.invoke(
          uneven(() => ["a", "b1"]),
          initial
        )
      )
      assert.strictEqual(log, "fan1 a2 b12 b23 merge4 fan5 a6 b16 b27 merge8")
    })
  )

  it.effect("does not wait for a skipped source", () =>
    Effect.gen(function* () {
      const log = yield* logOf(
        StateGraph.invoke(
          uneven(() => "a"),
          initial
        )
      )
      assert.strictEqual(log, "fan1 a2 merge3 fan4 a5 merge6 fan7 a8 merge9")
    })
  )

  it.effect("runs an undeclared one after each source", () =>
    Effect.gen(function* () {
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "no join",
          state: State,
          nodes: { fan: says("fan"), a: says("a"), b1: says("b1"), b2: says("b2"), merge: says("merge") },
          start: "fan",
          edges: { fan: ["a", "b1"], a: "merge", b1: "b2", b2: "merge", merge: "END" },
          reducers: { log: append }
        })
      )
      assert.strictEqual(yield* logOf(StateGraph.invoke(graph, initial)), "fan1 a2 b12 b23 merge3 merge4")
    })
  )
})

describe("compiling", () => {
  const nodes = { a: says("a"), b: says("b"), c: says("c") }
  const issuesOf = (change: object): ReadonlyArray<GraphIssue> => {
    const compiled = StateGraph.compile(
      untyped({ name: "g", state: State, nodes, start: "a", edges: { a: "b", b: "c", c: "END" }, ...change })
    )
    return Either.match(compiled, { onLeft: (error) => error.issues, onRight: () => [] })
  }
  const one = (change: object): string => {
    const issues = issuesOf(change)
    assert.strictEqual(issues.length, 1, JSON.stringify(issues))
    return `${issues[0]?.reason}: ${issues[0]?.message}`
  }

  it("accepts a valid graph", () => {
    assert.deepStrictEqual(issuesOf({}), [])
  })

  it("reports each issue with advice", () => {
    assert.strictEqual(
      one({ edges: { a: "bb", b: "c", c: "END" } }),
      'unknown-node: "a" leads to "bb", which is no node'
    )
    assert.include(one({ edges: { a: ["b", "c", "x"], b: "END", c: "END" } }), '"a" leads to "x"')
    assert.include(one({ edges: { a: { to: ["b", "x"], when: () => "b" }, b: "c", c: "END" } }), '"a" leads to "x"')
    assert.include(one({ edges: { a: "b", b: "c" } }), 'missing-edge: node "c" has no edge')
    assert.include(one({ edges: { a: [], b: "c", c: "END" } }), 'no-target: the edge of "a" leads nowhere')
    assert.include(one({ edges: { a: "b", b: "c", c: "END", d: "END" } }), 'unknown-node: an edge leaves "d"')
    assert.include(one({ start: "A1" }), 'missing-start: the start "A1" is no node')
    assert.include(one({ start: undefined }), "missing-start")
    assert.include(one({ edges: { a: "b", b: "END", c: "END" } }), 'unreachable: node "c"')
    assert.include(one({ reducers: { nn: append } }), 'unknown-field: there is a reducer for "nn"')
    assert.include(one({ reducers: { notes: append } }), 'perhaps "note" was meant')
    assert.include(one({ state: Schema.Number }), "state: the state is not a Schema.Struct")
    assert.include(one({ state: Schema.Record({ key: Schema.String, value: Schema.Number }) }), "state: ")
    assert.include(one({ state: Schema.Struct({ [Symbol.for("s")]: Schema.Number }) }), "state: ")
  })

  it("rejects only nodes without a path to the end", () => {
    const endless = issuesOf({ edges: { a: { to: ["b", "END"], when: () => "b" }, b: "c", c: "b" } })
    assert.deepStrictEqual(
      endless.map((issue) => [issue.reason, issue.node]),
      [
        ["endless", "b"],
        ["endless", "c"]
      ]
    )
    assert.deepStrictEqual(issuesOf({ edges: { a: "b", b: "c", c: { to: ["a", "END"], when: () => "a" } } }), [])
  })

  it("rejects reserved names", () => {
    const reserved = Object.fromEntries([
      ["END", nodes.a],
      ["", nodes.a]
    ])
    Object.defineProperty(reserved, "__proto__", { value: nodes.a, enumerable: true })
    const reasons = issuesOf({ nodes: { ...nodes, ...reserved, ["__proto__"]: nodes.a } }).map((issue) => issue.reason)
    assert.strictEqual(reasons.filter((reason) => reason === "reserved-name").length, 3)
  })

  it("accepts any other name", () => {
    const names = [
      "constructor",
      "toString",
      "hasOwnProperty",
      "日本",
      "\u{1f600}",
      "a/b",
      "a:b",
      "x".repeat(10_000),
      " "
    ]
    const edges = Object.fromEntries(names.map((name, i) => [name, names[i + 1] ?? "END"]))
    const compiled = StateGraph.unsafeCompile(
      untyped({
        name: "names",
        state: State,
        nodes: Object.fromEntries(names.map((name) => [name, (state: State) => Effect.succeed({ n: state.n + 1 })])),
        start: names[0],
        edges
      })
    )
    assert.strictEqual(Effect.runSync(StateGraph.invoke(compiled, initial)).n, names.length)
  })

  it("checks joins", () => {
    const edges = { a: ["b", "c"], b: "END", c: "END" }
    assert.include(one({ joins: { d: ["a", "b"] } }), 'join: a join is declared for "d"')
    assert.include(one({ joins: { c: ["b"] } }), 'join: the join "c" needs two sources')
    assert.include(
      one({ edges, joins: { c: ["a", "b"] } }),
      'join: the join "c" waits for "b", which has no edge to it'
    )
    assert.include(
      one({
        edges: { a: ["b", "c"], b: ["c", "d"], c: "END", d: "c" },
        nodes: { ...nodes, d: says("d") },
        joins: { c: ["a", "b"] }
      }),
      'join: "d" leads to the join "c", which does not list it'
    )
  })

  it("collects all issues in one error", () => {
    const graph = untyped({
      name: "g",
      state: State,
      nodes,
      start: "x",
      edges: { a: "y", b: "END" },
      reducers: { z: append }
    })
    const error = Either.getOrThrow(Either.flip(StateGraph.compile(graph)))
    assert.instanceOf(error, GraphCompileError)
    assert.deepStrictEqual(
      error.issues.map((issue) => issue.reason),
      ["unknown-field", "missing-edge", "missing-start", "unknown-node"]
    )
    for (const issue of error.issues) assert.include(error.message, issue.message)
    assert.throws(() => StateGraph.unsafeCompile(graph), GraphCompileError)
  })
})

describe("a changed graph", () => {
  const graph = StateGraph.make({
    name: "base",
    state: State,
    nodes: { a: says("a"), b: says("b") },
    start: "a",
    edges: { a: "b", b: "END" },
    reducers: { log: append }
  })

  it.effect("wraps a node from the outside in, without changing the original", () =>
    Effect.gen(function* () {
      const around =
        (name: string) =>
        (next: StateGraph.Handler<State>): StateGraph.Handler<State> =>
        (state, context) =>
          Effect.map(next(state, context), (update) => ({ log: [`<${name}`, ...(update.log ?? []), `${name}>`] }))
      const wrapped = graph.pipe(StateGraph.wrapNode("a", around("in")), StateGraph.wrapNode("a", around("out")))
      const log = (of: typeof graph) => logOf(StateGraph.invoke(StateGraph.unsafeCompile(of), initial))
      assert.strictEqual(yield* log(wrapped), "<out <in a1 in> out> b2")
      assert.strictEqual(yield* log(graph), "a1 b2")
    })
  )

  it.effect("replaces a node", () =>
    Effect.gen(function* () {
      const replaced = graph.pipe(
        StateGraph.replaceNode("a", () => Effect.succeed({ log: ["new"] })),
        StateGraph.replaceNode(
          "b",
          StateGraph.node((_: State) => Effect.succeed({ log: ["node"] }))
        )
      )
      assert.strictEqual(yield* logOf(StateGraph.invoke(StateGraph.unsafeCompile(replaced), initial)), "new node")
    })
  )

  it("does not compile when it wraps an unknown node", () => {
    const wrong = graph.pipe(
      StateGraph.wrapNode("aa" as "a", (next) => next),
      StateGraph.replaceNode("toString" as "a", () => Effect.succeed({}))
    )
    const error = Either.getOrThrow(Either.flip(StateGraph.compile(wrong)))
    assert.deepStrictEqual(
      error.issues.map((issue) => [issue.reason, issue.node]),
      [
        ["unknown-node", "aa"],
        ["unknown-node", "toString"]
      ]
    )
  })
})

describe("a node's timeout and retries", () => {
  class Calls extends Context.Tag("Calls")<Calls, { count: number }>() {}

  const withCalls = <A, E>(run: (calls: { count: number }) => Effect.Effect<A, E, Calls>) =>
    Effect.suspend(() => {
      const calls = { count: 0 }
      return Effect.provideService(run(calls), Calls, calls)
    })

  /** Fails until the given attempt. */
  const flaky = (succeedsAt: number) => (_: State) =>
    Effect.flatMap(Calls, (calls) =>
      ++calls.count < succeedsAt ? Effect.fail(new Down({ attempt: calls.count })) : Effect.succeed({ n: calls.count })
    )

  const compile = <E, R>(node: StateGraph.Node<State, E, R>) =>
    StateGraph.unsafeCompile(
      StateGraph.make({ name: "guarded", state: State, nodes: { only: node }, start: "only", edges: { only: "END" } })
    )

  it.effect("do not count time spent waiting for a person or the reader of the events", () =>
    Effect.gen(function* () {
      const gate: ApprovalGate.Service = { request: () => Effect.as(Effect.sleep("1 hour"), ApprovalGate.approve()) }
      const asking = compile(
        StateGraph.node(
          (_: State) => Effect.as(ApprovalGate.ask(gate, { id: "1" } as ApprovalGate.ApprovalRequest), { n: 1 }),
          { timeout: "1 second" }
        )
      )
      const fiber = yield* Effect.fork(StateGraph.invoke(asking, initial))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* Fiber.join(fiber)).n, 1)
      const counting = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "counting",
          state: State,
          nodes: {
            add: StateGraph.node((state: State) => Effect.as(Effect.sleep(1), { n: state.n + 1 }), {
              timeout: "1 second"
            })
          },
          edges: { add: { to: ["add", "END"], when: (state) => (state.n < 200 ? "add" : "END") } },
          start: "add"
        })
      )
      const read = (pause: Duration.DurationInput) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(
            Effect.either(
              Stream.runForEach(StateGraph.stream(counting, initial, { maxSteps: 1000 }), () => Effect.sleep(pause))
            )
          )
          yield* TestClock.adjust("10 days")
          return Either.match(yield* Fiber.join(fiber), { onLeft: (error) => error._tag, onRight: () => "ended" })
        })
      assert.strictEqual(yield* read("2 seconds"), "ended")
      assert.strictEqual(yield* read("6 minutes"), "ReaderTimeoutError")
    })
  )

  it.effect("stop a node that takes too long", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const graph = compile(
        StateGraph.node(
          (_: State) =>
            Effect.as(
              Effect.onInterrupt(Effect.sleep("2 seconds"), () => Effect.sync(() => void events.push("interrupted"))),
              {}
            ),
          { timeout: "1 second" }
        )
      )
      const fiber = yield* Effect.fork(Effect.flip(StateGraph.invoke(graph, initial)))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(events, [])
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert.instanceOf(error, GraphNodeTimeoutError)
      assert.deepInclude(error, { graph: "guarded", node: "only", timeoutMs: 1000 })
      assert.deepStrictEqual(events, ["interrupted"])
    })
  )

  it.effect("leave a node that is in time alone", () =>
    Effect.gen(function* () {
      const graph = compile(
        StateGraph.node((_: State) => Effect.as(Effect.sleep("999 millis"), { n: 1 }), { timeout: "1 second" })
      )
      const fiber = yield* Effect.fork(StateGraph.invoke(graph, initial))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).n, 1)
    })
  )

  it.effect("repeat a failed node a limited number of times", () =>
    withCalls((calls) =>
      Effect.gen(function* () {
        const end = yield* StateGraph.invoke(compile(StateGraph.node(flaky(3), { retry: { times: 2 } })), initial)
        assert.strictEqual(end.n, 3)
        calls.count = 0
        const graph = compile(StateGraph.node(flaky(4), { retry: { times: 2 } }))
        const error = yield* Effect.flip(StateGraph.invoke(graph, initial))
        assert.deepInclude(error, { _tag: "Down", attempt: 3 })
      })
    )
  )

  it.effect("wait between repetitions as scheduled", () =>
    withCalls((calls) =>
      Effect.gen(function* () {
        const graph = compile(
          StateGraph.node(flaky(10), { retry: { times: 3, schedule: Schedule.exponential("1 second") } })
        )
        const fiber = yield* Effect.fork(Effect.flip(StateGraph.invoke(graph, initial)))
        const counts: Array<number> = []
        for (const wait of ["999 millis", "1 millis", "1999 millis", "1 millis", "4 seconds"] as const) {
          yield* TestClock.adjust(wait)
          counts.push(calls.count)
        }
        assert.deepStrictEqual(counts, [1, 2, 2, 3, 4])
        assert.deepInclude(yield* Fiber.join(fiber), { _tag: "Down", attempt: 4 })
      })
    )
  )

  it.effect("accept only a schedule", () =>
    withCalls(() =>
      Effect.gen(function* () {
        const graph = compile(StateGraph.node(flaky(3), { retry: Schedule.recurs(2) }))
        assert.strictEqual((yield* StateGraph.invoke(graph, initial)).n, 3)
      })
    )
  )

  it.effect("repeat only failures that `while` accepts", () =>
    withCalls(() =>
      Effect.gen(function* () {
        const retry = {
          times: 5,
          while: (error: { readonly _tag: string; readonly attempt?: number }) => error.attempt !== 2
        }
        const error = yield* Effect.flip(StateGraph.invoke(compile(StateGraph.node(flaky(9), { retry })), initial))
        assert.deepInclude(error, { _tag: "Down", attempt: 2 })
      })
    )
  )

  it.effect("do not repeat a timeout unless `while` accepts it", () =>
    withCalls((calls) =>
      Effect.gen(function* () {
        const slow = (_: State) =>
          Effect.flatMap(Calls, (calls) => (++calls.count < 2 ? Effect.never : Effect.succeed({ n: calls.count })))
        const once = compile(StateGraph.node(slow, { timeout: "1 second", retry: { times: 3 } }))
        const first = yield* Effect.fork(Effect.flip(StateGraph.invoke(once, initial)))
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* Fiber.join(first))._tag, "GraphNodeTimeoutError")
        calls.count = 0
        const again = compile(StateGraph.node(slow, { timeout: "1 second", retry: { times: 3, while: () => true } }))
        const second = yield* Effect.fork(StateGraph.invoke(again, initial))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(second)).n, 2)
      })
    )
  )

  it.effect("may be written as the parts of a node", () =>
    withCalls(() =>
      Effect.gen(function* () {
        const graph = StateGraph.unsafeCompile(
          StateGraph.make({
            name: "parts",
            state: State,
            nodes: { only: { run: flaky(2), retry: { times: 1 }, timeout: "1 second" } },
            start: "only",
            edges: { only: "END" }
          })
        )
        assert.strictEqual((yield* StateGraph.invoke(graph, initial)).n, 2)
      })
    )
  )
})

describe("a subgraph", () => {
  const Inner = Schema.Struct({ count: Schema.Number })
  const inner = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "inner",
      state: Inner,
      nodes: { add: (state) => Effect.succeed({ count: state.count + 1 }) },
      start: "add",
      edges: { add: { to: ["add", "END"], when: (state) => (state.count % 3 === 0 ? "END" : "add") } }
    })
  )
  const outer = StateGraph.make({
    name: "outer",
    state: State,
    nodes: {
      before: says("before"),
      sub: StateGraph.subgraph(inner, {
        input: (state: State) => ({ count: state.n }),
        output: (sub, state) => ({ n: sub.count, note: `from ${state.n}` })
      })
    },
    start: "before",
    edges: { before: "sub", sub: "END" }
  })

  it.effect("runs to its end as a node", () =>
    Effect.gen(function* () {
      const end = yield* StateGraph.invoke(StateGraph.unsafeCompile(outer), initial)
      assert.deepStrictEqual(end, { n: 3, log: ["before1"], note: "from 0" })
    })
  )

  const around = StateGraph.make({
    name: "around",
    state: State,
    nodes: {
      outer: StateGraph.subgraph(StateGraph.unsafeCompile(outer), {
        input: (state: State) => state,
        output: (sub) => ({ n: sub.n })
      })
    },
    start: "outer",
    edges: { outer: "END" }
  })

  it.effect("emits events of its nodes with the names of the surrounding nodes", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const onNode = (event: StateGraph.NodeFinished<State>) =>
        Effect.sync(() => void events.push([...(event.path ?? []), event.node, JSON.stringify(event.update)].join(" ")))
      yield* StateGraph.invoke(StateGraph.unsafeCompile(around), initial, { onNode })
      assert.deepStrictEqual(events, [
        'outer before {"log":["before1"]}',
        'outer sub add {"count":1}',
        'outer sub add {"count":2}',
        'outer sub add {"count":3}',
        'outer sub {"n":3,"note":"from 0"}',
        'outer {"n":3}'
      ])
    })
  )

  it.effect("stays a subgraph when its node is wrapped", () =>
    Effect.gen(function* () {
      const wrapped = outer.pipe(
        StateGraph.wrapNode("sub", (next) => (state, context) => next({ ...state, n: state.n + 3 }, context))
      )
      const events = yield* Stream.runCollect(StateGraph.stream(StateGraph.unsafeCompile(wrapped), initial))
      const inside = Chunk.toArray(events).filter((event) => event._tag === "NodeFinished" && event.path !== undefined)
      assert.strictEqual(inside.length, 3)
    })
  )

  it.effect("has its own step limit", () =>
    Effect.gen(function* () {
      const node = StateGraph.subgraph(inner, {
        maxSteps: 2,
        input: (state: State) => ({ count: state.n }),
        output: () => ({})
      })
      const limited = StateGraph.unsafeCompile(StateGraph.replaceNode(outer, "sub", node))
      const error = yield* Effect.flip(StateGraph.invoke(limited, initial))
      assert.deepInclude(error, { _tag: "GraphStepLimitError", graph: "inner", limit: 2 })
    })
  )

  it.effect("emits nothing to a run it does not belong to", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const graph = StateGraph.unsafeCompile(
        StateGraph.replaceNode(around, "outer", (state) => StateGraph.invoke(StateGraph.unsafeCompile(outer), state))
      )
      yield* StateGraph.invoke(graph, initial, { onNode: (event) => Effect.sync(() => void events.push(event.node)) })
      assert.deepStrictEqual(events, ["outer"])
    })
  )
})

describe("the stream of a run", () => {
  it.effect("emits node starts and ends while they happen, and ends with the state", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "streamed",
          state: State,
          nodes: {
            start: () => Effect.succeed({ n: 1 }),
            held: () => Effect.as(Deferred.await(gate), { note: "held" }),
            free: () => Effect.succeed({ log: ["free"] })
          },
          start: "start",
          edges: { start: ["held", "free"], held: "END", free: "END" }
        })
      )
      yield* Stream.runForEach(StateGraph.stream(graph, initial), (event) => {
        seen.push(event._tag === "Finished" ? "Finished" : `${event._tag} ${event.node} ${event.step}`)
        if (event._tag === "Finished") assert.deepStrictEqual(event.state, { n: 1, log: ["free"], note: "held" })
        // Only an event that comes before the held node ends can open the gate.
        return event._tag === "NodeFinished" && event.node === "free" ? Deferred.succeed(gate, undefined) : Effect.void
      })
      assert.deepStrictEqual(seen, [
        "NodeStarted start 1",
        "NodeFinished start 1",
        "NodeStarted held 2",
        "NodeStarted free 2",
        "NodeFinished free 2",
        "NodeFinished held 2",
        "Finished"
      ])
    })
  )

  it.effect("fails like the run, after the events so far", () =>
    Effect.gen(function* () {
      const graph = one(() => Effect.fail(new Down({ attempt: 1 })) as any)
      const seen: Array<string> = []
      const error = yield* StateGraph.stream(graph, initial).pipe(
        Stream.runForEach((event) => Effect.sync(() => void seen.push(event._tag))),
        Effect.flip
      )
      assert.strictEqual((error as { readonly _tag: string })._tag, "Down")
      assert.deepStrictEqual(seen, ["NodeStarted"])
    })
  )

  it.effect("interrupts the run when stopped, and runs ahead by at most its buffer", () =>
    Effect.gen(function* () {
      let ran = 0
      let interrupted = 0
      const graph = StateGraph.unsafeCompile(
        StateGraph.make({
          name: "stopped",
          state: State,
          nodes: {
            add: () =>
              Effect.onInterrupt(
                Effect.sync(() => ({ n: ++ran })),
                () => Effect.sync(() => void interrupted++)
              )
          },
          start: "add",
          edges: { add: { to: ["add", "END"], when: () => "add" } }
        })
      )
      const events = yield* StateGraph.stream(graph, initial, { maxSteps: 1_000_000 }).pipe(
        Stream.take(3),
        Stream.runCollect
      )
      assert.strictEqual(events.length, 3)
      assert.isBelow(ran, 200)
      assert.strictEqual(interrupted, 0)
    })
  )
})

describe("the diagram", () => {
  it("shows start, end, branches, joins and subgraphs of the graph that runs", () => {
    const inner = StateGraph.unsafeCompile(
      StateGraph.make({
        name: "inner",
        state: State,
        nodes: { think: says("think") },
        start: "think",
        edges: { think: { to: ["think", "END"], when: () => "END" } }
      })
    )
    const graph = StateGraph.make({
      name: "drawn",
      state: State,
      nodes: {
        plan: says("plan"),
        work: StateGraph.subgraph(inner, { input: (state: State) => state, output: () => ({}) }),
        check: says("check"),
        'say "hi"\n': says("hi")
      },
      start: "plan",
      edges: {
        plan: ["work", "check"],
        work: 'say "hi"\n',
        check: 'say "hi"\n',
        'say "hi"\n': {
          to: ["plan", "END"],
          labels: { plan: 'not "yet"' },
          when: function isDone() {
            return "END"
          }
        }
      },
      joins: { 'say "hi"\n': ["work", "check"] }
    })
    const expected = [
      "flowchart TD",
      '  0(["START"])',
      '  1["plan"]',
      '  2(["START"])',
      '  3["think"]',
      '  4(["END"])',
      '  5["check"]',
      '  6{{"say #quot;hi#quot;<br/>"}}',
      '  7(["END"])',
      "  2 --> 3",
      '  3 -->|"when"| 3',
      '  3 -->|"when"| 4',
      "  0 --> 1",
      "  1 --> 2",
      "  1 --> 5",
      "  4 --> 6",
      "  5 --> 6",
      '  6 -->|"not #quot;yet#quot;"| 1',
      '  6 -->|"isDone"| 7',
      '  subgraph box0["work"]',
      "    2",
      "    3",
      "    4",
      "  end"
    ].join("\n")
    assert.strictEqual(StateGraph.toMermaid(graph), expected)
    assert.strictEqual(StateGraph.toMermaid(StateGraph.unsafeCompile(graph)), expected)
    const replaced = StateGraph.replaceNode(graph, "work", says("work"))
    assert.notInclude(StateGraph.toMermaid(replaced), "subgraph")
  })

  it("can be drawn for a graph that does not compile", () => {
    const graph = untyped({ name: "g", state: State, nodes: { a: says("a") }, start: "b", edges: { a: "c" } })
    assert.include(StateGraph.toMermaid(graph), '["c"]')
  })
})
