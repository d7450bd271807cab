/**
 * Wraps a client in timeouts and retries, in the right order: each attempt has its own time limits.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import * as LlmRetry from "./LlmRetry.js"
import * as LlmTimeout from "./LlmTimeout.js"
import type * as LlmClient from "./model/LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly retry?: LlmRetry.Options | undefined
  /** Of one attempt; default 120 s in total, 60 s to the first part, 60 s between parts. */
  readonly timeout?: LlmTimeout.Options | undefined
}

/**
 * Retries around timeouts around the client below. A strategy's own `llmTimeout` covers all attempts.
 *
 * @example
 * ```ts
 * import { LlmResilience } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmResilience.layer({ retry: { maxRetries: 4 }, timeout: { whole: "90 seconds" } }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> =>
  LlmRetry.layer(options?.retry).pipe(
    Layer.provide(LlmTimeout.layer({ first: "60 seconds", gap: "60 seconds", ...options?.timeout }))
  )
