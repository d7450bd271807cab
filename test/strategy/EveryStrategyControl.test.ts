/** What an agent decides while it runs holds under every strategy. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Agent from "../../src/agent/definition/Agent.js"
import { cases, succeed, watch } from "./EveryStrategy.js"

const marked = { seed: 7 }

describe("what an agent decides while it runs", () => {
  for (const given of cases) {
    it.effect(`holds for every model call of its own: ${given.name}`, () =>
      Effect.gen(function* () {
        const steps: Array<number> = []
        const { events, requests } = yield* succeed(given, {
          agent: Agent.withPrepareStep(({ step }) =>
            Effect.sync(() => {
              steps.push(step)
              return { settings: marked }
            })
          )
        })
        // Agents that a supervisor asks prepare their own calls.
        const own = events.filter((event) => event._tag === "UsageReported" && event.agent === "sample").length
        const prepared = requests.filter(({ settings }) => settings?.seed === marked.seed).length
        assert.strictEqual(prepared, own)
        assert.strictEqual(steps.length, own)
        assert.isAbove(own, 0)
      })
    )

    it.effect(`ends before the next model call: ${given.name}`, () =>
      Effect.gen(function* () {
        const plain = yield* succeed(given)
        const { events, exit } = yield* watch(given, { agent: Agent.withStopWhen(({ step }) => step >= 1) })
        const own = (all: typeof events) => all.filter((one) => one._tag === "UsageReported" && one.agent === "sample")
        // What was asked beside the first call goes on to its end.
        assert.isAtMost(own(events).length, 2)
        assert.isBelow(own(events).length, own(plain.events).length)
        if (given.shaped === true) return
        assert.isTrue(Exit.isSuccess(exit))
        const finished = events.findLast((one) => one._tag === "Finished")
        assert.strictEqual(finished?._tag === "Finished" && finished.reason, "stop-condition")
      })
    )

    // An answer at a limit is not asked for again.
    if (given.name.includes("no answer")) continue
    it.effect(`sends an answer back that is rejected: ${given.name}`, () =>
      Effect.gen(function* () {
        let asked = 0
        const { answer } = yield* succeed(given, {
          agent: Agent.withValidator(() => {
            asked++
            return asked === 1 ? Effect.fail(Agent.reject("Once more, please.")) : Effect.void
          })
        })
        assert.strictEqual(asked, 2)
        assert.notStrictEqual(answer, "")
      })
    )
  }
})
