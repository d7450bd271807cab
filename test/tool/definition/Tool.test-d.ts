import * as AiTool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { expectTypeOf, test } from "vitest"
import * as AiToolkit from "../../../src/tool/AiToolkit.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import type { ToolDefinitionError } from "../../../src/tool/definition/ToolError.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import type * as ToolRunner from "../../../src/tool/ToolRunner.js"

class Db extends Context.Tag("Db")<Db, { readonly get: (id: string) => Effect.Effect<string, DbDown> }>() {}
class Mail extends Context.Tag("Mail")<Mail, { readonly send: Effect.Effect<void> }>() {}
class DbDown extends Data.TaggedError("DbDown")<{ readonly host: string }> {}
class NoRow extends Data.TaggedError("NoRow")<{ readonly id: string }> {}
class Order extends Schema.Class<Order>("Order")({ id: Schema.NumberFromString }) {}

const lookup = Tool.make("lookup", {
  description: "d",
  parameters: { id: Schema.String, limit: Schema.optional(Schema.Number) },
  handler: ({ id }) =>
    Effect.flatMap(Db, (db) => db.get(id)).pipe(
      Effect.filterOrFail(
        (row) => row !== "",
        () => new NoRow({ id })
      )
    )
})

test("infers parameters from fields, a struct, a class, or none", () => {
  expectTypeOf(lookup).toEqualTypeOf<
    Tool.Tool<{ readonly id: string; readonly limit?: number | undefined }, string, never, Db, DbDown | NoRow>
  >()
  Tool.make("struct", {
    description: "d",
    parameters: Schema.Struct({ at: Schema.NumberFromString }),
    handler: (params, call) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly at: number }>()
      expectTypeOf(call).toEqualTypeOf<Tool.CallInfo>()
      return Effect.void
    }
  })
  Tool.make("class", {
    description: "d",
    parameters: Order,
    handler: (order) => {
      expectTypeOf(order).toEqualTypeOf<Order>()
      return Effect.succeed(order.id)
    },
    requiresApproval: (order) => order.id > 1
  })
  const none = Tool.make("none", { description: "d", handler: () => Effect.succeed(1) })
  expectTypeOf(none).toEqualTypeOf<Tool.Tool<{}, number, never, never, never>>()
})

test("infers fields with functions within a struct", () => {
  Tool.make("list", {
    description: "d",
    parameters: Schema.Struct({
      page: Schema.optionalWith(Schema.Number, { default: () => 1 }),
      size: Schema.transform(Schema.String, Schema.Number, {
        strict: true,
        decode: (text) => text.length,
        encode: (n) => "x".repeat(n)
      })
    }),
    handler: (params) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly page: number; readonly size: number }>()
      return Effect.void
    }
  })
})

test("adds a handler's failures to E only if fatal", () => {
  const fatal = Tool.make("fatal", {
    description: "d",
    handler: () => Effect.fail(new DbDown({ host: "a" })) as Effect.Effect<number, DbDown | NoRow>,
    fatal: true
  })
  expectTypeOf<Tool.ErrorOf<typeof fatal>>().toEqualTypeOf<DbDown | NoRow>()
  expectTypeOf<Tool.ErrorOf<typeof lookup>>().toEqualTypeOf<never>()
  expectTypeOf<Tool.ServicesOf<typeof lookup>>().toEqualTypeOf<Db>()
})

test("accepts tags of the handler's failures in failOn, data-first and in a pipe", () => {
  const piped = lookup.pipe(Tool.failOn("DbDown"))
  const first = Tool.failOn(lookup, "DbDown")
  expectTypeOf<Tool.ErrorOf<typeof piped>>().toEqualTypeOf<DbDown>()
  expectTypeOf<Tool.ErrorOf<typeof first>>().toEqualTypeOf<DbDown>()
  const both = Tool.failOn(lookup, "DbDown", "NoRow")
  expectTypeOf<Tool.ErrorOf<typeof both>>().toEqualTypeOf<DbDown | NoRow>()
  // @ts-expect-error the handler cannot fail with this tag
  Tool.failOn(lookup, "Other")
})

