/**
 * Shows an observer the steps of a strategy.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type { AgentEvent, Body } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Run from "../../observability/Run.js"
import type * as Strategy from "../definition/Strategy.js"
import * as RunView from "../reasoning/RunView.js"
import { derive } from "./DerivedStrategy.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Observer<out E2 = never, out R2 = never> {
  /**
   * Called when a tool ended, with its name and the observation. A thought has the action `thought`, a verdict
   * `critique`; the answer is the last step, with the action `final_answer`.
   */
  readonly onStep?: ((step: number, action: string, result: string) => Effect.Effect<unknown, E2, R2>) | undefined
  readonly onComplete?: ((totalSteps: number, finalResult: string) => Effect.Effect<unknown, E2, R2>) | undefined
}

/** What an observer sees of an event. */
const seenOf = (body: Body | AgentEvent): Parameters<NonNullable<Observer["onStep"]>> | undefined => {
  switch (body._tag) {
    case "ToolResult":
      return [body.step, body.name, body.observation]
    case "Thought":
      return [body.step, "thought", body.text]
    case "Critique":
      return [body.step, "critique", body.text]
    default:
      return undefined
  }
}

/**
 * Shows an observer the steps of the strategy one at a time, in the order of the events, even if tools run
 * concurrently: a tool counts as running until the observer has seen its result. A sub-agent is seen as its tool. A
 * failing observer is logged and does not affect the run.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withObserver: {
  <E2, R2>(observer: Observer<E2, R2>): <E, R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R | R2>
  <E, R, E2, R2>(strategy: Strategy.Strategy<E, R>, observer: Observer<E2, R2>): Strategy.Strategy<E, R | R2>
} = dual(2, (strategy: Strategy.Any, { onComplete, onStep }: Observer<any, any>): Strategy.Strategy<any, any> => {
  const safely = (effect: Effect.Effect<unknown, any, any>) =>
    Effect.catchAll(effect, (error) =>
      Effect.annotateLogs(Effect.logWarning(`an observer failed: ${errorInfo(error).message}`), {
        module: "StrategyObserver.withObserver",
        strategy: strategy.name
      })
    )
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const context = yield* Effect.context<any>()
      const run = yield* Run.Run
      const oneAtATime = Permits.make(1)
      const waiting: Array<Effect.Effect<unknown, any, any>> = []
      let steps = 0
      // The first emitter shows everything that waits. An interrupted emitter leaves nothing unseen.
      const show: Effect.Effect<void> = oneAtATime(
        Effect.whileLoop({
          while: () => waiting.length > 0,
          body: () => Effect.suspend(() => safely(waiting.shift() ?? Effect.void)),
          step: () => {}
        })
      ).pipe(Effect.provide(context)) as Effect.Effect<void>
      const view = RunView.watched(run, (body, own) => {
        if (!own) return undefined
        if (body._tag === "StepStarted") steps++
        const seen = onStep === undefined ? undefined : seenOf(body)
        if (onStep === undefined || seen === undefined) return undefined
        waiting.push(Effect.suspend(() => onStep(...seen)))
        return show
      })
      const answer = yield* Effect.provideService(strategy.program(task), Run.Run, view)
      if (onStep !== undefined) waiting.push(Effect.suspend(() => onStep(steps, "final_answer", answer.text)))
      if (onComplete !== undefined) waiting.push(Effect.suspend(() => onComplete(steps, answer.text)))
      yield* show
      return answer
    })
  )
})
