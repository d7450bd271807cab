import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import * as ErrorCode from "../../src/domain/ErrorCode.js"
import type { RunId } from "../../src/domain/Ids.js"
import * as PublicView from "../../src/domain/PublicView.js"
import { LlmAuthenticationError } from "../../src/llm/model/LlmError.js"

const meta = { runId: "run-1" as RunId, parentRunId: "run-0" as RunId, agent: "clerk", seq: 3, at: 7 }
const error = { tag: "LlmTimeoutError", code: "LEX_ERR_LLM_106", message: "message", hint: "hint" }

/** One event of each kind with all its fields. */
const whole: { readonly [T in AgentEvent.Tag]: Required<Omit<AgentEvent.Of<T>, keyof AgentEvent.Meta>> } = {
  Started: {
    _tag: "Started",
    input: "input",
    strategy: "strategy",
    provider: "provider",
    model: "model",
    sessionId: "sessionId",
    userId: "userId",
    system: true
  },
  InputChecked: { _tag: "InputChecked", input: "input" },
  Steered: { _tag: "Steered", text: "text" },
  StepStarted: { _tag: "StepStarted", step: 1, name: "name" },
  TextDelta: { _tag: "TextDelta", text: "text" },
  TextRetracted: { _tag: "TextRetracted", step: 1 },
  ReasoningDelta: { _tag: "ReasoningDelta", text: "text" },
  Thought: { _tag: "Thought", step: 1, text: "text" },
  Plan: {
    _tag: "Plan",
    steps: [{ id: "id", description: "description", tool: "tool", dependsOn: ["dependsOn"], status: "pending" }]
  },
  ToolCall: {
    _tag: "ToolCall",
    step: 1,
    id: "id",
    name: "name",
    params: { city: "city", pin: "pin", deep: [{ pin: "pin", api_key: "api_key" }] },
    secret: ["pin"],
    clientTool: true
  },
  ToolResult: {
    _tag: "ToolResult",
    step: 1,
    id: "id",
    name: "name",
    isFailure: false,
    result: { value: "value", password: "password" },
    observation: "observation",
    truncated: false,
    durationMs: 5,
    attempts: 1,
    error,
    files: [{ mediaType: "image/png", data: { hash: "hash", size: 1, mediaType: "image/png" } }]
  },
  ApprovalRequested: {
    _tag: "ApprovalRequested",
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    params: { city: "city", pin: "pin" },
    secret: ["pin"],
    reason: "reason"
  },
  ApprovalResolved: { _tag: "ApprovalResolved", id: "id", toolCallId: "toolCallId", approved: true, reason: "reason" },
  QuestionAsked: {
    _tag: "QuestionAsked",
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    message: "Which seat? api_key=abcdefgh",
    form: { properties: { row: { type: "integer", description: "api_key=abcdefgh" } } },
    clientTool: true,
    declared: true,
    params: { token: "its own" }
  },
  QuestionAnswered: {
    _tag: "QuestionAnswered",
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    action: "accept",
    content: { city: "Ghent" },
    reason: "reason"
  },
  Delegated: {
    _tag: "Delegated",
    toAgent: "toAgent",
    childRunId: "childRunId" as RunId,
    message: "message",
    handoff: true
  },
  Critique: { _tag: "Critique", step: 1, text: "text", accepted: true, score: 1 },
  NodeFinished: { _tag: "NodeFinished", graph: "graph", node: "node", step: 1, update: { text: "text" } },
  UsageReported: {
    _tag: "UsageReported",
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    model: "model",
    provider: "provider",
    role: "role",
    costUsd: 1,
    finishReason: "finishReason",
    cutOff: true
  },
  GuardTriggered: { _tag: "GuardTriggered", stage: "input", guard: "guard", action: "block", reason: "reason" },
  ToolCompensated: {
    _tag: "ToolCompensated",
    step: 1,
    id: "id",
    name: "name",
    callRunId: "callRunId" as RunId,
    isFailure: true,
    attempts: 2,
    durationMs: 3,
    error
  },
  ProviderToolUsed: {
    _tag: "ProviderToolUsed",
    step: 1,
    id: "p",
    name: "web_search",
    params: { query: "api_key=abcdefgh" },
    result: { city: "Ghent" },
    isFailure: false
  },
  ToolProgress: {
    _tag: "ToolProgress",
    step: 1,
    id: "c",
    name: "t",
    message: "Reading with api_key=abcdefgh",
    done: 1,
    total: 3,
    partial: { city: "Ghent" }
  },
  NodeEmitted: {
    _tag: "NodeEmitted",
    graph: "g",
    node: "n",
    step: 1,
    value: { city: "Ghent", password: "secret", key: "api_key=abcdefgh" }
  },
  FilesKept: { _tag: "FilesKept", files: [{ mediaType: "image/*", data: { url: "https://example.com/a" } }] },
  MemoryRecalled: { _tag: "MemoryRecalled", source: "session", count: 1, tokens: 2 },
  AnswerRejected: { _tag: "AnswerRejected", step: 2, message: "message" },
  Degraded: { _tag: "Degraded", stage: "stage", error },
  Message: { _tag: "Message", text: "text", output: { answer: "answer" } },
  Error: { _tag: "Error", error, interrupted: false, text: "text" },
  Finished: { _tag: "Finished", reason: "completed", sessionId: "sessionId", durationMs: 5 }
}

