/**
 * What a call tells and answers while it runs, by fibers that end with it: progress to the caller, and the server's
 * requests to the person and the model of the caller.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberSet from "effect/FiberSet"
import * as Mailbox from "effect/Mailbox"
import type { CallOptions, McpError, Progress } from "../skill/mcp/McpClient.js"
import type { Asking } from "./McpFlights.js"

/** Progress reports that may wait for a slow consumer. */
const MAX_WAITING = 256

/** Passes progress from callbacks to the caller in order, by a fiber that ends with the call. */
export const withProgress = <A>(
  listener: (progress: Progress) => Effect.Effect<void>,
  run: (onProgress: (progress: Progress) => void) => Effect.Effect<A, McpError>
): Effect.Effect<A, McpError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const mailbox = yield* Mailbox.make<Progress>({ capacity: MAX_WAITING, strategy: "sliding" })
      const deliver = Effect.gen(function* () {
        while (true) {
          const [batch, isDone] = yield* mailbox.takeAll
          for (const progress of Chunk.toReadonlyArray(batch)) yield* listener(progress)
          if (isDone) return
        }
      })
      const delivery = yield* Effect.forkScoped(deliver)
      const result = yield* run((progress) => void mailbox.unsafeOffer(progress))
      yield* mailbox.end
      yield* Fiber.join(delivery)
      return result
    })
  )

/** Answers by fibers of the caller, which end with the call. */
export const withAnswers = <A>(
  call: CallOptions | undefined,
  maxSamples: number,
  run: (asking: Asking) => Effect.Effect<A, McpError>
): Effect.Effect<A, McpError> => {
  const { elicit, sample } = call ?? {}
  const asker = elicit?.asker ?? sample?.asker
  if (asker === undefined) return run({ asker, answer: undefined, sample: undefined })
  return Effect.scoped(
    Effect.flatMap(FiberSet.makeRuntime(), (runFork) => {
      const promised =
        <Q, B>(answer: (question: Q) => Effect.Effect<B>) =>
        (question: Q, signal: AbortSignal) =>
          new Promise<B>((resolve, reject) => {
            const fiber = runFork(answer(question))
            fiber.addObserver((exit) => (Exit.isSuccess(exit) ? resolve(exit.value) : reject(Cause.squash(exit.cause))))
            signal.addEventListener("abort", () => fiber.unsafeInterruptAsFork(FiberId.none), { once: true })
          })
      let samples = 0
      const bounded =
        sample &&
        ((request: Parameters<typeof sample.answer>[0]) =>
          samples++ < maxSamples ? sample.answer(request) : Effect.succeed(undefined))
      return run({ asker, answer: elicit && promised(elicit.answer), sample: bounded && promised(bounded) })
    })
  )
}
