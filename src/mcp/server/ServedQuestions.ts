/**
 * Asks the person at the client for what a run waits for: approvals of calls, and answers to questions of tools.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { RunError } from "../../agent/record/RunError.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent, Of } from "../../domain/AgentEvent.js"
import type { Identity } from "../../http/api/Authentication.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as Observation from "../../tool/definition/Observation.js"
import type * as McpPeer from "../offer/McpPeer.js"
import type { McpServerError } from "../offer/McpServerError.js"

type Request = Of<"ApprovalRequested"> | Of<"QuestionAsked">

/** The most characters of a text that a person is shown. */
const MOST = 2_000

/** How often a person is asked again after an answer that does not fit. */
const REPETITIONS = 2

/** The event that asks may come before its request can be answered. */
const untilWaiting = Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(20))

const shown = (text: string): string => VisibleText.visible(Observation.truncate(text, MOST).text)

const questionOf = (request: Request): McpPeer.Question => {
  if (request._tag === "QuestionAsked") {
    const { properties, required } = request.form as {
      readonly properties?: Readonly<Record<string, unknown>>
      readonly required?: ReadonlyArray<string>
    }
    return {
      message: shown(request.message),
      schema: { properties: properties ?? {}, ...(required === undefined ? {} : { required }) }
    }
  }
  const params = Observation.stringify(request.params) ?? ""
  const reason = request.reason === undefined ? "" : ` (${shown(request.reason)})`
  return {
    message: `Allow the call of ${shown(request.name)} with ${shown(params)}?${reason}`,
    schema: { properties: {} }
  }
}

/** A text for the client's model that says what is waited for. */
const describe = (request: Request): string =>
  request._tag === "QuestionAsked"
    ? `an answer to the question of ${shown(request.name)}: ${shown(request.message)}`
    : `an approval of the call of ${shown(request.name)}`

const isUnfit = ({ reason }: RunError | McpServerError): boolean => reason === "invalid"

const fromAnswer = (request: Request, answer: McpPeer.Answer): ApprovalGate.ApprovalDecision => {
  switch (answer.action) {
    case "decline":
      return ApprovalGate.deny({ reason: "The person at the client refused" })
    case "cancel":
      return ApprovalGate.cancel({ reason: "The person at the client did not decide" })
    case "accept":
      // A form without fields is a plain yes: what came with it must not replace the arguments of the call.
      return request._tag === "QuestionAsked"
        ? ApprovalGate.approve({ params: answer.content })
        : ApprovalGate.approve()
  }
}

/**
 * @category models
 */
export interface Options {
  readonly caller: Identity
  readonly peer: McpPeer.Service
  /** Whether the person at the client decides approvals. */
  readonly approves: boolean
  readonly runs: Runs.Service
  readonly pending: PendingApprovals.Service
  /** Whether a run goes on waiting where the client cannot be asked. Otherwise nobody decides for it. */
  readonly isKept: boolean
}

/**
 * What a run waits for, and the fibers that ask for it while the scope is open.
 *
 * @category models
 */
export class ServedQuestions {
  private readonly open = new Map<string, Request>()

  constructor(
    private readonly asking: FiberMap.FiberMap<string>,
    private readonly options: Options
  ) {}

  /** What is waited for that the client cannot be asked for. */
  get waitsFor(): { readonly id: string; readonly text: string } | undefined {
    if (!this.options.isKept) return undefined
    for (const request of this.open.values()) {
      if (!this.canAsk(request)) return { id: request.id, text: describe(request) }
    }
    return undefined
  }

  /** Takes an event of the run, or of one that it started, in its public view. */
  push(event: AgentEvent): Effect.Effect<void> {
    switch (event._tag) {
      case "ApprovalRequested":
      case "QuestionAsked":
        this.open.set(event.id, event)
        return this.canAsk(event) || !this.options.isKept
          ? Effect.asVoid(FiberMap.run(this.asking, event.id, this.ask(event)))
          : Effect.void
      case "ApprovalResolved":
      case "QuestionAnswered":
        this.open.delete(event.id)
        return FiberMap.remove(this.asking, event.id)
      default:
        return Effect.void
    }
  }

  private canAsk({ _tag }: Request): boolean {
    const { approves, peer } = this.options
    return peer.can.elicit && (_tag === "QuestionAsked" || approves)
  }

  private get access() {
    const { userId } = this.options.caller
    return userId === undefined ? {} : { userId }
  }

  private ask(request: Request): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const known = yield* Effect.orElseSucceed(
        this.options.pending.get(request.id, this.access),
        Option.none<ApprovalRecord>
      )
      if (Option.exists(known, ({ settlement }) => settlement !== undefined)) return
      const asked: Effect.Effect<void, RunError | McpServerError> = Effect.flatMap(
        this.decisionOf(request),
        (decision) => this.decide(request.id, decision)
      )
      // A decision that came too late is none, and one that the person may not make leaves the run waiting.
      if (request._tag === "ApprovalRequested") return yield* Effect.ignore(asked)
      yield* Effect.retry(asked, { times: REPETITIONS, while: isUnfit }).pipe(
        Effect.catchAll((error) =>
          isUnfit(error) ? Effect.ignore(this.decide(request.id, ApprovalGate.cancel())) : Effect.void
        )
      )
    })
  }

  private decisionOf(request: Request): Effect.Effect<ApprovalGate.ApprovalDecision, McpServerError> {
    if (!this.canAsk(request)) {
      return Effect.succeed(ApprovalGate.cancel({ reason: "The person at this client cannot be asked" }))
    }
    return Effect.matchEffect(this.options.peer.elicit(questionOf(request)), {
      onFailure: (error): Effect.Effect<ApprovalGate.ApprovalDecision, McpServerError> =>
        isUnfit(error) ? error : Effect.succeed(ApprovalGate.cancel({ reason: "The client did not answer" })),
      onSuccess: (answer) => Effect.succeed(fromAnswer(request, answer))
    })
  }

  private decide(id: string, decision: ApprovalGate.ApprovalDecision): Effect.Effect<void, RunError> {
    const { userId } = this.options.caller
    return Effect.retry(
      this.options.runs.answer(id, decision, { ...this.access, ...(userId === undefined ? {} : { by: userId }) }),
      { schedule: untilWaiting, while: ({ reason }) => reason === "not-waiting" }
    )
  }
}

/**
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<ServedQuestions, never, Scope.Scope> =>
  Effect.map(FiberMap.make<string>(), (asking) => new ServedQuestions(asking, options))
