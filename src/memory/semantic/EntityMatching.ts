/**
 * Has a matcher decide about names of new facts that the rules leave undecided, and keeps what it decides as aliases.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { FactExtractionError, MemoryStoreFailure } from "../entry/MemoryError.js"
import type { NewFact } from "../facts/Fact.js"
import type { Service as FactStore } from "../facts/FactStore.js"
import * as FactText from "../facts/FactText.js"
import * as EntityAliases from "./EntityAliases.js"
import type { Service as Matcher, Undecided } from "./EntityMatcher.js"
import * as EntityResolution from "./EntityResolution.js"

/** Mentions of one call. */
const MAX_MENTIONS = 20
/** Names of one extraction that are looked at. */
const MAX_NAMES = 64
/** Pairs of a mention and candidates that were asked and are not asked again, for all owners. */
const MAX_ASKED = 10_000
/** A matcher is less sure than somebody who declares an alias. */
const CONFIDENCE = 0.7

interface Asked {
  readonly undecided: Undecided
  readonly key: string
  readonly entry: MemoryEntry
}

/**
 * @category models
 */
export interface Matching {
  /** The aliases to keep for these names. Without any undecided name nothing is asked. */
  readonly aliases: (
    ownerId: string,
    names: Iterable<string>,
    entries: ReadonlyArray<MemoryEntry>
  ) => Effect.Effect<ReadonlyArray<NewFact>, MemoryStoreFailure | FactExtractionError>
}

/**
 * @category constructors
 */
export const make = (store: FactStore, matcher: Matcher): Matching => {
  const asked = new Set<string>()
  const remember = (key: string): void => {
    asked.add(key)
    if (asked.size > MAX_ASKED) asked.delete(asked.values().next().value as string)
  }

  const undecidedIn = (
    ownerId: string,
    names: Iterable<string>,
    entries: ReadonlyArray<MemoryEntry>,
    known: ReadonlyArray<EntityResolution.Known>
  ): ReadonlyArray<Asked> => {
    const texts = entries.map((entry) => ({ entry, words: FactText.words(entry.content) }))
    const found: Array<Asked> = []
    for (const mention of new Map(Array.from(names, (name) => [EntityResolution.keyOf(name), name])).values()) {
      if (found.length === MAX_MENTIONS) break
      const candidates = EntityResolution.undecided(mention, known)
      const words = FactText.words(mention)
      const source = words === "" ? undefined : texts.find((text) => text.words.includes(words))
      const key = JSON.stringify([ownerId, EntityResolution.keyOf(mention), candidates])
      if (candidates.length === 0 || source === undefined || asked.has(key)) continue
      found.push({ key, entry: source.entry, undecided: { mention, text: source.entry.content, candidates } })
    }
    return found
  }

  return {
    aliases: Effect.fnUntraced(function* (ownerId, names, entries) {
      const mentions = [...names].slice(0, MAX_NAMES)
      if (mentions.length === 0) return []
      const known = yield* EntityAliases.known(store, ownerId)
      const found = undecidedIn(ownerId, mentions, entries, known)
      if (found.length === 0) return []
      const matches = yield* matcher.match(found.map(({ undecided }) => undecided))
      return found.flatMap(({ entry, key, undecided }, at) => {
        remember(key)
        const match = matches[at]
        const name = match === undefined ? undefined : undecided.candidates[match]
        return name === undefined
          ? []
          : [
              {
                ...EntityAliases.factOf(name, undecided.mention),
                confidence: CONFIDENCE,
                sources: [entry.id],
                validFrom: entry.timestamp
              }
            ]
      })
    })
  }
}
