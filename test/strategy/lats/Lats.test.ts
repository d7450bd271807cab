import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmContentPolicyError } from "../../../src/llm/model/LlmError.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import {
  MaxIterationsExceededError,
  StrategyConfigurationError,
  StrategyReplyError
} from "../../../src/strategy/definition/StrategyError.js"
import * as Lats from "../../../src/strategy/lats/Lats.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"
import * as LatsWorld from "./LatsWorld.js"

const { answer, call, score, step } = LatsWorld

const run = <E = never>(
  script: Strategies.Script,
  options: Lats.Options<E> & Strategies.Setup = {}
): Effect.Effect<Strategies.Ran<E | Strategy.StrategyBaseError>> =>
  Strategies.run(Lats.make({ numExpansions: 1, ...options }), script, { tools: Strategies.tools, ...options })

const user = (request: LlmClient.LlmRequest | undefined): string => String(request!.messages.at(-1)!.content)
const system = (request: LlmClient.LlmRequest | undefined): string => String(request!.messages[0]!.content)

const sum = call("add", { a: 1, b: 2 }, "I add.")

describe("Lats and lasting effects of tools", () => {
  const lasting = (name: string, annotations: Tool.Annotations = {}) =>
    Tool.make(name, { description: "Does", handler: () => Effect.succeed("done"), ...annotations })

  it.effect("rejects a tool that is neither read-only nor idempotent before any model call, with the ways out", () =>
    Effect.gen(function* () {
      const tools = ToolSet.make(
        lasting("look", { readOnly: true }),
        lasting("put", { idempotent: true }),
        lasting("pay"),
        lasting("mail", { readOnly: false })
      )
      for (const actions of ["written", "native"] as const) {
        const ran = yield* run([], { tools, actions })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, StrategyConfigurationError)
        assert.strictEqual(ran.requests.length, 0)
        assert.include(error.message, '"pay", "mail"')
        for (const name of ["look", "put"]) assert.notInclude(error.message, name)
        for (const way of ["readOnly: true", "idempotent: true", "reset"]) assert.include(error.hint ?? "", way)
      }
      const harmless = yield* run([answer("x"), score(1)], {
        tools: ToolSet.make(lasting("look", { readOnly: true }), lasting("put", { idempotent: true }))
      })
      assert.strictEqual((yield* harmless.exit).text, "x")
    })
  )

  it.effect("begins every call in the world of its path with `reset`, and ends in that of the best path", () =>
    Effect.gen(function* () {
      let world: Array<number> = []
      const seen: Array<ReadonlyArray<number>> = []
      const move = Tool.make("move", {
        description: "Moves",
        parameters: { n: Schema.Number },
        handler: ({ n }) =>
          Effect.flatMap(Effect.yieldNow(), () =>
            Effect.sync(() => {
              world = [...world, n]
              seen.push(world)
              return world.join(",")
            })
          )
      })
      const moves = (...ns: ReadonlyArray<number>) =>
        LatsWorld.expansions(...ns.map((n) => ({ thought: `to ${n}`, tool: "move", arguments: { n } })))
      const ran = yield* run(
        [moves(1, 2), score(0.2), score(0.8), moves(3, 4), score(0.1), score(0.9), answer("there"), score(1)],
        {
          tools: ToolSet.make(move),
          numExpansions: 2,
          sampling: "together",
          reset: (path) =>
            Effect.sync(() => {
              world = path.flatMap(({ kind, params }) => (kind === "call" ? [(params as { n: number }).n] : []))
            })
        }
      )
      assert.strictEqual((yield* ran.exit).text, "there")
      assert.deepStrictEqual(seen, [[1], [2], [2, 3], [2, 4]])
      assert.deepStrictEqual(world, [2, 4])
    })
  )

  it.effect("makes at most 60 model calls by default", () =>
    Effect.gen(function* () {
      let n = 0
      const endless = (request: LlmClient.LlmRequest) =>
        LatsWorld.kindOf(request) === "expand"
          ? step(`idea ${++n}`)
          : LatsWorld.kindOf(request) === "evaluate"
            ? score(0.5)
            : "text"
      const many = { maxIterations: 100, numExpansions: 3, rollout: false }
      const bounded = yield* run(endless, many)
      yield* bounded.exit
      assert.isAtMost(bounded.requests.length, 60)
      const free = yield* run(endless, { ...many, maxModelCalls: 80 })
      yield* free.exit
      assert.isAbove(free.requests.length, 60)
    })
  )
})

