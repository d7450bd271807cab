/**
 * Tells an address of the end of a run: signed, repeated until it is taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
import * as Workflow from "@effect/workflow/Workflow"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Runs from "../agent/runs/Runs.js"
import { RunId, UserId } from "../domain/Ids.js"
import { type Request, RunWebhooks, type Told } from "../http/webhook/RunWebhooks.js"
import { WebhookError } from "../http/webhook/WebhookError.js"
import * as WebhookSignature from "../http/webhook/WebhookSignature.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import * as OwnedNames from "../persistence/OwnedNames.js"
import * as WebhookDelivery from "./WebhookDelivery.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends WebhookDelivery.Options {
  /** 24 to 64 bytes in base64, with the prefix `whsec_` or without. */
  readonly secret: Redacted.Redacted
}

const workflow = Workflow.make({
  name: OwnedNames.webhook,
  payload: { runId: RunId, userId: Schema.optional(UserId), url: Schema.String },
  success: Schema.Boolean,
  // The key under which databases find the run: by it, the execution is erased with the data of its owner.
  idempotencyKey: ({ runId }) => IndexKey.of(runId)
})

class Deliveries {
  constructor(
    private readonly runs: Runs.Service,
    private readonly delivery: WebhookDelivery.Delivery,
    private readonly secret: Uint8Array
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

  private send({ runId, url }: Request, body: string): Effect.Effect<WebhookDelivery.Answer> {
    return Effect.gen(this, function* () {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const id = encodeURIComponent(`msg_${runId}`)
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": yield* WebhookSignature.sign(this.secret, { id, timestamp, body })
      }
      return yield* this.delivery.post(url, headers, body)
    })
  }

  private attempt(request: Request): Effect.Effect<WebhookDelivery.Answer> {
    return Effect.matchEffect(this.told(request), {
      onFailure: () => Effect.succeed<WebhookDelivery.Answer>("failed"),
      onSuccess: Option.match({
        onNone: () => Effect.succeed<WebhookDelivery.Answer>("refused"),
        onSome: (told) => this.send(request, JSON.stringify(told))
      })
    })
  }

  /** Waits for the end of the run, and tells the address. Returns whether it took it. */
  readonly deliver = (request: Request) => {
    const { runId, userId } = request
    return Effect.zipRight(
      Effect.ignore(this.runs.await(runId, userId === undefined ? {} : { userId })),
      this.delivery.repeat(this.attempt(request), { runId })
    )
  }
}

/**
 * Webhooks over the workflow engine in context: with that of `Durable` or `DurableCluster` they outlive the process,
 * with `WorkflowEngine.layerMemory` they end with it. Addresses are checked as those of `WebBrowseSkill`: by default
 * they are public ones, at the ports 80 and 443. Redirects are not followed.
 *
 * @example
 * ```ts
 * import { SignedWebhooks } from "effect-lexigram/webhook"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Requires Runs and WorkflowEngine, such as those of DurableRuns.layer and Durable.layerSqlite.
 * const webhooks = Layer.unwrapEffect(
 *   Effect.map(Config.redacted("WEBHOOK_SECRET"), (secret) => SignedWebhooks.layer({ secret }))
 * )
 * ```
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
      const delivery = yield* WebhookDelivery.make(options)
      const engine = yield* WorkflowEngine.WorkflowEngine
      yield* engine.register(workflow, new Deliveries(yield* Runs.Runs, delivery, secret).deliver)
      return {
        check: delivery.check,
        tell: (request) =>
          Effect.provideService(
            Effect.asVoid(workflow.execute(request, { discard: true })),
            WorkflowEngine.WorkflowEngine,
            engine
          )
      }
    })
  )
