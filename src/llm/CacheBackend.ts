/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * The backend could not be reached or refused the operation.
 *
 * @since 0.1.0
 * @category errors
 */
export class CacheBackendError extends Schema.TaggedError<CacheBackendError>(
  "effect-lexigram/llm/CacheBackend/CacheBackendError"
)("CacheBackendError", { ...ErrorCode.fields("LEX_ERR_LLM_111"), operation: Schema.Literal("get", "set", "delete") }) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The value, unless none was set or it expired. */
  readonly get: (key: string) => Effect.Effect<Option.Option<string>, CacheBackendError>
  /** Sets or replaces; without `ttl` the value stays until it is evicted or deleted. */
  readonly set: (
    key: string,
    value: string,
    options?: { readonly ttl?: Duration.DurationInput | undefined } | undefined
  ) => Effect.Effect<void, CacheBackendError>
  /** Deletes; a key that does not exist is no failure. */
  readonly delete: (key: string) => Effect.Effect<void, CacheBackendError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class CacheBackend extends Context.Tag("effect-lexigram/llm/CacheBackend")<CacheBackend, Service>() {}
