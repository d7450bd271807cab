import { assert, describe, it } from "@effect/vitest"
import { type Checkpoint, emptyCheckpoint, INTERRUPT, type MemorySaver } from "@langchain/langgraph-checkpoint"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as LangGraphSessions from "../support/LangGraphSessions.js"
import * as LangGraphValidation from "../support/LangGraphValidation.js"
import * as Processes from "../support/Processes.js"

const timeout = 300_000

/** The name of a case without that of the saver and without why it was skipped. */
const caseOf = (fullName: string): string => fullName.replace(/^.*#/, "").replace(/\[because .*\] /, "")

const metadata: Parameters<MemorySaver["put"]>[2] = { source: "loop", step: 0, parents: {} }

/** The validation on LangGraph's own saver: what others are held to. */
const reference = LangGraphValidation.validate(["memorySaver"])

describe("LangGraph's validation of checkpoint savers", () => {
  const skipped = "put should only store channel_values that have changed (based on newVersions)"

  it.effect(
    "passes on sessions and on graphs, including the case that LangGraph's own saver skips",
    () =>
      Effect.gen(function* () {
        const { code, printed, verdicts } = yield* LangGraphValidation.validate([
          "memorySaver",
          "sessionsInMemory",
          "sessionsByKey",
          "graphsInMemory"
        ])
        const [own, ...others] = verdicts as readonly [
          LangGraphValidation.Verdict,
          ...ReadonlyArray<LangGraphValidation.Verdict>
        ]
        assert.deepStrictEqual(
          own.others.map(({ fullName, status }) => [caseOf(fullName), status]),
          [[skipped, "skipped"]]
        )
        assert.isAtLeast(own.passed.length, 700)
        const cases = [...own.passed.map(caseOf), skipped].sort()
        for (const outcome of others) {
          assert.deepStrictEqual(outcome.others, [])
          assert.deepStrictEqual(outcome.passed.map(caseOf).sort(), cases)
        }
        assert.strictEqual(code, 0, printed)
      }),
    timeout
  )

  it.effect(
    "fails on a saver that stores nothing",
    () =>
      Effect.gen(function* () {
        const { code, verdicts } = yield* LangGraphValidation.validate(["nothing"])
        assert.strictEqual(code, 1)
        assert.isTrue(verdicts[0]?.others.some(({ status }) => status === "failed"))
      }),
    timeout
  )

  it.effect(
    "leaves no process when interrupted",
    () =>
      Effect.gen(function* () {
        const isRunning = () => Processes.children().some((line) => line.includes("langgraph-checkpoint-validation"))
        const fiber = yield* Effect.fork(reference)
        yield* Processes.eventually(isRunning)
        yield* Fiber.interrupt(fiber)
        yield* Processes.eventually(() => !isRunning())
      }),
    timeout
  )
})

describe("sessions as threads of LangGraph", () => {
  const withRuntime = <A>(
    use: (runtime: ManagedRuntime.ManagedRuntime<SessionStore.SessionStore, never>) => Promise<A>
  ) =>
    Effect.acquireUseRelease(
      Effect.sync(() => ManagedRuntime.make(InMemorySessionStore.layer)),
      (runtime) => Effect.promise(() => use(runtime)),
      (runtime) => runtime.disposeEffect
    )
  const thread = { configurable: { thread_id: "__proto__\u0000\ud800".repeat(100), checkpoint_ns: "" } }
  const withMessages = (messages: ReadonlyArray<string>, version: number): Checkpoint => ({
    ...emptyCheckpoint(),
    channel_values: { messages, __start__: "same" },
    channel_versions: { messages: version, __start__: 1 }
  })

  it.effect("lets one saver continue another's thread without any state in between", () =>
    withRuntime(async (runtime) => {
      const put = async (config: object, checkpoint: Checkpoint, versions: Record<string, number>) => {
        const saver = LangGraphSessions.make(runtime)
        assert.isTrue(Object.isFrozen(saver))
        return saver.put(config, checkpoint, metadata, versions)
      }
      const first = await put(thread, withMessages(["a"], 1), { messages: 1, __start__: 1 })
      const second = await put(first, withMessages(["a", "b"], 2), { messages: 2 })
      const tuple = await LangGraphSessions.make(runtime).getTuple(thread)
      assert.deepStrictEqual(tuple?.config, second)
      assert.deepStrictEqual(tuple?.parentConfig, first)
      assert.deepStrictEqual(tuple?.checkpoint.channel_values, { messages: ["a", "b"], __start__: "same" })
    })
  )

  it.effect("keeps the values of two checkpoints with the same parent and version apart", () =>
    withRuntime(async (runtime) => {
      const saver = LangGraphSessions.make(runtime)
      const first = await saver.put(thread, withMessages(["a"], 1), metadata, { messages: 1, __start__: 1 })
      const forks = await Promise.all(
        ["b", "c"].map((text) => saver.put(first, withMessages(["a", text], 2), metadata, { messages: 2 }))
      )
      const values = await Promise.all(forks.map((fork) => saver.get(fork)))
      assert.deepStrictEqual(
        values.map((value) => value?.channel_values["messages"]),
        [
          ["a", "b"],
          ["a", "c"]
        ]
      )
    })
  )

  it.effect("keeps a task's first writes and last interrupts, and loses no concurrent write", () =>
    withRuntime(async (runtime) => {
      const saver = LangGraphSessions.make(runtime)
      const config = await saver.put(thread, withMessages(["a"], 1), metadata, { messages: 1 })
      await saver.putWrites(
        config,
        [
          ["x", 1],
          [INTERRUPT, "first"]
        ],
        "task"
      )
      await saver.putWrites(
        config,
        [
          ["x", 2],
          [INTERRUPT, "second"]
        ],
        "task"
      )
      const others = Array.from({ length: 30 }, (_, index) => `other ${String(index).padStart(2, "0")}`)
      await Promise.all(others.map((task) => saver.putWrites(config, [["y", task]], task)))
      assert.deepStrictEqual((await saver.getTuple(config))?.pendingWrites, [
        ...others.map((task) => [task, "y", task] as [string, string, string]),
        ["task", INTERRUPT, "second"],
        ["task", "x", 1]
      ])
    })
  )

  it.effect("lists and deletes a thread longer than a page", () =>
    withRuntime(async (runtime) => {
      const saver = LangGraphSessions.make(runtime)
      let config: object = thread
      const ids: Array<string> = []
      for (let step = 0; step < 120; step++) {
        const checkpoint = withMessages([String(step)], step + 1)
        ids.unshift(checkpoint.id)
        config = await saver.put(config, checkpoint, metadata, { messages: step + 1 })
        await saver.putWrites(config, [["x", step]], "task")
      }
      const listed: Array<string> = []
      for await (const { checkpoint } of saver.list(thread)) listed.push(checkpoint.id)
      assert.deepStrictEqual(listed, ids)
      await saver.deleteThread(thread.configurable.thread_id)
      const left = await runtime.runPromise(
        Effect.flatMap(SessionStore.SessionStore, (store) => store.list({ limit: 1000 }))
      )
      assert.deepStrictEqual(left, [])
    })
  )
})
