/**
 * Agents for Effect applications in other processes: procedures with typed errors and streams of events, over whatever
 * `@effect/rpc` speaks.
 *
 * @since 0.1.0
 */
import * as Rpc from "@effect/rpc/Rpc"
import * as RpcGroup from "@effect/rpc/RpcGroup"
import * as RpcMiddleware from "@effect/rpc/RpcMiddleware"
import * as Schema from "effect/Schema"
import { RunState } from "../agent/record/RunRecord.js"
import { AgentEvent } from "../domain/AgentEvent.js"
import { ApiError } from "../http/api/ApiError.js"
import * as ApiModels from "../http/api/ApiModels.js"
import { Caller } from "../http/api/Authentication.js"

const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))
const Limit = Schema.optional(Schema.Int.pipe(Schema.between(1, 500)))

/**
 * Finds the caller of a procedure by the headers of its message, and counts its requests.
 *
 * @since 0.1.0
 * @category middleware
 */
export class Authenticated extends RpcMiddleware.Tag<Authenticated>()("effect-lexigram/rpc/Authenticated", {
  provides: Caller,
  failure: ApiError
}) {}

const start = {
  ...ApiModels.StartRun.fields,
  /** The same key and request of a caller is the same run; another request with the key is a conflict. */
  key: Schema.optional(Id)
}

/**
 * The procedures. Everything belongs to the caller: what belongs to another one looks like nothing. Events are those of
 * the public view.
 *
 * @since 0.1.0
 * @category constants
 */
export class AgentRpc extends RpcGroup.make(
  Rpc.make("listAgents", { success: Schema.Array(ApiModels.AgentInfo), error: ApiError }),
  /** Returns once the run is accepted. */
  Rpc.make("startRun", { payload: start, success: ApiModels.Run, error: ApiError }),
  /**
   * Starts a run and follows it. A caller that leaves interrupts it, unless it comes back with `runEvents` in time or
   * `detach` is true.
   */
  Rpc.make("streamRun", {
    payload: { ...start, detach: Schema.optional(Schema.Boolean) },
    success: AgentEvent,
    error: ApiError,
    stream: true
  }),
  /** The events of a run from a number on, those that were and those that come. */
  Rpc.make("runEvents", {
    payload: { runId: Id, from: Schema.optional(Schema.NonNegativeInt) },
    success: AgentEvent,
    error: ApiError,
    stream: true
  }),
  Rpc.make("listRuns", {
    payload: {
      agent: Schema.optional(Id),
      sessionId: Schema.optional(Id),
      state: Schema.optional(RunState),
      limit: Limit,
      cursor: Schema.optional(Schema.String)
    },
    success: ApiModels.RunPage,
    error: ApiError
  }),
  Rpc.make("getRun", { payload: { runId: Id }, success: ApiModels.RunWithAnswer, error: ApiError }),
  /** Waits for the end of a run. One that fails has an answer that says so. */
  Rpc.make("awaitRun", { payload: { runId: Id }, success: ApiModels.RunWithAnswer, error: ApiError }),
  /** Returns the run when it has ended. */
  Rpc.make("interruptRun", { payload: { runId: Id }, success: ApiModels.Run, error: ApiError }),
  /** Adds a message that the model sees with its next call. */
  Rpc.make("steerRun", { payload: { runId: Id, message: Schema.NonEmptyString }, error: ApiError }),
  Rpc.make("listApprovals", {
    payload: { runId: Schema.optional(Id), sessionId: Schema.optional(Id), limit: Limit },
    success: Schema.Array(ApiModels.WaitingRequest),
    error: ApiError
  }),
  Rpc.make("decideApproval", {
    payload: { requestId: Id, ...ApiModels.Decision.fields },
    error: ApiError
  })
).middleware(Authenticated) {}
