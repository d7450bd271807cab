import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import { Checkpointer, makeMemory, type Service } from "../../src/graph/Checkpointer.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

const State = Schema.Struct({ log: Schema.Array(Schema.String) })
type State = typeof State.Type

const initial: State = { log: [] }
const append = (current: ReadonlyArray<string>, update: ReadonlyArray<string>) => [...current, ...update]

interface Traces {
  acquired: number
  released: number
}

const make = (traces: Traces) => {
  const holds =
    (name: string): StateGraph.Handler<State> =>
    () =>
      Effect.acquireUseRelease(
        Effect.sync(() => void traces.acquired++),
        () => Effect.as(Effect.yieldNow(), { log: [name] }),
        () => Effect.sync(() => void traces.released++)
      )
  const inner = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "inner",
      state: State,
      nodes: { in1: holds("in1"), in2: holds("in2"), in3: holds("in3") },
      start: "in1",
      edges: { in1: ["in2", "in3"], in2: "END", in3: "END" },
      reducers: { log: append }
    })
  )
  const outer = StateGraph.unsafeCompile(
    StateGraph.make({
      name: "outer",
      state: State,
      nodes: {
        start: holds("start"),
        a: { run: holds("a"), timeout: "1 minute", retry: { times: 1 } },
        sub: StateGraph.subgraph(inner, { input: (_: State) => initial, output: (end) => end }),
        last: holds("last")
      },
      start: "start",
      edges: { start: ["a", "sub"], a: "last", sub: "last", last: "END" },
      reducers: { log: append }
    })
  )
  return { inner, outer }
}

type Program = (graphs: ReturnType<typeof make>) => Effect.Effect<unknown, unknown, Checkpointer>

/** Interrupts at the k-th yield; `undefined` runs to the end. */
const attempt = async (program: Program, memory: Service, at: number | undefined) => {
  const traces: Traces = { acquired: 0, released: 0 }
  const supervisor = await Effect.runPromise(Supervisor.track)
  let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
  }, at)
  const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
    const provided = Effect.provideService(program(make(traces)), Checkpointer, memory)
    main = Effect.runFork(Effect.supervised(Effect.withScheduler(provided, scheduler), supervisor), {
      immediate: false
    })
    main.addObserver(resolve)
  })
  const problems: Array<string> = []
  const fibers = await Effect.runPromise(supervisor.value)
  const running = fibers.filter((fiber) => fiber.unsafePoll() === null)
  if (running.length > 0) problems.push(`${running.length} fibers run on`)
  if (traces.acquired !== traces.released) problems.push(`${traces.acquired} acquired, ${traces.released} released`)
  if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) problems.push(Cause.pretty(exit.cause))
  return { yields: scheduler.count(), exit, problems, traces }
}

const everywhere = async (program: Program, after?: (memory: Service, at: number) => Promise<void>): Promise<void> => {
  const whole = await attempt(program, makeMemory(), undefined)
  assert.isTrue(Exit.isSuccess(whole.exit), "the uninterrupted run succeeds")
  assert.deepStrictEqual(whole.problems, [])
  assert.isAtLeast(whole.traces.acquired, 3)
  // The number of operations when fibers run as usual up to the point.
  const { yields } = await attempt(program, makeMemory(), Number.POSITIVE_INFINITY)
  let interrupted = 0
  for (let k = 1; ; k++) {
    const memory = makeMemory()
    const { exit, problems } = await attempt(program, memory, k)
    assert.deepStrictEqual(problems, [], `interrupted at yield ${k} of ${yields}`)
    if (Exit.isFailure(exit)) {
      interrupted++
      await after?.(memory, k)
    } else if (k > yields) break
  }
  assert.isAbove(interrupted, yields / 2)
}

describe("interruption at every point", () => {
  it("of invoke leaves nothing running", { timeout: 300_000 }, () =>
    everywhere(({ outer }) => StateGraph.invoke(outer, initial))
  )

  it("of stream leaves nothing running", { timeout: 300_000 }, () =>
    everywhere(({ inner }) => Stream.runDrain(StateGraph.stream(inner, initial)))
  )

  it("of a thread leaves nothing running, and it resumes to the same end", { timeout: 300_000 }, async () => {
    const expected = await Effect.runPromise(StateGraph.invoke(make({ acquired: 0, released: 0 }).outer, initial))
    let resumed = 0
    await everywhere(
      ({ outer }) => StateGraph.invokeThread(outer, { threadId: "t", initial }),
      async (memory, at) => {
        const graph = make({ acquired: 0, released: 0 }).outer
        const begun = await Effect.runPromise(memory.list("t"))
        if (begun.length === 0) return
        const end = await Effect.runPromise(
          Effect.provideService(StateGraph.resume(graph, { threadId: "t" }), Checkpointer, memory)
        )
        assert.deepStrictEqual(end, expected, `resumed after ${at}`)
        resumed++
      }
    )
    assert.isAbove(resumed, 100)
  })
})
