/**
 * How durable runs end that undo their calls: decided once, for every process.
 *
 * @private
 * @since 0.1.0
 */
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import { type WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Sha256 from "../internal/text/Sha256.js"
import * as StepTooLargeError from "../observability/journal/StepTooLargeError.js"
import type * as Step from "../observability/Step.js"
import * as AgentWorkflow from "./AgentWorkflow.js"
import * as FailureCodec from "./FailureCodec.js"
import type { ReplayError } from "./ReplayError.js"

/** What the endings of the runs of one attempt need. */
export interface Attempt {
  readonly engine: WorkflowEngine["Type"]
  readonly failures: FailureCodec.FailureCodec
  /** The clock of the process. */
  readonly clock: Clock.Clock
  readonly isClosing: () => boolean
  readonly astray: ReplayError | undefined
  /** The end of a run is decided: it only undoes its calls. */
  readonly onEnding: (runId: string) => void
}

const Ending = Schema.Struct({
  /** Absent if the run was interrupted. */
  failure: Schema.optional(FailureCodec.Encoded),
  details: Schema.Unknown
})
type Ending = typeof Ending.Type

const deferredOf = (runId: string): DurableDeferred.DurableDeferred<typeof Ending> =>
  DurableDeferred.make(`ending~${Sha256.hex(runId).slice(0, 32)}`, { success: Ending })

const encode = ({ failures }: Attempt, { cause, details }: Step.Ending): Ending => {
  if (Cause.isInterruptedOnly(cause)) return { details }
  const failure = Option.getOrElse(
    Cause.failureOption(cause),
    () => StepTooLargeError.inCause(cause) ?? { _tag: "Defect", message: "The run crashed: a bug, not a failure" }
  )
  return { failure: failures.encode(failure), details }
}

const decode = ({ failures }: Attempt, { details, failure }: Ending): Step.Ending => ({
  cause: failure === undefined ? Cause.interrupt(FiberId.none) : Cause.fail(failures.decode(failure)),
  details
})

/** The endings of the runs of one attempt. */
export const make = (
  attempt: Attempt,
  instance: WorkflowInstance["Type"],
  onlyRecorded: () => Step.Service
): Step.Endings => {
  let made: Step.Service | undefined
  return {
    get onlyRecorded() {
      made ??= onlyRecorded()
      return made
    },
    find: (runId) =>
      Effect.map(
        Effect.provideService(attempt.engine.deferredResult(deferredOf(runId)), WorkflowInstance, instance),
        (exit) => {
          if (exit === undefined || Exit.isFailure(exit)) return Option.none()
          attempt.onEnding(runId)
          return Option.some(decode(attempt, exit.value))
        }
      ),
    keep: (runId, ending) =>
      Effect.suspend(() => {
        attempt.onEnding(runId)
        const deferred = deferredOf(runId)
        return attempt.engine.deferredDone(deferred, {
          workflowName: AgentWorkflow.workflow.name,
          executionId: instance.executionId,
          deferredName: deferred.name,
          exit: Exit.succeed(encode(attempt, ending))
        })
      })
  }
}

/** How often a step that must not run looks whether its process is to end. */
const LOOK = "20 millis"
const MOST_LOOKS = 3000

/** Waits in place of a step that must not run, until the replay ends. `astray` ends one that does not. */
export const blocked = (attempt: Attempt, astray: Effect.Effect<never>): Effect.Effect<never> => {
  const look = (left: number): Effect.Effect<never> =>
    Effect.flatMap(Effect.sleep(LOOK), () => {
      if (attempt.isClosing() || attempt.astray !== undefined) return Effect.interrupt
      return left === 0 ? astray : look(left - 1)
    })
  return Effect.withClock(look(MOST_LOOKS), attempt.clock)
}
