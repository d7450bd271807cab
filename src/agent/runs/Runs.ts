/**
 * Runs by their ids: started, followed, steered, answered and listed by callers that do not keep their fibers, such as
 * servers and command lines.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import type { ApprovalDecision } from "../../tool/approval/ApprovalGate.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { AgentRequest } from "../AgentExecutor.js"
import type { Output, ToolChoice } from "../record/RequestedAnswer.js"
import type { RunError, RunFailedError } from "../record/RunError.js"
import type { RunRecord } from "../record/RunRecord.js"
import type * as RunStore from "../record/RunStore.js"

/**
 * The caller. Without `userId` the caller reaches only runs without a user, unless it acts for the system
 * (`SystemAccess`). A run of another owner looks like an unknown one.
 *
 * @since 0.1.0
 * @category models
 */
export type Access = RunStore.Access

/**
 * @since 0.1.0
 * @category models
 */
export interface StartRequest extends AgentRequest {
  /** The name of the agent. */
  readonly agent: string
  /** At most 16, names of 1 to 64 characters, values of at most 256. Default none. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /**
   * The form of the answer, as a JSON Schema; the response has the value as its `output`. An answer that does not fit
   * goes back to the model twice. `invalid` for an agent whose own output is another one.
   */
  readonly output?: Output | undefined
  /**
   * The tools that the model must call. A name of a tool that neither the agent nor the request has is `invalid`.
   * Default `auto`: the agent decides.
   */
  readonly toolChoice?: ToolChoice | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Polled {
  readonly record: RunRecord
  /** Present once the run has ended, as long as the log has its events. */
  readonly response?: AgentResponse<unknown> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface EventsOptions extends Access {
  /** The `seq` of the first event; default 0. After a break: that of the last event read, plus 1. */
  readonly from?: number | undefined
}

/**
 * What a fork changes of the request of its run; what is absent stays. The owner and the session stay in any case.
 *
 * @since 0.1.0
 * @category models
 */
export interface Changes
  extends Partial<
    Pick<StartRequest, "agent" | "history" | "input" | "labels" | "output" | "policy" | "runId" | "settings">
  > {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ForkOptions extends Access {
  /** The step of the run before which the fork begins, from 0: the number of `StepStarted` events before it. */
  readonly step: number
  readonly changes?: Changes | undefined
}

/**
 * Ids may come from outside: one that no run can have is an unknown one, and `start` refuses it (`invalid`). Every
 * method may fail with the reason `storage`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What these runs can do besides: go on after the end of their process, and go on from a step of another run. */
  readonly capabilities: { readonly resume: boolean; readonly fork: boolean }
  /**
   * Starts a run and returns once it is accepted: it is recorded, and goes on or waits for its turn (`queued`). A
   * `runId` that is known gives the known run if owner and request are the same, so that a caller may repeat a start;
   * else it fails with `conflict`. Other failures: `unknown-agent`, `invalid`, `full`. What only the run finds out,
   * such as settings that its model does not take, is the failure of the run.
   */
  readonly start: (request: StartRequest) => Effect.Effect<RunRecord, RunError>
  /** The run as it is now; none if the caller may see no such run. */
  readonly poll: (runId: string, access?: Access | undefined) => Effect.Effect<Option.Option<Polled>, RunError>
  /**
   * The response of the run, once it has ended; `RunFailedError` if it failed or was interrupted. Interrupting the wait
   * does not interrupt the run. Fails with `storage` if the log no longer has the events of the run.
   */
  readonly await: (
    runId: string,
    access?: Access | undefined
  ) => Effect.Effect<AgentResponse<unknown>, RunError | RunFailedError>
  /**
   * The events of the run itself from a `seq` on, each once, then those that follow until the last one. A reader sees
   * deltas as they come, and what it comes too late for as whole texts: before one, a `TextRetracted` with the number
   * of an earlier event takes back what the reader may have seen of it. Leaving the stream does not touch the run, and
   * a slow reader does not slow it down. When a reader in the process of the run has its last event, the record has its
   * last state.
   */
  readonly events: (runId: string, options?: EventsOptions | undefined) => Stream.Stream<AgentEvent, RunError>
  /**
   * Interrupts a run, undoes its calls whose tools say how (`compensate`), and returns its record when it has ended.
   * `not-running` if it had ended before, or if another process would have to do it.
   */
  readonly interrupt: (runId: string, access?: Access | undefined) => Effect.Effect<RunRecord, RunError>
  /** Adds a message of the user, which the model sees with its next call. `not-running`, `full`. */
  readonly steer: (runId: string, message: string, access?: Access | undefined) => Effect.Effect<void, RunError>
  /**
   * Decides an approval or answers a question by the id of its request. `not-waiting` if none waits; `invalid` if the
   * answer does not fit the question, which stays open.
   */
  readonly answer: (
    requestId: string,
    decision: ApprovalDecision,
    options?: PendingApprovals.DecideOptions | undefined
  ) => Effect.Effect<void, RunError>
  /** Goes on with a run whose process ended. `unsupported` without the capability. */
  readonly resume: (runId: string, access?: Access | undefined) => Effect.Effect<RunRecord, RunError>
  /** The newest runs first, page by page. */
  readonly list: (filter?: RunStore.Filter | undefined) => Effect.Effect<RunStore.Page, RunError>
  /**
   * Starts a run that goes on from a step of another one, which stays as it is. Until then it takes what that run has
   * recorded, and asks and does nothing again, also where `changes` give other inputs. It fails with `ReplayError` at a
   * step that the run has not recorded. It tries out another course: it adds nothing to the session of the run or to
   * memory. `invalid` if the run has no such step, `unsupported` without the capability.
   */
  readonly fork: (runId: string, options: ForkOptions) => Effect.Effect<RunRecord, RunError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Runs extends Context.Tag("effect-lexigram/agent/Runs")<Runs, Service>() {}

/**
 * @since 0.1.0
 * @category accessors
 */
export const start = (request: StartRequest): Effect.Effect<RunRecord, RunError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.start(request))

/**
 * @since 0.1.0
 * @category accessors
 */
export const poll = (
  runId: string,
  access?: Access | undefined
): Effect.Effect<Option.Option<Polled>, RunError, Runs> => Effect.flatMap(Runs, (runs) => runs.poll(runId, access))

const await_ = (
  runId: string,
  access?: Access | undefined
): Effect.Effect<AgentResponse<unknown>, RunError | RunFailedError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.await(runId, access))

export {
  /**
   * @since 0.1.0
   * @category accessors
   */
  await_ as await
}

/**
 * @since 0.1.0
 * @category accessors
 */
export const events = (runId: string, options?: EventsOptions | undefined): Stream.Stream<AgentEvent, RunError, Runs> =>
  Stream.unwrap(Effect.map(Runs, (runs) => runs.events(runId, options)))

/**
 * @since 0.1.0
 * @category accessors
 */
export const interrupt = (runId: string, access?: Access | undefined): Effect.Effect<RunRecord, RunError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.interrupt(runId, access))

/**
 * @since 0.1.0
 * @category accessors
 */
export const steer = (
  runId: string,
  message: string,
  access?: Access | undefined
): Effect.Effect<void, RunError, Runs> => Effect.flatMap(Runs, (runs) => runs.steer(runId, message, access))

/**
 * @since 0.1.0
 * @category accessors
 */
export const answer = (
  requestId: string,
  decision: ApprovalDecision,
  options?: PendingApprovals.DecideOptions | undefined
): Effect.Effect<void, RunError, Runs> => Effect.flatMap(Runs, (runs) => runs.answer(requestId, decision, options))

/**
 * @since 0.1.0
 * @category accessors
 */
export const resume = (runId: string, access?: Access | undefined): Effect.Effect<RunRecord, RunError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.resume(runId, access))

/**
 * @since 0.1.0
 * @category accessors
 */
export const list = (filter?: RunStore.Filter | undefined): Effect.Effect<RunStore.Page, RunError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.list(filter))

/**
 * @since 0.1.0
 * @category accessors
 */
export const fork = (runId: string, options: ForkOptions): Effect.Effect<RunRecord, RunError, Runs> =>
  Effect.flatMap(Runs, (runs) => runs.fork(runId, options))
