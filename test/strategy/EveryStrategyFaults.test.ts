import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as FaultyModel from "../../src/testing/FaultyModel.js"
import * as EveryStrategy from "./EveryStrategy.js"

const { cases, shaping, watch } = EveryStrategy

const SEEDS = Number(process.env["FAULT_SEEDS"] ?? 8)
const MOST_CALLS = 40

/** Few faults, so that runs get far, and many of all kinds. */
const strengths: ReadonlyArray<FaultyModel.Faults> = [
  { corrupt: 0.05, repeat: 0.02, reorder: 0.02 },
  { truncate: 0.1, fail: 0.05 },
  { corrupt: 0.3, repeat: 0.2, reorder: 0.2, truncate: 0.2, delay: 0.5 },
  { fail: 0.3, truncate: 0.3, corrupt: 0.1 }
]

/** The models of the cases know how to go on from what they said, and not from what became of it. */
const patient =
  (model: EveryStrategy.Model): EveryStrategy.Model =>
  (request) => {
    try {
      return model(request)
    } catch {
      return "I do not know."
    }
  }

const endOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "success"
  const failures = Chunk.toReadonlyArray(Cause.failures(exit.cause))
  return failures.length === 1 && Chunk.isEmpty(Cause.defects(exit.cause))
    ? String((failures[0] as { readonly _tag?: string })._tag)
    : `no failure: ${Cause.pretty(exit.cause).slice(0, 2_000)}`
}

/** The last event says how the run ended. */
const isToldBy = (events: ReadonlyArray<AgentEvent>, end: string): boolean => {
  const runId = events[0]?.runId
  const last = events.findLast((event) => event.runId === runId)
  return end === "success" ? last?._tag === "Finished" : last?._tag === "Error" && last.error.tag === end
}

describe("every run with a faulty model has a typed end, within its limits, and leaves nothing behind", () => {
  for (const given of cases) {
    it.effect(given.name, () =>
      Effect.gen(function* () {
        const model = patient(given.shaped === true ? shaping(given.sample.model) : given.sample.model)
        const ends = new Set<string>()
        for (let seed = 0; seed < SEEDS; seed++) {
          const faults: FaultyModel.Options = { ...strengths[seed % strengths.length], seed, maxDelay: "1 second" }
          const run = () =>
            watch(given, {
              model,
              client: (client) => FaultyModel.make(client, faults),
              agent: Agent.withLimits({ maxModelCalls: MOST_CALLS })
            })
          const watched = yield* run()
          const end = endOf(watched.exit)
          const name = `${given.name}, seed ${seed}: ${end}`
          assert.notInclude(end, "no failure", name)
          assert.isTrue(isToldBy(watched.events, end), name)
          assert.deepStrictEqual(EventRecorder.violations(watched.events), [], name)
          assert.isAtMost(watched.requests.length, MOST_CALLS, name)
          assert.strictEqual(watched.active + watched.tools.open, 0, name)
          ends.add(end)
        }
        // Neither does every fault end a run, nor none.
        if (SEEDS >= 8) assert.isAbove(ends.size, 1, given.name)
      })
    )
  }
})
