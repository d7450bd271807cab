/**
 * Runs that go on from a step of another run: until that step they take what the other run has recorded.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunError } from "../agent/record/RunError.js"
import type { RunRecord } from "../agent/record/RunRecord.js"
import * as RunRefusal from "../agent/runs/RunRefusal.js"
import type { Changes, StartRequest } from "../agent/runs/Runs.js"
import { RunId } from "../domain/Ids.js"
import type * as RunLog from "../observability/RunLog.js"
import * as AgentWorkflow from "./AgentWorkflow.js"
import type * as WorkflowJournal from "./engine/WorkflowJournal.js"
import * as JournalEvents from "./JournalEvents.js"

const decodePayload = Schema.decodeUnknown(AgentWorkflow.Payload)

const unkept = (runId: string): RunError =>
  new RunError({
    reason: "invalid",
    runId,
    message: "The steps of the run are no longer kept",
    hint: "Fork a run before its steps are pruned, or start a new one"
  })

/** What a run was started with. */
const requestOf = (
  journal: WorkflowJournal.Service,
  { runId }: RunRecord
): Effect.Effect<AgentWorkflow.Payload, RunError> =>
  AgentWorkflow.executionOf(runId).pipe(
    Effect.flatMap(journal.payload),
    Effect.mapError(RunRefusal.storageError),
    Effect.flatMap(
      Option.match({
        onNone: () => unkept(runId),
        onSome: (payload) => Effect.mapError(decodePayload(payload), () => unkept(runId))
      })
    )
  )

/** Fails if the run has not come to the step. */
const checkStep = (log: RunLog.Service, { runId }: RunRecord, step: number): Effect.Effect<void, RunError> =>
  Effect.flatMap(Effect.mapError(JournalEvents.readAll(log, runId), RunRefusal.storageError), (events) => {
    const steps = events.filter(({ _tag }) => _tag === "StepStarted").length
    return Number.isInteger(step) && step >= 0 && step < steps
      ? Effect.void
      : new RunError({
          reason: "invalid",
          runId,
          message: `The run has ${steps} steps, and no step ${String(step).slice(0, 32)}`,
          hint: steps === 0 ? "Fork a run that has begun a step" : `Give a step from 0 to ${steps - 1}`
        })
  })

/** The request of a fork: that of its run with the changes. The owner stays. */
export const request = (
  journal: WorkflowJournal.Service,
  log: RunLog.Service,
  record: RunRecord,
  step: number,
  changes: Changes
): Effect.Effect<StartRequest, RunError> =>
  Effect.gen(function* () {
    yield* checkStep(log, record, step)
    const {
      fork: _,
      runId: __,
      startedAt: ___,
      system: ____,
      version: _____,
      ...begun
    } = yield* requestOf(journal, record)
    const { agent, history, input, labels, policy, runId, settings } = changes
    return {
      ...begun,
      labels: labels ?? record.labels,
      ...(agent === undefined ? {} : { agent }),
      ...(history === undefined ? {} : { history }),
      ...(input === undefined ? {} : { input }),
      ...(runId === undefined ? {} : { runId }),
      ...(policy === undefined ? {} : { policy }),
      ...(settings === undefined ? {} : { settings })
    }
  })

/** What an attempt at a fork takes from its run. */
export const source = (
  journal: WorkflowJournal.Service | undefined,
  log: RunLog.Service,
  { runId, step }: NonNullable<AgentWorkflow.Payload["fork"]>
): Effect.Effect<JournalEvents.Source> =>
  Effect.gen(function* () {
    const executionId = yield* AgentWorkflow.executionOf(runId)
    const id = RunId.make(runId)
    return {
      runId: id,
      step,
      events: yield* JournalEvents.readAll(log, id),
      result: (name: string) =>
        journal === undefined
          ? Effect.succeedNone
          : Effect.map(
              Effect.orDie(journal.result(executionId, name)),
              Option.flatMap((exit) => (Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none()))
            )
    }
  }).pipe(Effect.orDie)
