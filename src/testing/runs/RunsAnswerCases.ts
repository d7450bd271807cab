/**
 * Cases: runs answer in the form that their request has, by the tools that it names.
 *
 * @since 0.1.0
 * @private
 */
import type { Output, ToolChoice } from "../../agent/record/RequestedAnswer.js"
import { equal, failure } from "../suite/SuiteAssert.js"
import { all, type Case, make, start } from "./RunsCase.js"

const ann = { userId: "ann" }

const forecast: Output = {
  name: "forecast",
  description: "The weather of a city",
  schema: {
    type: "object",
    properties: { city: { type: "string" }, degrees: { type: "integer" } },
    required: ["city", "degrees"]
  }
}

const value = { city: "Delft", degrees: 7 }

const nested = (depth: number): Record<string, unknown> => {
  let schema: Record<string, unknown> = { type: "object" }
  for (let n = 0; n < depth; n++) schema = { type: "object", properties: { in: schema } }
  return schema
}

const answering: ReadonlyArray<Case> = [
  make("asks the model again for an answer in the form of the request", function* (stage) {
    const { runId } = yield* start(stage, "hello", { output: forecast })
    const response = yield* stage.runs.await(runId, ann)
    equal([response.output, stage.asked()], [value, 2], "the output, and how often the model was asked")
    const messages = (yield* all(stage, runId)).flatMap((event) => (event._tag === "Message" ? [event.output] : []))
    equal(messages, [value], "the output of the event")
  }),
  make("answers in the form of the request with any strategy", function* (stage) {
    const { runId } = yield* start(stage, "hello", { agent: "thinker", output: forecast })
    equal((yield* stage.runs.await(runId, ann)).output, value, "the output")
  }),
  make("fails where no answer fits the form of the request", function* (stage) {
    const { runId } = yield* start(stage, "hello", { output: { ...forecast, name: "riddle" } })
    const error = yield* failure(stage.runs.await(runId, ann), "an answer that does not fit")
    equal("error" in error && error.error.tag, "OutputValidationError", "the failure")
    equal(stage.asked(), 3, "how often the model was asked")
  }),
  make("takes the form of the request for this run alone", function* (stage) {
    yield* stage.runs.await((yield* start(stage, "hello", { output: forecast })).runId, ann)
    const { runId } = yield* start(stage, "hello")
    equal((yield* stage.runs.await(runId, ann)).output, "You said hello", "the answer without a form")
  }),
  make("takes an agent's own form, and no other one for it", function* (stage) {
    const own = {
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"],
      additionalProperties: false
    }
    const agent = "former"
    const { runId } = yield* start(stage, "hello", { agent, output: { schema: own } })
    equal((yield* stage.runs.await(runId, ann)).output, { text: "hello" }, "the output")
    const error = yield* failure(start(stage, "hello", { agent, output: forecast }), "another form")
    equal([error.reason, typeof error.hint], ["invalid", "string"], "the reason, and whether there is a hint")
  }),
  make("refuses forms that are none, and those that may take long", function* (stage) {
    const none: ReadonlyArray<unknown> = [
      null,
      {},
      { schema: "object" },
      { schema: { type: "array" } },
      { ...forecast, name: "no name" },
      { ...forecast, description: "x".repeat(8193) },
      { schema: { $ref: "https://example.com/schema.json" } },
      { schema: { type: "object", properties: { in: { $ref: "file:///etc/passwd" } } } },
      { schema: { type: "object", description: "x".repeat(140_000) } },
      { schema: { type: "object", enum: Array.from({ length: 3000 }, (_, at) => ({ at })) } },
      { schema: nested(70) },
      { schema: nested(50_000) }
    ]
    for (const output of none) {
      const error = yield* failure(start(stage, "hello", { output: output as Output }), "a form that is none")
      equal(error.reason, "invalid", "the reason")
    }
    equal(stage.asked(), 0, "how often the model was asked")
  }),
  make("does not hang on a pattern in the form of a request", function* (stage) {
    const city = { type: "string", pattern: "^(a+)+$" }
    const output = { ...forecast, schema: { ...forecast.schema, properties: { city } } }
    const { runId } = yield* start(stage, "hello", { output })
    equal((yield* stage.runs.await(runId, ann)).output, value, "the output")
  })
]

const choosing: ReadonlyArray<Case> = [
  make("makes the model call a tool first, and lets it answer then", function* (stage) {
    const choices: ReadonlyArray<readonly [ToolChoice, string]> = [
      ["required", '{"id":"#p1"} | auto'],
      [{ tool: "book" }, '{"id":"#p1"} | auto'],
      ["auto", "auto"],
      ["none", "none"]
    ]
    for (const [toolChoice, message] of choices) {
      const { runId } = yield* start(stage, "choice", { toolChoice })
      equal((yield* stage.runs.await(runId, ann)).message, message, "what the model was told to choose")
    }
  }),
  make("lets the model call a tool of the request that it names", function* (stage) {
    const named = { toolChoice: { tool: "weather" } }
    const { runId } = yield* start(stage, "choice", { ...named, clientTools: [{ name: "weather" }] })
    yield* stage.runs.interrupt(runId, ann)
    const error = yield* failure(start(stage, "choice", named), "a tool that nobody has")
    equal([error.reason, typeof error.hint], ["invalid", "string"], "the reason, and whether there is a hint")
  }),
  make("refuses choices that are none", function* (stage) {
    for (const toolChoice of ["any", "", {}, { tool: "" }, { tool: 7 }, null, { tool: "x".repeat(129) }]) {
      const error = yield* failure(start(stage, "hello", { toolChoice: toolChoice as ToolChoice }), "no choice")
      equal(error.reason, "invalid", "the reason")
    }
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...answering, ...choosing]
