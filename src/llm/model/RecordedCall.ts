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
import * as Sha256 from "../../internal/text/Sha256.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Step from "../../observability/Step.js"
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

const digests = new WeakMap<object, string>()

type Part = LlmClient.Message["content"][number]

const hasBytes = (part: Part): boolean =>
  typeof part === "object" && part.type === "file" && part.data instanceof Uint8Array

/** The value with the digest of each file: JSON has a field for each byte. */
const withoutBytes = (value: object): object => {
  const { content } = value as Partial<LlmClient.Message>
  if (!Array.isArray(content) || !content.some(hasBytes)) return value
  return {
    ...value,
    content: content.map((part) => (hasBytes(part) ? { ...part, data: { sha256: Sha256.hex(part.data) } } : part))
  }
}

/** Computed once per object: the messages of a conversation are those of its next request. */
const digestOf = (value: object): string => {
  const known = digests.get(value)
  if (known !== undefined) return known
  const digest = Sha256.hex(JSON.stringify(withoutBytes(value))).slice(0, 32)
  digests.set(value, digest)
  return digest
}

/** The request as a text. It has the digests of its messages, so that a long conversation is not read again. */
const fingerprint = ({ messages, tools, ...rest }: LlmClient.LlmRequest): string =>
  [JSON.stringify(rest), tools === undefined ? "" : digestOf(tools), ...messages.map(digestOf)].join("\n")

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
  Effect.flatMap(Step.Place, (outer) => {
    let isLive = false
    // The caller hears the parts at one place, whether they are live or recorded, and however they are cut.
    const heard = options.onRecorded === undefined ? undefined : outer.fork()("parts")
    const placed = (onParts: LlmClient.OnParts): LlmClient.OnParts =>
      heard === undefined ? onParts : (parts) => Effect.provideService(onParts(parts), Step.Place, heard)
    const live = Effect.suspend(() => {
      isLive = true
      const meter = CallMeter.make(options.counts, options.meter)
      const spentBy = (exit: Exit.Exit<LlmClient.LlmResponse, LlmError>) => {
        const spent = meter.spent(exit)
        return spent.length === 0 ? {} : { spent }
      }
      const call = make({ meter, ...(options.onParts === undefined ? {} : { onParts: placed(options.onParts) }) })
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
      { kind: "llm", hash: () => fingerprint(request), success: Recorded, error: StepFailure.none },
      live
    )
    return Effect.flatMap(recorded, ({ failure, response, spent }) => {
      if (!isLive && spent !== undefined) options.meter?.sent({ spent: () => spent })
      if (response === undefined) return Effect.fail(failure as LlmError)
      return isLive || options.onRecorded === undefined
        ? Effect.succeed(response)
        : Effect.as(placed(options.onRecorded)(LlmClient.partsOf(response)), response)
    })
  })
