/**
 * What the endpoints of AG-UI do: starts the runs of the threads of a caller, and goes on with those that wait.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import * as PublicView from "../../domain/PublicView.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import { isPlainObject } from "../../internal/text/PlainObject.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import type * as SessionManager from "../../session/manager/SessionManager.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { ApiError } from "../api/ApiError.js"
import { accessOf } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"
import * as SessionModels from "../api/SessionModels.js"
import { isClientCall, toClientTools } from "../chat/CallerTools.js"
import type { Chat, ChatRuns } from "../chat/ChatRuns.js"
import type { ResumeEntry, RunAgentInput } from "./AgUiApi.js"
import type { AgUiMessage, Of } from "./AgUiMessage.js"
import * as AgUiMessages from "./AgUiMessages.js"
import { AgUiResults } from "./AgUiResults.js"

/**
 * A run to follow. `answered`: it goes on behind these requests of its own.
 *
 * @category models
 */
export interface Going {
  readonly runId: string
  readonly answered?: ReadonlySet<string> | undefined
}

/** The label that tells whether a run is asked for again. */
const REQUEST = "lexigram-agui-request"

/** Turns of a session that a client gets when it connects. */
const MOST_TURNS = 500

const Approval = Schema.Struct({
  approved: Schema.Boolean,
  editedArgs: Schema.optional(Schema.Unknown),
  reason: Schema.optional(Schema.String.pipe(Schema.maxLength(4096)))
})

/**
 * What an answer to a request for approval is like.
 *
 * @category constants
 */
export const responseSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    editedArgs: { type: "object", description: "Arguments in place of the given ones" },
    reason: { type: "string", description: "The model reads why a call is denied" }
  },
  required: ["approved"]
}

const refused = (reason: "conflict" | "invalid", message: string, hint?: string): ApiError =>
  new ApiError({ reason, message, ...(hint === undefined ? {} : { hint }) })

const decisionOf = (
  { interruptId, payload, status }: ResumeEntry,
  { request }: ApprovalRecord
): Effect.Effect<ApprovalGate.ApprovalDecision, ApiError> => {
  if (status === "cancelled") return Effect.succeed(ApprovalGate.cancel())
  if (request.question !== undefined) {
    return payload === undefined
      ? refused("invalid", `The answer to ${interruptId} has no payload`, "Answer in the form of `responseSchema`")
      : Effect.succeed(ApprovalGate.approve({ params: payload }))
  }
  return Effect.matchEffect(Schema.decodeUnknown(Approval)(payload), {
    onFailure: () =>
      refused("invalid", `The payload for ${interruptId} is no decision`, "Answer in the form of `responseSchema`"),
    onSuccess: ({ approved, editedArgs, reason }) =>
      Effect.succeed(
        approved
          ? ApprovalGate.approve({
              params: editedArgs === undefined ? undefined : PublicView.restored(editedArgs, request.params)
            })
          : ApprovalGate.deny({ reason })
      )
  })
}

/**
 * Whether two values are the same; values that nest too deep are not.
 *
 * @category predicates
 */
export const isSame = (left: unknown, right: unknown): boolean => {
  try {
    return CanonicalJson.stringify(left) === CanonicalJson.stringify(right)
  } catch {
    return false
  }
}

/**
 * @category models
 */
