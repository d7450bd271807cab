/**
 * What lines of text cost, each counted once.
 *
 * @internal
 * @since 0.1.0
 */
import type * as TokenCounter from "../llm/TokenCounter.js"

/**
 * @category models
 */
export interface TokenCosts {
  /** Tokens of `make()`, which is asked only where the text under this key is another one than last time. */
  readonly of: (key: string, text: string, make: () => string) => number
}

/**
 * Remembers up to `maxTexts` texts of together `maxChars` characters, those that were asked for last.
 *
 * @category constructors
 */
export const make = (
  counter: TokenCounter.Service,
  options: { readonly maxTexts: number; readonly maxChars: number }
): TokenCosts => {
  const known = new Map<string, { readonly text: string; readonly tokens: number }>()
  let chars = 0
  return {
    of: (key, text, make) => {
      const found = known.get(key)
      if (found !== undefined) {
        known.delete(key)
        if (found.text === text) {
          known.set(key, found)
          return found.tokens
        }
        chars -= found.text.length
      }
      const tokens = counter.count(make())
      known.set(key, { text, tokens })
      chars += text.length
      for (const [oldest, { text }] of known) {
        if (known.size <= options.maxTexts && chars <= options.maxChars) break
        known.delete(oldest)
        chars -= text.length
      }
      return tokens
    }
  }
}
