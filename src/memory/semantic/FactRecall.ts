/**
 * Finds facts that help with a question.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import type { Fact, FactId } from "../facts/Fact.js"
import type { FactQuery, Service } from "../facts/FactStore.js"
import * as FactText from "../facts/FactText.js"
import * as EntityNames from "../text/EntityNames.js"
import * as EntityAliases from "./EntityAliases.js"

const maxChars = 4000
const maxWords = 64
const maxNameWords = 4
const maxNames = 8

const firstPerson: ReadonlySet<string> = new Set(["i", "me", "my", "mine", "myself"])

interface Span {
  readonly from: number
  readonly to: number
  readonly name: string
}

const spansOf = (words: ReadonlyArray<string>): ReadonlyArray<Span> => {
  const spans: Array<Span> = []
  for (let length = maxNameWords; length > 0; length--) {
    for (let from = 0; from + length <= words.length; from++) {
      spans.push({ from, to: from + length, name: words.slice(from, from + length).join(" ") })
    }
  }
  return spans
}

/** The owner's subjects that the question names, in its order; the longest of those that share a word. */
const subjectsIn = (
  store: Service,
  ownerId: string,
  words: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure> => {
  const spans = spansOf(words)
  return Effect.map(
    store.known(
      ownerId,
      spans.map(({ name }) => name)
    ),
    (known) => {
      const names = new Set(known)
      const taken: Array<Span> = []
      for (const span of spans) {
        if (names.has(span.name) && taken.every((other) => span.to <= other.from || span.from >= other.to))
          taken.push(span)
      }
      return taken.sort((a, b) => a.from - b.from).map(({ name }) => name)
    }
  )
}

/**
 * First the facts about subjects of the question (those that share words with it first), then other facts that share
 * words with it.
 *
 * @category accessors
 */
export const recall = Effect.fnUntraced(function* (
  store: Service,
  options: FactQuery & {
    readonly ownerId: string
    readonly query: string
    readonly speaker: string
    readonly limit: number
  }
): Effect.fn.Return<ReadonlyArray<Fact>, MemoryStoreFailure> {
  const { at, includeClosed, limit, minConfidence, ownerId, speaker } = options
  const query = options.query.slice(0, maxChars)
  const words = FactText.words(query).trim().split(" ").slice(0, maxWords)
  const bounds = { limit, at, includeClosed, minConfidence }
  const alike = yield* store.search(ownerId, query, bounds)

  const names = new Map<string, string>()
  const subjects = yield* subjectsIn(store, ownerId, words)
  for (const name of [...subjects, ...EntityNames.entitiesOf(query, { limit: maxNames })]) {
    const key = FactText.words(name)
    if (key !== "" && names.size < maxNames) names.set(key, name)
  }
  // A question that neither names somebody nor shares a word with an alias has no other names.
  const others =
    names.size === 0 && !alike.some(EntityAliases.isAlias)
      ? []
      : yield* EntityAliases.others(store, { ownerId, query, names: [...names.values()], at })
  for (const name of others) {
    const key = FactText.words(name)
    if (key !== "" && names.size < 2 * maxNames && !names.has(key)) names.set(key, name)
  }
  const about = new Map<FactId, Fact>()
  if (words.some((word) => firstPerson.has(word))) {
    for (const fact of yield* store.query(ownerId, { ...bounds, subjects: [speaker] })) about.set(fact.id, fact)
  }
  for (const entity of names.values()) {
    for (const fact of yield* store.query(ownerId, { ...bounds, entity })) about.set(fact.id, fact)
  }
  const ordered = new Map<FactId, Fact>()
  for (const fact of alike) if (about.has(fact.id)) ordered.set(fact.id, fact)
  for (const fact of about.values()) if (!ordered.has(fact.id)) ordered.set(fact.id, fact)
  for (const fact of alike) if (!ordered.has(fact.id)) ordered.set(fact.id, fact)
  return [...ordered.values()].slice(0, limit)
})