export class AgUiThreads {
  /** A thread starts one run at a time, so that a request that comes twice at once does not stop its own run. */
  private readonly starting = KeyedLock.make()
  private readonly results: AgUiResults

  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly chats: ChatRuns,
    private readonly sharesState: boolean,
    private readonly callsExpireAfter: Duration.DurationInput
  ) {
    this.results = new AgUiResults(runs, pending, chats)
  }

  /** The requests that a run waits for, those of its inner runs too. */
  waiting(chat: Chat, runId: string): Effect.Effect<ReadonlyArray<ApprovalRecord>, ApiError> {
    return Effect.catchAll(this.pending.list({ ...accessOf(chat.caller), rootRunId: runId }), Refusals.fromApproval)
  }

  /**
   * The run that a request is about; none for one that only puts aside what nobody waits for. `Left` if the request
   * does not keep the rules of interrupts.
   */
  run(chat: Chat, input: RunAgentInput): Effect.Effect<Either.Either<Going | undefined, ApiError>, ApiError> {
    return Effect.gen(this, function* () {
      const { messages, resume = [], state } = input
      const results = AgUiMessages.resultsOf(messages)
      const start = this.starting.withLock(JSON.stringify([chat.caller.userId, chat.agent, chat.chatId]))(
        this.start(chat, input)
      )
      if (resume.length === 0 && results.length === 0) return yield* start
      const resumed = yield* Effect.either(
        resume.length === 0 ? this.goOn(chat, results, state) : this.resume(chat, resume, results, state)
      )
      if (Either.isLeft(resumed)) {
        const { reason } = resumed.left
        return reason === "unknown" || reason === "conflict" || reason === "invalid" ? resumed : yield* resumed.left
      }
      return resumed.right !== undefined || messages.at(-1)?.role !== "user" ? resumed : yield* start
    })
  }

  /** The answers to requests of one run; without those that put aside what nobody waits for, which nothing hinders. */
  private answersOf(chat: Chat, entries: ReadonlyArray<ResumeEntry>) {
    return Effect.gen(this, function* () {
      const given = new Map<string, readonly [ApprovalRecord, ApprovalGate.ApprovalDecision]>()
      let runId: string | undefined
      for (const entry of entries) {
        const { interruptId: id, status } = entry
        const found = yield* Effect.either(this.chats.find(chat, id))
        if (Either.isLeft(found)) {
          if (found.left.reason === "unknown" && status === "cancelled") continue
          return yield* found.left
        }
        const [record, root] = found.right
        if (given.has(id)) return yield* refused("invalid", `The interrupt ${id} is answered twice`)
        if (runId !== undefined && root !== runId) {
          return yield* refused("invalid", "The interrupts are of different runs")
        }
        runId = root
        const decision = yield* decisionOf(entry, record)
        const { settlement } = record
        // A repeated request finds its own decision.
        if (settlement !== undefined && status === "resolved" && !isSame(settlement.decision, decision)) {
          return yield* refused(
            "conflict",
            `The interrupt ${id} has expired or is answered otherwise`,
            "Put it aside: `cancelled`"
          )
        }
        given.set(id, [record, decision])
      }
      return { runId, given }
    })
  }

  /** Goes on with the run of the thread whose calls the page has made. */
  private goOn(
    chat: Chat,
    results: ReadonlyArray<Of<"tool">>,
    state: unknown
  ): Effect.Effect<Going | undefined, ApiError> {
    return Effect.gen(this, function* () {
      const open = yield* this.chats.open(chat)
      const waiting = open === undefined ? [] : yield* this.waiting(chat, open.runId)
      if (open === undefined || !waiting.some(isClientCall)) {
        const repeated = yield* this.results.repeated(chat, results)
        if (repeated !== undefined) return repeated
        return yield* refused("conflict", "No call of the thread waits for a result", "Send a message of the user")
      }
      const other = waiting.find((record) => !isClientCall(record))
      if (other !== undefined) {
        return yield* refused(
          "conflict",
          `The thread waits for an answer to ${other.request.id}`,
          "Answer or cancel it by `resume`"
        )
      }
      yield* this.writeState(chat, state)
      const answered = yield* this.results.give(chat, open.runId, waiting, results)
      if (answered.size > 0) return { runId: open.runId, answered }
      const repeated = yield* this.results.repeated(chat, results)
      if (repeated !== undefined) return repeated
      return yield* refused("invalid", "The results are of no call that waits", "Give the calls' own `toolCallId`")
    })
  }

  private resume(
    chat: Chat,
    entries: ReadonlyArray<ResumeEntry>,
    results: ReadonlyArray<Of<"tool">>,
    state: unknown
  ): Effect.Effect<Going | undefined, ApiError> {
    return Effect.gen(this, function* () {
      const { given, runId } = yield* this.answersOf(chat, entries)
      if (runId === undefined) return undefined
      const waiting = yield* this.waiting(chat, runId)
      for (const record of waiting) {
        const { id } = record.request
        if (!given.has(id) && !isClientCall(record)) {
          return yield* refused("conflict", `The interrupt ${id} has no answer`, "Answer or cancel all of them")
        }
      }
      yield* this.writeState(chat, state)
      const answered = yield* this.results.give(chat, runId, waiting, results)
      for (const [id, [record, decision]] of given) {
        if (record.request.runId === runId) answered.add(id)
        if (record.settlement === undefined) yield* this.chats.answer(chat, record, decision)
      }
      return { runId, answered }
    })
  }

  private start(
    chat: Chat,
    { messages, runId: requestId, state, tools }: RunAgentInput
  ): Effect.Effect<Either.Either<Going, ApiError>, ApiError> {
    return Effect.gen(this, function* () {
      const message = messages.at(-1)
      if (message?.role !== "user") {
        return yield* refused(
          "invalid",
          "The last message is not one of the user",
          "Send a message, or answer interrupts by `resume`"
        )
      }
      const input = yield* AgUiMessages.toInput(message)
      // Ids belong to their caller and thread: another one cannot meet them.
      const runId = `agui-${Sha256.hex([chat.caller.userId ?? "", chat.agent, chat.chatId, requestId].join("\u0000"))}`
      const digest = Sha256.hex(CanonicalJson.stringify([message.id, message.content]))
      if (yield* this.isKnown(chat, runId, digest)) return Either.right({ runId })
      const open = yield* this.chats.open(chat)
      const requests = open === undefined ? [] : yield* this.waiting(chat, open.runId)
      // A page that asks anew instead of making its calls has given them up.
      const waiting = requests.find((record) => !isClientCall(record))
      if (waiting !== undefined) {
        const { id } = waiting.request
        return Either.left(
          refused("conflict", `The thread waits for an answer to ${id}`, "Answer or cancel it by `resume`")
        )
      }
      yield* this.chats
        .start(chat, {
          messageId: message.id,
          input,
          history: () => AgUiMessages.toHistory(messages.slice(0, -1)),
          runId,
          labels: { [REQUEST]: digest },
          ...toClientTools(tools ?? [], this.callsExpireAfter),
          prepare: this.writeState(chat, state)
        })
        .pipe(
          Effect.catchIf(
            ({ reason }) => reason === "conflict",
            // The same request came to another process.
            (error) => Effect.flatMap(this.isKnown(chat, runId, digest), (known) => (known ? Effect.void : error))
          )
        )
      return Either.right({ runId })
    })
  }

  /** Whether a request has its run already. Fails with `conflict` for another request with its id. */
  private isKnown({ caller }: Chat, runId: string, digest: string): Effect.Effect<boolean, ApiError> {
    return Effect.flatMap(Refusals.ofRun(this.runs.poll(runId, accessOf(caller))), (found) => {
      if (Option.isNone(found)) return Effect.succeed(false)
      return found.value.record.labels[REQUEST] === digest
        ? Effect.succeed(true)
        : refused("conflict", "A run of the thread has this id, and answers another message", "Use a new `runId`")
    })
  }

  /** The run of a thread that goes on, and the messages of the thread without those of the run, if they are known. */
  connect(
    chat: Chat,
    { messages }: RunAgentInput
  ): Effect.Effect<
    { readonly run: RunRecord | undefined; readonly messages: ReadonlyArray<AgUiMessage> | undefined },
    ApiError
  > {
    const { sessions } = this.chats
    return Effect.gen(this, function* () {
      const run = yield* this.chats.open(chat)
      if (sessions === undefined) {
        if (run === undefined) return { run, messages: undefined }
        const isOther = ({ id, role }: AgUiMessage) =>
          role !== "activity" && role !== "reasoning" && !id.startsWith(`${run.runId}-`)
        return { run, messages: messages.filter(isOther) }
      }
      const turns = yield* this.turns(chat, sessions)
      const asked = run === undefined ? undefined : yield* this.chats.askedOf(chat, run)
      const shown = AgUiMessages.fromTurns(SessionModels.fromTurns(turns))
      return {
        run,
        messages: asked === undefined ? shown : [...shown, { id: asked.id, role: "user" as const, content: asked.text }]
      }
    })
  }

  /** The newest turns of a thread; none of one that the caller has not begun. */
  private turns(chat: Chat, sessions: SessionManager.Service) {
    return Effect.catchIf(
      this.chats.turns(chat, sessions, { last: MOST_TURNS }),
      ({ reason }) => reason === "unknown",
      () => Effect.succeed([])
    )
  }

  /** The state of a thread: the variables of its session, if it is shared and there are some. */
  state({ caller, chatId }: Chat): Effect.Effect<Readonly<Record<string, unknown>> | undefined, ApiError> {
    const { sessions } = this.chats
    if (sessions === undefined || !this.sharesState) return Effect.succeed(undefined)
    return Effect.map(Refusals.ofSession(sessions.get(chatId, accessOf(caller))), (found) =>
      Option.isNone(found) || Object.keys(found.value.variables).length === 0
        ? undefined
        : (PublicView.fromValue(found.value.variables) as Readonly<Record<string, unknown>>)
    )
  }

  /** Takes the state of a client over. An empty one is that of a page that has none yet. */
  private writeState({ caller, chatId }: Chat, state: unknown): Effect.Effect<void, ApiError> {
    const { sessions } = this.chats
    if (sessions === undefined || !this.sharesState || !isPlainObject(state) || Object.keys(state).length === 0) {
      return Effect.void
    }
    const access = accessOf(caller)
    return Refusals.ofSession(
      Effect.flatMap(sessions.get(chatId, access), (found) =>
        Option.isNone(found)
          ? Effect.void
          : sessions.update(chatId, {
              ...access,
              variables: PublicView.restored(state, found.value.variables) as Readonly<Record<string, unknown>>
            })
      )
    )
  }
}
