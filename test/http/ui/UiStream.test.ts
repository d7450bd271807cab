import { assert, describe, it } from "@effect/vitest"
import { readUIMessageStream as read7, uiMessageChunkSchema as schema7, type UIMessageChunk } from "ai"
import { readUIMessageStream as read6, uiMessageChunkSchema as schema6 } from "ai-v6"
import * as FastCheck from "effect/FastCheck"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as PublicView from "../../../src/domain/PublicView.js"
import { encode, type UiChunk } from "../../../src/http/ui/UiChunk.js"
import { UiStream } from "../../../src/http/ui/UiStream.js"
import * as RunEvents from "../../support/RunEvents.js"

const RUN = "run-1"
const at = (bodies: ReadonlyArray<Record<string, unknown>>) => RunEvents.of(RUN, bodies)

const chunksOf = (events: ReadonlyArray<AgentEvent>, options = {}): ReadonlyArray<UiChunk> => {
  const stream = new UiStream({ runId: RUN, ...options })
  const chunks = events.flatMap((event) => {
    const shown = PublicView.fromEvent(event, { reasoning: true, toolResults: true })
    return shown === undefined ? [] : stream.push(shown)
  })
  return (stream.waiting.length > 0 && !stream.hasEnded ? [...chunks, ...stream.pause()] : chunks).map((chunk) =>
    JSON.parse(encode(chunk))
  )
}

/** The message that both versions of the client make of chunks, each of which they must take. */
const messageOf = async (chunks: ReadonlyArray<UiChunk>): Promise<ReadonlyArray<any>> => {
  const messages: Array<unknown> = []
  for (const [schema, read] of [
    [schema7, read7],
    [schema6, read6]
  ] as const) {
    for (const chunk of chunks) {
      if (chunk.type === "reset-step" && schema === schema6) continue
      const result = await (schema() as any).validate(chunk)
      assert.isTrue(result.success, `${JSON.stringify(chunk)}: ${String(result.error)}`)
    }
    let last: unknown
    const stream = new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        for (const chunk of chunks) controller.enqueue(structuredClone(chunk) as UIMessageChunk)
        controller.close()
      }
    })
    const fail = (error: unknown) => {
      if (!chunks.some(({ type }) => type === "error")) throw error
    }
    for await (const message of (read as any)({ stream, onError: fail })) last = message
    messages.push(last)
  }
  return messages
}

const step = (number: number) => ({ _tag: "StepStarted", step: number })
const finished = { _tag: "Finished", reason: "completed", durationMs: 5 }
const typesOf = (message: any) => message.parts.map(({ type }: any) => type)

describe("UiStream", () => {
  it("makes a message of an answer in steps", async () => {
    const call = { step: 0, id: "c1", name: "look" }
    const chunks = chunksOf(
      at([
        { _tag: "Started", input: "hi", strategy: "s" },
        step(0),
        { _tag: "ReasoningDelta", text: "hm" },
        { _tag: "TextDelta", text: "let me " },
        { _tag: "TextDelta", text: "look" },
        { _tag: "TextRetracted", step: 0 },
        { _tag: "ToolCall", ...call, params: { at: "x" } },
        {
          _tag: "ToolResult",
          ...call,
          isFailure: false,
          result: 7,
          observation: "7",
          truncated: false,
          durationMs: 1,
          attempts: 1
        },
        step(1),
        { _tag: "TextDelta", text: "seven" },
        { _tag: "Message", text: "seven" },
        finished
      ])
    )
    for (const message of await messageOf(chunks)) {
      assert.strictEqual(message.id, RUN)
      assert.deepStrictEqual(typesOf(message), ["step-start", "reasoning", "text", "tool-look", "step-start", "text"])
      assert.deepInclude(message.parts[3], { state: "output-available", input: { at: "x" }, output: 7 })
      assert.strictEqual(message.parts[5].text, "seven")
    }
  })

  it("shows the sources that results of tools name, each once", async () => {
    const found = (id: string, sources: unknown) => [
      { _tag: "ToolCall", step: 0, id, name: "search_documents", params: { query: "trains" } },
      {
        ...{ _tag: "ToolResult", step: 0, id, name: "search_documents", isFailure: false, result: { sources } },
        ...{ observation: "", truncated: false, durationMs: 1, attempts: 1 }
      }
    ]
    const page = { cite: "[1]", title: "Trains", source: "https://trains.example/a", text: "…" }
    const file = { cite: "[2]", title: "Hotels", source: "hotels.pdf", place: "page 3", text: "…" }
    const script = { cite: "[3]", title: "x", source: "javascript:alert(1)", text: "" }
    const events = [
      step(0),
      ...found("c1", [page, file]),
      ...found("c2", [page, script]),
      ...found("c3", [{ cite: 4 }, "rubbish"]),
      ...found("c4", "none"),
      { _tag: "Message", text: "By train [1]" },
      finished
    ]
    for (const message of await messageOf(chunksOf(at(events)))) {
      assert.deepStrictEqual(
        JSON.parse(JSON.stringify(message.parts)).filter(({ type }: { type: string }) => type.startsWith("source-")),
        [
          { type: "source-url", sourceId: "1", url: page.source, title: "Trains" },
          { type: "source-document", sourceId: "2", mediaType: "text/plain", title: "Hotels", filename: "hotels.pdf" },
          { type: "source-document", sourceId: "3", mediaType: "text/plain", title: "x", filename: script.source }
        ]
      )
    }
  })

  it("marks a retracted text, or removes it, and shows the answer that holds whole", async () => {
    const events = at([
      step(0),
      { _tag: "TextDelta", text: "my card is 1234" },
      { _tag: "Message", text: "my card is hidden" },
      finished
    ])
    for (const message of await messageOf(chunksOf(events))) {
      assert.deepStrictEqual(typesOf(message), ["step-start", "text", "data-retracted", "text"])
    }
    const [reset] = await messageOf(chunksOf(events, { resetSteps: true }))
    assert.deepStrictEqual(typesOf(reset), ["step-start", "text"])
    assert.strictEqual(reset.parts[1].text, "my card is hidden")
  })

  it("tells failures without their inner reasons", () => {
    const error = { tag: "SqlError", message: "password of db" }
    const chunks = chunksOf(at([step(0), { _tag: "Error", error, interrupted: false }]))
    assert.deepInclude(chunks, { type: "error", errorText: "The run failed" })
    assert.notInclude(JSON.stringify(chunks), "password")
    const stopped = chunksOf(at([step(0), { _tag: "Error", error, interrupted: true }]))
    assert.strictEqual(stopped.at(-1)?.type, "abort")
  })

  it("is taken by both clients, whatever a run emits", async () => {
    await FastCheck.assert(
      FastCheck.asyncProperty(RunEvents.any(RUN), async (events) => {
        await messageOf(chunksOf(events))
      }),
      { numRuns: 60, seed: 3 }
    )
  })
})
