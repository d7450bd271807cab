/**
 * Follows a run to its end: shows it, and decides what it asks.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
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

const decided = (
  connection: Connection,
  asked: Asked,
  decide: Decide
): Effect.Effect<void, ApiError, Screen.Screen | Report.Format> => {
  const { decideApproval } = connection.client.api.approvals
  return Effect.flatMap(decide(asked), (payload) =>
    Effect.catchAll(
      decideApproval({ path: { requestId: asked.id }, payload }) as Effect.Effect<void, ApiError>,
      (error) =>
        // An answer that does not fit leaves the question open; other requests were decided elsewhere meanwhile.
        error.reason === "invalid" && payload.decision === "approve"
          ? Effect.zipRight(Report.failure(error), decided(connection, asked, decide))
          : error.reason === "conflict" || error.reason === "unknown"
            ? Report.remark("It was decided meanwhile.")
            : error
    )
  )
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
