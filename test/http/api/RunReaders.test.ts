import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as RunReaders from "../../../src/http/api/RunReaders.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"

describe("the readers of a run", () => {
  const setup = Effect.gen(function* () {
    const readers = yield* RunReaders.make("10 seconds")
    let interrupted = 0
    let isOver = false
    const interrupt = Effect.sync(() => void interrupted++)
    const follow = Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Scope.extend(
        readers.follow("r", () => isOver, interrupt),
        scope
      )
      return Scope.close(scope, Exit.void)
    })
    const end = () => {
      isOver = true
    }
    return { readers, follow, interrupted: () => interrupted, end }
  })

  it.scoped("interrupt it when the last one has left and nobody comes back", () =>
    Effect.gen(function* () {
      const { follow, interrupted, readers } = yield* setup
      readers.attach("r")
      const first = yield* follow
      const second = yield* follow
      yield* first
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(interrupted(), 0)
      yield* second
      yield* TestClock.adjust("9 seconds")
      const third = yield* follow
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(interrupted(), 0)
      yield* third
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(interrupted(), 1)
    })
  )

  it.scoped("leave a run alone that has ended, or was never attached", () =>
    Effect.gen(function* () {
      const { end, follow, interrupted, readers } = yield* setup
      yield* yield* follow
      yield* TestClock.adjust("1 minute")
      readers.attach("r")
      const close = yield* follow
      end()
      yield* close
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(interrupted(), 0)
    })
  )
})

describe("a client that vanishes", () => {
  /** Starts a run whose tool waits, leaves its stream, and tells when and how the tool ended. */
  const leave = (query: string) =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const work = Tool.make("work", {
        description: "Works",
        handler: () =>
          Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(gate)).pipe(
            Effect.as("worked"),
            Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
          )
      })
      let calls = 0
      const { ask, url } = yield* AgentServers.start({
        agents: [Agent.make("worker", { tools: [work] })],
        script: () => (calls++ === 0 ? { calls: [{ name: "work" }] } : "done"),
        grace: "50 millis"
      })
      const client = yield* Effect.fork(ask(`/v1/runs/stream${query}`, { body: { agent: "worker", input: "go" } }))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(client)
      return { ask, ended, gate, url }
    })

  it.scopedLive("takes its run along", () =>
    Effect.gen(function* () {
      const { ask, ended } = yield* leave("")
      yield* Deferred.await(ended)
      const { json } = yield* Effect.repeat(Effect.delay(ask("/v1/runs"), "20 millis"), {
        until: ({ json }) => json.runs[0].endedAt !== undefined
      })
      assert.strictEqual(json.runs[0].state, "interrupted")
    })
  )

  it.scopedLive("leaves a detached run alone", () =>
    Effect.gen(function* () {
      const { ask, gate } = yield* leave("?detach=true")
      yield* Effect.sleep("200 millis")
      const { json } = yield* ask("/v1/runs")
      assert.strictEqual(json.runs[0].state, "running")
      yield* Deferred.succeed(gate, undefined)
      const { text } = yield* ask(`/v1/runs/${json.runs[0].runId}/events`)
      assert.strictEqual(AgentServers.eventsOf(text).at(-1)?.event, "Finished")
    })
  )
})
