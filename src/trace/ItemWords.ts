/**
 * Describes the items of a trace in words, for text and pages alike.
 *
 * @private
 * @since 0.1.0
 */
import type * as Model from "./TraceModel.js"
import type { Described } from "./TraceWords.js"
import * as TraceWords from "./TraceWords.js"

const { counted, name, number, parts } = TraceWords

const optional = (holds: boolean, fact: string): ReadonlyArray<string> => (holds ? [fact] : [])

const modelCall = (call: Model.ModelCall): Described => {
  const { costUsd, cutOff, finishReason, isCached, model, provider, retries, role, usage } = call
  const asked = [provider, model].flatMap((part) => (part === undefined ? [] : [name(part)])).join("/")
  return {
    kind: "model",
    title: asked === "" ? "model" : asked,
    facts: [
      ...optional(role !== undefined, `role ${name(role ?? "")}`),
      ...(isCached ? ["answered by a cache"] : TraceWords.tokens(usage)),
      ...optional(costUsd !== undefined && !isCached, TraceWords.usd(costUsd ?? 0)),
      ...optional(finishReason !== undefined, name(finishReason ?? "")),
      ...optional(cutOff, "cut off"),
      ...optional(retries > 0, `after ${counted(retries, "retry", "retries")}`)
    ],
    tone: cutOff ? "bad" : retries > 0 || finishReason === "length" ? "warn" : "plain",
    parts: parts({ reasoning: call.reasoning }),
    startedAt: call.startedAt,
    durationMs: call.at - call.startedAt
  }
}

const toolCall = (call: Model.ToolCall): Described => ({
  kind: "tool",
  title: name(call.name),
  facts: [
    ...optional(call.clientTool, "run by the caller"),
    call.isFailure === undefined ? "no result" : call.isFailure ? "failed" : "ok",
    ...optional((call.attempts ?? 1) > 1, `${number(call.attempts ?? 1)} attempts`),
    ...optional(call.truncated === true, "result cut"),
    ...optional(call.progress > 0, counted(call.progress, "report of progress", "reports of progress")),
    ...TraceWords.files(call.files)
  ],
  tone: call.isFailure === undefined ? "warn" : call.isFailure ? "bad" : "good",
  parts: parts({ arguments: call.params, result: call.result, "files from": call.sources }),
  failure: call.error,
  startedAt: call.at,
  durationMs: call.durationMs
})

const approval = (item: Model.Approval): Described => ({
  kind: "approval",
  title: name(item.name),
  facts: [item.approved === undefined ? "not decided" : item.approved ? "approved" : "denied"],
  tone: item.approved === undefined ? "warn" : item.approved ? "good" : "bad",
  parts: parts({ arguments: item.params, "asked because": item.requestReason, reason: item.reason }),
  startedAt: item.at,
  durationMs: item.resolvedAt === undefined ? undefined : item.resolvedAt - item.at
})

const answers = { accept: "answered", decline: "declined", cancel: "not answered" } as const

const question = (item: Model.Question): Described => ({
  kind: "question",
  title: name(item.name),
  facts: [
    ...optional(item.clientTool, "for the caller"),
    item.action === undefined ? "no answer yet" : answers[item.action]
  ],
  tone: item.action === "accept" ? "good" : "warn",
  parts: parts({ question: item.message, form: item.form, answer: item.content, reason: item.reason }),
  startedAt: item.at,
  durationMs: item.answeredAt === undefined ? undefined : item.answeredAt - item.at
})

const stages = { input: "input", output: "output", toolInput: "tool arguments", toolOutput: "tool result" } as const
const actions = { warn: "warned", redact: "redacted", block: "blocked" } as const

const guard = ({ action, guard, reason, stage }: Model.Guard): Described => ({
  kind: "guard",
  title: name(guard),
  facts: [actions[action], stages[stage]],
  tone: action === "block" ? "bad" : "warn",
  parts: parts({ reason })
})

const subRun = ({ agent, handoff, message, run }: Model.SubRun): Described => ({
  kind: handoff ? "handoff" : "agent",
  title: name(agent),
  facts: run === undefined ? ["no events"] : [TraceWords.state(run)],
  tone: run === undefined || run.state === "open" ? "warn" : run.state === "completed" ? "good" : "bad",
  parts: parts({ message }),
  startedAt: run?.startedAt,
  durationMs: run?.durationMs
})

