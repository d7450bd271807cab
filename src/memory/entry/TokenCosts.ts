/**
 * Caches the token counts of texts.
 *
 * @private
 * @since 0.1.0
 */
/**
 * @category models
 */
export interface TokenCosts {
  /** The tokens of the text under this key. `count` is called only if the text differs from the last one. */
  readonly get: (key: string, text: string, count: () => number) => number
}

/**
 * Caches up to `maxTexts` texts with at most `maxChars` characters together. Evicts the least recently used.
 *
 * @category constructors
 */
export const make = (options: { readonly maxTexts: number; readonly maxChars: number }): TokenCosts => {
  const known = new Map<string, { readonly text: string; readonly tokens: number }>()
  let chars = 0
  return {
    get: (key, text, count) => {
      const found = known.get(key)
      if (found !== undefined) {
        known.delete(key)
        if (found.text === text) {
          known.set(key, found)
          return found.tokens
        }
        chars -= found.text.length
      }
      const tokens = count()
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
