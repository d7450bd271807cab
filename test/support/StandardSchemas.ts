/** One order in the schemas of four libraries: nested, optional, default, union, transformation, asynchronous check. */
import { type } from "arktype"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { z } from "zod"

const isKnown = async (name: string): Promise<boolean> => name !== "nobody"
const unknown = "nobody of that name"

const zod = z.object({
  customer: z.object({
    name: z.string().describe("Name of the customer").refine(isKnown, { error: unknown }),
    note: z.string().optional()
  }),
  count: z.number().default(1),
  payment: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("card"), number: z.string() }),
    z.object({ kind: z.literal("cash") })
  ]),
  due: z.string().transform((text) => new Date(text))
})

const valibot = v.objectAsync({
  customer: v.objectAsync({
    name: v.pipeAsync(v.string(), v.description("Name of the customer"), v.checkAsync(isKnown, unknown)),
    note: v.optional(v.string())
  }),
  count: v.optional(v.number(), 1),
  payment: v.variant("kind", [
    v.object({ kind: v.literal("card"), number: v.string() }),
    v.object({ kind: v.literal("cash") })
  ]),
  due: v.pipe(
    v.string(),
    v.transform((text) => new Date(text))
  )
})

/** ArkType has no asynchronous checks. */
const arktype = type({
  customer: {
    name: type("string")
      .describe("Name of the customer")
      .narrow((name, context) => name !== "nobody" || context.reject({ message: unknown })),
    "note?": "string"
  },
  count: "number = 1",
  payment: type({ kind: "'card'", number: "string" }).or({ kind: "'cash'" }),
  due: type("string").pipe((text) => new Date(text))
})

const effect = Schema.standardSchemaV1(
  Schema.Struct({
    customer: Schema.Struct({
      name: Schema.String.annotations({ description: "Name of the customer" }).pipe(
        Schema.filterEffect((name) =>
          Effect.map(
            Effect.promise(() => isKnown(name)),
            (known) => known || unknown
          )
        )
      ),
      note: Schema.optional(Schema.String)
    }),
    count: Schema.optionalWith(Schema.Number, { default: () => 1 }),
    payment: Schema.Union(
      Schema.Struct({ kind: Schema.Literal("card"), number: Schema.String }),
      Schema.Struct({ kind: Schema.Literal("cash") })
    ),
    due: Schema.Date
  })
)

/** The input by hand, for a library that does not describe its schemas. */
const described = {
  type: "object",
  properties: {
    customer: {
      type: "object",
      properties: {
        name: { type: "string", description: "Name of the customer" },
        note: { type: "string" }
      },
      required: ["name"]
    },
    count: { type: "number" },
    payment: {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "card" }, number: { type: "string" } },
          required: ["kind", "number"]
        },
        { type: "object", properties: { kind: { const: "cash" } }, required: ["kind"] }
      ]
    },
    due: { type: "string" }
  },
  required: ["customer", "payment", "due"]
}

export const orders = {
  zod: { schema: zod, described: undefined },
  valibot: { schema: valibot, described },
  arktype: { schema: arktype, described: undefined },
  effect: { schema: effect, described: undefined }
} as const
