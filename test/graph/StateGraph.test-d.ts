import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { expectTypeOf, test } from "vitest"
import type { ReaderTimeoutError } from "../../src/domain/ReaderTimeout.js"
import type { Checkpointer } from "../../src/graph/Checkpointer.js"
import type {
  CheckpointerError,
  GraphBreakpointError,
  GraphCheckpointError,
  GraphNodeTimeoutError,
  GraphStepLimitError,
  GraphWaitingError
} from "../../src/graph/GraphError.js"
import * as StateGraph from "../../src/graph/StateGraph.js"

class Db extends Context.Tag("Db")<Db, { readonly load: Effect.Effect<number, Down> }>() {}
class Mail extends Context.Tag("Mail")<Mail, { readonly send: Effect.Effect<void> }>() {}
class Down extends Data.TaggedError("Down")<{ readonly host: string }> {}
class Other extends Data.TaggedError("Other") {}

const State = Schema.Struct({ n: Schema.NumberFromString, text: Schema.String })
interface S {
  readonly n: number
  readonly text: string
}
interface I {
  readonly n: string
  readonly text: string
}

const graph = StateGraph.make({
  name: "g",
  state: State,
  nodes: {
    plan: (state, context) => {
      expectTypeOf(state).toEqualTypeOf<S>()
      expectTypeOf(context).toEqualTypeOf<StateGraph.NodeContext>()
      return Effect.succeed({ n: state.n + 1 })
    },
    act: (state) =>
      Effect.gen(function* () {
        const db = yield* Db
        return { n: state.n + (yield* db.load) }
      }),
    done: { run: (state) => Effect.succeed({ text: `${state.n}` }), timeout: "1 second" }
  },
  start: "plan",
  edges: {
    plan: "act",
    act: { to: ["plan", "done"], when: (state) => (state.n > 3 ? "done" : "plan") },
    done: "END"
  },
  reducers: { n: (current, update) => current + update }
})

test("a graph has the names, the state and the union of its nodes' types", () => {
  expectTypeOf(graph).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | GraphNodeTimeoutError, Db>
  >()
  const compiled = StateGraph.unsafeCompile(graph)
  expectTypeOf(StateGraph.invoke(compiled, { n: 1, text: "" })).toEqualTypeOf<
    Effect.Effect<S, Down | GraphNodeTimeoutError | GraphStepLimitError, Db>
  >()
})

test("a graph that cannot fail has only the limit error", () => {
  const pure = StateGraph.make({
    name: "g",
    state: State,
    nodes: { a: () => Effect.succeed({}) },
    start: "a",
    edges: { a: "END" }
  })
  expectTypeOf(pure).toEqualTypeOf<StateGraph.StateGraph<"a", S, I, never, never>>()
})

const wrong = { a: { to: ["c"], when: () => "b" }, b: "END" } as const
const wrongResult = { a: { to: ["b"], when: () => "c" }, b: "END" } as const

test("wrong names are compile errors", () => {
  const nodes = { a: () => Effect.succeed({}), b: () => Effect.succeed({}) }
  // @ts-expect-error no such start
  StateGraph.make({ name: "g", state: State, nodes, start: "c", edges: { a: "b", b: "END" } })
  // @ts-expect-error no such target
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: "c", b: "END" } })
  // @ts-expect-error no such target in parallel
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: ["b", "c"], b: "END" } })
  // @ts-expect-error no such branch target
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: wrong })
  // @ts-expect-error no such result of a branch
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: wrongResult })
  // @ts-expect-error a node without an edge
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: "END" } })
  // @ts-expect-error an edge of no node
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: "b", b: "END", c: "END" } })
  // @ts-expect-error a join of no node
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: "b", b: "END" }, joins: { c: ["a"] } })
  // @ts-expect-error a join with a source that is no node
  StateGraph.make({ name: "g", state: State, nodes, start: "a", edges: { a: "b", b: "END" }, joins: { b: ["c"] } })
})