describe("Lats", () => {
  it.effect("runs an action, continues from its observation, and ends with an answer that solves the task", () =>
    Effect.gen(function* () {
      const ran = yield* run([sum, score(0.5), answer("It is 3."), score(1)])
      const { reason, text } = yield* ran.exit
      assert.deepStrictEqual([text, reason, ran.remaining], ["It is 3.", "completed", 0])
      assert.deepStrictEqual(LatsWorld.pathOf(ran.requests[2]!), [
        { thought: "I add.", action: 'add {"a":1,"b":2}', observation: "3" }
      ])
      assert.include(user(ran.requests[2]), 'The call add {"a":1,"b":2} showed: 3')
      const { all, nodes } = LatsWorld.replay(ran.events)
      assert.deepStrictEqual(nodes, [
        "select_node",
        "expand_node",
        "evaluate_node",
        "expand_node",
        "evaluate_node",
        "backpropagate",
        "choose_best_path",
        "generate_final_output"
      ])
      // Half of each value is the model's score, half the agreement of the samples: there was one, which agrees with itself.
      assert.deepStrictEqual(
        all.map(({ terminal, value, visits }) => [visits, value, terminal]),
        [
          [1, 1, false],
          [2, 1.75, false],
          [1, 1, true]
        ]
      )
      assert.deepStrictEqual(
        all.map(({ data }) => [data.share, data.score, data.critique, data.solved]),
        [
          [1, null, "", false],
          [1, 0.5, "because", false],
          [1, 1, "because", true]
        ]
      )
    })
  )

  it.effect("emits events in order and sums usage", () =>
    Effect.gen(function* () {
      const { events } = yield* Strategies.record(
        Lats.make({ numExpansions: 1 }),
        [sum, score(0.5, "half"), answer("3"), score(1, "right")],
        { tools: Strategies.tools }
      )
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(
        EventRecorder.tags(events).filter((tag) => tag !== "NodeFinished"),
        [
          "Started",
          ...["StepStarted", "UsageReported", "Thought", "ToolCall", "ToolResult"],
          ...["StepStarted", "UsageReported", "Critique"],
          ...["StepStarted", "UsageReported", "Thought"],
          ...["StepStarted", "UsageReported", "Critique"],
          ...["Message", "Finished"]
        ]
      )
      const said = events.flatMap((event) =>
        event._tag === "Thought" || event._tag === "Critique" ? [[event.step, event.text]] : []
      )
      assert.deepStrictEqual(said, [
        [1, "I add."],
        [2, "half"],
        [3, "done"],
        [4, "right"]
      ])
      const critiques = events.filter((event) => event._tag === "Critique")
      assert.deepStrictEqual(
        critiques.map(({ accepted, score }) => [score, accepted]),
        [
          [0.5, undefined],
          [1, true]
        ]
      )
      const response = AgentResponse.fromEvents(events)
      assert.deepStrictEqual(
        [response.message, response.usage.inputTokens, response.toolCalls.length, response.finishReason],
        ["3", 40, 1, "completed"]
      )
    })
  )

  it.effect("reflects on a failed answer, and keeps the lesson in every later request", () =>
    Effect.gen(function* () {
      // Two samples, so that something is left when the first answer has failed.
      const ran = yield* run(
        [
          answer("4"),
          sum,
          score(0.2, "one too many"),
          score(0.6),
          "Do not guess: add.",
          answer("3"),
          answer("3"),
          score(1)
        ],
        { numExpansions: 2, rollout: false }
      )
      assert.strictEqual((yield* ran.exit).text, "3")
      const reflect = user(ran.requests[4])
      assert.include(reflect, "final answer: 4")
      assert.include(reflect, "The answer did not solve the task. Score: 0.2 of 1.\none too many")
      assert.notInclude(user(ran.requests[0]), "Do not guess")
      assert.include(user(ran.requests[0]), "No attempt has failed so far.")
      for (const later of ran.requests.slice(5)) assert.include(user(later), "- Do not guess: add.")
      const { nodes } = LatsWorld.replay(ran.events)
      assert.strictEqual(nodes.filter((node) => node === "reflect").length, 1)
    })
  )

  it.effect("keeps only the latest lessons", () =>
    Effect.gen(function* () {
      let lessons = 0
      let samples = 0
      const ran = yield* run(
        (request) => {
          switch (LatsWorld.kindOf(request)) {
            case "expand":
              return samples++ % 2 === 0 ? answer(`wrong ${samples}`) : step(`step ${samples}`)
            case "evaluate":
              return score(/^ {3}Action: final answer/m.test(user(request)) ? 0.1 : 0.5)
            default:
              return `Lesson ${++lessons}.`
          }
        },
        { numExpansions: 2, rollout: false, maxIterations: 6, maxReflections: 2, maxDepth: 12 }
      )
      yield* ran.exit
      assert.isAbove(lessons, 2)
      const last = ran.requests.filter((request) => LatsWorld.kindOf(request) === "expand").at(-1)
      const shown = user(last).match(/Lesson \d+/g)!
      assert.lengthOf(shown, 2)
      assert.notInclude(shown, "Lesson 1")
    })
  )

  it.effect("draws no lessons without reflections", () =>
    Effect.gen(function* () {
      const ran = yield* run([answer("4"), sum, score(0.2), score(0.6), answer("3"), answer("3"), score(1)], {
        numExpansions: 2,
        rollout: false,
        maxReflections: 0
      })
      assert.deepStrictEqual([(yield* ran.exit).text, ran.remaining], ["3", 0])
    })
  )

  it.effect("never selects a failed path again, and ends when nothing is left", () =>
    Effect.gen(function* () {
      const ran = yield* run([answer("4"), answer("5"), score(0.2), score(0.4)], { numExpansions: 2, rollout: false })
      const { reason, text } = yield* ran.exit
      assert.deepStrictEqual([text, reason], ["5", "limit"])
      const { all, selected } = LatsWorld.replay(ran.events)
      assert.deepStrictEqual(selected, [0])
      assert.isTrue(all.every(({ exhausted }) => exhausted))
    })
  )

  it.effect("prunes a branch whose paths have all failed, even if its value is the highest", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        (request) => {
          const path = LatsWorld.pathOf(request).map(({ action }) => action)
          if (LatsWorld.kindOf(request) === "evaluate") {
            return score(path.at(-1) === "final answer: good" ? 1 : path[0] === "trap" ? 0.9 : 0.1)
          }
          if (path.length > 0) return answer(path[0] === "trap" ? "bad" : "good")
          return step(propose(request) === 0 ? "trap" : "plain")
        },
        { numExpansions: 2, rollout: false, maxReflections: 0, explorationWeight: 0 }
      )
      assert.strictEqual((yield* ran.exit).text, "good")
      const { all, selected } = LatsWorld.replay(ran.events)
      assert.deepStrictEqual(
        selected.map((id) => all[id]!.data.action?.text ?? "root"),
        ["root", "trap", "plain"]
      )
    })
  )

  it.effect("fails a path that ends without an answer", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        (request) => {
          if (LatsWorld.kindOf(request) === "evaluate") return score(0.5)
          return LatsWorld.kindOf(request) === "final" ? "I do not know." : step("on and on")
        },
        { maxDepth: 3, maxReflections: 0 }
      )
      const { messages, reason, text } = yield* ran.exit
      assert.deepStrictEqual([text, reason], ["I do not know.", "limit"])
      assert.deepStrictEqual(
        messages.map(({ role }) => role),
        ["user", "assistant"]
      )
      const expands = ran.requests.filter((request) => LatsWorld.kindOf(request) === "expand").map(user)
      assert.deepStrictEqual(
        expands.map((text) => /Steps left: 3|Steps left: 2|has to be the final answer/.exec(text)?.[0]),
        ["Steps left: 3", "Steps left: 2", "has to be the final answer"]
      )
      const { all } = LatsWorld.replay(ran.events)
      assert.deepStrictEqual(
        all.map(({ depth, terminal }) => [depth, terminal]),
        [
          [0, false],
          [1, false],
          [2, false],
          [3, true]
        ]
      )
      assert.strictEqual(ran.of("TextDelta")[0]?.text, "I do not know.")
    })
  )

  it.effect("answers with the marked best answer at the limit, or fails", () =>
    Effect.gen(function* () {
      const script = [answer("a"), answer("b"), step("c"), score(0.2), score(0.4), score(0.9)]
      const options = { numExpansions: 3, rollout: false, maxIterations: 1 }
      const best = yield* run(script, options)
      assert.deepStrictEqual(yield* Effect.map(best.exit, ({ reason, text }) => [text, reason]), ["b", "limit"])
      const failed = yield* run(script, { ...options, onLimit: "fail" })
      const error = yield* Effect.flip(failed.exit)
      assert.instanceOf(error, MaxIterationsExceededError)
      assert.deepStrictEqual([error.maxIterations, error.currentIteration, error.strategyName], [1, 1, "lats"])
    })
  )

  it.effect("uses the agent's iteration limit by default", () =>
    Effect.gen(function* () {
      const options = { rollout: false, task: { limits: { maxIterations: 2 } } }
      const script = [step("a"), score(0), step("b"), score(0), "end"]
      assert.strictEqual((yield* run(script, options)).remaining, 0)
      const own = yield* run([step("a"), score(0), "end"], { ...options, maxIterations: 1 })
      assert.strictEqual(own.remaining, 0)
      assert.include(user(own.requests[2]), "rounds of search: 1\n")
    })
  )

  it.effect("counts an answer as solved from the threshold on, and never a step", () =>
    Effect.gen(function* () {
      const options = { rollout: false, maxIterations: 1, successThreshold: 0.8 }
      const solved = yield* run([answer("a"), score(0.8)], options)
      assert.strictEqual((yield* solved.exit).reason, "completed")
      const below = yield* run([answer("a"), score(0.79)], options)
      assert.strictEqual((yield* below.exit).reason, "limit")
      const thought = yield* run([step("a"), score(1), "end"], options)
      assert.strictEqual((yield* thought.exit).reason, "limit")
    })
  )

  it.effect("mixes the score with the share of samples that agree", () =>
    Effect.gen(function* () {
      const script = [step("a"), step("b"), step("a"), step("a"), score(0.2), score(1), "end"]
      const values = (valueWeight: number | undefined) =>
        Effect.map(run(script, { numExpansions: 4, rollout: false, maxIterations: 1, valueWeight }), (ran) =>
          LatsWorld.replay(ran.events).all.map(({ value }) => value)
        )
      assert.deepStrictEqual(yield* values(undefined), [0.475 + 0.625, 0.475, 0.625])
      assert.deepStrictEqual(yield* values(1), [1.2, 0.2, 1])
      assert.deepStrictEqual(yield* values(0), [1, 0.75, 0.25])
    })
  )

  it.effect("observes a failed tool, and ends the run on a fatal one", () =>
    Effect.gen(function* () {
      const tools = ToolSet.make(Strategies.broken, Strategies.fatal)
      const script = [call("broken", {}), score(0.1), call("missing", {}), score(0.1), call("fatal", {})]
      const ran = yield* run(script, { tools: tools as ToolSet.ToolSet<unknown, never> })
      assert.instanceOf(yield* Effect.flip(ran.exit), Fatality)
      const path = LatsWorld.pathOf(ran.requests[4]!)
      assert.include(path[0]!.observation, "out of order")
      assert.include(path[1]!.observation, "missing")
      assert.deepStrictEqual(
        ran.of("ToolCall").map(({ id, step }) => [id, step]),
        [
          ["lats_1", 1],
          ["lats_2", 3],
          ["lats_3", 5]
        ]
      )
    })
  )

  it.effect("asks again for a missing score, then fails typed", () =>
    Effect.gen(function* () {
      const repaired = yield* run([answer("3"), '{"reason": "fine"}', '{"reason": "fine", "score": 8}', score(1)])
      assert.strictEqual((yield* repaired.exit).reason, "completed")
      assert.include(user(repaired.requests[3]), "the score must be a number from 0 to 1")
      const never = yield* run([answer("3"), "It is good.", "Very good.", "Really."])
      const error = yield* Effect.flip(never.exit)
      assert.instanceOf(error, StrategyReplyError)
      assert.deepStrictEqual([error.prompt, error.attempts], ["LATSAgent/Evaluate", 3])
    })
  )

  it.effect("asks again for an unreadable expansion, and fails typed on a refusal in words", () =>
    Effect.gen(function* () {
      const repaired = yield* run(['{"expansions": []}', answer("3"), score(1)])
      assert.strictEqual((yield* repaired.exit).text, "3")
      const refused = yield* run(Array.from({ length: 3 }, () => "I'm sorry, I can't help with that."))
      const error = yield* Effect.flip(refused.exit)
      assert.instanceOf(error, StrategyReplyError)
      assert.strictEqual(error.prompt, "LATSAgent/Expand")
    })
  )

  it.effect("fails with the content filter, wherever it cuts", () =>
    Effect.gen(function* () {
      const filtered = { text: "I", finishReason: "content-filter" as const }
      for (const script of [[filtered], [answer("3"), filtered], [step("a"), score(0), filtered]]) {
        const ran = yield* run(script, { rollout: false, maxIterations: 1 })
        assert.instanceOf(yield* Effect.flip(ran.exit), LlmContentPolicyError)
      }
    })
  )

  it.effect("works in text form", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        [
          'EXPANSION 1\nTHOUGHT: I add.\nACTION: add\nACTION_INPUT: {"a": 1, "b": 2}',
          "REASON: half\nSCORE: 0.5",
          "EXPANSION 1\nTHOUGHT: known\nFINAL_ANSWER: 3",
          "REASON: right\nSCORE: 1"
        ],
        { format: "text" }
      )
      assert.deepStrictEqual([(yield* ran.exit).text, ran.of("ToolResult")[0]?.observation], ["3", "3"])
      assert.isTrue(ran.requests.every((request) => request.responseFormat === undefined))
      assert.include(system(ran.requests[0]), "EXPANSION 1")
      assert.include(system(ran.requests[1]), "SCORE: a number from 0 to 1")
    })
  )

  it.effect("together: proposes all actions in one call, each a separate child", () =>
    Effect.gen(function* () {
      const all = LatsWorld.expansions({ thought: "x" }, { thought: "y" }, { answer: "z" }, { thought: "too many" })
      const ran = yield* run([all, score(0.1), score(0.2), score(1)], { numExpansions: 3, sampling: "together" })
      assert.strictEqual((yield* ran.exit).text, "z")
      assert.include(user(ran.requests[0]), "Number of actions to propose: 3")
      assert.lengthOf(LatsWorld.replay(ran.events).all, 4)
    })
  )

  it.effect(
    "native: reads provider calls as actions and text as the answer, and allows only an answer in the last step",
    () =>
      Effect.gen(function* () {
        const ran = yield* run(
          [
            {
              text: "I add.",
              calls: [
                { name: "add", params: { a: 1, b: 2 } },
                { name: "echo", params: { text: "x" } }
              ]
            },
            score(0.5),
            "It is 3.",
            score(1)
          ],
          { actions: "native", maxDepth: 2 }
        )
        assert.strictEqual((yield* ran.exit).text, "It is 3.")
        const [first, , last] = ran.requests
        assert.deepStrictEqual(
          first!.tools?.map(({ name }) => name),
          ["add", "echo", "broken"]
        )
        assert.deepStrictEqual([first!.responseFormat, first!.settings?.parallelToolCalls], [undefined, false])
        assert.deepStrictEqual(last!.tools, undefined)
        assert.lengthOf(ran.of("ToolCall"), 1)
        const together = yield* run(
          [
            {
              calls: [
                { name: "add", params: { a: 1, b: 2 } },
                { name: "echo", params: { text: "x" } }
              ]
            },
            ...[score(0.5), score(0.4), "It is 3.", score(1)]
          ],
          { actions: "native", sampling: "together", numExpansions: 2 }
        )
        assert.strictEqual((yield* together.exit).text, "It is 3.")
        assert.lengthOf(together.of("ToolCall"), 2)
      })
  )

  it.effect("writes native actions without tools", () =>
    Effect.gen(function* () {
      const ran = yield* run([answer("3"), score(1)], { actions: "native", tools: ToolSet.empty })
      assert.strictEqual((yield* ran.exit).text, "3")
      assert.strictEqual(ran.requests[0]!.responseFormat?.type, "json")
    })
  )

  it.effect("samples with temperature, and with different seeds if the agent sets one", () =>
    Effect.gen(function* () {
      const script = [step("a"), step("b"), score(0), score(0), "end"]
      const options = { numExpansions: 2, rollout: false, maxIterations: 1 }
      const settings = (ran: { readonly requests: ReadonlyArray<LlmClient.LlmRequest> }) =>
        ran.requests.slice(0, 3).map(({ settings }) => [settings?.temperature, settings?.seed])
      const plain = yield* run(script, options)
      assert.deepStrictEqual(settings(plain), [
        [1, undefined],
        [1, undefined],
        [undefined, undefined]
      ])
      const seeded = yield* run(script, {
        ...options,
        temperature: 0.4,
        task: { settings: { seed: 7, temperature: 0 } }
      })
      assert.deepStrictEqual(settings(seeded), [
        [0.4, 7],
        [0.4, 8],
        [0, 7]
      ])
    })
  )

  it.effect("shapes the answer", () =>
    Effect.gen(function* () {
      const output = Strategies.outputSpec(1)
      const solved = yield* run([answer("three"), score(1), '{"n": 3}'], { task: { output } })
      assert.deepStrictEqual((yield* solved.exit).output, { n: 3 })
      const final = yield* run([step("a"), score(0), '{"n": 4}'], { task: { output }, maxDepth: 1, maxReflections: 0 })
      assert.deepStrictEqual(yield* Effect.map(final.exit, ({ output, reason }) => [output, reason]), [
        { n: 4 },
        "limit"
      ])
    })
  )
})

