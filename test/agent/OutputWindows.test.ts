import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const finding = (name: string, pattern: RegExp, action: "redact" | "block", reach: number) =>
  WindowGuard.make({
    name,
    stages: ["output"],
    window: {
      reach,
      find: (text) =>
        Array.from(text.matchAll(pattern), (match) => ({
          start: match.index,
          end: match.index + match[0].length,
          label: name.toUpperCase(),
          action
        }))
    }
  })

const digits = finding("digits", /\b\d{4}\b/g, "redact", 6)
const secret = finding("secret", /top secret/g, "block", 12)
const whole = Guard.make({ name: "whole", stages: ["output"], check: () => Effect.succeed(Guard.pass("whole")) })

const shown = (events: ReadonlyArray<AgentEvent>) =>
  Runs.of(events, "TextDelta")
    .map(({ text }) => text)
    .join("")

const streamed = (
  guards: ReadonlyArray<Guard.Any>,
  script: Parameters<typeof Runs.layer>[0],
  agent: Agent.Agent<string, any, never> = Agent.make("a")
) =>
  Runs.record(AgentExecutor.stream(agent, "hi")).pipe(
    Effect.provide(Runs.layer(script, { guards: DefaultGuardPipeline.layerGuards(guards) }))
  )

describe("answers guarded while they are written", () => {
  it.effect("are shown while they are written, redacted like the whole answer", () =>
    Effect.gen(function* () {
      const pieces = ["The code is 12", "34", ", and the rest of it is as ", "long as it takes", " to be shown."]
      const { events } = yield* streamed([digits], [{ text: pieces }])
      assert.strictEqual(
        shown(events),
        "The code is [REDACTED:DIGITS], and the rest of it is as long as it takes to be shown."
      )
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, shown(events))
      const tags = events.map(({ _tag }) => _tag)
      assert.isBelow(tags.indexOf("TextDelta"), tags.indexOf("UsageReported"))
      assert.isAbove(tags.filter((tag) => tag === "TextDelta").length, 1)
      assert.deepStrictEqual(
        Runs.of(events, "GuardTriggered").map(({ action, guard, stage }) => [stage, guard, action]),
        [["output", "digits", "redact"]]
      )
    })
  )

  it.effect("never show blocked text, nor anything after it", () =>
    Effect.gen(function* () {
      const text = ["It is known that the ", "to", "p sec", "ret plan is 1234 ", "and more"]
      const { events, exit } = yield* streamed([digits, secret], [{ text }])
      assert.isTrue(Exit.isFailure(exit))
      assert.isTrue("It is known that the ".startsWith(shown(events)))
      assert.notInclude(JSON.stringify(events), "secret plan")
      assert.strictEqual(Runs.of(events, "Error")[0]?.error.tag, "OutputGuardError")
    })
  )

  it.effect("screen a text that leads to a tool call, and the run continues", () =>
    Effect.gen(function* () {
      const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
      const { events, exit } = yield* streamed(
        [secret],
        [{ text: ["I read the top secret file"], calls: [{ name: "look" }] }, "All is well."],
        Agent.make("a", { tools: [look] })
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(shown(events), "I read the All is well.")
      assert.notInclude(JSON.stringify(Runs.of(events, "Thought")), "secret")
    })
  )

  it.effect("show nothing in advance if a guard needs the whole answer, thoughts included", () =>
    Effect.gen(function* () {
      const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
      const { events } = yield* streamed(
        [digits, whole],
        [{ text: ["I will look"], calls: [{ name: "look" }] }, { text: ["All ", "is well."] }],
        Agent.make("a", { tools: [look] })
      )
      assert.strictEqual(shown(events), "")
      assert.notInclude(JSON.stringify(Runs.of(events, "Thought")), "will look")
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "All is well.")
    })
  )

  it.effect("stream what the whole answer becomes, for any chunking", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(
            FastCheck.oneof(
              FastCheck.constantFrom("1234", " 99 ", "12345", "top ", "secret", " top secret ", "a1", "\n"),
              FastCheck.string({ maxLength: 5 })
            ),
            { minLength: 1, maxLength: 12 }
          ),
          (pieces) =>
            Effect.runPromise(
              Effect.gen(function* () {
                const { events, exit } = yield* streamed(
                  [digits, secret],
                  [{ text: pieces.filter((one) => one !== "") }]
                )
                const answer = Runs.of(events, "Message")[0]?.text
                if (Exit.isSuccess(exit)) assert.strictEqual(shown(events), answer)
                else {
                  const [before] = pieces.join("").split("top secret")
                  const redacted = before?.replace(/\b\d{4}\b/g, "[REDACTED:DIGITS]") ?? ""
                  assert.isTrue(redacted.startsWith(shown(events)) || (before ?? "").startsWith(shown(events)))
                }
              })
            )
        ),
        { numRuns: 60 }
      )
    )
  )
})
