/**
 * Maps tool names to those providers accept (1 to 64 of `[A-Za-z0-9_-]`) and back, without collisions.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolNames {
  /** Returns the provider's name of a tool; a name outside the set is cleaned. */
  readonly toProvider: (name: string) => string
  /** Returns the tool's own name for a provider's name or its own; `undefined` for unknown names. */
  readonly fromProvider: (name: string) => string | undefined
}

const MAX = 64

/** FNV-1a, 32 bits: short, and stable across runs and processes. */
const hash = (text: string): string => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return (h >>> 0).toString(36).padStart(7, "0")
}

/**
 * Cleans a name for providers: other characters become `_`; a long name is cut and ends in a hash of the whole.
 *
 * @since 0.1.0
 * @category conversions
 */
export const clean = (name: string): string => {
  const cleaned = name.normalize("NFKC").replace(/[^A-Za-z0-9_-]/gu, "_")
  if (/[A-Za-z0-9]/.test(cleaned) && cleaned.length <= MAX) return cleaned
  const stem = /[A-Za-z0-9]/.test(cleaned) ? cleaned : "tool"
  return `${stem.slice(0, MAX - 8)}_${hash(name)}`
}

/**
 * Valid names stay as they are; of names that clean to the same one, all but the first get a hash of their own name.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { ToolNames } from "effect-lexigram/tool"
 *
 * const names = ToolNames.make(["wiki.search", "time"])
 *
 * console.log(names.toProvider("wiki.search")) // wiki_search
 * console.log(names.fromProvider("wiki_search")) // wiki.search
 * ```
 */
export const make = (names: ReadonlyArray<string>): ToolNames => {
  const there = new Map<string, string>()
  const back = new Map<string, string>()
  const take = (name: string, provider: string) => {
    there.set(name, provider)
    back.set(provider, name)
  }
  for (const name of names) {
    if (clean(name) === name && !there.has(name)) take(name, name)
  }
  for (const name of names) {
    if (there.has(name)) continue
    let provider = clean(name)
    for (let n = 0; back.has(provider); n++) {
      provider = `${clean(name).slice(0, MAX - 8)}_${hash(n === 0 ? name : `${name}#${n}`)}`
    }
    take(name, provider)
  }
  return {
    toProvider: (name) => there.get(name) ?? clean(name),
    fromProvider: (name) => back.get(name) ?? (there.has(name) ? name : undefined)
  }
}