test("wrong fields and types are compile errors", () => {
  StateGraph.make({
    name: "g",
    state: State,
    // @ts-expect-error a field of another type
    nodes: { a: () => Effect.succeed({ n: "1" }) },
    start: "a",
    edges: { a: "END" }
  })
  StateGraph.make({
    name: "g",
    state: State,
    // @ts-expect-error no field of the state
    nodes: { a: () => Effect.succeed({ typo: 1 }) },
    start: "a",
    edges: { a: "END" }
  })
  StateGraph.make({
    name: "g",
    state: State,
    nodes: { a: () => Effect.succeed({}) },
    start: "a",
    edges: { a: "END" },
    // @ts-expect-error a reducer of no field
    reducers: { m: (current: number) => current }
  })
  StateGraph.make({
    name: "g",
    state: State,
    nodes: { a: () => Effect.succeed({}) },
    start: "a",
    edges: { a: "END" },
    // @ts-expect-error a reducer of another type
    reducers: { n: (current: string) => current }
  })
  // @ts-expect-error an initial state that lacks a field
  expectTypeOf(StateGraph.invoke(StateGraph.unsafeCompile(graph), { n: 1 })).toBeObject()
})

test("a branch sees the state and may return several targets", () => {
  StateGraph.make({
    name: "g",
    state: State,
    nodes: { a: () => Effect.succeed({}), b: () => Effect.succeed({}), c: () => Effect.succeed({}) },
    start: "a",
    edges: {
      a: {
        to: ["b", "c", "END"],
        when: (state) => {
          expectTypeOf(state).toEqualTypeOf<S>()
          return state.n > 1 ? ["b", "c"] : "END"
        }
      },
      b: ["END"],
      c: "END"
    }
  })
})

test("only a timeout adds its error, and retries see the handler's errors", () => {
  const fails = (_: S): Effect.Effect<{ readonly n: number }, Down | Other> => Effect.succeed({ n: 1 })
  expectTypeOf(StateGraph.node(fails)).toEqualTypeOf<StateGraph.Node<S, Down | Other, never>>()
  expectTypeOf(
    StateGraph.node(fails, {
      retry: {
        times: 2,
        schedule: Schedule.exponential("1 second"),
        while: (error) => {
          expectTypeOf(error).toEqualTypeOf<Down | Other>()
          return error._tag === "Down"
        }
      }
    })
  ).toEqualTypeOf<StateGraph.Node<S, Down | Other, never>>()
  expectTypeOf(
    StateGraph.node(fails, {
      timeout: 10,
      retry: {
        while: (error) => {
          expectTypeOf(error).toEqualTypeOf<Down | Other | GraphNodeTimeoutError>()
          return true
        }
      }
    })
  ).toEqualTypeOf<StateGraph.Node<S, Down | Other | GraphNodeTimeoutError, never>>()
  expectTypeOf(StateGraph.node(fails, { retry: Schedule.recurs(3) })).toEqualTypeOf<
    StateGraph.Node<S, Down | Other, never>
  >()
})

test("a node in parts infers the state", () => {
  const inferred = StateGraph.make({
    name: "g",
    state: State,
    nodes: {
      a: {
        run: (state) => {
          expectTypeOf(state).toEqualTypeOf<S>()
          return state.n > 1
            ? Effect.fail(new Other())
            : Effect.as(
                Effect.flatMap(Mail, (mail) => mail.send),
                { n: 1 }
              )
        },
        retry: { times: 1 }
      }
    },
    start: "a",
    edges: { a: "END" }
  })
  expectTypeOf(inferred).toEqualTypeOf<StateGraph.StateGraph<"a", S, I, Other, Mail>>()
})

