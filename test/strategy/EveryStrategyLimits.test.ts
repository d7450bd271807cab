import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as EveryStrategy from "./EveryStrategy.js"

const { cases, succeed, watch } = EveryStrategy

const tagOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "success"
  const failures = Chunk.toReadonlyArray(Cause.failures(exit.cause))
  return failures.length === 1
    ? String((failures[0] as { readonly _tag?: string })._tag)
    : `no failure: ${Cause.pretty(exit.cause).slice(0, 500)}`
}

const wellFormed = (name: string, { active, events, tools }: EveryStrategy.Watched) => {
  assert.deepStrictEqual(EventRecorder.violations(events), [], name)
  assert.strictEqual(active + tools.open, 0, name)
}

describe("limits of an agent stop every strategy", () => {
  for (const given of cases) {
    it.effect(`${given.name}, by model calls`, () =>
      Effect.gen(function* () {
        const total = (yield* succeed(given)).requests.length
        for (const maxModelCalls of new Set([0, 1, 2, Math.floor(total / 2), total - 1])) {
          if (maxModelCalls < 0 || maxModelCalls >= total) continue
          const watched = yield* watch(given, { agent: Agent.withLimits({ maxModelCalls }) })
          const name = `${given.name}, ${maxModelCalls} of ${total}`
          assert.strictEqual(tagOf(watched.exit), "RunLimitExceededError", name)
          assert.isAtMost(watched.requests.length, maxModelCalls, name)
          wellFormed(name, watched)
        }
        const enough = yield* watch(given, { agent: Agent.withLimits({ maxModelCalls: total }) })
        assert.strictEqual(tagOf(enough.exit), "success")
      })
    )

    it.effect(`${given.name}, by tokens`, () =>
      Effect.gen(function* () {
        const { answer, events, requests } = yield* succeed(given)
        const reported = events.filter((event) => event._tag === "UsageReported")
        const each = 15
        assert.strictEqual(reported.length, requests.length)
        for (const calls of new Set([1, Math.floor(requests.length / 2), requests.length - 1])) {
          if (calls < 1) continue
          const watched = yield* watch(given, { agent: Agent.withLimits({ maxTokens: calls * each }) })
          const name = `${given.name}, ${calls} of ${requests.length}`
          // Calls side by side are begun before any of them says what it used.
          const inFlight = watched.requests.length - calls
          assert.isAtMost(inFlight, 8, name)
          if (inFlight === 0 || watched.requests.length < requests.length) {
            assert.strictEqual(tagOf(watched.exit), "RunLimitExceededError", name)
          } else assert.strictEqual(watched.answer, answer, name)
          wellFormed(name, watched)
        }
      })
    )
  }
})

/** How many of some effects ran at once, at most; each takes a while. */
const busy = () => {
  let open = 0
  let most = 0
  return {
    most: () => most,
    during: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          most = Math.max(most, ++open)
        }),
        () => Effect.zipRight(Effect.repeatN(Effect.yieldNow(), 20), effect),
        () => Effect.sync(() => void open--)
      )
  }
}

const garbage = (): string => {
  const pieces: Array<string> = []
  for (let i = 0; pieces.length < 10_000; i++) {
    pieces.push(
      ['{"a":[', "ACTION: ", "#E1 = x[", "\n1. f($1", "```json\n", "</work>", "\u0000\ud83d", "SCORE: 9"][
        i % 8
      ] as string
    )
    pieces.push("xyzzy ".repeat(i % 7))
  }
  return pieces.join("").padEnd(200_000, "(").slice(0, 200_000)
}

const rubbish = garbage()

type Bad = readonly [
  name: string,
  reply: TestModel.Turn | string | typeof EveryStrategy.refused,
  outcomes: ReadonlyArray<string>
]

/** What such a model leads to, strategy by strategy: some take any text for an answer. */
const answersOrNot = [
  "success",
  "StrategyReplyError",
  "PlanError",
  "MaxIterationsExceededError",
  "NoProgressError",
  "StrategyBudgetError",
  "LlmContentPolicyError"
]

const bad: ReadonlyArray<Bad> = [
  ["lets nobody in", EveryStrategy.refused, ["LlmAuthenticationError"]],
  ["says nothing", "", answersOrNot.filter((tag) => tag !== "LlmContentPolicyError")],
  ["refuses in words", "I'm sorry, but I can't help with that.", answersOrNot],
  ["is cut by a content filter", { text: "I would", finishReason: "content-filter" }, answersOrNot],
  ["is cut by a content filter before the first word", { text: "", finishReason: "content-filter" }, answersOrNot],
  ["is cut by the token limit", { text: '{"steps": [{"descr', finishReason: "length" }, answersOrNot],
  ["sends 200 kB of garbage", rubbish, answersOrNot],
  ["calls a tool that does not exist", { calls: [{ name: "no such tool", params: null }] }, answersOrNot],
  ["answers with deep JSON", `${'{"steps":['.repeat(5000)}1`, answersOrNot]
]

describe("a useless model ends every strategy", () => {
  for (const [what, reply, outcomes] of bad) {
    it.effect(`one that ${what}`, () =>
      Effect.gen(function* () {
        for (const given of cases) {
          const name = `${given.name} with a model that ${what}`
          const watched = yield* watch(given, {
            model: () =>
              reply instanceof Object && "_tag" in reply
                ? Effect.fail(reply)
                : (reply as ReturnType<EveryStrategy.Model>)
          })
          const tag = tagOf(watched.exit)
          assert.include(outcomes, tag, name)
          assert.isAtMost(watched.requests.length, 100, name)
          wellFormed(name, watched)
          if (tag === "LlmAuthenticationError") assert.isAtMost(watched.requests.length, 8, name)
        }
      })
    )
  }

  for (const [at, [what, reply]] of bad.entries()) {
    it.effect(`also in the middle of a run, for one that ${what}`, () =>
      Effect.gen(function* () {
        for (const given of EveryStrategy.samples) {
          const total = (yield* succeed(given)).requests.length
          // Each other one of the points with one model, the ones between with the next.
          const points = [1, 2, Math.floor(total / 2), total - 1].filter((_, point) => (point + at) % 2 === 0)
          for (const good of new Set(points)) {
            const name = `${given.name} with a model that ${what} after ${good} calls`
            let count = 0
            const watched = yield* watch(given, {
              model: (request) =>
                count++ < good
                  ? given.sample.model(request)
                  : reply instanceof Object && "_tag" in reply
                    ? Effect.fail(reply)
                    : (reply as ReturnType<EveryStrategy.Model>)
            })
            assert.include([...answersOrNot, "LlmAuthenticationError"], tagOf(watched.exit), name)
            assert.isAtMost(watched.requests.length, 100, name)
            wellFormed(name, watched)
          }
        }
      })
    )
  }
})

describe("concurrency stays within the configuration", () => {
  for (const given of cases) {
    it.effect(given.name, () =>
      Effect.gen(function* () {
        for (const toolConcurrency of [1, 2]) {
          const models = busy()
          const tools = busy()
          const model = given.shaped === true ? EveryStrategy.shaping(given.sample.model) : given.sample.model
          yield* succeed(given, {
            config: { toolConcurrency },
            model: (request) => models.during(Effect.sync(() => model(request))),
            // Tools of agents that a tool runs are those of another run.
            interceptors: [
              (call, next) => (call.name.startsWith("delegate_to_") ? next(call) : tools.during(next(call)))
            ]
          })
          assert.isAtMost(models.most(), toolConcurrency)
          assert.isAtMost(tools.most(), toolConcurrency)
        }
      })
    )
  }
})
