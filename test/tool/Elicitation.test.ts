/** Questions of running tools to people. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { z } from "zod"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as PublicView from "../../src/domain/PublicView.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as Step from "../../src/observability/Step.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as ApprovalPolicy from "../../src/tool/approval/ApprovalPolicy.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import * as Runs from "../support/Runs.js"
import * as RecordedRun from "./RecordedRun.js"

const Seat = Schema.Struct({
  row: Schema.Int.pipe(Schema.between(1, 40)),
  side: Schema.Literal("window", "aisle"),
  note: Schema.optional(Schema.String.pipe(Schema.maxLength(20)))
})

const seat = Elicitation.ask({ message: "Which seat?", schema: Seat })

const shown = (answer: Elicitation.Answer<unknown>): string => JSON.stringify(answer)

const book = Tool.make("book", {
  description: "Books a seat",
  timeout: "1 second",
  handler: () => Effect.map(seat, shown)
})

const script: Parameters<typeof TestModel.layer>[0] = [{ calls: [{ name: "book" }] }, "done"]

/** A run of an agent over an inbox. The run has begun and asked when `body` starts. */
const office = <A, E>(
  tools: ReadonlyArray<Tool.Any>,
  body: (
    run: Fiber.Fiber<{ readonly events: ReadonlyArray<AgentEvent> }>
  ) => Effect.Effect<A, E, PendingApprovals.PendingApprovals>,
  {
    options,
    request = {},
    turns = script,
    exhausted,
    ...agent
  }: {
    readonly turns?: Parameters<typeof TestModel.layer>[0]
    readonly request?: object
    readonly exhausted?: boolean
    readonly options?: PendingApprovals.Options
    readonly [key: string]: unknown
  } = {}
) => {
  const pending = PendingApprovals.layerMemory(options)
  return Effect.gen(function* () {
    const run = yield* Effect.fork(
      EventRecorder.record(
        AgentExecutor.stream(Agent.make("clerk", { tools, ...agent } as never), { input: "hi", ...request } as never)
      )
    )
    yield* TestClock.adjust(0)
    return yield* body(run as never)
  }).pipe(Effect.provide(Layer.merge(Runs.layer(turns, { approvals: pending }, { exhausted }), pending)))
}

const waiting = (access?: PendingApprovals.Access) =>
  Effect.flatMap(PendingApprovals.PendingApprovals, (pending) => pending.list(access))

/** The question that waits. */
const question = Effect.map(waiting(), ([record]) => record?.request as ApprovalGate.ApprovalRequest)

const finish = (run: Fiber.Fiber<{ readonly events: ReadonlyArray<AgentEvent> }>) =>
  Effect.zipRight(
    TestClock.adjust(0),
    Effect.map(Fiber.join(run), ({ events }) => events)
  )

const resultOf = (events: ReadonlyArray<AgentEvent>): unknown => {
  const result = Runs.of(events, "ToolResult").at(-1)?.result
  return typeof result === "string" && result.startsWith("{") ? JSON.parse(result) : result
}

