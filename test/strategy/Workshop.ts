/** Tools that note what they were called with and when, and runs of planners over them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmCompiler from "../../src/strategy/compiler/LlmCompiler.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Strategies from "./Strategies.js"

export const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

/** All a request says, message by message. */
export const content = (ran: { readonly requests: ReadonlyArray<LlmClient.LlmRequest> }, index: number): string =>
  ran.requests[index]!.messages.map((message) => String(message.content)).join("\n")

/** The plan as it stood at each of its changes. */
export const statuses = (ran: Strategies.Ran<unknown>): ReadonlyArray<string> =>
  ran.of("Plan").map(({ steps }) => steps.map(({ id, status }) => `${id} ${status}`).join(", "))

export type Call = readonly [name: string, params: unknown, from: number, to: number]

export const open = () => {
  const calls: Array<Call> = []
  const tool = <Fields extends Schema.Struct.Fields>(
    name: string,
    parameters: Fields,
    answer: (params: any) => Effect.Effect<unknown, Strategies.Broken>
  ) =>
    Tool.make(name, {
      description: `The tool ${name}`,
      parameters,
      success: Schema.Unknown,
      failure: Strategies.Broken,
      handler: (params) =>
        Effect.gen(function* () {
          const clock = yield* Effect.clock
          const from = clock.unsafeCurrentTimeMillis()
          const result = yield* answer(params)
          calls.push([name, params, from, clock.unsafeCurrentTimeMillis()])
          return result
        })
    })
  return { calls, tool }
}

const heights: { readonly [name: string]: number } = { fuji: 3776, blanc: 4806 }

const mountains = () => {
  const { calls, tool } = open()
  const tools = ToolSet.make(
    tool("height", { mountain: Schema.String }, ({ mountain }) => Effect.succeed(heights[mountain] ?? 0)),
    tool("subtract", { a: Schema.Number, b: Schema.Number }, ({ a, b }) => Effect.succeed(a - b)),
    tool("note", { text: Schema.String, tags: Schema.optional(Schema.Array(Schema.String)) }, ({ text }) =>
      Effect.succeed(text)
    ),
    tool("wait", { ms: Schema.Number, after: Schema.optional(Schema.Unknown) }, ({ ms }) =>
      Effect.as(Effect.sleep(ms), ms)
    ),
    tool("broken", {}, () => Effect.fail(new Strategies.Broken({ message: "out of order" })))
  )
  return { calls, tools }
}

/** A run of `llm-compiler` with heights of mountains, sums, notes, waits and a tool out of order. */
export const compile = (script: Strategies.Script, options: LlmCompiler.Options & Strategies.Setup = {}) => {
  const { calls, tools } = mountains()
  return Effect.map(Strategies.run(LlmCompiler.make(options), script, { tools, ...options }), (ran) => ({
    ...ran,
    calls
  }))
}

export const difference = lines(
  "Thought: both heights first",
  '1. height("blanc")',
  '2. height("fuji")',
  '3. subtract("$1", "$2")',
  "Thought: I can answer.",
  "4. join()<END_OF_PLAN>"
)

/** What the joiner says in words when it is content. */
export const finish = (answer: string): string => `Thought: enough\nAction: Finish(${answer})`