test("a wrapper or a new handler that writes some fields does not narrow the state", () => {
  const changed = graph.pipe(
    StateGraph.wrapNode(
      "plan",
      (next) => (state, context) => Effect.map(next(state, context), (update) => ({ n: (update.n ?? 0) + 1 }))
    ),
    StateGraph.replaceNode("act", () => Effect.succeed({ n: 1 })),
    StateGraph.replaceNode(
      "act",
      StateGraph.node((_: S) => Effect.succeed({ n: 1 }))
    )
  )
  expectTypeOf(changed).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | GraphNodeTimeoutError, Db>
  >()
  const direct = StateGraph.wrapNode(graph, "plan", (next) => (state, context) => {
    expectTypeOf(state).toEqualTypeOf<S>()
    return Effect.map(next(state, context), (update) => ({ n: (update.n ?? 0) + 1 }))
  })
  expectTypeOf(direct).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | GraphNodeTimeoutError, Db>
  >()
  expectTypeOf(StateGraph.replaceNode(graph, "plan", () => Effect.succeed({ n: 1 }))).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | GraphNodeTimeoutError, Db>
  >()
})

test("wrapping and replacing add to the types, in a pipe and directly", () => {
  const wrapped = graph.pipe(
    StateGraph.wrapNode("plan", (next) => (state, context) => {
      expectTypeOf(state).toEqualTypeOf<S>()
      return Effect.zipRight(
        Effect.flatMap(Mail, (mail) => mail.send),
        next(state, context)
      )
    }),
    StateGraph.replaceNode("act", (state) => (state.n > 1 ? Effect.succeed({ n: 1 }) : Effect.fail(new Other())))
  )
  expectTypeOf(wrapped).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | Other | GraphNodeTimeoutError, Db | Mail>
  >()
  expectTypeOf(
    StateGraph.wrapNode(graph, "plan", (next) => (state, context) => next({ ...state, n: 2 }, context))
  ).toEqualTypeOf<StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | GraphNodeTimeoutError, Db>>()
  expectTypeOf(StateGraph.replaceNode(graph, "plan", () => Effect.fail(new Other()))).toEqualTypeOf<
    StateGraph.StateGraph<"plan" | "act" | "done", S, I, Down | Other | GraphNodeTimeoutError, Db>
  >()
  // @ts-expect-error no such node
  graph.pipe(StateGraph.wrapNode("plann", (next) => next))
  // @ts-expect-error no such node
  StateGraph.wrapNode(graph, "plann", (next) => next)
  // @ts-expect-error no such node
  graph.pipe(StateGraph.replaceNode("plann", () => Effect.succeed({})))
  // @ts-expect-error no such node
  StateGraph.replaceNode(graph, "plann", () => Effect.succeed({}))
  // @ts-expect-error a field of another type
  StateGraph.replaceNode(graph, "plan", () => Effect.succeed({ n: "1" }))
})

const Sub = Schema.Struct({ count: Schema.Number })
const sub = StateGraph.unsafeCompile(
  StateGraph.make({
    name: "sub",
    state: Sub,
    nodes: { only: (state) => (state.count > 1 ? Effect.fail(new Other()) : Effect.succeed({ count: 1 })) },
    start: "only",
    edges: { only: "END" }
  })
)

test("a subgraph adds its errors and its limit error", () => {
  const outer = StateGraph.make({
    name: "outer",
    state: State,
    nodes: {
      sub: StateGraph.subgraph(sub, {
        input: (state: S) => ({ count: state.n }),
        output: (inner, state) => {
          expectTypeOf(inner).toEqualTypeOf<{ readonly count: number }>()
          expectTypeOf(state).toEqualTypeOf<S>()
          return { n: inner.count }
        }
      })
    },
    start: "sub",
    edges: { sub: "END" }
  })
  expectTypeOf(outer).toEqualTypeOf<StateGraph.StateGraph<"sub", S, I, Other | GraphStepLimitError, never>>()
  // @ts-expect-error an input of another type
  StateGraph.subgraph(sub, { input: (state: S) => ({ count: state.text }), output: () => ({}) })
})

