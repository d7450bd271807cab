/**
 * Notifies callers of their tasks: the port.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { RunId, UserId } from "../domain/Ids.js"
import type { WebhookError } from "../http/webhook/WebhookError.js"
import type { PushConfig } from "./A2aModels.js"

/**
 * A task, whose it is, and the agent that works on it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Owned {
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
}

/**
 * A config as callers read it: without its token and credentials.
 *
 * @since 0.1.0
 * @category models
 */
export interface Shown {
  readonly id: string
  readonly taskId: string
  readonly url: string
  readonly authentication?: { readonly scheme: string } | undefined
}

/**
 * With a layer of it in the context of the server, `A2aServer` takes push notification configs. The server checks whose
 * a task is before it asks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Fails with the reason `address` for an address that is none, or that may not be told. */
  readonly check: (config: PushConfig) => Effect.Effect<void, WebhookError>
  /**
   * Returns once the config is kept: from then on its address is told of each state in which the task waits for a
   * person or has ended. It replaces the config with its id; the same config again is the one that there is. Fails with
   * the reason `full` for a task that has had 8 configs.
   */
  readonly create: (task: Owned, config: PushConfig) => Effect.Effect<Shown, WebhookError>
  /** None for an unknown id. */
  readonly get: (task: Owned, id: string) => Effect.Effect<Option.Option<Shown>>
  readonly list: (task: Owned) => Effect.Effect<ReadonlyArray<Shown>>
  /** Nothing for an unknown id. */
  readonly remove: (task: Owned, id: string) => Effect.Effect<void>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class A2aPush extends Context.Tag("effect-lexigram/a2a/A2aPush")<A2aPush, Service>() {}
