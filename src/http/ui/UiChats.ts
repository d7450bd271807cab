/**
 * What the endpoints of chats do: starts, answers, finds and stops the runs of the chats of a caller.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { OPEN, type RunRecord, type RunState } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { SessionId } from "../../domain/Ids.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import type * as SessionManager from "../../session/manager/SessionManager.js"
import { CheckpointId, type SessionTurn } from "../../session/turn/Session.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { ApiError } from "../api/ApiError.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import type * as ApiModels from "../api/ApiModels.js"
import * as ApprovalEndpoints from "../api/ApprovalEndpoints.js"
import type { Identity } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"
import type { ChatRequest } from "./UiApi.js"
import { isTool, type ToolPart, type UiMessage } from "./UiMessage.js"
import * as UiMessages from "./UiMessages.js"

/**
 * A chat of a caller with an agent.
 *
 * @category models
 */
export interface Chat {
  readonly caller: Identity
  readonly agent: string
  readonly chatId: SessionId
}

/** The labels by which the runs of a chat are found. */
const CHAT = "lexigram-chat"
const MESSAGE = "lexigram-chat-message"
const BEFORE = "lexigram-chat-before"

/** Runs of a chat that are stopped at once. A chat has one, unless two pages sent at the same time. */
const MOST_OPEN = 20

const accessOf = ({ caller: { userId } }: Chat) => (userId === undefined ? {} : { userId })

const unknownRequest = new ApiError({ reason: "unknown", message: "No request of this chat has this id" })

/** A label has at most 256 characters. */
const labelOf = (id: string): string => (id.length <= 256 ? id : Sha256.hex(id))

type Responded = Extract<ToolPart, { readonly state: "approval-responded" }>

const respondedOf = (message: UiMessage): ReadonlyArray<Responded> =>
  message.role === "assistant"
    ? message.parts.filter((part): part is Responded => isTool(part) && part.state === "approval-responded")
    : []

/**
 * @category models
 */
