import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Strategies from "./Strategies.js"

const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })

/** The text that a reader of the stream has in the end. */
const streamed = (events: ReadonlyArray<AgentEvent>): string => {
  let text = ""
  for (const event of events) {
    if (event._tag === "TextDelta") text += event.text
    else if (event._tag === "TextRetracted") text = ""
  }
  return text
}

const strategies = {
  function_calling: FunctionCalling.make({ maxIterations: 20, noProgressAfter: 100 }),
  react: ReAct.make({ maxIterations: 20, noProgressAfter: 100 })
}

const word = FastCheck.stringMatching(/^[a-z]{1,8}$/)
const pieces = FastCheck.array(word, { minLength: 1, maxLength: 4 })
const turns = FastCheck.array(
  FastCheck.record({
    text: FastCheck.option(pieces, { nil: undefined }),
    count: FastCheck.integer({ min: 1, max: 3 })
  }),
  { maxLength: 5 }
)

describe("streamed text", () => {
  for (const [name, strategy] of Object.entries(strategies)) {
    it.effect(`of ${name} adds up to the answer, whatever text accompanies tool calls`, () =>
      Effect.gen(function* () {
        const runs = FastCheck.sample(FastCheck.tuple(turns, pieces), { numRuns: 60, seed: 5 })
        for (const [acting, answer] of runs) {
          const script: ReadonlyArray<TestModel.Turn> = [
            ...acting.map(({ count, text }, turn) => ({
              text,
              calls: Array.from({ length: count }, (_, i) => ({ name: "look", params: { turn, i } }))
            })),
            { text: answer }
          ]
          const ran = yield* Strategies.run(strategy, (_, index) => script[index]!, { tools: ToolSet.make(look) })
          yield* ran.exit
          const message = answer.join("")
          const response = AgentResponse.fromEvents(ran.events)
          // Without its end a run is what was streamed of it.
          assert.strictEqual(response.message, message)
          assert.strictEqual(streamed(ran.events), message)
          const beside = acting.filter(({ text }) => text !== undefined).length
          assert.lengthOf(ran.of("TextRetracted"), beside)
        }
      })
    )
  }

  it.effect("is retracted after it was shown, before the tools run", () =>
    Effect.gen(function* () {
      const script: ReadonlyArray<TestModel.Turn> = [
        { text: ["Let me ", "look."], calls: [{ name: "look" }] },
        { text: ["It is ", "seen."] }
      ]
      const ran = yield* Strategies.run(strategies.function_calling, (_, index) => script[index]!, {
        tools: ToolSet.make(look)
      })
      yield* ran.exit
      const tags = ["TextDelta", "TextRetracted", "ToolCall", "ToolResult"]
      assert.deepStrictEqual(
        ran.events.filter(({ _tag }) => tags.includes(_tag)).map(({ _tag }) => _tag),
        ["TextDelta", "TextDelta", "TextRetracted", "ToolCall", "ToolResult", "TextDelta", "TextDelta"]
      )
    })
  )
})
