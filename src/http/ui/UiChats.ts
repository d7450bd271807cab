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
import { type Chat, ChatRuns } from "../chat/ChatRuns.js"
import type { ChatRequest } from "./UiApi.js"
import { isTool, type ToolPart, type UiMessage } from "./UiMessage.js"
import * as UiMessages from "./UiMessages.js"

type Responded = Extract<ToolPart, { readonly state: "approval-responded" }>

const respondedOf = (message: UiMessage): ReadonlyArray<Responded> =>
  message.role === "assistant"
    ? message.parts.filter((part): part is Responded => isTool(part) && part.state === "approval-responded")
    : []

/**
 * @category models
 */
export class UiChats extends ChatRuns {
  /** Starts or goes on with a run: the request has a message of the user, or decisions that the run waits for. */
  send(
    chat: Chat,
    request: ChatRequest
  ): Effect.Effect<{ readonly runId: string; readonly answered: ReadonlySet<string> }, ApiError> {
    const last = request.messages[request.messages.length - 1] as UiMessage
    const responded = respondedOf(last)
    if (responded.length > 0) return this.respond(chat, responded)
    if (last.role === "user") {
      return Effect.map(this.ask(chat, last, request.messages.slice(0, -1)), (runId) => ({
        runId,
        answered: new Set()
      }))
    }
    return new ApiError({
      reason: "invalid",
      message: "The last message is neither one of the user nor one with decisions about tool calls",
      hint: "Send a message, or answer an approval with `addToolApprovalResponse`; tools run on the server"
    })
  }

  private respond(chat: Chat, responded: ReadonlyArray<Responded>) {
    return Effect.gen(this, function* () {
      const answered = new Set(responded.map(({ approval }) => approval.id))
      const records: Array<readonly [Responded, ApprovalRecord]> = []
      let runId: string | undefined
      for (const part of responded) {
        const [record, root] = yield* this.find(chat, part.approval.id)
        if (runId !== undefined && root !== runId) {
          return yield* new ApiError({ reason: "invalid", message: "The decisions are about calls of different runs" })
        }
        runId = root
        records.push([part, record])
      }
      for (const [{ approval }, record] of records) {
        const { approved, reason } = approval
        // A repeated request finds its own decision.
        if (record.settlement !== undefined) continue
        yield* this.answer(chat, record, approved ? ApprovalGate.approve() : ApprovalGate.deny({ reason }))
      }
      return { runId: runId as string, answered }
    })
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
