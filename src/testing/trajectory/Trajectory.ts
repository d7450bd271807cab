/**
 * Says what a run must have done: which tools it called, in what order and with what, what it took, and how it ended.
 * For any test runner.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as AgentResponse from "../../domain/AgentResponse.js"
import type { Check } from "../../eval/trajectory/TrajectoryChecks.js"
import * as TrajectoryText from "../../eval/trajectory/TrajectoryText.js"
import type * as TestModel from "../TestModel.js"
import * as RecordedConversation from "./RecordedConversation.js"

export {
  allCallsSucceeded,
  answered,
  type Call,
  type Check,
  called,
  calledAtMost,
  calledInOrder,
  calledOnly,
  exactly,
  failedWith,
  type Limits,
  neverCalled,
  nothingCalledAfter,
  type Params,
  succeeded,
  within
} from "../../eval/trajectory/TrajectoryChecks.js"

type Response = AgentResponse.AgentResponse<unknown>

/**
 * A run: its response, or its events from a stream or a log.
 *
 * @since 0.1.0
 * @category models
 */
export type Run = Response | Iterable<AgentEvent>

/**
 * Some of what must hold of a run does not. The message has the run as text.
 *
 * @since 0.1.0
 * @category errors
 */
export class TrajectoryError extends Data.TaggedError("effect-lexigram/testing/Trajectory/TrajectoryError")<{
  readonly problems: ReadonlyArray<string>
  readonly message: string
}> {}

const toResponse = (run: Run): Response => (Symbol.iterator in run ? AgentResponse.fromEvents(run) : run)

/**
 * What does not hold of a run.
 *
 * @since 0.1.0
 * @category destructors
 */
export const problems = (run: Run, ...checks: ReadonlyArray<Check>): ReadonlyArray<string> => {
  const response = toResponse(run)
  return checks.flatMap((check) => check(response))
}

/**
 * The run as text: its calls step by step, its answer or error, and what it took.
 *
 * @since 0.1.0
 * @category conversions
 */
export const print = (run: Run): string => TrajectoryText.print(toResponse(run))

const failure = (run: Run, checks: ReadonlyArray<Check>): TrajectoryError | undefined => {
  const response = toResponse(run)
  const found = problems(response, ...checks)
  return found.length === 0
    ? undefined
    : new TrajectoryError({
        problems: found,
        message: `${found.map((problem) => `- ${problem}`).join("\n")}\n\n${TrajectoryText.print(response)}`
      })
}

/**
 * Fails with `TrajectoryError` if something does not hold of a run.
 *
 * @since 0.1.0
 * @category destructors
 */
export const check = (run: Run, ...checks: ReadonlyArray<Check>): Effect.Effect<void, TrajectoryError> =>
  Effect.suspend(() => failure(run, checks) ?? Effect.void)

/**
 * Throws `TrajectoryError` if something does not hold of a run, for tests that are no effects.
 *
 * @since 0.1.0
 * @category destructors
 * @example
 * ```ts
 * import { AgentExecutor, Agent } from "effect-lexigram"
 * import { Trajectory } from "effect-lexigram/testing"
 * import * as Effect from "effect/Effect"
 *
 * const agent = Agent.make("clerk", { system: "You book tables." })
 *
 * const test = Effect.gen(function* () {
 *   const response = yield* AgentExecutor.run(agent, "A table for two at eight")
 *   Trajectory.assert(
 *     response,
 *     Trajectory.calledInOrder("find_table", ["book", { seats: 2 }]),
 *     Trajectory.nothingCalledAfter("book"),
 *     Trajectory.within({ modelCalls: 4, totalTokens: 3000 }),
 *     Trajectory.answered(/booked/)
 *   )
 * })
 * ```
 */
export const assert = (run: Run, ...checks: ReadonlyArray<Check>): void => {
  const error = failure(run, checks)
  if (error !== undefined) throw error
}

/**
 * For `expect.extend` of Vitest and Jest: `expect(response).toHold(Trajectory.called("search"))`.
 *
 * @since 0.1.0
 * @category destructors
 */
export const matchers = {
  toHold: (run: Run, ...checks: ReadonlyArray<Check>) => {
    const error = failure(run, checks)
    return {
      pass: error === undefined,
      message: () => error?.message ?? `All of it holds, and should not.\n\n${print(run)}`
    }
  }
}

/**
 * A message of a recorded conversation as chat completions have it; `tool_calls` may also have `name` and `arguments`
 * of their own.
 *
 * @since 0.1.0
 * @category models
 */
export interface RecordedMessage extends RecordedConversation.RecordedMessage {}

const isMessages = (recorded: Run | ReadonlyArray<RecordedMessage>): recorded is ReadonlyArray<RecordedMessage> =>
  Array.isArray(recorded) && recorded.every((one: object) => "role" in one)

/**
 * A script for `TestModel` from what was recorded: a turn for each message of the assistant in a conversation, or for
 * each step of a run that called tools, and its answer. Calls keep their ids.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toScript = (recorded: Run | ReadonlyArray<RecordedMessage>): ReadonlyArray<TestModel.Turn> =>
  isMessages(recorded)
    ? RecordedConversation.ofMessages(recorded)
    : RecordedConversation.ofResponse(toResponse(recorded))
