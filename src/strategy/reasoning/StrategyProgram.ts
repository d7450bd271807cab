/**
 * Strategies of programs, and how their runs end.
 *
 * @internal
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type AgentEvent, errorInfo } from "../../domain/AgentEvent.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { RunId } from "../../domain/Ids.js"
import * as ReaderTimeout from "../../domain/ReaderTimeout.js"
import * as EventSink from "../../internal/fiber/EventSink.js"
import * as Run from "../../observability/Run.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type { Answer, Any, Strategy, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"

/**
 * Whether a value has the shape of a strategy.
 *
 * @since 0.1.0
 * @category guards
 */
export const isStrategy = (u: unknown): u is Any =>
  typeof u === "object" &&
  u !== null &&
  "name" in u &&
  typeof u.name === "string" &&
  "program" in u &&
  typeof u.program === "function" &&
  "execute" in u &&
  typeof u.execute === "function"

/**
 * A strategy of a program. The program emits `StepStarted`, deltas, thoughts and the like through `Run`; the start, the
 * message and the end of the run are not its business.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E, R>(
  name: string,
  program: (task: Task) => Effect.Effect<Answer, E, R>
): Strategy<Exclude<E, StrategyBaseError>, Exclude<R, StrategyServices>> => ({
  name,
  program: program as Any["program"],
  execute: (task) =>
    EventSink.stream<AgentEvent, any, any>({ capacity: 64, patience: ReaderTimeout.current }, (sink) =>
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const runId = (yield* IdGenerator.generate) as RunId
        const run = Run.make({
          runId,
          agent: name,
          clock,
          sink: { push: sink.push, settle: sink.settle, live: true }
        })
        const startedAt = clock.unsafeCurrentTimeMillis()
        return yield* run.emit({ _tag: "Started", input: task.input, strategy: name }).pipe(
          Effect.zipRight(program(task) as ReturnType<Any["program"]>),
          Effect.tap((answer) =>
            run.emit({
              _tag: "Message",
              text: answer.text,
              ...(answer.output === undefined ? {} : { output: answer.output })
            })
          ),
          sink.attended,
          Effect.onExit((exit) => Effect.sync(() => terminal(run, exit, clock.unsafeCurrentTimeMillis() - startedAt))),
          Effect.provideService(Run.Run, run)
        )
      })
    )
})

/**
 * The last event of a run that ended like this.
 *
 * @since 0.1.0
 * @category conversions
 */
export const terminal = (
  run: Run.Service,
  exit: Exit.Exit<Answer, unknown>,
  durationMs: number,
  sessionId?: string | undefined
): void => {
  if (Exit.isSuccess(exit)) {
    run.terminal({
      _tag: "Finished",
      reason: exit.value.reason,
      durationMs,
      ...(sessionId === undefined ? {} : { sessionId })
    })
    return
  }
  const interrupted = Cause.isInterruptedOnly(exit.cause)
  const failure = Cause.failureOption(exit.cause)
  run.terminal({
    _tag: "Error",
    interrupted,
    error: interrupted
      ? { tag: "InterruptedError", message: "The run was interrupted" }
      : Option.isSome(failure)
        ? errorInfo(unwrap(failure.value))
        : { tag: "Defect", message: "The run crashed: a bug, not a failure; see the cause in the logs" }
  })
}

const unwrap = (error: unknown): unknown =>
  typeof error === "object" && error !== null && (error as { readonly _tag?: unknown })._tag === "Fatality"
    ? (error as Fatality).error
    : error
