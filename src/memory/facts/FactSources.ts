/**
 * Forgets facts with the entries that they were read from.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import type { Fact, FactId } from "./Fact.js"
import type * as FactStore from "./FactStore.js"

const PAGE = 256

/** Entries that one query names. */
const BATCH = 256

/** Everything that was ever asserted. */
const ever = { includeClosed: true, at: Number.MAX_VALUE }

/** All facts of the query, page by page. */
const pages = (
  store: FactStore.Service,
  ownerId: string,
  query: FactStore.FactQuery,
  see: (facts: ReadonlyArray<Fact>) => void
): Effect.Effect<void, MemoryStoreFailure> =>
  Effect.gen(function* () {
    for (let after: Fact | undefined; ; ) {
      const facts: ReadonlyArray<Fact> = yield* store.query(ownerId, { ...query, ...ever, limit: PAGE, after })
      see(facts)
      after = facts.at(-1)
      if (facts.length < PAGE) return
    }
  })

/**
 * Deletes the facts that were read from these entries alone, with their history, and returns how many there were. A
 * fact that was also stated elsewhere stays. Reads the facts of these entries and no others.
 *
 * @category combinators
 */
export const forget = Effect.fnUntraced(function* (
  store: FactStore.Service,
  ownerId: string,
  entries: ReadonlyArray<EntryId>
): Effect.fn.Return<number, MemoryStoreFailure> {
  const gone = new Set(entries)
  const all = [...gone]
  const touched = new Map<FactId, Fact>()
  for (let from = 0; from < all.length; from += BATCH) {
    yield* pages(store, ownerId, { sources: all.slice(from, from + BATCH) }, (facts) => {
      for (const fact of facts) if (fact.sources.some((id) => gone.has(id))) touched.set(fact.id, fact)
    })
  }
  const deleted = new Set<FactId>()
  for (const { id, object, predicate, subject } of touched.values()) {
    if (deleted.has(id)) continue
    const periods: Array<Fact> = []
    yield* pages(store, ownerId, { subjects: [subject], predicate, object }, (facts) => periods.push(...facts))
    const only = periods.every(({ sources }) => sources.length > 0 && sources.every((source) => gone.has(source)))
    if (!only || !(yield* store.delete(ownerId, id))) continue
    for (const period of periods) deleted.add(period.id)
  }
  return deleted.size
})
