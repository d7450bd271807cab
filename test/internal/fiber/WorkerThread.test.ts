import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as WorkerThread from "../../../src/internal/fiber/WorkerThread.js"

const run = (script: string, options: Partial<WorkerThread.Options> = {}) =>
  WorkerThread.run<unknown>({
    script: `const { parentPort, workerData } = require("node:worker_threads")\n${script}`,
    packages: {},
    data: {},
    millis: 60_000,
    maxHeapMb: 64,
    ...options
  })

/** Writes 4 MiB, a part only after the one before was read, and answers then. */
const writing = (stream: "stdout" | "stderr"): string => `
const write = (left) =>
  left === 0
    ? parentPort.postMessage("written")
    : process.${stream}.write("x".repeat(65536), () => write(left - 1))
write(64)`

describe("WorkerThread", () => {
  it.live("gives the script its data and the paths of its packages, and nothing of the process", () =>
    Effect.gen(function* () {
      const answer = yield* run(
        `parentPort.postMessage({
          n: workerData.n,
          isFound: typeof require(workerData.effect).pipe,
          env: Object.keys(process.env),
          args: process.argv.slice(2)
        })`,
        { data: { n: 1 }, packages: { effect: "effect" } }
      )
      assert.deepStrictEqual(answer, { n: 1, isFound: "function", env: [], args: [] })
    })
  )

  for (const stream of ["stdout", "stderr"] as const) {
    it.live(`reads what the script writes to ${stream}, which would block it otherwise`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* run(writing(stream)), "written")
      })
    )
  }

  it.live("fails with the limit that the script passes", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.flip(run("for (;;);", { millis: 20 })), { _tag: "Exceeded", limit: "time" })
      const memory = yield* Effect.flip(run("const all = []; for (;;) all.push(new Array(1000).fill({}))"))
      assert.deepInclude(memory, { _tag: "Exceeded", limit: "memory" })
    })
  )

  it.live("fails when the script throws or ends without an answer, and when a package is missing", () =>
    Effect.gen(function* () {
      const thrown = yield* Effect.flip(run('throw new Error("no")'))
      assert.isTrue(thrown._tag === "Broken" && thrown.cause instanceof Error && thrown.cause.message === "no")
      assert.deepStrictEqual(yield* Effect.flip(run("process.exit(3)")), {
        _tag: "Broken",
        cause: { message: "The thread ended with 3" }
      })
      const missing = yield* Effect.flip(run("", { packages: { missing: "no-such-package-here" } }))
      assert.strictEqual(missing._tag, "Missing")
    })
  )

  it.scopedLive("has ended the thread when it is interrupted", () =>
    Effect.gen(function* () {
      const count = new Int32Array(new SharedArrayBuffer(4))
      const channel = yield* Effect.acquireRelease(
        Effect.sync(() => new BroadcastChannel("WorkerThread.test")),
        (open) => Effect.sync(() => open.close())
      )
      const started = yield* Deferred.make<void>()
      channel.onmessage = () => Deferred.unsafeDone(started, Effect.void)
      const fiber = yield* Effect.fork(
        run(
          `new BroadcastChannel("WorkerThread.test").postMessage("started")
          for (;;) Atomics.add(workerData.count, 0, 1)`,
          { data: { count } }
        )
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      const last = Atomics.load(count, 0)
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.strictEqual(Atomics.load(count, 0), last)
    })
  )
})
