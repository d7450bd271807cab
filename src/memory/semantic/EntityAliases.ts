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
import type { Fact, NewFact, Triple } from "../facts/Fact.js"
import type { Service } from "../facts/FactStore.js"
import * as FactText from "../facts/FactText.js"
import * as EntityResolution from "./EntityResolution.js"

/** The predicate of an alias: the object is another name of the subject. */
const PREDICATE = "is also called"

/** Names and aliases of an owner that one question reads. */
const MAX_KNOWN = 500

/**
 * The fact of an alias.
 *
 * @category constructors
 */
export const factOf = (name: string, alias: string): Triple => ({ subject: name, predicate: PREDICATE, object: alias })

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
        ...factOf(name, alias),
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

interface Named {
  readonly name: string
  readonly aliases: Array<string>
}

const byKey = (names: Iterable<string>, aliases: ReadonlyArray<Fact>): ReadonlyMap<string, Named> => {
  const known = new Map<string, Named>()
  for (const name of [...names, ...aliases.map(({ subject }) => subject)]) {
    const key = EntityResolution.keyOf(name)
    if (!known.has(key)) known.set(key, { name, aliases: [] })
  }
  for (const { object, subject } of aliases) known.get(EntityResolution.keyOf(subject))?.aliases.push(object)
  return known
}

/**
 * The subjects of an owner with their aliases.
 *
 * @category accessors
 */
export const known = Effect.fnUntraced(function* (
  store: Service,
  ownerId: string
): Effect.fn.Return<ReadonlyArray<EntityResolution.Known>, MemoryStoreFailure> {
  const aliases = yield* store.query(ownerId, { predicate: PREDICATE, limit: MAX_KNOWN })
  const entities = yield* store.entities(ownerId, { limit: MAX_KNOWN })
  return [
    ...byKey(
      entities.map(({ name }) => name),
      aliases
    ).values()
  ]
})

/** Of a name that is a subject itself and an alias of one other, that other. */
const linked = (mention: string, { names }: { readonly names: ReadonlyArray<string> }): string | undefined => {
  const key = EntityResolution.keyOf(mention)
  const others = names.filter((name) => EntityResolution.keyOf(name) !== key)
  return others.length === 1 && others.length < names.length ? others[0] : undefined
}

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
  const known = byKey(
    entities.map(({ name }) => name),
    aliases
  )
  const words = FactText.words(query)
  const said = aliases.map(({ object }) => object).filter((alias) => words.includes(FactText.words(alias)))
  const all = [...known.values()]
  return [...names, ...said].flatMap((mention) => {
    const found = EntityResolution.resolve(mention, all)
    const name = found._tag === "One" ? found.name : found._tag === "Ambiguous" ? linked(mention, found) : undefined
    return name === undefined ? [] : [name, ...(known.get(EntityResolution.keyOf(name))?.aliases ?? [])]
  })
})
