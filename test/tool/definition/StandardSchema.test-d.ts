import { type } from "arktype"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { expectTypeOf, test } from "vitest"
import { z } from "zod"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

test("infers parameters as each library transforms them", () => {
  const zod = Tool.make("zod", {
    description: "d",
    parameters: z.object({ at: z.string().transform((text) => text.length), n: z.number().default(1) }),
    handler: (params, call) => {
      expectTypeOf(params).toEqualTypeOf<{ at: number; n: number }>()
      expectTypeOf(call).toEqualTypeOf<Tool.CallInfo>()
      return Effect.succeed(params.at)
    },
    requiresApproval: ({ n }) => n > 1
  })
  expectTypeOf(zod).toEqualTypeOf<Tool.Tool<{ at: number; n: number }, number, never, never, never>>()
  Tool.make("valibot", {
    description: "d",
    parameters: v.object({ a: v.optional(v.string()), n: v.pipe(v.string(), v.transform(Number)) }),
    handler: (params) => {
      expectTypeOf(params).toEqualTypeOf<{ a?: string | undefined; n: number }>()
      return Effect.void
    }
  })
  Tool.make("arktype", {
    description: "d",
    parameters: type({ n: "string.integer.parse", "o?": "string" }),
    handler: (params) => {
      expectTypeOf(params).toEqualTypeOf<{ n: number; o?: string }>()
      return Effect.void
    }
  })
  Tool.make("effect", {
    description: "d",
    parameters: Schema.standardSchemaV1(Schema.Struct({ n: Schema.NumberFromString })),
    handler: (params) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly n: number }>()
      return Effect.void
    }
  })
})

test("requires a handler's result to fit the input of its schema", () => {
  const success = z.object({ n: z.string().transform((text) => text.length) })
  const tool = Tool.make("t", { description: "d", success, handler: () => Effect.succeed({ n: "four" }) })
  expectTypeOf(tool).toEqualTypeOf<Tool.Tool<{}, { n: string }, never, never, never>>()
  Tool.make("wrong", {
    description: "d",
    success,
    // @ts-expect-error the handler's result is not what the schema takes
    handler: () => Effect.succeed({ n: 4 })
  })
})

test("refuses what is no schema", () => {
  // @ts-expect-error a number is no schema
  Tool.make("t", { description: "d", parameters: { a: 1 }, handler: () => Effect.void })
})

test("the output of an agent is that of its schema", () => {
  const zod = Agent.make("a", { output: z.object({ n: z.string().transform(Number) }) })
  expectTypeOf(zod).toEqualTypeOf<Agent.Agent<{ n: number }, OutputValidationError, never>>()
  expectTypeOf(Agent.make("a", { output: v.array(v.string()) })).toEqualTypeOf<
    Agent.Agent<string[], OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a", { output: type("string | number") })).toEqualTypeOf<
    Agent.Agent<string | number, OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a", { output: Schema.standardSchemaV1(Schema.NumberFromString) })).toEqualTypeOf<
    Agent.Agent<number, OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withOutput(z.object({ n: z.number() })))).toEqualTypeOf<
    Agent.Agent<{ n: number }, OutputValidationError, never>
  >()
})
