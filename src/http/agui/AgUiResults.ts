/**
 * Gives runs the results of the calls that their pages have made, and finds the run of results that come again.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isEnded, type RunRecord } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent, Of as Event } from "../../domain/AgentEvent.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { ApiError } from "../api/ApiError.js"
import { accessOf } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"
import * as CallerTools from "../chat/CallerTools.js"
import type { Chat, ChatRuns } from "../chat/ChatRuns.js"
import type { Of } from "./AgUiMessage.js"
import * as AgUiMessages from "./AgUiMessages.js"
import { isShownAs } from "./AgUiTranscript.js"

/** A run that goes on tells at once what it has asked before. */
const QUIET = "1 second"

const decisionOf = ({ content, error }: Of<"tool">): ApprovalGate.ApprovalDecision =>
  ApprovalGate.approve({ params: { result: error ?? AgUiMessages.textOf(content), isError: error !== undefined } })

const isCall = (event: AgentEvent): event is Event<"QuestionAsked"> =>
  event._tag === "QuestionAsked" && event.clientTool === true

/** The newest call that a result is of. */
const callOf = (calls: ReadonlyArray<Event<"QuestionAsked">>, { toolCallId: shown }: Of<"tool">, runId: string) =>
  calls.findLast(({ toolCallId }) => isShownAs(shown, toolCallId, runId))

/**
 * @category models
 */
export class AgUiResults {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly chats: ChatRuns
  ) {}

  /** Whether a call has this result already. */
  private isGiven(
    { caller }: Chat,
    id: string,
    decision: ApprovalGate.ApprovalDecision
  ): Effect.Effect<boolean, ApiError> {
    return Effect.map(
      Effect.catchAll(this.pending.get(id, accessOf(caller)), Refusals.fromApproval),
      (found) => Option.isSome(found) && CallerTools.isDecided(found.value, decision)
    )
  }

  /** Gives the page's calls that wait their results, as far as there are some; returns their requests. */
  give(
    chat: Chat,
    runId: string,
    waiting: ReadonlyArray<ApprovalRecord>,
    results: ReadonlyArray<Of<"tool">>
  ): Effect.Effect<Set<string>, ApiError> {
    return Effect.gen(this, function* () {
      const given = new Set<string>()
      for (const record of waiting.filter(CallerTools.isClientCall)) {
        const { id, toolCallId } = record.request
        const result = results.find((message) => isShownAs(message.toolCallId, toolCallId, runId))
        if (result === undefined) continue
        const decision = decisionOf(result)
        yield* Effect.catchIf(
          this.chats.answer(chat, record, decision),
          ({ reason }) => reason === "conflict",
          // The same request came at the same time.
          (error) => Effect.flatMap(this.isGiven(chat, id, decision), (is) => (is ? Effect.void : error))
        )
        given.add(id)
      }
      return given
    })
  }

  /** The calls of the page that the run has asked for until now; of one that goes on, as soon as they have results. */
  private asked(
    { caller }: Chat,
    { runId, state }: RunRecord,
    results: ReadonlyArray<Of<"tool">>
  ): Effect.Effect<ReadonlyArray<Event<"QuestionAsked">>, ApiError> {
    return Effect.scoped(
      Effect.gen(this, function* () {
        const now = yield* Clock.currentTimeMillis
        const pull = Refusals.ofRun(yield* Pulls.open(this.runs.events(runId, accessOf(caller))))
        const calls: Array<Event<"QuestionAsked">> = []
        for (;;) {
          const events = Option.getOrUndefined(yield* Effect.timeoutOption(pull, QUIET))
          if (events === undefined) return calls
          calls.push(...events.filter(isCall))
          const isKnown = !isEnded(state) && results.every((result) => callOf(calls, result, runId) !== undefined)
          if (isKnown || events.some(({ at }) => at > now)) return calls
        }
      })
    )
  }

  /** The last run of the thread, if it has been given these very results; its requests for them. */
  repeated(
    chat: Chat,
    results: ReadonlyArray<Of<"tool">>
  ): Effect.Effect<{ readonly runId: string; readonly answered: ReadonlySet<string> } | undefined, ApiError> {
    return Effect.gen(this, function* () {
      const run = yield* this.chats.last(chat)
      if (run === undefined) return undefined
      const { runId } = run
      const asked = yield* this.asked(chat, run, results)
      const answered = new Set<string>()
      for (const result of results) {
        const call = callOf(asked, result, runId)
        if (call === undefined) continue
        if (!(yield* this.isGiven(chat, call.id, decisionOf(result)))) return undefined
        answered.add(call.id)
      }
      return answered.size === 0 ? undefined : { runId, answered }
    })
  }
}