const tags = Object.keys(whole) as ReadonlyArray<AgentEvent.Tag>
const eventOf = (tag: AgentEvent.Tag): AgentEvent.AgentEvent => ({ ...whole[tag], ...meta }) as never

const REDACTED = "[REDACTED]"
const seen = { tag: "LlmTimeoutError", code: "LEX_ERR_LLM_106", message: "The model took too long" }

/** What is left of each, but for the fields of every event. */
const views: { readonly [T in AgentEvent.Tag]: object | undefined } = {
  Started: { input: "input", strategy: "strategy", sessionId: "sessionId" },
  InputChecked: { input: "input" },
  Steered: { text: "text" },
  StepStarted: { step: 1, name: "name" },
  TextDelta: { text: "text" },
  TextRetracted: { step: 1 },
  ReasoningDelta: undefined,
  Thought: undefined,
  Plan: whole.Plan,
  ToolCall: {
    step: 1,
    id: "id",
    name: "name",
    params: { city: "city", pin: REDACTED, deep: [{ pin: REDACTED, api_key: REDACTED }] },
    secret: ["pin"],
    clientTool: true
  },
  ToolResult: {
    step: 1,
    id: "id",
    name: "name",
    isFailure: false,
    result: null,
    observation: "",
    truncated: false,
    durationMs: 5,
    attempts: 1,
    error: seen,
    files: undefined
  },
  ApprovalRequested: {
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    params: { city: "city", pin: REDACTED },
    secret: ["pin"],
    reason: "reason"
  },
  ApprovalResolved: { id: "id", toolCallId: "toolCallId", approved: true, reason: "reason" },
  QuestionAsked: {
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    message: `Which seat? api_key=${REDACTED}`,
    form: { properties: { row: { type: "integer", description: `api_key=${REDACTED}` } } },
    clientTool: true,
    declared: true,
    params: { token: "its own" }
  },
  QuestionAnswered: {
    id: "id",
    toolCallId: "toolCallId",
    name: "name",
    action: "accept",
    content: undefined,
    reason: "reason"
  },
  Delegated: { toAgent: "toAgent", childRunId: "childRunId", message: "", handoff: true },
  Critique: undefined,
  NodeFinished: undefined,
  UsageReported: { usage: whole.UsageReported.usage, finishReason: "finishReason", cutOff: true },
  GuardTriggered: { stage: "input", guard: "", action: "block" },
  ToolCompensated: {
    step: 1,
    id: "id",
    name: "name",
    callRunId: "callRunId",
    isFailure: true,
    attempts: 2,
    durationMs: 3,
    error: seen
  },
  ProviderToolUsed: {
    step: 1,
    id: "p",
    name: "web_search",
    params: { query: `api_key=${REDACTED}` },
    result: null,
    isFailure: false
  },
  ToolProgress: {
    step: 1,
    id: "c",
    name: "t",
    message: `Reading with api_key=${REDACTED}`,
    done: 1,
    total: 3,
    partial: undefined
  },
  NodeEmitted: {
    graph: "g",
    node: "n",
    step: 1,
    value: { city: "Ghent", password: REDACTED, key: `api_key=${REDACTED}` }
  },
  FilesKept: { files: [{ mediaType: "image/*", data: { url: "https://example.com/a" } }] },
  MemoryRecalled: { source: "session", count: 1 },
  AnswerRejected: { step: 2, message: "" },
  Degraded: undefined,
  Message: { text: "text", output: { answer: "answer" } },
  Error: { error: seen, interrupted: false, text: "text" },
  Finished: { reason: "completed", sessionId: "sessionId", durationMs: 5 }
}