test("a graph that waits can fail with it, and threads need a checkpointer", () => {
  const waiting = StateGraph.make({
    name: "waiting",
    state: State,
    nodes: {
      ask: () =>
        Effect.map(StateGraph.wait("approval", Schema.NumberFromString), (n) => {
          expectTypeOf(n).toEqualTypeOf<number>()
          return { n }
        })
    },
    start: "ask",
    edges: { ask: "END" }
  })
  expectTypeOf(waiting).toEqualTypeOf<StateGraph.StateGraph<"ask", S, I, GraphWaitingError, never>>()
  const compiled = StateGraph.unsafeCompile(waiting)
  type ThreadError = GraphStepLimitError | GraphBreakpointError | GraphCheckpointError | CheckpointerError
  expectTypeOf(StateGraph.invokeThread(compiled, { threadId: "t", initial: { n: 1, text: "" } })).toEqualTypeOf<
    Effect.Effect<S, GraphWaitingError | ThreadError, Checkpointer>
  >()
  expectTypeOf(StateGraph.resume(compiled, { threadId: "t", value: "1", update: { n: 1 } })).toEqualTypeOf<
    Effect.Effect<S, GraphWaitingError | ThreadError, Checkpointer>
  >()
  expectTypeOf(StateGraph.history(compiled, "t", { limit: 1 })).toEqualTypeOf<
    Effect.Effect<ReadonlyArray<StateGraph.Snapshot<"ask", S>>, GraphCheckpointError | CheckpointerError, Checkpointer>
  >()
  // @ts-expect-error no field of the state
  expectTypeOf(StateGraph.resume(compiled, { threadId: "t", update: { m: 1 } })).toBeObject()
})

test("the events of a stream distinguish own nodes from those of subgraphs", () => {
  const events = StateGraph.stream(StateGraph.unsafeCompile(graph), { n: 1, text: "" })
  expectTypeOf(events).toEqualTypeOf<
    Stream.Stream<StateGraph.GraphEvent<S>, Down | GraphNodeTimeoutError | GraphStepLimitError | ReaderTimeoutError, Db>
  >()
  const update = (event: StateGraph.NodeFinished<S>) => {
    if (event.path === undefined) expectTypeOf(event.update).toEqualTypeOf<Partial<S>>()
    else expectTypeOf(event.update).toEqualTypeOf<{ readonly [field: string]: unknown }>()
  }
  expectTypeOf(update).toBeFunction()
})

test("a send, a goto and breakpoints are checked by type", () => {
  const nodes = {
    split: () => Effect.succeed({}),
    work: (state: S) => Effect.succeed(StateGraph.goto("END", { n: state.n + 1 }))
  }
  const make = { name: "sends", state: State, nodes, start: "split" } as const
  const graph = StateGraph.make({
    ...make,
    edges: {
      split: {
        to: ["work", "END"],
        when: ({ n }) => (n === 0 ? "END" : [StateGraph.send("work", { text: "a" }), "END"])
      },
      work: { to: ["work", "END"] }
    }
  })
  expectTypeOf(graph).toEqualTypeOf<StateGraph.StateGraph<"split" | "work", S, I, never, never>>()
  StateGraph.make({
    ...make,
    edges: {
      // @ts-expect-error no node of the graph
      split: { to: ["work"], when: () => StateGraph.send("wrok", { text: "a" }) },
      work: "END"
    }
  })
  StateGraph.make({
    ...make,
    edges: {
      // @ts-expect-error no field of the state
      split: { to: ["work"], when: () => [StateGraph.send("work", { words: "a" })] },
      work: "END"
    }
  })
  const compiled = StateGraph.unsafeCompile(graph)
  const initial = { n: 1, text: "" }
  const paused = { threadId: "t", initial, breakpoints: { before: ["work"], after: "all" } } as const
  expectTypeOf(StateGraph.invokeThread(compiled, paused)).toBeObject()
  // @ts-expect-error no node of the graph
  expectTypeOf(StateGraph.invokeThread(compiled, { ...paused, breakpoints: { before: ["wrok"] } })).toBeObject()
})
