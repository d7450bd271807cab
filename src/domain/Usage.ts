/**
 * Token usage of model calls. A field that no provider reported is absent, never zero.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const Tokens = Schema.optional(Schema.Number)

/**
 * `cachedInputTokens` (read from a prompt cache) and `cacheWriteTokens` (written into one) are part of `inputTokens`,
 * `reasoningTokens` part of `outputTokens`. `estimatedTokens` is the part of the total that this library counted
 * instead of the provider, for calls that were cut off. `providerToolCalls` counts the calls of tools that the provider
 * ran, and `providerToolUsd` is their price in US dollars, absent if it is unknown.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Usage = Schema.Struct({
  inputTokens: Tokens,
  outputTokens: Tokens,
  totalTokens: Tokens,
  reasoningTokens: Tokens,
  cachedInputTokens: Tokens,
  cacheWriteTokens: Tokens,
  estimatedTokens: Tokens,
  providerToolCalls: Tokens,
  providerToolUsd: Tokens
}).annotations({ identifier: "effect-lexigram/domain/Usage" })

/**
 * @since 0.1.0
 * @category models
 */
export interface Usage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly cacheWriteTokens?: number | undefined
  readonly estimatedTokens?: number | undefined
  readonly providerToolCalls?: number | undefined
  readonly providerToolUsd?: number | undefined
}

/**
 * Nothing reported.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: Usage = {}

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : a + b

const isPriced = ({ providerToolCalls, providerToolUsd }: Usage): boolean =>
  providerToolCalls === undefined || providerToolUsd !== undefined

/**
 * All tokens: the total of the provider, else input plus output, else 0.
 *
 * @since 0.1.0
 * @category getters
 */
export const total = (usage: Usage): number => usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)

/**
 * Adds usage field by field. A field that neither side reported stays absent. Totals add up even if only one side
 * reported one.
 *
 * @since 0.1.0
 * @category combining
 */
export const add = (a: Usage, b: Usage): Usage => {
  const result: { -readonly [K in keyof Usage]: Usage[K] } = {}
  const inputTokens = sum(a.inputTokens, b.inputTokens)
  if (inputTokens !== undefined) result.inputTokens = inputTokens
  const outputTokens = sum(a.outputTokens, b.outputTokens)
  if (outputTokens !== undefined) result.outputTokens = outputTokens
  const totalTokens = total(a) + total(b)
  if (totalTokens > 0 || a.totalTokens !== undefined || b.totalTokens !== undefined) result.totalTokens = totalTokens
  const reasoningTokens = sum(a.reasoningTokens, b.reasoningTokens)
  if (reasoningTokens !== undefined) result.reasoningTokens = reasoningTokens
  const cachedInputTokens = sum(a.cachedInputTokens, b.cachedInputTokens)
  if (cachedInputTokens !== undefined) result.cachedInputTokens = cachedInputTokens
  const cacheWriteTokens = sum(a.cacheWriteTokens, b.cacheWriteTokens)
  if (cacheWriteTokens !== undefined) result.cacheWriteTokens = cacheWriteTokens
  const estimatedTokens = sum(a.estimatedTokens, b.estimatedTokens)
  if (estimatedTokens !== undefined) result.estimatedTokens = estimatedTokens
  const providerToolCalls = sum(a.providerToolCalls, b.providerToolCalls)
  if (providerToolCalls !== undefined) result.providerToolCalls = providerToolCalls
  const providerToolUsd = sum(a.providerToolUsd, b.providerToolUsd)
  // One unknown price makes that of all unknown.
  if (providerToolUsd !== undefined && isPriced(a) && isPriced(b)) result.providerToolUsd = providerToolUsd
  return result
}