/** Texts by the names of the fields they stand in. */
const planted = (value: unknown, path: string): unknown => {
  if (typeof value === "string") return `canary<${path}>`
  if (Array.isArray(value)) return value.map((item) => planted(item, path))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === "_tag" || key === "secret" ? member : planted(member, path === "" ? key : `${path}.${key}`)
    ])
  )
}

const canaries = (value: unknown): ReadonlySet<string> =>
  new Set(Array.from((JSON.stringify(value) ?? "").matchAll(/canary<([^>]*)>/g), ([, path]) => path ?? ""))

/** Where texts of the outside may be seen. */
const open: { readonly [T in AgentEvent.Tag]?: ReadonlyArray<string> } = {
  Started: ["input", "strategy", "sessionId"],
  InputChecked: ["input"],
  Steered: ["text"],
  StepStarted: ["name"],
  TextDelta: ["text"],
  Plan: ["steps.id", "steps.description", "steps.tool", "steps.dependsOn", "steps.status"],
  ToolCall: ["id", "name", "params.city"],
  ToolResult: ["id", "name"],
  ApprovalRequested: ["id", "toolCallId", "name", "params.city", "reason"],
  ApprovalResolved: ["id", "toolCallId", "reason"],
  QuestionAsked: [
    ...["id", "toolCallId", "name", "message", "form.properties.row.type", "form.properties.row.description"],
    "params.token"
  ],
  QuestionAnswered: ["id", "toolCallId", "name", "reason", "action"],
  Delegated: ["toAgent", "childRunId"],
  UsageReported: ["finishReason"],
  GuardTriggered: ["stage", "action"],
  ToolCompensated: ["id", "name", "callRunId"],
  ProviderToolUsed: ["id", "name", "params.query"],
  ToolProgress: ["id", "name", "message"],
  NodeEmitted: ["graph", "node", "value.city", "value.key"],
  FilesKept: ["files.mediaType", "files.fileName", "files.data.url", "files.data.hash", "files.data.mediaType"],
  MemoryRecalled: ["source"],
  Message: ["text", "output.answer"],
  Error: ["text"],
  Finished: ["reason", "sessionId"]
}
const ofEvery = ["runId", "parentRunId", "agent"]