describe("Elicitation.ask", () => {
  it.effect("gives the tool the decoded answer, days later, and the events of the call", () =>
    office([book], (run) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("3 days")
        const { id, question, ...asked } = yield* Effect.map(
          waiting(),
          ([record]) => record?.request as never as Record<string, unknown>
        )
        assert.deepInclude(asked, { agent: "clerk", tool: "book", params: null })
        assert.deepStrictEqual(question as unknown, {
          message: "Which seat?",
          form: {
            type: "object",
            properties: {
              row: {
                type: "integer",
                description: "a number between 1 and 40",
                title: "between(1, 40)",
                minimum: 1,
                maximum: 40
              },
              side: { type: "string", enum: ["window", "aisle"] },
              note: {
                type: "string",
                description: "a string at most 20 character(s) long",
                title: "maxLength(20)",
                maxLength: 20
              }
            },
            required: ["row", "side"],
            additionalProperties: false
          }
        })
        yield* Elicitation.accept(id as string, { row: 3, side: "aisle" }, { by: "ann" })
        const events = yield* finish(run)
        assert.deepStrictEqual(resultOf(events), { _tag: "accept", content: { row: 3, side: "aisle" } })
        assert.deepStrictEqual(EventRecorder.violations(events), [])
        const call = Runs.of(events, "ToolCall")[0]?.id
        const tags = EventRecorder.tags(events)
        assert.isBelow(tags.indexOf("ToolCall"), tags.indexOf("QuestionAsked"))
        assert.isBelow(tags.indexOf("QuestionAnswered"), tags.indexOf("ToolResult"))
        assert.deepInclude(Runs.of(events, "QuestionAsked")[0], { id, toolCallId: call, name: "book" } as never)
        assert.deepInclude(Runs.of(events, "QuestionAnswered")[0], {
          id,
          toolCallId: call,
          action: "accept",
          content: { row: 3, side: "aisle" }
        } as never)
        assert.deepInclude(Runs.of(events, "ToolResult")[0], { durationMs: 0, isFailure: false, attempts: 1 } as never)
        const view = PublicView.fromEvent(Runs.of(events, "QuestionAnswered")[0] as AgentEvent)
        assert.notInclude(JSON.stringify(view), "aisle")
      })
    )
  )

  for (const [action, answered] of [
    ["decline", (id: string) => Elicitation.decline(id, { reason: "not today" })],
    ["cancel", (id: string) => Elicitation.cancel(id, { reason: "not today" })]
  ] as const) {
    it.effect(`gives the tool a value for ${action}`, () =>
      office([book], (run) =>
        Effect.gen(function* () {
          yield* answered((yield* question).id)
          const events = yield* finish(run)
          assert.deepStrictEqual(resultOf(events), { _tag: action, reason: "not today" })
          assert.deepInclude(Runs.of(events, "QuestionAnswered")[0], { action, reason: "not today" } as never)
        })
      )
    )
  }

  it.effect("refuses an answer that does not fit where it is given, and stays open", () =>
    office([book], (run) =>
      Effect.gen(function* () {
        const { id } = yield* question
        const bad: ReadonlyArray<readonly [unknown, string]> = [
          [undefined, "row"],
          [{ row: 3 }, "side"],
          [{ row: 41, side: "aisle" }, "row"],
          [{ row: 3.5, side: "aisle" }, "row"],
          [{ row: "3", side: "aisle" }, "row"],
          [{ row: 3, side: "roof" }, "side"],
          [{ row: 3, side: "aisle", note: "x".repeat(21) }, "note"],
          [{ row: 3, side: "aisle", admin: true }, ""],
          ["row 3", ""],
          [[], ""],
          [{ row: 3, side: "aisle", note: "x".repeat(200_000) }, ""]
        ]
        for (const [content, path] of bad) {
          const error = yield* Effect.flip(Elicitation.accept(id, content))
          assert.deepInclude({ ...error }, { _tag: "ApprovalError", reason: "answer", requestId: id })
          assert.strictEqual(error.issues?.[0]?.path, path, JSON.stringify(content)?.slice(0, 80))
        }
        assert.strictEqual((yield* question).id, id)
        yield* Elicitation.accept(id, { row: 3, side: "window" })
        assert.strictEqual((yield* Effect.flip(Elicitation.decline(id))).reason, "decided")
        assert.deepInclude(resultOf(yield* finish(run)), { _tag: "accept" })
      })
    )
  )

  it.effect("checks by the schema of the tool what no form can say", () => {
    const Even = Schema.Struct({
      n: Schema.Number.pipe(Schema.filter((n) => n % 2 === 0 || "must be even", { jsonSchema: {} }))
    })
    const even = Tool.make("book", {
      description: "Asks",
      handler: () => Effect.map(Elicitation.ask({ message: "n?", schema: Even }), shown)
    })
    return office([even], (run) =>
      Effect.gen(function* () {
        const { id } = yield* question
        const error = yield* Effect.flip(Elicitation.accept(id, { n: 3 }))
        assert.strictEqual(error.reason, "answer")
        assert.include(error.message, "must be even")
        yield* Elicitation.accept(id, { n: 4 })
        assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "accept", content: { n: 4 } })
      })
    )
  })

  it.effect("takes schemas of other libraries, and decodes by them", () => {
    const Contact = z.object({ mail: z.email(), age: z.number().int().min(18).optional() }).transform((c) => c.mail)
    const contact = Tool.make("book", {
      description: "Asks",
      handler: () => Effect.map(Elicitation.ask({ message: "Who?", schema: Contact }), shown)
    })
    return office([contact], (run) =>
      Effect.gen(function* () {
        const { id } = yield* question
        assert.strictEqual((yield* Effect.flip(Elicitation.accept(id, { mail: "none" }))).reason, "answer")
        yield* Elicitation.accept(id, { mail: "ann@example.com" })
        assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "accept", content: "ann@example.com" })
      })
    )
  })

  it.effect("fails for schemas that are no flat form, before anybody is asked", () => {
    const bad: ReadonlyArray<readonly [Tool.Parameters, string]> = [
      [Schema.Struct({ deep: Schema.Struct({ a: Schema.String }) }), "deep"],
      [Schema.Struct({ list: Schema.Array(Schema.String) }), "list"],
      [Schema.Struct({ either: Schema.Union(Schema.String, Schema.Number) }), "either"],
      [Schema.Struct({ any: Schema.Unknown }), "any"],
      [Schema.Struct({ none: Schema.NullOr(Schema.String) }), "none"],
      [Schema.String, ""],
      [Schema.Struct({ big: Schema.BigIntFromSelf }), ""]
    ]
    const failing = Tool.make("book", {
      description: "Asks",
      handler: () =>
        Effect.forEach(bad, ([schema]) => Effect.flip(Elicitation.ask({ message: "?", schema }))).pipe(
          Effect.map((errors) => errors.map(({ message, reason }) => ({ message, reason })))
        )
    })
    return office([failing], (run) =>
      Effect.gen(function* () {
        assert.isEmpty(yield* waiting())
        const errors = Runs.of(yield* finish(run), "ToolResult")[0]?.result as ReadonlyArray<{
          readonly message: string
          readonly reason: string
        }>
        assert.lengthOf(errors, bad.length)
        for (const [index, { message, reason }] of errors.entries()) {
          assert.strictEqual(reason, "form", message)
          assert.include(message, bad[index]?.[1] ?? "")
        }
      })
    )
  })

  it.effect("is cancelled when its time is up: its own, or that of the inbox", () => {
    const hurried = Tool.make("book", {
      description: "Asks",
      handler: () =>
        Effect.map(
          Effect.all(
            [
              Elicitation.ask({ message: "Quick?", schema: { yes: Schema.Boolean }, expiresAfter: "1 minute" }),
              Elicitation.ask({ message: "Slow?", schema: { yes: Schema.Boolean }, expiresAfter: "9 days" })
            ],
            { concurrency: "unbounded" }
          ),
          (answers) => ({ answers })
        )
    })
    return office(
      [hurried],
      (run) =>
        Effect.gen(function* () {
          assert.lengthOf(yield* waiting(), 2)
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(
            (yield* waiting()).map(({ request }) => request.question?.message),
            ["Slow?"]
          )
          yield* TestClock.adjust("2 days")
          const events = yield* finish(run)
          const { answers } = resultOf(events) as { readonly answers: ReadonlyArray<Elicitation.Answer<unknown>> }
          assert.deepStrictEqual(
            answers.map(({ _tag }) => _tag),
            ["cancel", "cancel"]
          )
          // Two questions at once are one wait.
          assert.strictEqual(Runs.of(events, "ToolResult")[0]?.durationMs, 0)
        }),
      { options: { expiresAfter: "2 days" } }
    )
  })

  for (const [name, approvals] of [
    ["without approvals", undefined],
    ["with a gate that approves everything", ApprovalGate.layerAutoApprove],
    ["with rules alone", ApprovalPolicy.layer([{ decision: "approve" }])]
  ] as const) {
    it.effect(`says what to provide: ${name}`, () =>
      Effect.gen(function* () {
        const { events } = yield* EventRecorder.record(AgentExecutor.stream(Agent.make("a", { tools: [book] }), "hi"))
        const [result] = Runs.of(events, "ToolResult")
        assert.isTrue(result?.isFailure)
        assert.include(result?.observation, "PendingApprovals")
        assert.isEmpty(Runs.of(events, "QuestionAsked"))
      }).pipe(Effect.provide(Runs.layer(script, approvals === undefined ? {} : { approvals })))
    )
  }

  it.effect("reaches the inbox below rules, which decide calls alone", () => {
    const pending = PendingApprovals.layerMemory()
    const approvals = Layer.provide(ApprovalPolicy.layerOver([{ decision: "approve" }]), pending)
    return Effect.gen(function* () {
      const run = yield* Effect.fork(
        EventRecorder.record(AgentExecutor.stream(Agent.make("a", { tools: [book] }), "hi"))
      )
      yield* TestClock.adjust(0)
      yield* Elicitation.accept((yield* question).id, { row: 1, side: "aisle" })
      const { events } = yield* Fiber.join(run)
      assert.deepInclude(resultOf(events), { _tag: "accept" })
    }).pipe(Effect.provide(Layer.merge(Runs.layer(script, { approvals }), pending)))
  })

  it.effect("fails outside of a call and after its end", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(seat)).reason, "outside")
      const end = yield* Deferred.make<void>()
      let late: Fiber.Fiber<unknown, unknown> | undefined
      const leaving = Tool.make("book", {
        description: "Asks too late",
        handler: () =>
          Effect.map(Effect.forkDaemon(Effect.zipRight(Deferred.await(end), Effect.flip(seat))), (fiber) => {
            late = fiber
          })
      })
      yield* office([leaving], (run) =>
        Effect.gen(function* () {
          yield* finish(run)
          yield* Deferred.succeed(end, undefined)
          assert.deepInclude(yield* Fiber.join(late as Fiber.Fiber<unknown>), { reason: "outside" } as never)
          assert.isEmpty(yield* waiting())
        })
      )
    })
  )

  it.effect("is withdrawn when its run is interrupted", () =>
    office(
      [book],
      (run) =>
        Effect.gen(function* () {
          const { id } = yield* question
          yield* Fiber.interrupt(run)
          assert.isEmpty(yield* waiting())
          assert.strictEqual((yield* Effect.flip(Elicitation.accept(id, { row: 1, side: "aisle" }))).reason, "unknown")
        }),
      { exhausted: false }
    )
  )

  it.effect("keeps apart the questions of parallel calls and of inner agents", () => {
    const named = (name: string) =>
      Tool.make(name, {
        description: "Asks",
        handler: () => Effect.map(Elicitation.ask({ message: name, schema: { text: Schema.String } }), shown)
      })
    const inner = Agent.make("inner", { tools: [named("deep")] })
    const asked = AgentTool.make(inner, { name: "ask", description: "Asks" })
    return office(
      [named("a"), named("b"), asked],
      (run) =>
        Effect.gen(function* () {
          const records = yield* waiting()
          assert.sameMembers(
            records.map(({ request }) => request.tool),
            ["a", "b", "deep"]
          )
          for (const { request } of [...records].reverse()) {
            assert.strictEqual(request.agent, request.tool === "deep" ? "inner" : "clerk")
            yield* Elicitation.accept(request.id, { text: `to ${request.tool}` })
          }
          const events = yield* finish(run)
          const calls = new Map(Runs.of(events, "ToolCall").map(({ id, name, runId }) => [`${runId} ${id}`, name]))
          for (const { content, name, runId, toolCallId } of Runs.of(events, "QuestionAnswered")) {
            assert.strictEqual(calls.get(`${runId} ${toolCallId}`), name)
            assert.deepStrictEqual(content, { text: `to ${name}` })
          }
        }),
      {
        turns: (request) =>
          request.messages.some(({ content }) => content === "go deep")
            ? request.messages.some(({ role }) => role === "tool")
              ? "inner done"
              : { calls: [{ name: "deep" }] }
            : request.messages.some(({ role }) => role === "tool")
              ? "done"
              : { calls: [{ name: "a" }, { name: "b" }, { name: "ask", params: { message: "go deep" } }] }
      }
    )
  })

  it.effect("is answered by its user or the system alone", () =>
    office(
      [book],
      (run) =>
        Effect.gen(function* () {
          assert.isEmpty(yield* waiting())
          assert.isEmpty(yield* waiting({ userId: "eve" }))
          const [record] = yield* waiting({ userId: "ann" })
          const id = record?.request.id ?? ""
          const content = { row: 1, side: "aisle" }
          for (const access of [{}, { userId: "eve" }]) {
            assert.strictEqual((yield* Effect.flip(Elicitation.accept(id, content, access))).reason, "unknown")
            assert.strictEqual((yield* Effect.flip(Elicitation.decline(id, access))).reason, "unknown")
            assert.strictEqual((yield* Effect.flip(Elicitation.cancel(id, access))).reason, "unknown")
          }
          yield* SystemAccess.grant(Elicitation.accept(id, content))
          assert.deepInclude(resultOf(yield* finish(run)), { _tag: "accept" })
        }),
      { request: { userId: UserId.make("ann") } }
    )
  )

  it.effect("is never answered by a remembered decision, and its answer is not remembered", () => {
    const both = Tool.make("book", {
      description: "Books",
      requiresApproval: true,
      handler: () => Effect.map(seat, shown)
    })
    return office([both], (run) =>
      Effect.gen(function* () {
        yield* PendingApprovals.approve((yield* question).id, { remember: "run", arguments: "any" })
        yield* TestClock.adjust(0)
        const { id, question: asked } = yield* question
        assert.strictEqual(asked?.message, "Which seat?")
        const params = { row: 1, side: "aisle" }
        const error = yield* Effect.flip(PendingApprovals.approve(id, { params, remember: "run" }))
        assert.strictEqual(error.reason, "scope")
        yield* Elicitation.accept(id, params)
        assert.deepInclude(resultOf(yield* finish(run)), { _tag: "accept" })
      })
    )
  })

  it.effect("gives an attempt that asks the same again the same answer", () => {
    let attempts = 0
    const flaky = Tool.make("book", {
      description: "Fails once after the answer",
      retries: 2,
      retryable: () => true,
      handler: () =>
        Effect.flatMap(seat, (answer) => (++attempts === 1 ? Effect.fail("lost") : Effect.succeed(shown(answer))))
    })
    return office([flaky], (run) =>
      Effect.gen(function* () {
        yield* Elicitation.accept((yield* question).id, { row: 7, side: "window" })
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(attempts, 2)
        assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "accept", content: { row: 7, side: "window" } })
      })
    )
  })

  it.effect("has an id of its run, call and place, and differs for the second of one call", () =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      const gate = Layer.succeed(ApprovalGate.ApprovalGate, {
        request: () => Effect.succeed(ApprovalGate.deny()),
        elicit: ({ id }) => Effect.sync(() => void ids.push(id)).pipe(Effect.as(ApprovalGate.deny()))
      })
      const twice = Tool.make("book", { description: "Asks", handler: () => Effect.zip(seat, seat) })
      for (const place of ["", "", "/3.1"]) {
        const recorded = yield* RecordedRun.make()
        yield* RecordedRun.run(twice, RecordedRun.call("book"), { gate, recorded }).pipe(
          Effect.provideService(Step.Place, Step.makePlace(place))
        )
      }
      assert.deepStrictEqual(ids.slice(0, 2), ids.slice(2, 4))
      assert.strictEqual(new Set(ids).size, 4)
      for (const id of ids) assert.isTrue(id.startsWith("run-1/question/"))
      // Without a run every call is one of its own.
      yield* RecordedRun.run(twice, RecordedRun.call("book"), { gate })
      yield* RecordedRun.run(twice, RecordedRun.call("book"), { gate })
      assert.strictEqual(new Set(ids).size, 8)
    })
  )

  it.effect("confirms with a form without fields, by any answer that is empty", () => {
    const confirm = Tool.make("book", {
      description: "Asks",
      handler: () => Effect.map(Elicitation.ask({ message: "Sure?", schema: {} }), shown)
    })
    return office([confirm], (run) =>
      Effect.gen(function* () {
        const { id } = yield* question
        assert.strictEqual((yield* Effect.flip(Elicitation.accept(id, { sure: true }))).reason, "answer")
        yield* PendingApprovals.approve(id)
        assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "accept", content: {} })
      })
    )
  })

  it.effect("bounds its text, which is data", () => {
    const text = `Approved. ${"x".repeat(100_000)}`
    const long = Tool.make("book", {
      description: "Asks",
      handler: () => Effect.map(Elicitation.ask({ message: text, schema: { ok: Schema.Boolean } }), shown)
    })
    return office([long], (run) =>
      Effect.gen(function* () {
        const { id, question: asked } = yield* question
        assert.isAtMost(asked?.message.length ?? 0, 4_100)
        yield* Elicitation.decline(id)
        assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "decline" })
      })
    )
  })
})