const critique = ({ accepted, score, text }: Model.Critique): Described => ({
  kind: "critique",
  title: accepted === undefined ? "judged" : accepted ? "accepted" : "rejected",
  facts: optional(score !== undefined, `score ${Number((score ?? 0).toPrecision(3))}`),
  tone: accepted === undefined ? "plain" : accepted ? "good" : "warn",
  parts: parts({ text })
})

const planChange = ({ completed, failed, skipped, steps }: Model.PlanChange): Described => ({
  kind: "plan",
  title: counted(steps, "step"),
  facts: [
    ...optional(completed > 0, `${number(completed)} completed`),
    ...optional(failed > 0, `${number(failed)} failed`),
    ...optional(skipped > 0, `${number(skipped)} skipped`)
  ],
  tone: failed > 0 ? "warn" : "plain",
  parts: []
})

const compensation = (item: Model.Compensation): Described => ({
  kind: "undo",
  title: name(item.name),
  facts: [item.isFailure ? "not undone" : "undone", ...optional(item.callRunId !== undefined, "of an inner run")],
  tone: item.isFailure ? "bad" : "good",
  parts: [],
  failure: item.error,
  startedAt: item.at - item.durationMs,
  durationMs: item.durationMs
})

const recall = ({ count, source, tokens }: Model.Recall): Described => ({
  kind: "memory",
  title: source === "session" ? "turns of the session" : "working memory",
  facts: [`${number(count)} recalled`, ...optional(tokens !== undefined, counted(tokens ?? 0, "token"))],
  tone: "plain",
  parts: []
})

const degraded = ({ attempt, error, stage }: Model.Degraded): Described => ({
  kind: attempt === undefined ? "degraded" : "retry",
  title: name(stage),
  facts: [],
  tone: "warn",
  parts: [],
  failure: error
})

const notes = {
  Steered: ["message", "added to the run"],
  Thought: ["thought", ""],
  Rejected: ["rejected", "the answer did not pass a validator"]
} as const

/** Describes an item. */
export const describe = (item: Model.Item): Described => {
  switch (item._tag) {
    case "Step":
      return {
        kind: "step",
        title: `Step ${number(item.step)}${item.name === undefined ? "" : `: ${name(item.name)}`}`,
        facts: [],
        tone: "plain",
        parts: []
      }
    case "ModelCall":
      return modelCall(item)
    case "ToolCall":
      return toolCall(item)
    case "ProviderTool":
      return {
        kind: "tool",
        title: name(item.name),
        facts: ["run by the provider", item.isFailure ? "failed" : "ok"],
        tone: item.isFailure ? "bad" : "good",
        parts: parts({ arguments: item.params, result: item.result })
      }
    case "Compensation":
      return compensation(item)
    case "SubRun":
      return subRun(item)
    case "Approval":
      return approval(item)
    case "Question":
      return question(item)
    case "Guard":
      return guard(item)
    case "Recall":
      return recall(item)
    case "Files":
      return {
        kind: "files",
        title: counted(item.files.length, "file"),
        facts: TraceWords.files(item.files),
        tone: "plain",
        parts: parts({ "files from": item.sources })
      }
    case "Steered":
    case "Thought":
    case "Rejected": {
      const [kind, title] = notes[item._tag]
      return {
        kind,
        title,
        facts: [],
        tone: item._tag === "Rejected" ? "warn" : "plain",
        parts: parts({ text: item.text })
      }
    }
    case "Critique":
      return critique(item)
    case "PlanChange":
      return planChange(item)
    case "Node":
      return {
        kind: "node",
        title: `${name(item.graph)} / ${name(item.node)}`,
        facts: item.isEnd ? [] : ["emitted a value"],
        tone: "plain",
        parts: parts({ [item.isEnd ? "update" : "value"]: item.value })
      }
    case "Resumed":
      return {
        kind: "resumed",
        title: `attempt ${number(item.attempt)}`,
        facts: [`after ${TraceWords.duration(item.pauseMs)} without events`],
        tone: "plain",
        parts: []
      }
    case "Degraded":
      return degraded(item)
  }
}
