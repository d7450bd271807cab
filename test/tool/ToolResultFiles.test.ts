/** Results of tools that have files. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agents from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Content from "../../src/content/Content.js"
import * as ToolContent from "../../src/content/ToolContent.js"
import * as ToolFiles from "../../src/content/ToolFiles.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import { Outcome } from "../../src/tool/ToolRunner.js"
import * as Runs from "../support/Runs.js"
import { call, run } from "./RecordedRun.js"

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const png = bytesOf("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")
const image = Effect.runSync(Content.image(png, { fileName: "chart.png" }))
const page = Effect.runSync(Content.file("https://example.com/report.pdf"))

const returning = (value: unknown, success?: Schema.Schema<any>) =>
  Tool.make("draw", { description: "Draws", success, handler: () => Effect.succeed(value) })
const outcomeOf = (value: unknown, success?: Schema.Schema<any>) => run(returning(value, success), call("draw", {}))
const shownBy = ({ files }: Outcome) => ToolFiles.read(ToolFiles.optionsOf(files))

const note = "[chart.png, image/png, 20 bytes]"
const part = { type: "file", mediaType: "image/png", data: png, fileName: "chart.png" }

describe("a result with files", () => {
  it.effect.each([
    ["a file", image, note],
    ["texts and files", [Content.text("A"), image, Content.text("B")], `A\n\nB\n${note}`],
    ["files alone", ToolContent.make([image]), note],
    ["a text", ToolContent.make([image], "The chart"), `The chart\n${note}`]
  ] as const)("is text with the names of the files: %s", ([, value, expected]) =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(value)
      assert.strictEqual(outcome.result, expected)
      assert.strictEqual(outcome.observation, expected)
      assert.deepStrictEqual(shownBy(outcome), [part] as never)
    })
  )

  it.effect("keeps data beside the files as data", () =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(ToolContent.make([image, page], { sum: 3 }))
      assert.deepStrictEqual(outcome.result, { sum: 3 })
      const address = "https://example.com/report.pdf"
      assert.strictEqual(outcome.observation, `{"sum":3}\n${note}\n[${address}, application/pdf]`)
      assert.lengthOf(shownBy(outcome), 2)
    })
  )

  it.effect("is small when it is stored: references without bytes", () =>
    Effect.gen(function* () {
      const large = Effect.runSync(Content.image(Uint8Array.from({ length: 100_000 }, (_, i) => png[i] ?? 0)))
      const outcome = yield* outcomeOf(large)
      const stored = JSON.stringify(yield* Schema.encode(Outcome)(outcome))
      assert.isBelow(stored.length, 600)
      const read = yield* Schema.decodeUnknown(Outcome)(JSON.parse(stored))
      assert.deepStrictEqual(read.files, outcome.files)
      assert.deepStrictEqual(shownBy(read), [], "the text names what is not at hand")
    })
  )

  it.effect("fits a schema alone, in a union and as a file", () =>
    Effect.gen(function* () {
      const { ToolContent: schema } = ToolContent
      const union = Schema.Union(schema, Schema.Struct({ none: Schema.Literal(true) }))
      for (const [value, success] of [
        [ToolContent.make([image]), schema],
        [ToolContent.make([image]), union],
        [image, Content.File],
        [[Content.text("A"), image], Schema.Array(Content.Content)]
      ] as const) {
        assert.deepStrictEqual(shownBy(yield* outcomeOf(value, success as never)), [part] as never)
      }
      assert.deepStrictEqual((yield* outcomeOf({ none: true }, union as never)).result, { none: true })
      assert.isTrue((yield* outcomeOf(image, schema as never)).isFailure)
    })
  )

  it.effect.each([
    ["bytes of another type", { ...image, mediaType: "application/pdf" }, "are image/png, not application/pdf"],
    ["a malformed type", { ...image, mediaType: "picture" }, "a media type is malformed"],
    ["a name with a path", { ...image, fileName: "../chart.png" }, "the name of a file is malformed"],
    ["an address that is no web address", { ...page, data: new URL("file:///etc/passwd") }, "not an http or https URL"],
    ["too many files", Array.from({ length: 33 }, () => image), "the result has 33 files"],
    [
      "too many bytes",
      { ...image, mediaType: "image/*", data: new Uint8Array(20 * 1_048_576 + 1) },
      "have 20971521 bytes"
    ]
  ] as const)("fails the call, for the model: %s", ([, value, message]) =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(value)
      assert.isTrue(outcome.isFailure)
      assert.strictEqual(outcome.error?.tag, "ToolExecutionError")
      assert.include(outcome.observation, message)
      assert.isUndefined(outcome.files)
    })
  )

  it.effect("reaches the next call of the model, events by reference, and the next run of the process", () =>
    Effect.gen(function* () {
      const agent = Agent.make("artist", { tools: [returning(image)] })
      const { events, response } = yield* Effect.gen(function* () {
        const { events } = yield* Runs.record(Agents.stream(agent, { input: "Draw" }))
        return { events, response: AgentResponse.fromEvents(events) }
      })
      const [result] = Runs.of(events, "ToolResult")
      assert.deepStrictEqual(result?.files?.[0]?.mediaType, "image/png")
      assert.isBelow(JSON.stringify(events).length, 5000)
      const second = (yield* TestModel.requests)[1]
      const parts = (messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }>) =>
        messages.flatMap(({ content, role }) => (role === "tool" ? (content as ReadonlyArray<any>) : []))
      for (const messages of [second?.messages ?? [], AgentResponse.toMessages(response)]) {
        assert.deepStrictEqual(parts(messages).flatMap(ToolFiles.read), [part] as never)
      }
    }).pipe(Effect.provide(Runs.layer([{ calls: [{ name: "draw" }] }, "Done"])))
  )
})
