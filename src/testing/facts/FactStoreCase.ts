/**
 * Building blocks of the cases of `FactStoreSuite`.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import { EntryId } from "../../domain/Ids.js"
import type { Fact, NewFact } from "../../memory/facts/Fact.js"
import * as FactStore from "../../memory/facts/FactStore.js"
import type * as PortSuite from "../suite/PortSuite.js"
import { Mismatch } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test. It requires an empty store and a `TestClock` at `epoch`, which it moves.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<FactStore.FactStore>

/**
 * The time at which a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (store: FactStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(FactStore.FactStore, (store) => Effect.gen(() => body(store))) })

/**
 * A fact about Anna with confidence 0.9, valid since `epoch`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fact = (predicate: string, object: string, more?: Partial<NewFact>): NewFact => ({
  subject: "Anna",
  predicate,
  object,
  confidence: 0.9,
  validFrom: epoch,
  ...more
})

/**
 * Where Anna lives, from some milliseconds after `epoch` on.
 *
 * @since 0.1.0
 * @category constructors
 */
export const lives = (object: string, after: number, more?: Partial<NewFact>): NewFact =>
  fact("lives in", object, { validFrom: epoch + after, ...more })

/**
 * @since 0.1.0
 * @category constructors
 */
export const sources = (...ids: ReadonlyArray<string>): ReadonlyArray<EntryId> => ids.map((id) => EntryId.make(id))

/**
 * The fact; fails if there is none.
 *
 * @since 0.1.0
 * @category getters
 */
export const some = (fact: Option.Option<Fact> | undefined, what: string): Fact => {
  if (fact === undefined || Option.isNone(fact)) throw new Mismatch(what, "none", "a fact")
  return fact.value
}

/**
 * Asserts one fact and returns it as stored.
 *
 * @since 0.1.0
 * @category accessors
 */
export const tell = (store: FactStore.Service, told: NewFact, ownerId = "ann") =>
  Effect.map(store.assert(ownerId, [told]), ([kept]) => some(kept, `"${told.object}" is kept`))

/**
 * Selects every fact, valid or not.
 *
 * @since 0.1.0
 * @category constants
 */
export const ever: FactStore.FactQuery = { includeClosed: true, at: Number.MAX_SAFE_INTEGER, limit: 1000 }

/**
 * @since 0.1.0
 * @category getters
 */
export const objects = (facts: ReadonlyArray<Fact>): ReadonlyArray<string> => facts.map(({ object }) => object)

/**
 * What was valid when, in order of time. Times count from `epoch`.
 *
 * @since 0.1.0
 * @category getters
 */
export const timeline = (facts: ReadonlyArray<Fact>): ReadonlyArray<string> => {
  const byId = new Map(facts.map((one) => [one.id, one.object]))
  return [...facts]
    .sort((a, b) => a.validFrom - b.validFrom || (a.validTo ?? Infinity) - (b.validTo ?? Infinity))
    .map(({ closedBy, object, validFrom, validTo }) => {
      const by = closedBy === undefined ? "" : ` by ${byId.get(closedBy) ?? "?"}`
      return `${object} ${validFrom - epoch}-${validTo === undefined ? "" : validTo - epoch}${by}`
    })
}

/**
 * Names that are dangerous in keys, paths, patterns, SQL or objects.
 *
 * @since 0.1.0
 * @category constants
 */
export const hostile: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "toString",
  "a",
  "aa",
  "a%",
  "a_b",
  "a:b",
  "a'; DELETE FROM facts; --",
  'a"b',
  "a\\b",
  "{a}",
  "日本\u{1f600}",
  "x".repeat(256)
]
