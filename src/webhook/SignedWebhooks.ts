/**
 * Tells an address of the end of a run: signed, repeated until it is taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as Workflow from "@effect/workflow/Workflow"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Runs from "../agent/runs/Runs.js"
import * as HttpFetch from "../builtin/web/HttpFetch.js"
import { RunId, UserId } from "../domain/Ids.js"
import { type Request, RunWebhooks, type Told } from "../http/webhook/RunWebhooks.js"
import { WebhookError } from "../http/webhook/WebhookError.js"
import * as WebhookSignature from "../http/webhook/WebhookSignature.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import * as OwnedNames from "../persistence/OwnedNames.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Pick<HttpFetch.Targets, "hosts" | "allowPrivate" | "ports" | "resolve"> {
  /** 24 to 64 bytes in base64, with the prefix `whsec_` or without. */
  readonly secret: Redacted.Redacted
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

const workflow = Workflow.make({
  name: OwnedNames.webhook,
  payload: { runId: RunId, userId: Schema.optional(UserId), url: Schema.String },
  success: Schema.Boolean,
  // The key under which databases find the run: by it, the execution is erased with the data of its owner.
  idempotencyKey: ({ runId }) => IndexKey.of(runId)
})

type Answer = "taken" | "refused" | "failed"

const encoder = new TextEncoder()

class Deliveries {
  constructor(
    private readonly runs: Runs.Service,
    private readonly settings: HttpFetch.Settings,
    private readonly secret: Uint8Array,
    private readonly timeout: number,
    private readonly delays: ReadonlyArray<Duration.Duration>
  ) {}

  /** None if the run is gone: its owner was erased. */
  private told({ runId, userId }: Request): Effect.Effect<Option.Option<Told>, unknown> {
    return Effect.flatMap(this.runs.poll(runId, userId === undefined ? {} : { userId }), (found) =>
      Option.isNone(found)
        ? Effect.succeedNone
        : Effect.map(DateTime.now, (now) => {
            const { agent, endedAt, labels, runId, sessionId, state } = found.value.record
            return Option.some<Told>({
              type: "run.ended",
              timestamp: DateTime.formatIso(now),
              data: {
                runId,
                agent,
                state,
                labels,
                ...(sessionId === undefined ? {} : { sessionId }),
                ...(endedAt === undefined ? {} : { endedAt })
              }
            })
          })
    )
  }

  private send(url: URL, { runId }: Request, body: string): Effect.Effect<Answer> {
    return Effect.gen(this, function* () {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const id = encodeURIComponent(`msg_${runId}`)
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": yield* WebhookSignature.sign(this.secret, { id, timestamp, body })
      }
      const request = { url, method: "POST", headers, body: encoder.encode(body) }
      const [, { status }] = yield* HttpFetch.send(this.settings, request, this.timeout)
      if (status >= 200 && status < 300) return "taken" as const
      return status === 410 ? ("refused" as const) : ("failed" as const)
    }).pipe(
      Effect.catchAll((error) => Effect.as(Effect.logDebug(`A webhook failed: ${error.message}`), "failed" as const))
    )
  }

  private attempt(request: Request): Effect.Effect<Answer> {
    return Effect.flatMap(Effect.either(this.told(request)), (told): Effect.Effect<Answer> => {
      if (Either.isLeft(told)) return Effect.succeed("failed")
      if (Option.isNone(told.right)) return Effect.succeed("refused")
      const url = HttpFetch.urlOf(request.url)
      return Either.isLeft(url)
        ? Effect.succeed("refused")
        : this.send(url.right, request, JSON.stringify(told.right.value))
    })
  }

  /** Waits for the end of the run, and tells the address. Returns whether it took it. */
  readonly deliver = (request: Request) =>
    Effect.gen(this, function* () {
      const { runId, userId } = request
      yield* Effect.ignore(this.runs.await(runId, userId === undefined ? {} : { userId }))
      for (let number = 0; ; number++) {
        const answer = yield* Activity.make({
          name: `tell~${number}`,
          success: Schema.Literal("taken", "refused", "failed"),
          execute: this.attempt(request)
        })
        if (answer !== "failed") return answer === "taken"
        const duration = this.delays[number]
        if (duration === undefined) break
        yield* DurableClock.sleep({ name: `pause~${number}`, duration })
      }
      yield* Effect.annotateLogs(Effect.logWarning("A webhook was given up"), { module: "RunWebhooks", run: runId })
      return false
    })
}

/**
 * Webhooks over the workflow engine in context: with that of `Durable` or `DurableCluster` they outlive the process,
 * with `WorkflowEngine.layerMemory` they end with it. Addresses are checked as those of `WebBrowseSkill`: by default
 * they are public ones, at the ports 80 and 443. Redirects are not followed.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<RunWebhooks, WebhookError, Runs.Runs | WorkflowEngine.WorkflowEngine> =>
  Layer.scoped(
    RunWebhooks,
    Effect.gen(function* () {
      const secret = WebhookSignature.secretBytes(options.secret)
      if (secret === undefined) {
        return yield* new WebhookError({
          reason: "configuration",
          message: "The secret of webhooks must be 24 to 64 bytes in base64"
        })
      }
      const { delays = DELAYS, secret: _, timeout = "15 seconds", ...targets } = options
      const settings = HttpFetch.make({ ...targets, maxRedirects: 0, maxBytes: 64 * 1024, truncate: true })
      if (Either.isLeft(settings))
        return yield* new WebhookError({ reason: "configuration", message: settings.left.message })
      const engine = yield* WorkflowEngine.WorkflowEngine
      const deliveries = new Deliveries(
        yield* Runs.Runs,
        settings.right,
        secret,
        Duration.toMillis(timeout),
        delays.map((delay) => Duration.decode(delay))
      )
      yield* engine.register(workflow, deliveries.deliver)
      return {
        check: (url) => {
          const parsed = HttpFetch.urlOf(url)
          if (Either.isLeft(parsed)) return new WebhookError({ reason: "address", message: parsed.left.message })
          return Effect.mapError(
            HttpFetch.allowed(settings.right, parsed.right),
            ({ message }) => new WebhookError({ reason: "address", message: `The address of the webhook: ${message}` })
          )
        },
        tell: (request) =>
          Effect.provideService(
            Effect.asVoid(workflow.execute(request, { discard: true })),
            WorkflowEngine.WorkflowEngine,
            engine
          )
      }
    })
  )
