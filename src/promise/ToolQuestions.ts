/**
 * Questions that a function asks while it serves a call.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type * as Parameters from "../tool/definition/Parameters.js"
import type * as Elicitation from "../tool/Elicitation.js"

const elicitation = OnDemand.make(() => import("../tool/Elicitation.js"))

/** The questions of one call. Those that are open end with it. */
export class ToolQuestions {
  private readonly open = new Set<Fiber.RuntimeFiber<unknown, unknown>>()

  constructor(private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>) {}

  readonly ask = <const P extends Parameters.Parameters>(
    question: Elicitation.Options<P>
  ): Promise<Elicitation.Answer<Parameters.ParametersType<P>>> => {
    const runtime = Runtime.make({
      context: this.fiber.currentContext,
      fiberRefs: this.fiber.getFiberRefs(),
      runtimeFlags: Runtime.defaultRuntimeFlags
    })
    const asked = Runtime.runFork(runtime)(Effect.flatMap(elicitation, ({ ask }) => ask(question)))
    this.open.add(asked)
    const answer = new Promise<Elicitation.Answer<Parameters.ParametersType<P>>>((resolve, reject) => {
      asked.addObserver((exit) => {
        this.open.delete(asked)
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else reject(Cause.squash(exit.cause))
      })
    })
    // A function that was interrupted may not wait any more.
    answer.catch(() => undefined)
    return answer
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.open.size === 0 ? Effect.void : Fiber.interruptAll(this.open)
  )
}
