/**
 * A model call as a step of a run: its answer or failure is recorded, with the usage of requests without an answer.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Usage from "../../domain/Usage.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import type * as Step from "../../observability/Step.js"
import * as CallMeter from "./CallMeter.js"
import * as LlmClient from "./LlmClient.js"
import { LlmError } from "./LlmError.js"
import * as LlmResponseSchema from "./LlmResponseSchema.js"
import * as ResumedCall from "./ResumedCall.js"

const Spent = Schema.Struct({
  provider: Schema.String,
  model: Schema.optional(Schema.String),
  usage: Usage.Usage
})

const Recorded = Schema.Struct({
  response: Schema.optional(LlmResponseSchema.LlmResponse),
  failure: Schema.optional(LlmError),
  spent: Schema.optional(Schema.Array(Spent))
})
type Recorded = typeof Recorded.Type

/** Makes a call, with the meter and the listener of its options. */
export type Make = (
  options: Pick<LlmClient.CompleteOptions, "meter" | "onParts">
) => Effect.Effect<LlmClient.LlmResponse, LlmError>

/**
 * Makes the call, or takes its recorded outcome. A recorded outcome reports to the meter what the call reported, and
 * `onRecorded` gets its parts.
 */
export const run = (
  step: Step.Service,
  request: LlmClient.LlmRequest,
  options: {
    readonly counts: CallMeter.Counts
    readonly meter?: LlmClient.Meter | undefined
    readonly onParts?: LlmClient.OnParts | undefined
    readonly onRecorded?: LlmClient.OnParts | undefined
  },
  make: Make
): Effect.Effect<LlmClient.LlmResponse, LlmError> =>
  Effect.suspend(() => {
    let isLive = false
    const live = Effect.suspend(() => {
      isLive = true
      const meter = CallMeter.make(options.counts, options.meter)
      const spentBy = (exit: Exit.Exit<LlmClient.LlmResponse, LlmError>) => {
        const spent = meter.spent(exit)
        return spent.length === 0 ? {} : { spent }
      }
      const call = make({ meter, ...(options.onParts === undefined ? {} : { onParts: options.onParts }) })
      const resumed = Effect.flatMap(ResumedCall.ResumedCall, (one) =>
        one === ResumedCall.first
          ? call
          : Effect.zipRight(one.before, Effect.provideService(call, ResumedCall.ResumedCall, ResumedCall.first))
      )
      return Effect.match(resumed, {
        onFailure: (failure): Recorded => ({ failure, ...spentBy(Exit.fail(failure)) }),
        onSuccess: (response): Recorded => ({ response, ...spentBy(Exit.succeed(response)) })
      })
    })
    const recorded = step.run(
      { kind: "llm", hash: () => JSON.stringify(request), success: Recorded, error: StepFailure.none },
      live
    )
    return Effect.flatMap(recorded, ({ failure, response, spent }) => {
      if (!isLive && spent !== undefined) options.meter?.sent({ spent: () => spent })
      if (response === undefined) return Effect.fail(failure as LlmError)
      return isLive || options.onRecorded === undefined
        ? Effect.succeed(response)
        : Effect.as(options.onRecorded(LlmClient.partsOf(response)), response)
    })
  })
