/**
 * Posts to the addresses of callers: checked, bounded in time, and repeated until they are taken.
 *
 * @private
 * @since 0.1.0
 */
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import type { WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as HttpFetch from "../builtin/web/HttpFetch.js"
import { WebhookError } from "../http/webhook/WebhookError.js"

/**
 * @category models
 */
export interface Options extends Pick<HttpFetch.Targets, "hosts" | "allowPrivate" | "ports" | "resolve"> {
  /**
   * How long to wait after each failed attempt; after the last one the address is given up. Default: 5 seconds, 5 and
   * 30 minutes, 2, 5, 10, 14, 20 and 24 hours.
   */
  readonly delays?: ReadonlyArray<Duration.DurationInput> | undefined
  /** How long one attempt may take. Default 15 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

const DELAYS: ReadonlyArray<Duration.DurationInput> = [
  "5 seconds",
  "5 minutes",
  "30 minutes",
  "2 hours",
  "5 hours",
  "10 hours",
  "14 hours",
  "20 hours",
  "24 hours"
]

const Answer = Schema.Literal("taken", "refused", "failed")

/**
 * What came of an attempt: it is not made again where it was refused.
 *
 * @category models
 */
export type Answer = typeof Answer.Type

/**
 * @category models
 */
export interface Delivery {
  /** Fails with the reason `address` for an address that is none, or that may not be told. */
  readonly check: (url: string) => Effect.Effect<void, WebhookError>
  readonly post: (url: string, headers: Record<string, string>, body: string) => Effect.Effect<Answer>
  /**
   * Makes an attempt within a workflow until it is taken or refused, or given up. Returns whether it was taken. `part`
   * tells the deliveries of a workflow apart.
   */
  readonly repeat: (
    attempt: Effect.Effect<Answer>,
    options: { readonly runId: string; readonly part?: string | undefined }
  ) => Effect.Effect<boolean, never, WorkflowEngine | WorkflowInstance>
}

const encoder = new TextEncoder()

/**
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Delivery, WebhookError> =>
  Effect.gen(function* () {
    const { allowPrivate, delays = DELAYS, hosts, ports, resolve, timeout = "15 seconds" } = options
    const settings = yield* Effect.mapError(
      HttpFetch.make({ allowPrivate, hosts, ports, resolve, maxRedirects: 0, maxBytes: 64 * 1024, truncate: true }),
      ({ message }) => new WebhookError({ reason: "configuration", message })
    )
    const whole = Duration.toMillis(timeout)
    const pauses = delays.map((delay) => Duration.decode(delay))
    return {
      check: (text) =>
        Effect.mapError(
          Effect.flatMap(HttpFetch.urlOf(text), (url) => HttpFetch.allowed(settings, url)),
          ({ message }) => new WebhookError({ reason: "address", message: `The address of the webhook: ${message}` })
        ),
      post: (text, headers, body) => {
        const url = HttpFetch.urlOf(text)
        if (Either.isLeft(url)) return Effect.succeed("refused")
        const request = { url: url.right, method: "POST", headers, body: encoder.encode(body) }
        return HttpFetch.send(settings, request, whole).pipe(
          Effect.map(([, { status }]) =>
            status >= 200 && status < 300 ? "taken" : status === 410 ? "refused" : "failed"
          ),
          Effect.catchAll((error) =>
            Effect.as(Effect.logDebug(`A webhook failed: ${error.message}`), "failed" as const)
          )
        )
      },
      repeat: (execute, { part = "", runId }) =>
        Effect.gen(function* () {
          for (let number = 0; ; number++) {
            const answer = yield* Activity.make({ name: `tell~${part}${number}`, success: Answer, execute })
            if (answer !== "failed") return answer === "taken"
            const duration = pauses[number]
            if (duration === undefined) break
            yield* DurableClock.sleep({ name: `pause~${part}${number}`, duration })
          }
          yield* Effect.annotateLogs(Effect.logWarning("A webhook was given up"), {
            module: "WebhookDelivery",
            run: runId
          })
          return false
        })
    }
  })
