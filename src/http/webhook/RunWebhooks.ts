/**
 * Tells an address of the end of a run: the port.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunState } from "../../agent/record/RunRecord.js"
import { RunId, type UserId } from "../../domain/Ids.js"
import type { WebhookError } from "./WebhookError.js"

/**
 * A webhook of a run: whose it is, and whom to tell.
 *
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly runId: RunId
  readonly userId?: UserId | undefined
  readonly url: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Fails with the reason `address` for an address that is none, or that may not be told. */
  readonly check: (url: string) => Effect.Effect<void, WebhookError>
  /** Returns once it is kept that the address is to be told. A run has one webhook: the first one stays. */
  readonly tell: (request: Request) => Effect.Effect<void>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RunWebhooks extends Context.Tag("effect-lexigram/http/RunWebhooks")<RunWebhooks, Service>() {}

/**
 * What an address is told: of which run, and not what it said.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Told = Schema.Struct({
  type: Schema.Literal("run.ended"),
  /** ISO 8601, of this attempt. */
  timestamp: Schema.String,
  data: Schema.Struct({
    runId: RunId,
    agent: Schema.String,
    state: RunState,
    sessionId: Schema.optional(Schema.String),
    labels: Schema.Record({ key: Schema.String, value: Schema.String }),
    /** Milliseconds since the epoch. */
    endedAt: Schema.optional(Schema.Number)
  })
}).annotations({ identifier: "effect-lexigram/http/RunWebhooks/Told" })
/**
 * @since 0.1.0
 * @category models
 */
export interface Told extends Schema.Schema.Type<typeof Told> {}