/** Which of the samples with this content a request is: they are all the same. */
const seen = new WeakMap<object, number>()
let asked = 0
const propose = (request: LlmClient.LlmRequest): number => {
  if (!seen.has(request)) seen.set(request, asked++)
  return seen.get(request)! % 2
}

class Judge extends Context.Tag("test/Judge")<Judge, { readonly value: number }>() {}

describe("Lats with a custom evaluator", () => {
  it.effect("uses it instead of the model, with its value, failures and requirements", () =>
    Effect.gen(function* () {
      const seen: Array<Lats.Candidate> = []
      const strategy: Strategy.Strategy<"broken", Judge> = Lats.make({
        numExpansions: 1,
        evaluate: (candidate, task) =>
          Effect.gen(function* () {
            seen.push(candidate)
            const { value } = yield* Judge
            if (task.input === "") return yield* Effect.fail("broken" as const)
            return candidate.action.kind === "answer" ? { value: 3, reason: "known" } : { value }
          })
      })
      const over = (input: string) =>
        Strategies.run(strategy as Strategy.Strategy<"broken">, input === "" ? [sum] : [sum, answer("3")], {
          tools: Strategies.tools,
          task: { input }
        }).pipe(Effect.provideService(Judge, { value: 0.25 }))
      const ran = yield* over("1 + 2?")
      assert.deepStrictEqual([(yield* ran.exit).text, ran.remaining], ["3", 0])
      assert.deepStrictEqual(
        LatsWorld.replay(ran.events).all.map(({ value, visits }) => [value, visits]),
        [
          [1, 1],
          [1.25, 2],
          [1, 1]
        ]
      )
      assert.deepStrictEqual(
        seen.map(({ action, depth, path, terminal }) => [
          action.kind,
          action.observation,
          depth,
          path.length,
          terminal
        ]),
        [
          ["call", "3", 1, 1, false],
          ["answer", undefined, 2, 2, true]
        ]
      )
      assert.deepStrictEqual(
        ran.of("Critique").map(({ accepted, score, text }) => [score, text, accepted]),
        [
          [0.25, "", undefined],
          [1, "known", true]
        ]
      )
      const failed = yield* over("")
      assert.strictEqual(yield* Effect.flip(failed.exit), "broken")
    })
  )

  it.effect("ends the search on a solved state, has the model word the answer, and judge what it leaves open", () =>
    Effect.gen(function* () {
      const ran = yield* run([sum, score(0.1), sum, "It is 3."], {
        evaluate: ({ depth }) => Effect.succeed(depth === 1 ? undefined : { value: 0, solved: true })
      })
      const { reason, text } = yield* ran.exit
      assert.deepStrictEqual([text, reason, ran.remaining], ["It is 3.", "completed", 0])
      assert.isTrue(LatsWorld.replay(ran.events).all.at(-1)!.terminal)
    })
  )

  it.effect("does not solve an answer it does not call solved, however high its value", () =>
    Effect.gen(function* () {
      const ran = yield* run([answer("3")], {
        maxReflections: 0,
        evaluate: () => Effect.succeed({ value: 1, solved: false })
      })
      assert.strictEqual((yield* ran.exit).reason, "limit")
    })
  )
})
