/**
 * The runs of the conversations that pages keep by an id of their own: found, started, answered and stopped for a
 * caller. With sessions the id of a conversation is that of its session.
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
import type * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { ApiError } from "../api/ApiError.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import type * as ApiModels from "../api/ApiModels.js"
import { accessOf, type Identity } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"

/**
 * A conversation of a caller with an agent.
 *
 * @category models
 */
export interface Chat {
  readonly caller: Identity
  readonly agent: string
  readonly chatId: SessionId
}

/**
 * A message of the user that is to be answered.
 *
 * @category models
 */
export interface Asked {
  readonly messageId: string
  readonly input: Runs.StartRequest["input"]
  /** The messages before it, which a session already has. */
  readonly history: () => Exclude<Runs.StartRequest["history"], undefined>
  /** Default: a new id. */
  readonly runId?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly clientTools?: Runs.StartRequest["clientTools"] | undefined
  /** Comes once the session is there. */
  readonly prepare?: Effect.Effect<void, ApiError> | undefined
}

/** The labels by which the runs of a chat are found. */
const CHAT = "lexigram-chat"
const MESSAGE = "lexigram-chat-message"
const BEFORE = "lexigram-chat-before"

/** Runs of a chat that are stopped at once. A chat has one, unless two pages sent at the same time. */
const MOST_OPEN = 20

const unknownRequest = new ApiError({ reason: "unknown", message: "No request of this chat has this id" })

/** A label has at most 256 characters. */
const labelOf = (id: string): string => (id.length <= 256 ? id : Sha256.hex(id))

/**
 * @category models
 */
export class ChatRuns {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    readonly sessions: SessionManager.Service | undefined,
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
          ...accessOf(chat.caller),
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
  open(chat: Chat): Effect.Effect<RunRecord | undefined, ApiError> {
    return Effect.map(this.list(chat, { states: OPEN, limit: 1 }), ([run]) => run)
  }

  /** The newest run of a chat. */
  last(chat: Chat): Effect.Effect<RunRecord | undefined, ApiError> {
    return Effect.map(this.list(chat, { limit: 1 }), ([run]) => run)
  }

  /** Interrupts what goes on in a chat. */
  stop(chat: Chat): Effect.Effect<void, ApiError> {
    return Effect.flatMap(this.list(chat, { states: OPEN, limit: MOST_OPEN }), (open) =>
      Effect.forEach(
        open,
        // It may have ended meanwhile.
        ({ runId }) => Effect.ignore(this.runs.interrupt(runId, accessOf(chat.caller))),
        { discard: true }
      )
    )
  }

  /** A request for a decision or an answer, and the run at the top that it belongs to. */
  find(chat: Chat, id: string): Effect.Effect<readonly [ApprovalRecord, string], ApiError> {
    const access = accessOf(chat.caller)
    return Effect.gen(this, function* () {
      const found = yield* Effect.catchAll(this.pending.get(id, access), Refusals.fromApproval)
      if (Option.isNone(found)) return yield* unknownRequest
      const runId = found.value.request.rootRunId ?? found.value.request.runId
      const run = yield* Refusals.ofRun(this.runs.poll(runId, access))
      if (Option.isNone(run)) return yield* unknownRequest
      const { agent, labels } = run.value.record
      return agent === chat.agent && labels[CHAT] === chat.chatId
        ? ([found.value, runId] as const)
        : yield* unknownRequest
    })
  }

  /** Decides an approval, or answers a question. */
  answer(
    { caller }: Chat,
    { request }: ApprovalRecord,
    decision: ApprovalGate.ApprovalDecision,
    remember?: ApiModels.Decision["remember"]
  ): Effect.Effect<void, ApiError> {
    const { userId } = caller
    return Refusals.ofRun(
      this.runs.answer(request.id, decision, {
        ...accessOf(caller),
        ...(remember === undefined ? {} : { remember }),
        ...(userId === undefined ? {} : { by: userId })
      })
    )
  }

  /** Starts the run that answers a message, in place of what goes on and of the first answer if it is sent again. */
  start(chat: Chat, asked: Asked): Effect.Effect<string, ApiError> {
    const { clientTools, history, input, labels, messageId, prepare, runId } = asked
    return Effect.gen(this, function* () {
      yield* this.stop(chat)
      const message = labelOf(messageId)
      const { sessions } = this
      const checkpoint = sessions === undefined ? undefined : yield* this.rewind(chat, sessions, message)
      if (prepare !== undefined) yield* prepare
      const policy = this.policy(chat.caller)
      const started = yield* Refusals.ofRun(
        this.runs.start({
          agent: chat.agent,
          input,
          ...(runId === undefined ? {} : { runId }),
          ...(policy === undefined ? {} : { policy }),
          ...(clientTools === undefined ? {} : { clientTools }),
          ...accessOf(chat.caller),
          ...(chat.caller.tenantId === undefined ? {} : { tenantId: chat.caller.tenantId }),
          ...(checkpoint === undefined ? { history: history() } : { sessionId: chat.chatId }),
          labels: {
            ...labels,
            [CHAT]: chat.chatId,
            [MESSAGE]: message,
            ...(checkpoint === undefined ? {} : { [BEFORE]: checkpoint })
          }
        })
      )
      return started.runId
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
    const access = accessOf(chat.caller)
    return Effect.gen(this, function* () {
      const [sent] = yield* this.list(chat, { labels: { [MESSAGE]: messageId }, limit: 1 })
      const before = sent?.labels[BEFORE]
      if (before !== undefined) {
        const id = CheckpointId.make(before)
        yield* Refusals.ofSession(sessions.restore(id, access))
        return id
      }
      yield* Refusals.ofSession(sessions.create({ ...access, id: chat.chatId }))
      const { id } = yield* Refusals.ofSession(sessions.checkpoint(chat.chatId, access))
      return id
    })
  }

  /** The turns of the session of a chat. */
  turns(
    chat: Chat,
    sessions: SessionManager.Service,
    options: Pick<SessionManager.TurnsOptions, "last" | "before">
  ): Effect.Effect<ReadonlyArray<SessionTurn>, ApiError> {
    return Refusals.ofSession(sessions.turns(chat.chatId, { ...options, ...accessOf(chat.caller) }))
  }

  /** The message that a run of a chat answers, with its id if it had one. */
  askedOf(
    { caller }: Chat,
    { labels, runId }: RunRecord
  ): Effect.Effect<{ readonly id: string; readonly text: string } | undefined, ApiError> {
    return Effect.map(Refusals.ofRun(Stream.runHead(this.runs.events(runId, accessOf(caller)))), (first) =>
      Option.isNone(first) || first.value._tag !== "Started"
        ? undefined
        : { id: labels[MESSAGE] ?? `${runId}-input`, text: first.value.input }
    )
  }
}