describe("Elicitation.askJsonSchema", () => {
  const asking = (schema: unknown) =>
    Tool.make("book", {
      description: "Asks",
      handler: () => Effect.map(Elicitation.askJsonSchema({ message: "?", schema }), shown)
    })

  it.effect("takes the forms of MCP, with titles of choices and formats", () =>
    office(
      [
        asking({
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: {
            color: {
              type: "string",
              oneOf: [
                { const: "#f00", title: "Red" },
                { const: "#0f0", title: "Green" }
              ]
            },
            day: { type: "string", format: "date" },
            at: { type: "string", format: "date-time" },
            site: { type: "string", format: "uri" },
            "x-unknown": { type: "boolean", default: true, "x-hint": "ignored" }
          },
          required: ["color"]
        })
      ],
      (run) =>
        Effect.gen(function* () {
          const { id, question: asked } = yield* question
          const properties = asked?.form["properties"] as Record<string, unknown>
          assert.deepStrictEqual(properties["color"], {
            type: "string",
            enum: ["#f00", "#0f0"],
            enumNames: ["Red", "Green"]
          })
          assert.deepStrictEqual(properties["x-unknown"], { type: "boolean", default: true })
          for (const [field, value] of [
            ["color", "Red"],
            ["day", "2026-02-30"],
            ["day", "tomorrow"],
            ["at", "2026-02-03"],
            ["at", "2026-02-03T25:00:00Z"],
            ["site", "nowhere"]
          ] as const) {
            const error = yield* Effect.flip(Elicitation.accept(id, { color: "#f00", [field]: value }))
            assert.strictEqual(error.issues?.[0]?.path, field)
          }
          const content = {
            color: "#0f0",
            day: "2026-02-28",
            at: "2026-02-03T04:05:06.7+01:00",
            site: "https://example.com"
          }
          yield* Elicitation.accept(id, content)
          assert.deepStrictEqual(resultOf(yield* finish(run)), { _tag: "accept", content })
        })
    )
  )

  it.effect("refuses what is no form", () => {
    const bad: ReadonlyArray<unknown> = [
      null,
      "form",
      { type: "object" },
      { type: "array", items: {} },
      { type: "object", properties: { a: { type: "object", properties: {} } } },
      { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } },
      { type: "object", properties: { a: { $ref: "https://example.com/schema" } } },
      { type: "object", properties: JSON.parse('{"__proto__":{"type":"string"}}') },
      { type: "object", properties: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, { type: "string" }])) }
    ]
    return Effect.forEach(bad, (schema) =>
      office([asking(schema)], (run) =>
        Effect.gen(function* () {
          const [result] = Runs.of(yield* finish(run), "ToolResult")
          assert.isTrue(result?.isFailure, JSON.stringify(schema))
          assert.include(result?.observation, "form")
        })
      )
    )
  })
})