describe("PublicView", () => {
  it("has a rule for every event", () => {
    const members = AgentEvent.AgentEvent.members.map((member) => member.fields._tag.literals[0])
    assert.deepStrictEqual([...members].sort(), [...tags].sort())
    for (const member of AgentEvent.AgentEvent.members) {
      // The place in a durable run is nobody's business, so no event of the table has one.
      const fields = Object.keys(member.fields).filter((name) => !(name in meta) && name !== "place")
      assert.sameMembers(Object.keys(whole[member.fields._tag.literals[0]]), fields)
    }
  })

  for (const tag of tags) {
    it(`shows ${tag} as the table says, as a valid event`, () => {
      const view = PublicView.fromEvent(eventOf(tag))
      const expected = views[tag]
      assert.deepStrictEqual(view as unknown, expected === undefined ? undefined : { _tag: tag, ...meta, ...expected })
      if (view !== undefined) assert.isTrue(Schema.is(AgentEvent.AgentEvent)(view))
    })
  }

  it("shows only public texts, whatever the fields contain", () => {
    for (const tag of tags) {
      const event = planted(eventOf(tag), "") as AgentEvent.AgentEvent
      // What the schema does not know may be anything.
      const view = PublicView.fromEvent(Object.assign({}, event, { more: "canary<more>" }))
      const allowed = view === undefined ? [] : [...ofEvery, ...(open[tag] ?? [])]
      assert.sameMembers(
        [...canaries(view)].filter((path) => !allowed.includes(path)),
        [],
        tag
      )
    }
    const everything = Arbitrary.make(AgentEvent.AgentEvent)
    FastCheck.assert(
      FastCheck.property(everything, (given) => {
        const event = planted(given, "") as AgentEvent.AgentEvent
        const view = PublicView.fromEvent(event)
        const allowed = [...ofEvery, ...(open[given._tag] ?? [])]
        // Arguments and outputs are any value: their own names stand below those of their fields.
        const isAllowed = (path: string) =>
          allowed.includes(path) || /^(?:params|output|value|form)(?:\.|$)/.test(path) || path.startsWith("steps.")
        assert.deepStrictEqual(
          [...canaries(view)].filter((path) => !isAllowed(path)),
          [],
          given._tag
        )
      })
    )
  })

  it("hides what looks like a key in the URL of a file", () => {
    const data = { url: "https://a.example/?api_key=abcdefgh" }
    const event = { ...eventOf("FilesKept"), files: [{ mediaType: "image/*", data }] } as AgentEvent.AgentEvent
    assert.deepInclude(PublicView.fromEvent(event), {
      files: [{ mediaType: "image/*", data: { url: `https://a.example/?api_key=${REDACTED}` } }]
    })
  })

  it("hides arguments as a whole if they are unparsed and some are secret", () => {
    const view = (params: unknown, secret?: ReadonlyArray<string>) =>
      PublicView.fromEvent({ ...eventOf("ToolCall"), params, secret } as AgentEvent.AgentEvent)
    assert.deepInclude(view('{"pin": "1234"}', ["pin"]), { params: REDACTED })
    assert.deepInclude(view('{"city": "Ghent"}'), { params: '{"city": "Ghent"}' })
    assert.deepInclude(view({ url: "https://a.example/?api_key=abcdefgh" }), {
      params: { url: `https://a.example/?api_key=${REDACTED}` }
    })
  })

  it("shows reasoning and results on request, never those of failed calls", () => {
    assert.deepInclude(PublicView.fromEvent(eventOf("Thought"), { reasoning: true }), { text: "text" })
    assert.deepInclude(PublicView.fromEvent(eventOf("ToolResult"), { toolResults: true }), {
      result: { value: "value", password: REDACTED },
      observation: "observation"
    })
    const failed = { ...eventOf("ToolResult"), isFailure: true } as AgentEvent.AgentEvent
    assert.deepInclude(PublicView.fromEvent(failed, { toolResults: true }), { result: null, observation: "" })
  })

  it("shows code and fixed sentence of an error, nothing of a foreign one", () => {
    for (const [code, tag] of Object.entries(ErrorCode.table)) {
      const view = PublicView.fromError({ tag: "canary", code, message: "canary", hint: "canary" })
      assert.deepStrictEqual([view.tag, view.code], [tag, code])
      assert.notInclude(JSON.stringify(view), "canary")
    }
    for (const foreign of [
      { tag: "SqlError", message: "no table users" },
      { tag: "SqlError", code: "toString", message: "no table users" }
    ]) {
      assert.deepStrictEqual(PublicView.fromError(foreign), { tag: "Error", message: "The run failed" })
    }
  })

  it("shows those who develop the agents all of every event, without secrets", () => {
    const key = "sk-0123456789abcdef"
    for (const tag of tags) {
      const event = { ...eventOf(tag), place: "#e1" }
      const { place: _, ...fields } = event
      const view = PublicView.fromEvent(event, { developer: true })
      assert.deepStrictEqual(Object.keys(view ?? {}).sort(), Object.keys(fields).sort(), tag)
    }
    const call = { ...eventOf("ToolCall"), secret: ["pin"], params: { pin: 17, text: `use ${key}`, password: "x" } }
    const shown = JSON.stringify(PublicView.fromEvent(call as AgentEvent.AgentEvent, { developer: true }))
    assert.include(shown, '"pin":"[REDACTED]"')
    assert.notInclude(shown, key)
    assert.notInclude(shown, '"x"')
    assert.deepStrictEqual(
      PublicView.fromError({ ...error, message: `the key ${key} is wrong` }, { developer: true }),
      {
        ...error,
        message: "the key [REDACTED] is wrong"
      }
    )
  })

  it.effect("is a stream operator whose failure is public as well", () =>
    Effect.gen(function* () {
      const refused = new LlmAuthenticationError({ provider: "here", message: "the key sk-1 is wrong" })
      const events = Stream.concat(Stream.fromIterable(tags.map(eventOf)), Stream.fail(refused))
      const taken: Array<string> = []
      const error = yield* events.pipe(
        PublicView.fromStream(),
        Stream.runForEach((event) => Effect.sync(() => void taken.push(event._tag))),
        Effect.flip
      )
      assert.deepStrictEqual(
        taken,
        tags.filter((tag) => views[tag] !== undefined)
      )
      assert.deepStrictEqual(error, {
        tag: "LlmAuthenticationError",
        code: "LEX_ERR_LLM_100",
        message: "The model call failed"
      })
      const shown = yield* Stream.runCollect(
        PublicView.fromStream({ reasoning: true })(Stream.make(eventOf("Thought"), eventOf("Degraded")))
      )
      assert.strictEqual(Chunk.size(shown), 1)
    })
  )
})
