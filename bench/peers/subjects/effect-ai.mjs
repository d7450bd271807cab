/** A loop by hand over `@effect/ai`, which has no agent. */
import * as LanguageModel from "@effect/ai/LanguageModel"
import * as Prompt from "@effect/ai/Prompt"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { countDeltas, move, others, deltas as parts, usage } from "../workload.mjs"

const modelOf = ({ deltas, perChunk, sleep, steps }) =>
  LanguageModel.make({
    generateText: ({ prompt }) => {
      const reply = Effect.sync(() => {
        const last = prompt.content.at(-1)
        const next = move(last.role === "tool" ? last.content[0].result : 0, steps)
        return next.text === undefined
          ? [
              { type: "tool-call", id: next.id, name: next.name, params: JSON.parse(next.arguments) },
              { type: "finish", reason: "tool-calls", usage }
            ]
          : [
              { type: "text", text: next.text },
              { type: "finish", reason: "stop", usage }
            ]
      })
      return sleep === undefined ? reply : Effect.delay(reply, sleep)
    },
    streamText: () => {
      async function* all() {
        yield { type: "text-start", id: "t" }
        for await (const text of parts(deltas, perChunk)) yield { type: "text-delta", id: "t", delta: text }
        yield { type: "text-end", id: "t" }
        yield { type: "finish", reason: "stop", usage }
      }
      return Stream.fromAsyncIterable(all(), (error) => error)
    }
  })

export const make = async (options) => {
  const add = Tool.make("add", {
    description: "Adds two numbers",
    parameters: { a: Schema.Number, b: Schema.Number },
    success: Schema.Number
  })
  const parameters = { text: Schema.String, count: Schema.optional(Schema.Number) }
  const rest = others(options.tools ?? 1).map(({ description, name }) =>
    Tool.make(name, { description, parameters, success: Schema.String })
  )
  const handlers = { add: ({ a, b }) => Effect.succeed(a + b) }
  for (const { name } of rest) handlers[name] = () => Effect.succeed("unused")
  const kit = Toolkit.make(add, ...rest)
  const toolkit = await Effect.runPromise(Effect.provide(kit, kit.toLayer(handlers)))
  const model = await Effect.runPromise(modelOf(options))
  const runPromise = (effect) => Effect.runPromise(Effect.provideService(effect, LanguageModel.LanguageModel, model))
  const program = Effect.gen(function* () {
    let prompt = Prompt.make("go")
    for (;;) {
      const { content, text, toolCalls } = yield* LanguageModel.generateText({ prompt, toolkit })
      if (toolCalls.length === 0) return text
      prompt = Prompt.merge(prompt, Prompt.fromResponseParts(content))
    }
  })
  return {
    run: () => runPromise(program),
    stream: () =>
      runPromise(
        Stream.runFold(LanguageModel.streamText({ prompt: "go" }), 0, (seen, part) =>
          part.type === "text-delta" ? seen + countDeltas(part.delta) : seen
        )
      )
  }
}
