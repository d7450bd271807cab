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
import { placeIn } from "./payload/RunBlobs.js"
import type { RunPayloads } from "./payload/RunPayloads.js"

const decodePayload = Schema.decodeUnknown(AgentWorkflow.Payload)

const unkept = (runId: string): RunError =>
  new RunError({
    reason: "invalid",
    runId,
    message: "The steps of the run are no longer kept",
    hint: "Fork a run before its steps are pruned, or start a new one"
  })

type Kept = Pick<AgentWorkflow.Registry, "journal" | "log" | "payloads">

/** What a run was started with. */
const requestOf = (
  registry: Kept,
  journal: WorkflowJournal.Service,
  { runId }: RunRecord
): Effect.Effect<AgentWorkflow.Payload, RunError> =>
  Effect.flatMap(AgentWorkflow.executionOf(runId), (executionId) =>
    Effect.flatMap(
      Effect.mapError(journal.payload(executionId), RunRefusal.storageError),
      Option.match({
        onNone: () => unkept(runId),
        onSome: (encoded) =>
          Effect.flatMap(
            Effect.mapError(decodePayload(encoded), () => unkept(runId)),
            (payload) =>
              Effect.mapError(
                AgentWorkflow.fromKept(AgentWorkflow.payloadsOf(registry, executionId, payload), payload),
                ({ hint, message }) =>
                  RunRefusal.storageError({ message: `The request of the run cannot be read: ${message}`, hint })
              )
          )
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
  registry: Kept,
  journal: WorkflowJournal.Service,
  record: RunRecord,
  step: number,
  changes: Changes
): Effect.Effect<StartRequest, RunError> =>
  Effect.gen(function* () {
    yield* checkStep(registry.log, record, step)
    const {
      byReference: _,
      fork: __,
      request: ___,
      runId: ____,
      startedAt: _____,
      system: ______,
      version: _______,
      ...begun
    } = yield* requestOf(registry, journal, record)
    const { agent, history, input, labels, output, policy, runId, settings } = changes
    return {
      ...begun,
      labels: labels ?? record.labels,
      ...(agent === undefined ? {} : { agent }),
      ...(history === undefined ? {} : { history }),
      ...(input === undefined ? {} : { input }),
      ...(output === undefined ? {} : { output }),
      ...(runId === undefined ? {} : { runId }),
      ...(policy === undefined ? {} : { policy }),
      ...(settings === undefined ? {} : { settings })
    }
  })

/** What an attempt at a fork takes from its run. */
export const source = (
  { journal, log }: Kept,
  { runId, step }: NonNullable<AgentWorkflow.Payload["fork"]>,
  payloads: RunPayloads
): Effect.Effect<JournalEvents.Source> =>
  Effect.gen(function* () {
    const executionId = yield* AgentWorkflow.executionOf(runId)
    const id = RunId.make(runId)
    const begun = journal === undefined ? Option.none<unknown>() : yield* journal.payload(executionId)
    const from = placeIn(executionId, Option.getOrUndefined(begun))
    /** The record with its blobs, which the fork has from now on. */
    const adopted = (exit: Exit.Exit<unknown, unknown>) => {
      if (Exit.isFailure(exit)) return Effect.succeedNone
      return from === undefined
        ? Effect.succeedSome(exit.value)
        : Effect.as(payloads.adopt(from, exit.value), Option.some(exit.value))
    }
    return {
      runId: id,
      step,
      events: yield* JournalEvents.readAll(log, id),
      result: (name: string) =>
        journal === undefined
          ? Effect.succeedNone
          : Effect.flatMap(
              Effect.orDie(journal.result(executionId, name)),
              Option.match({ onNone: () => Effect.succeedNone, onSome: adopted })
            )
    }
  }).pipe(Effect.orDie)
