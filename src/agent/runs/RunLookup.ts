/**
 * Looks up runs for a caller: their records, events and responses.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import type { RunId } from "../../domain/Ids.js"
import type * as RunLog from "../../observability/RunLog.js"
import type * as Agent from "../definition/AgentDefinition.js"
import * as RunErrors from "../record/RunError.js"
import { isEnded, type RunRecord, type RunState } from "../record/RunRecord.js"
import type * as RunStore from "../record/RunStore.js"
import * as RunAdmission from "./RunAdmission.js"
import * as RunRefusal from "./RunRefusal.js"
import * as RunReply from "./RunReply.js"
import type { Access, Polled } from "./Runs.js"

type RunError = RunErrors.RunError

/** The last state of a run, also if its record could not be written. */
const stateOf = (record: RunRecord, cause: Cause.Cause<unknown> | undefined): RunState => {
  if (isEnded(record.state)) return record.state
  return cause === undefined ? "completed" : Cause.isInterruptedOnly(cause) ? "interrupted" : "failed"
}

/** The failure of a run, for those who wait for it. */
const failureOf = (
  record: RunRecord,
  state: "failed" | "interrupted",
  cause: Cause.Cause<unknown> | undefined,
  response: AgentResponse<unknown> | undefined
): RunErrors.RunFailedError => {
  const error = record.error ?? { tag: "InterruptedError", message: "The run was interrupted" }
  return new RunErrors.RunFailedError({
    runId: record.runId,
    state,
    error,
    message: `The run ${state === "failed" ? `failed: ${error.message}` : "was interrupted"}`,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(response === undefined ? {} : { response }),
    ...(cause === undefined || state === "interrupted" ? {} : { cause: Cause.squash(cause) })
  })
}

/**
 * @category models
 */
export class RunLookup {
  constructor(
    private readonly store: RunStore.Service,
    private readonly log: RunLog.Service,
    private readonly agents: ReadonlyMap<string, Agent.Any>
  ) {}

  /** The record, if the caller may see it. */
  find(runId: string, access: Access | undefined): Effect.Effect<RunRecord, RunError> {
    const id = RunAdmission.runIdOf(runId)
    return id === undefined
      ? RunErrors.unknownRun(String(runId))
      : Effect.flatMap(this.store.get(id, access), (found) =>
          Option.isSome(found) ? Effect.succeed(found.value) : RunErrors.unknownRun(runId)
        )
  }

  read(runId: RunId, options: RunLog.ReadOptions): Effect.Effect<ReadonlyArray<AgentEvent>, RunError> {
    return Effect.mapError(this.log.read(runId, options), RunRefusal.storageError)
  }

  /**
   * The response of a run that ended, its output as the agent's schema has it. Only what is written counts: an attempt
   * of this process that another process overtook may still be here.
   */
  reply(
    { agent, runId }: RunRecord,
    access: Access | undefined
  ): Effect.Effect<AgentResponse<unknown> | undefined, RunError> {
    const userId = access?.userId
    return Effect.flatMap(
      RunReply.make((id, options) => this.read(id, { ...options, userId, written: true }), runId),
      (response) => {
        const output = this.agents.get(agent)?.definition.output
        if (response === undefined || output === undefined || response.finishReason === undefined) {
          return Effect.succeed(response)
        }
        return Effect.map(
          Effect.orElseSucceed(output.decode(response.output), () => response.output),
          (decoded) => ({ ...response, output: decoded })
        )
      }
    )
  }

  /** The run as it is now; none if the caller may see no such run. */
  polled(runId: string, access: Access | undefined): Effect.Effect<Option.Option<Polled>, RunError> {
    return this.find(runId, access).pipe(
      Effect.flatMap((record) =>
        isEnded(record.state)
          ? Effect.map(this.reply(record, access), (response) =>
              Option.some<Polled>(response === undefined ? { record } : { record, response })
            )
          : Effect.succeed(Option.some<Polled>({ record }))
      ),
      Effect.catchIf(
        ({ reason }) => reason === "unknown-run",
        () => Effect.succeedNone
      )
    )
  }

  /** What those get who waited for the end of a run. `cause` is why it did not succeed, where that is known. */
  readonly outcome = (
    record: RunRecord,
    cause: Cause.Cause<unknown> | undefined,
    access: Access | undefined
  ): Effect.Effect<AgentResponse<unknown>, RunError | RunErrors.RunFailedError> =>
    Effect.flatMap(
      this.reply(record, access),
      (response): Effect.Effect<AgentResponse<unknown>, RunError | RunErrors.RunFailedError> => {
        const state = stateOf(record, cause)
        if (state === "failed" || state === "interrupted") return failureOf(record, state, cause, response)
        return response === undefined
          ? RunRefusal.storageError({
              message: "The log has no events of the run",
              hint: "Provide a RunLog that keeps events for as long as responses are read"
            })
          : Effect.succeed(response)
      }
    )
}