test("requires success schema, failure schema and handler to agree", () => {
  Tool.make("wrong", {
    description: "d",
    success: Schema.Struct({ n: Schema.Number }),
    // @ts-expect-error the handler's result does not fit the success schema
    handler: () => Effect.succeed({ n: "1" })
  })
  // @ts-expect-error a tool needs a description
  Tool.make("undescribed", { handler: () => Effect.void })
})

test("combines failures and requirements in a set", () => {
  const mail = Tool.make("mail", {
    description: "d",
    fatal: true,
    handler: () => Effect.flatMap(Mail, (mail) => Effect.zipRight(mail.send, new NoRow({ id: "1" })))
  })
  const set = ToolSet.make(Tool.failOn(lookup, "DbDown"), mail)
  expectTypeOf(set).toEqualTypeOf<ToolSet.ToolSet<DbDown | NoRow, Db | Mail>>()
  expectTypeOf(ToolSet.make()).toEqualTypeOf<ToolSet.ToolSet<never, never>>()
  expectTypeOf(ToolSet.bind(set)).toEqualTypeOf<Effect.Effect<ToolSet.Bound, never, Db | Mail>>()
  expectTypeOf(ToolSet.merge(ToolSet.make(mail), ToolSet.make(lookup))).toEqualTypeOf<
    ToolSet.ToolSet<NoRow, Db | Mail>
  >()
  expectTypeOf(ToolSet.fromRecord({ a: { description: "d", run: () => 1 } })).toEqualTypeOf<ToolSet.ToolSet>()
})

test("gives a tool of a JSON Schema plain parameters", () => {
  const made = Tool.fromJsonSchema("raw", {
    description: "d",
    parameters: { type: "object" },
    handler: (params) => {
      expectTypeOf(params).toEqualTypeOf<Readonly<Record<string, unknown>>>()
      return Effect.as(Db, 1)
    }
  })
  expectTypeOf(made).toEqualTypeOf<
    Either.Either<Tool.Tool<Readonly<Record<string, unknown>>, number, never, Db, never>, ToolDefinitionError>
  >()
})

test("passes the tool's own parameters to the approval predicate", () => {
  Tool.withApproval(lookup, (params) => {
    expectTypeOf(params).toEqualTypeOf<{ readonly id: string; readonly limit?: number | undefined }>()
    return params.id === ""
  })
  // @ts-expect-error there is no such parameter
  Tool.withApproval(lookup, (params) => params.other === 1)
})

test("converts a toolkit of @effect/ai with its failures and requirements, in both directions", () => {
  const kit = Toolkit.make(
    AiTool.make("read", { parameters: { id: Schema.String }, success: Schema.String, failure: Schema.Number }),
    AiTool.make("write", { failure: Schema.Boolean, failureMode: "return", dependencies: [Mail] })
  )
  expectTypeOf(AiToolkit.fromToolkit(kit)).toEqualTypeOf<
    Effect.Effect<ToolSet.ToolSet<number, Mail>, never, AiTool.Handler<"read"> | AiTool.Handler<"write">>
  >()
  const given = AiToolkit.toToolkit(ToolSet.make(Tool.failOn(lookup, "DbDown")))
  expectTypeOf(given).toEqualTypeOf<
    Effect.Effect<Toolkit.WithHandler<Record<string, AiToolkit.AnyTool<DbDown>>>, never, Db | ToolRunner.ToolRunner>
  >()
})

test("keeps failures and requirements in set wrappers, and combines them", () => {
  const mail = Tool.make("mail", { description: "d", handler: () => Effect.flatMap(Mail, (mail) => mail.send) })
  const set = ToolSet.make(lookup.pipe(Tool.failOn("DbDown")))
  expectTypeOf(set.pipe(ToolSet.prefixed("db"))).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db>>()
  expectTypeOf(ToolSet.renamed(set, { lookup: "find" })).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db>>()
  expectTypeOf(set.pipe(ToolSet.filtered(() => true))).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db>>()
  expectTypeOf(set.pipe(ToolSet.approvalRequired())).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db>>()
  expectTypeOf(ToolSet.approvalRequired(set)).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db>>()
  expectTypeOf(ToolSet.combined(set, ToolSet.make(mail))).toEqualTypeOf<ToolSet.ToolSet<DbDown, Db | Mail>>()
  expectTypeOf(ToolSet.combined()).toEqualTypeOf<ToolSet.ToolSet>()
})
