/**
 * Follows a run to its end: shows it, and decides what it asks.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type * as AgentEvent from "../../domain/AgentEvent.js"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import type { ApiError } from "../../http/api/ApiError.js"
import type * as ApiModels from "../../http/api/ApiModels.js"
import type { Connection } from "../connection/Connection.js"
import type { Asked, Decide } from "../prompt/Decisions.js"
import * as Report from "../terminal/Report.js"
import type { RunPrinter } from "../terminal/RunPrinter.js"
import type * as Screen from "../terminal/Screen.js"

/**
 * @category models
 */
export interface Options {
  readonly decide: Decide
  /** Is told of every event before the next one is taken. */
  readonly onEvent: (event: AgentEvent.AgentEvent) => void
  /** Shows what the person is asked in a line of its own. */
  readonly printer?: RunPrinter | undefined
}

/**
 * How a run ended.
 *
 * @category models
 */
export interface Ended {
  readonly runId: string
  readonly error: ErrorInfo | undefined
}

const isGone = ({ reason }: ApiError): boolean => reason === "conflict" || reason === "unknown"

/** How often, and how long, a run that goes on in another process is given to ask again: 30 seconds. */
const again = { times: 120, schedule: Schedule.spaced("250 millis") }

const decided = (
  connection: Connection,
  asked: Asked,
  decide: Decide
): Effect.Effect<void, ApiError, Screen.Screen | Report.Format> => {
  const { decideApproval, getApproval } = connection.client.api.approvals
  const path = { requestId: asked.id }
  const settled = Effect.map(
    Effect.option(getApproval({ path })),
    Option.exists(({ settled }) => settled !== undefined)
  )
  return Effect.flatMap(decide(asked), (payload) => {
    const sent = decideApproval({ path, payload }) as Effect.Effect<void, ApiError>
    return Effect.catchIf(sent, isGone, (error) =>
      Effect.flatMap(settled, (isSettled) => (isSettled ? Report.remark("It was decided meanwhile.") : error))
    ).pipe(
      Effect.retry({ ...again, while: isGone }),
      Effect.catchIf(isGone, () => Report.remark("It is not asked any more.")),
      // An answer that does not fit leaves the question open.
      Effect.catchIf(
        ({ reason }) => reason === "invalid" && payload.decision === "approve",
        (error) => Effect.zipRight(Report.failure(error), decided(connection, asked, decide))
      )
    )
  })
}

/**
 * The events of a run until its last one. Its first event may come from a start or from a run that goes on.
 *
 * @category constructors
 */
export const follow = (
  connection: Connection,
  events: Stream.Stream<AgentEvent.AgentEvent, ApiError>,
  { decide, onEvent, printer }: Options
): Effect.Effect<Ended, ApiError, Screen.Screen | Report.Format> =>
  Effect.suspend(() => {
    let ended: Ended = { runId: "", error: undefined }
    const resumable = Effect.suspend(() => {
      printer?.clear()
      return ended.runId !== "" && connection.outlives && Option.isSome(connection.local)
        ? Report.remark(`\nThe run is not over. To go on: lexigram runs resume ${ended.runId}`)
        : Effect.void
    })
    return events.pipe(
      Stream.runForEach((event) => {
        ended = { runId: event.runId, error: event._tag === "Error" ? event.error : undefined }
        onEvent(event)
        printer?.show(event)
        if (event._tag !== "ApprovalRequested" && event._tag !== "QuestionAsked") return Effect.void
        printer?.clear()
        return decided(connection, event, decide)
      }),
      Effect.map(() => ended),
      Effect.onInterrupt(() => resumable)
    )
  })

/**
 * Starts a run. A run that can go on later is not interrupted with this process.
 *
 * @category constructors
 */
export const start = ({ client, local }: Connection, request: ApiModels.StartRun) =>
  client.stream(request, { detach: Option.isSome(local) })
