import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as CustomPrompts from "../../../src/prompt/CustomPrompts.js"
import * as LatsPrompts from "../../../src/prompt/defaults/LatsPrompts.js"
import * as PromptLibrary from "../../../src/prompt/PromptLibrary.js"
import { OUTPUT_FORMAT } from "../../../src/prompt/template/PromptStep.js"
import * as Lats from "../../../src/strategy/lats/Lats.js"
import * as LatsWorld from "../../strategy/lats/LatsWorld.js"
import * as Strategies from "../../strategy/Strategies.js"

const { call, score, step } = LatsWorld

/** A run that comes by every step: a failed answer, a lesson, and an end without an answer worth giving. */
const script = [
  ...[call("add", { a: 1, b: 2 }, "I add."), step("Think.")],
  ...[score(0.5), score(0.4)],
  ...[step("End."), step("Other end.")],
  ...[score(0.1, "lost"), score(0.05)],
  "Lesson one.",
  "Lesson two.",
  ...[step("Again."), step("And again.")],
  ...[score(0.1), score(0.1)],
  "The end."
]

const run = (library: PromptLibrary.Options, format: "json" | "text" = "json") =>
  Effect.gen(function* () {
    const prompts = yield* CustomPrompts.make(library)
    return yield* Strategies.run(
      Lats.make({ numExpansions: 2, maxDepth: 2, rollout: false, maxIterations: 3, format }),
      script,
      { tools: Strategies.tools, task: { input: "What is 1 + 2?", system: "" } }
    ).pipe(Effect.provideService(PromptLibrary.PromptLibrary, prompts))
  })

const text = (request: LlmClient.LlmRequest | undefined, index: number) => String(request!.messages.at(index)!.content)

/** The first request of each step. */
const places = { Expand: 4, Evaluate: 6, Reflect: 8, FinalOutput: 14 } as const

describe("LatsPrompts", () => {
  it.effect("are those the run is asked with", () =>
    Effect.gen(function* () {
      const { exit, remaining, requests } = yield* run({})
      assert.strictEqual((yield* exit).text, "The end.")
      assert.strictEqual(remaining, 0)
      for (const prompt of LatsPrompts.steps) {
        const request = requests[places[prompt.name as keyof typeof places]]
        assert.match(text(request, 0), /^## Role\n\n/)
        assert.notMatch(text(request, 0) + text(request, 1), /\{[a-z_]+\}/)
        assert.strictEqual(prompt.pattern, "LATSAgent")
      }
      assert.deepStrictEqual(
        LatsPrompts.steps.map(({ name, role }) => [name, role]),
        [
          ["Expand", "thinking"],
          ["Evaluate", "evaluation"],
          ["Reflect", "thinking"],
          ["FinalOutput", "thinking"]
        ]
      )
    })
  )

  it.effect("fill in every variable", () =>
    Effect.gen(function* () {
      const overrides = Object.fromEntries(
        LatsPrompts.steps.map(({ name, variables }) => [
          name,
          {
            system: `S:{${OUTPUT_FORMAT}}`,
            user: `# Task\n${variables.map((variable) => `<${variable}>{${variable}}</${variable}>`).join("\n")}`
          }
        ])
      )
      const { requests } = yield* run({ overrides: { LATSAgent: overrides } })
      const value = (step: keyof typeof places, variable: string) =>
        new RegExp(`<${variable}>([\\s\\S]*)</${variable}>`).exec(text(requests[places[step]], 1))?.[1]
      const path = '1.\n   Thought: I add.\n   Action: add {"a":1,"b":2}\n   Observation: 3'
      for (const { name, variables } of LatsPrompts.steps) {
        for (const variable of variables) assert.isNotEmpty(value(name as keyof typeof places, variable), variable)
        assert.strictEqual(value(name as keyof typeof places, "task"), "What is 1 + 2?")
      }
      assert.strictEqual(value("Expand", "path"), path)
      assert.strictEqual(value("Expand", "num_expansions"), "1")
      assert.include(value("Expand", "current_state"), "One step is left")
      assert.include(value("Expand", "tools"), "- add: The sum of two numbers\n  Arguments: {")
      assert.strictEqual(value("Evaluate", "path"), `${path}\n2.\n   Action: End.`)
      assert.strictEqual(value("Evaluate", "current_state"), "The last step was: End.")
      assert.strictEqual(value("Reflect", "path"), `${path}\n2.\n   Action: End.`)
      assert.strictEqual(
        value("Reflect", "evaluation"),
        "The path ran out of steps without an answer. Score: 0.1 of 1.\nlost"
      )
      assert.strictEqual(value("FinalOutput", "iterations"), "3")
      assert.match(value("FinalOutput", "path")!, /^1\.\n/)
      for (const later of [requests[10], requests[12]]) {
        assert.include(text(later, 1), "<reflections>- Lesson one.\n- Lesson two.</reflections>")
      }
    })
  )

  it.effect("can be replaced in both halves of every step", () =>
    Effect.gen(function* () {
      for (const { name } of LatsPrompts.steps) {
        const overrides = { LATSAgent: { [name]: { system: `My system of ${name}`, user: "# Task\nmine: {task}" } } }
        const { requests } = yield* run({ overrides })
        const request = requests[places[name as keyof typeof places]]
        assert.deepStrictEqual(
          [text(request, 0), text(request, 1)],
          [`My system of ${name}`, "# Task\nmine: What is 1 + 2?"]
        )
        assert.strictEqual(requests.filter((other) => text(other, 0).startsWith("My system")).length > 0, true)
      }
    })
  )

  it.effect("carry custom instructions in every system prompt", () =>
    Effect.gen(function* () {
      const { requests } = yield* run({ instructions: "Never use the word gold." })
      assert.lengthOf(requests, 15)
      for (const request of requests) {
        assert.match(text(request, 0), /## Custom Instructions\n\nNever use the word gold\.$/)
      }
    })
  )

  it.effect("state the form of the reply: JSON, or the text form of the step", () =>
    Effect.gen(function* () {
      const json = yield* run({})
      for (const step of ["Expand", "Evaluate"] as const) {
        assert.include(text(json.requests[places[step]], 0), "fits this JSON Schema")
      }
      const plain = yield* run({}, "text")
      for (const prompt of LatsPrompts.steps) {
        assert.include(text(plain.requests[places[prompt.name as keyof typeof places]], 0), prompt.textFormat)
      }
    })
  )
})
