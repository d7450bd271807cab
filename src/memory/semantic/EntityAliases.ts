/**
 * Keeps declared aliases as facts of their own, by which questions find facts under another name.
 *
 * An alias merges nothing: facts keep their subject, and deleting the fact of the alias undoes it.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import type { Fact, NewFact } from "../facts/Fact.js"
import type { Service } from "../facts/FactStore.js"
import * as FactText from "../facts/FactText.js"
import * as EntityResolution from "./EntityResolution.js"

/** The predicate of an alias: the object is another name of the subject. */
const PREDICATE = "is also called"

/** Names and aliases of an owner that one question reads. */
const MAX_KNOWN = 500

/**
 * The aliases that users declare in entries.
 *
 * @category conversions
 */
export const factsIn = (entries: ReadonlyArray<MemoryEntry>, speaker: string): ReadonlyArray<NewFact> =>
  entries
    .filter(({ role }) => role === "user")
    .flatMap((entry) =>
      EntityResolution.declared(entry.content, speaker).map(({ alias, name }) => ({
        subject: name,
        predicate: PREDICATE,
        object: alias,
        sources: [entry.id],
        validFrom: entry.timestamp
      }))
    )

/**
 * Whether a fact is that of an alias.
 *
 * @category guards
 */
export const isAlias = ({ predicate }: Fact): boolean => predicate === PREDICATE

/**
 * Other names of what a question names, under which facts may be kept. A name that fits several ones has none.
 *
 * @category accessors
 */
export const others = Effect.fnUntraced(function* (
  store: Service,
  question: {
    readonly ownerId: string
    readonly query: string
    readonly names: ReadonlyArray<string>
    readonly at: number | undefined
  }
): Effect.fn.Return<ReadonlyArray<string>, MemoryStoreFailure> {
  const { at, names, ownerId, query } = question
  const aliases = yield* store.query(ownerId, { predicate: PREDICATE, limit: MAX_KNOWN, at })
  const entities = names.length === 0 ? [] : yield* store.entities(ownerId, { limit: MAX_KNOWN })
  const known = new Map<string, { readonly name: string; readonly aliases: Array<string> }>()
  for (const name of [...entities.map(({ name }) => name), ...aliases.map(({ subject }) => subject)]) {
    const key = EntityResolution.keyOf(name)
    if (!known.has(key)) known.set(key, { name, aliases: [] })
  }
  for (const { object, subject } of aliases) known.get(EntityResolution.keyOf(subject))?.aliases.push(object)
  const words = FactText.words(query)
  const said = aliases.map(({ object }) => object).filter((alias) => words.includes(FactText.words(alias)))
  const all = [...known.values()]
  return [...names, ...said].flatMap((mention) => {
    const found = EntityResolution.resolve(mention, all)
    if (found._tag !== "One") return []
    return [found.name, ...(known.get(EntityResolution.keyOf(found.name))?.aliases ?? [])]
  })
})
