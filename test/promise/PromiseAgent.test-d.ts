// @effect-diagnostics missingEffectContext:off
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { expectTypeOf, test } from "vitest"
import { z } from "zod"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { type Agent, createAgent, createRuntime, type Result, tool } from "../../src/promise/index.js"
import * as Tool from "../../src/tool/definition/Tool.js"

class Db extends Context.Tag("Db")<Db, { readonly name: string }>() {}
const lookup = Tool.make("lookup", { description: "d", handler: () => Effect.map(Db, ({ name }) => name) })
const model = { provider: "openai" }

test("infers arguments and output without annotations", () => {
  const add = tool({
    name: "add",
    description: "d",
    parameters: z.object({ a: z.string().transform(Number), b: z.number().default(1) }),
    execute: async (args, { signal }) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; b: number }>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      return args.a + args.b
    }
  })
  expectTypeOf(createAgent({ name: "a", tools: [add], model })).toEqualTypeOf<Agent<string>>()
  const typed = createAgent({ name: "a", tools: [add], model, output: z.object({ n: z.string().transform(Number) }) })
  expectTypeOf(typed.run("hi")).toEqualTypeOf<Promise<Result<{ n: number }>>>()
  expectTypeOf(typed.stream("hi").result).toEqualTypeOf<Promise<Result<{ n: number }>>>()
  expectTypeOf(typed.stream("hi")).toExtend<AsyncIterable<AgentEvent>>()
  const effect = createAgent({ name: "a", model, output: Schema.Struct({ n: Schema.NumberFromString }) })
  expectTypeOf(effect).toEqualTypeOf<Agent<{ readonly n: number }>>()
})

test("requires the services of tools that are Effects", () => {
  createAgent({ name: "a", model, tools: [lookup], layer: Layer.succeed(Db, { name: "db" }) })
  const runtime = createRuntime({ model, layer: Layer.succeed(Db, { name: "db" }) })
  createAgent({ name: "a", runtime, tools: [lookup] })
  // @ts-expect-error nothing provides Db
  createAgent({ name: "a", runtime: createRuntime({ model }), tools: [lookup] })
})

test("requires a model or a runtime", () => {
  // @ts-expect-error there is no model
  createAgent({ name: "a" })
})