export class UiChats {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly sessions: SessionManager.Service | undefined,
    private readonly policy: ApiLimits.Limits["policy"]
  ) {}

  private list(
    chat: Chat,
    options: {
      readonly states?: ReadonlyArray<RunState> | undefined
      readonly labels?: Readonly<Record<string, string>> | undefined
      readonly limit: number
    }
  ): Effect.Effect<ReadonlyArray<RunRecord>, ApiError> {
    return Effect.map(
      Refusals.ofRun(
        this.runs.list({
          ...accessOf(chat),
          agent: chat.agent,
          limit: options.limit,
          labels: { ...options.labels, [CHAT]: chat.chatId },
          ...(options.states === undefined ? {} : { states: options.states })
        })
      ),
      ({ records }) => records
    )
  }

  /** The run of a chat that goes on, if there is one. */
  open(chat: Chat): Effect.Effect<string | undefined, ApiError> {
    return Effect.map(this.list(chat, { states: OPEN, limit: 1 }), ([run]) => run?.runId)
  }

  /** Interrupts what goes on in a chat. */
  stop(chat: Chat): Effect.Effect<void, ApiError> {
    return Effect.flatMap(this.list(chat, { states: OPEN, limit: MOST_OPEN }), (open) =>
      Effect.forEach(
        open,
        // It may have ended meanwhile.
        ({ runId }) => Effect.ignore(this.runs.interrupt(runId, accessOf(chat))),
        { discard: true }
      )
    )
  }

  /** Starts or goes on with a run: the request has a message of the user, or decisions that the run waits for. */
  send(
    chat: Chat,
    request: ChatRequest
  ): Effect.Effect<{ readonly runId: string; readonly answered: ReadonlySet<string> }, ApiError> {
    const last = request.messages[request.messages.length - 1] as UiMessage
    const responded = respondedOf(last)
    if (responded.length > 0) return this.respond(chat, responded)
    if (last.role === "user") {
      return Effect.map(this.start(chat, last, request.messages.slice(0, -1)), (runId) => ({
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

  /** A request for a decision or an answer, and the run at the top that it belongs to. */
  private find(chat: Chat, id: string): Effect.Effect<readonly [ApprovalRecord, string], ApiError> {
    return Effect.gen(this, function* () {
      const found = yield* Effect.catchAll(this.pending.get(id, accessOf(chat)), Refusals.fromApproval)
      if (Option.isNone(found)) return yield* unknownRequest
      const runId = found.value.request.rootRunId ?? found.value.request.runId
      const run = yield* Refusals.ofRun(this.runs.poll(runId, accessOf(chat)))
      if (Option.isNone(run)) return yield* unknownRequest
      const { agent, labels } = run.value.record
      return agent === chat.agent && labels[CHAT] === chat.chatId
        ? ([found.value, runId] as const)
        : yield* unknownRequest
    })
  }

  private answer(
    chat: Chat,
    { request }: ApprovalRecord,
    decision: ApprovalGate.ApprovalDecision,
    remember?: ApiModels.Decision["remember"]
  ): Effect.Effect<void, ApiError> {
    const { userId } = chat.caller
    return Refusals.ofRun(
      this.runs.answer(request.id, decision, {
        ...accessOf(chat),
        ...(remember === undefined ? {} : { remember }),
        ...(userId === undefined ? {} : { by: userId })
      })
    )
  }

  /** Decides an approval, or answers a question, of a run of the chat. */
  decide(chat: Chat, requestId: string, decision: ApiModels.Decision): Effect.Effect<void, ApiError> {
    return Effect.flatMap(this.find(chat, requestId), ([record]) =>
      this.answer(chat, record, ApprovalEndpoints.decisionOf(decision, record), decision.remember)
    )
  }

  private start(chat: Chat, message: UiMessage, before: ReadonlyArray<UiMessage>): Effect.Effect<string, ApiError> {
    return Effect.gen(this, function* () {
      const input = yield* Effect.mapError(
        UiMessages.toInput(message),
        ({ code, hint, message }) => new ApiError({ reason: "invalid", error: code, message, hint })
      )
      yield* this.stop(chat)
      const messageId = labelOf(message.id)
      const { sessions } = this
      const checkpoint = sessions === undefined ? undefined : yield* this.rewind(chat, sessions, messageId)
      const policy = this.policy(chat.caller)
      const { runId } = yield* Refusals.ofRun(
        this.runs.start({
          agent: chat.agent,
          input,
          ...(policy === undefined ? {} : { policy }),
          ...accessOf(chat),
          ...(chat.caller.tenantId === undefined ? {} : { tenantId: chat.caller.tenantId }),
          // Prompts are a matter of the server.
          ...(checkpoint === undefined
            ? { history: UiMessages.toMessages(before.filter(({ role }) => role !== "system")) }
            : { sessionId: chat.chatId }),
          labels: {
            [CHAT]: chat.chatId,
            [MESSAGE]: messageId,
            ...(checkpoint === undefined ? {} : { [BEFORE]: checkpoint })
          }
        })
      )
      return runId
    })
  }

  /**
   * Returns the session to where it was before a message that is sent again, and marks where it is before the message.
   */
  private rewind(
    chat: Chat,
    sessions: SessionManager.Service,
    messageId: string
  ): Effect.Effect<CheckpointId, ApiError> {
    return Effect.gen(this, function* () {
      const [sent] = yield* this.list(chat, { labels: { [MESSAGE]: messageId }, limit: 1 })
      const before = sent?.labels[BEFORE]
      if (before !== undefined) {
        const id = CheckpointId.make(before)
        yield* Refusals.ofSession(sessions.restore(id, accessOf(chat)))
        return id
      }
      yield* Refusals.ofSession(sessions.create({ ...accessOf(chat), id: chat.chatId }))
      const { id } = yield* Refusals.ofSession(sessions.checkpoint(chat.chatId, accessOf(chat)))
      return id
    })
  }

  /** The turns of the session of a chat; none before its first message was answered. */
  turns(
    chat: Chat,
    sessions: SessionManager.Service,
    options: Pick<SessionManager.TurnsOptions, "last" | "before">
  ): Effect.Effect<ReadonlyArray<SessionTurn>, ApiError> {
    return Refusals.ofSession(sessions.turns(chat.chatId, { ...options, ...accessOf(chat) }))
  }

  /** The message that a run of the chat has not answered yet: it is no turn of the session so far. */
  asked(chat: Chat): Effect.Effect<ReadonlyArray<UiMessage>, ApiError> {
    return Effect.gen(this, function* () {
      const [run] = yield* this.list(chat, { states: OPEN, limit: 1 })
      if (run === undefined) return []
      const first = yield* Refusals.ofRun(Stream.runHead(this.runs.events(run.runId, accessOf(chat))))
      if (Option.isNone(first) || first.value._tag !== "Started") return []
      const { input } = first.value
      const metadata = { createdAt: run.createdAt, runId: run.runId }
      return [
        {
          id: run.labels[MESSAGE] ?? `${run.runId}-input`,
          role: "user",
          metadata,
          parts: [{ type: "text", text: input }]
        }
      ]
    })
  }
}
