/**
 * Sessions as entities of a cluster: each has one process at a time, which answers its messages one after another.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { RunError, RunFailedError } from "../../agent/record/RunError.js"
import { type RunRecord, RunState } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import { RunId } from "../../domain/Ids.js"
import type * as AgentEntityError from "./AgentEntityError.js"
import * as SessionAddress from "./SessionAddress.js"

/**
 * A session and whose it is. All three ids are its address: the same session id with another user or tenant is another
 * entity. Without `userId`, only sessions that nobody owns are reached. Ids have 1 to 256 characters and no control
 * characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionRequest {
  readonly sessionId: string
  readonly userId?: string | undefined
  /** The tenant whose quotas apply; default the user. */
  readonly tenantId?: string | undefined
}

/**
 * A message to a session, and the agent that answers it.
 *
 * @since 0.1.0
 * @category models
 */
export interface MessageRequest
  extends SessionRequest,
    Pick<Runs.StartRequest, "agent" | "input" | "labels" | "settings" | "policy" | "classifications" | "startWith"> {
  /**
   * Makes it the same message however often it is sent: it has one run and one answer. 1 to 256 characters. Default: a
   * new id.
   */
  readonly messageId?: string | undefined
}

/**
 * What a session does now.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Status = Schema.Struct({
  /** The run that goes on or waits for a person; absent if there is none. */
  run: Schema.optional(Schema.Struct({ runId: RunId, state: RunState })),
  /** How many messages wait for their turn. */
  waiting: Schema.NonNegativeInt
}).annotations({ identifier: `effect-lexigram/cluster/AgentEntity/Status` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Status extends Schema.Schema.Type<typeof Status> {}

/**
 * @since 0.1.0
 * @category models
 */
export type Failure = AgentEntityError.AgentEntityError | RunError

/**
 * Every method may fail with `AgentEntityError`: `invalid` for ids and messages that are not valid, `storage` if the
 * database does not take the message. None acts for the system, whoever calls it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Sends a message and returns the answer. The message is kept in the database: it is answered although processes end
   * meanwhile, this one included, and a caller that was interrupted sends it again with the same `messageId`. Fails
   * with `full` if too many messages wait, with `RunError` if its run cannot be started (`unknown-agent`, `conflict`
   * for another message with this id), and with `RunFailedError` if the run failed or was interrupted.
   */
  readonly send: (message: MessageRequest) => Effect.Effect<AgentResponse<unknown>, Failure | RunFailedError>
  /**
   * Sends a message and returns the events of its run, with deltas as they come, wherever the run is. When its process
   * ends, the stream goes on with the next one. A reader that broke off sends the same message with `from`: the `seq`
   * of its last event, plus 1. Leaving the stream does not touch the run.
   */
  readonly stream: (
    message: MessageRequest,
    options?: { readonly from?: number | undefined } | undefined
  ) => Stream.Stream<AgentEvent, Failure>
  /** Adds a message to the run that goes on, for its next call of the model. `not-running` if there is none. */
  readonly steer: (session: SessionRequest, message: string) => Effect.Effect<void, Failure>
  /** What the session does now. `unreachable` if no process answers within `patience`, as for `steer`. */
  readonly status: (session: SessionRequest) => Effect.Effect<Status, Failure>
  /**
   * Interrupts the run that goes on, and returns its record when it has ended. Messages that wait are answered after
   * it. `not-running` if no run goes on.
   */
  readonly interrupt: (session: SessionRequest) => Effect.Effect<RunRecord, Failure>
}

/**
 * @example
 * ```ts
 * import { AgentEntity } from "effect-lexigram/cluster"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const sessions = yield* AgentEntity.AgentEntity
 *   const message = { agent: "helper", sessionId: "order-7", userId: "ann", input: "Where is it?", messageId: "m-1" }
 *   const response = yield* sessions.send(message)
 *   return response.message
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class AgentEntity extends Context.Tag("effect-lexigram/cluster/AgentEntity")<AgentEntity, Service>() {}

/**
 * The id of the run that answers a message: by it, `Runs` finds the run.
 *
 * @since 0.1.0
 * @category getters
 */
export const runIdOf = ({ sessionId, tenantId, userId }: SessionRequest, messageId: string): RunId =>
  SessionAddress.runIdOf({ sessionId, tenantId, userId } as SessionAddress.Session, messageId)
