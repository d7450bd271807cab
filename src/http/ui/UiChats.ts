/**
 * What the endpoints of chats of AI SDK UI do for a caller.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import { ApiError } from "../api/ApiError.js"
import type * as ApiModels from "../api/ApiModels.js"
import * as ApprovalEndpoints from "../api/ApprovalEndpoints.js"
import * as CallerTools from "../chat/CallerTools.js"
import { type Chat, ChatRuns } from "../chat/ChatRuns.js"
import type { ChatRequest } from "./UiApi.js"
import { isTool, lastStep, requestId, type ToolPart, type UiMessage } from "./UiMessage.js"
import * as UiMessages from "./UiMessages.js"

/** What a page answers: a decision about a call, or the output of a call that it made. */
interface Given {
  readonly id: string
  readonly decision: ApprovalGate.ApprovalDecision
  /** The call of an output. */
  readonly call?: string
}

const givenOf = (part: ToolPart): ReadonlyArray<Given> => {
  if (part.state === "approval-responded") {
    const { approved, id, reason } = part.approval
    return [{ id, decision: approved ? ApprovalGate.approve() : ApprovalGate.deny({ reason }) }]
  }
  const id = requestId(part)
  if (id === undefined) return []
  const call = part.toolCallId
  if (part.state === "output-error") return [{ id, call, decision: CallerTools.toDecision(part.errorText, true) }]
  return part.state === "output-available" && part.preliminary !== true
    ? [{ id, call, decision: CallerTools.toDecision(part.output) }]
    : []
}

/** What a message answers: outputs of earlier steps have been taken. */
const answersOf = (message: UiMessage): ReadonlyArray<Given> => {
  if (message.role !== "assistant") return []
  const decisions = message.parts.filter(isTool).filter(({ state }) => state === "approval-responded")
  const outputs = lastStep(message)
    .filter(isTool)
    .filter(({ state }) => state !== "approval-responded")
  return [...decisions, ...outputs].flatMap(givenOf)
}

/**
 * @category models
 */
export class UiChats extends ChatRuns {
  /** Starts or goes on with a run: the request has a message of the user, or answers that the run waits for. */
  send(
    chat: Chat,
    request: ChatRequest
  ): Effect.Effect<{ readonly runId: string; readonly answered: ReadonlySet<string> }, ApiError> {
    const last = request.messages[request.messages.length - 1] as UiMessage
    const given = answersOf(last)
    if (given.length > 0) return this.respond(chat, given)
    if (last.role === "user") {
      return Effect.map(this.ask(chat, last, request.messages.slice(0, -1)), (runId) => ({
        runId,
        answered: new Set()
      }))
    }
    return new ApiError({
      reason: "invalid",
      message: "The last message is neither one of the user nor one with decisions about calls or outputs of them",
      hint: "Send a message, or answer what the server asked by `addToolApprovalResponse` or `addToolOutput`"
    })
  }

  private respond(chat: Chat, given: ReadonlyArray<Given>) {
    return Effect.gen(this, function* () {
      const records: Array<ApprovalRecord> = []
      let runId: string | undefined
      for (const { call, id } of given) {
        const [record, root] = yield* this.find(chat, id)
        const { question, toolCallId } = record.request
        if (call === undefined ? question !== undefined : question?.clientTool !== true || toolCallId !== call) {
          return yield* new ApiError({ reason: "invalid", message: "The server did not ask for this answer" })
        }
        if (runId !== undefined && root !== runId) {
          return yield* new ApiError({ reason: "invalid", message: "The answers are about calls of different runs" })
        }
        runId = root
        records.push(record)
      }
      for (const [at, { call, decision }] of given.entries()) {
        const record = records[at] as ApprovalRecord
        // A repeated request finds its own decision.
        if (call !== undefined) yield* this.give(chat, record, decision)
        else if (record.settlement === undefined) yield* this.answer(chat, record, decision)
      }
      return { runId: runId as string, answered: new Set(given.map(({ id }) => id)) }
    })
  }

  /** Gives the output of a call. One that comes too late changes nothing, and its page is told how the run went on. */
  private give(
    chat: Chat,
    record: ApprovalRecord,
    output: ApprovalGate.ApprovalDecision
  ): Effect.Effect<void, ApiError> {
    const decision = record.settlement?.decision
    if (decision !== undefined) {
      return decision._tag === "Denied" || CallerTools.isSame(decision, output)
        ? Effect.void
        : new ApiError({ reason: "conflict", message: "The call has another output" })
    }
    return Effect.catchAll(this.answer(chat, record, output), (error) =>
      // Another request may have answered meanwhile.
      Effect.flatMap(this.find(chat, record.request.id), ([again]) =>
        again.settlement === undefined ? error : this.give(chat, again, output)
      )
    )
  }

  /** Decides an approval, or answers a question, of a run of the chat. */
  decide(chat: Chat, requestId: string, decision: ApiModels.Decision): Effect.Effect<void, ApiError> {
    return Effect.flatMap(this.find(chat, requestId), ([record]) =>
      this.answer(chat, record, ApprovalEndpoints.decisionOf(decision, record), decision.remember)
    )
  }

  private ask(chat: Chat, message: UiMessage, before: ReadonlyArray<UiMessage>): Effect.Effect<string, ApiError> {
    return Effect.gen(this, function* () {
      const input = yield* Effect.mapError(
        UiMessages.toInput(message),
        ({ code, hint, message }) => new ApiError({ reason: "invalid", error: code, message, hint })
      )
      return yield* this.start(chat, {
        messageId: message.id,
        input,
        // Prompts are a matter of the server.
        history: () => UiMessages.toMessages(before.filter(({ role }) => role !== "system"))
      })
    })
  }

  /** The message that a run of the chat has not answered yet: it is no turn of the session so far. */
  asked(chat: Chat): Effect.Effect<ReadonlyArray<UiMessage>, ApiError> {
    return Effect.gen(this, function* () {
      const run = yield* this.open(chat)
      const asked = run === undefined ? undefined : yield* this.askedOf(chat, run)
      if (run === undefined || asked === undefined) return []
      const { createdAt, runId } = run
      const parts = [{ type: "text" as const, text: asked.text }]
      return [{ id: asked.id, role: "user", metadata: { createdAt, runId }, parts }]
    })
  }
}
