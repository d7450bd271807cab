/**
 * Building blocks of the cases of `MemoryStoreSuite`.
 *
 * @since 0.1.0
 * @private
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { YieldWrap } from "effect/Utils"
import { EntryId, RunId, SessionId, TurnId } from "../../domain/Ids.js"
import type { MemoryEntry, MemoryQuery, MemorySearchResult } from "../../memory/entry/MemoryEntry.js"
import * as Entry from "../../memory/entry/MemoryEntry.js"
import type { Selection } from "../../memory/entry/Selection.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import type * as PortSuite from "../suite/PortSuite.js"
import { equal } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test. It requires an empty store and a `TestClock` at `epoch`, which it moves.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<MemoryStore.MemoryStore>

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
  body: (store: MemoryStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(MemoryStore.MemoryStore, (store) => Effect.gen(() => body(store))) })

/**
 * @since 0.1.0
 * @category models
 */
export interface Fields extends Partial<Omit<MemoryEntry, "id" | "sessionId" | "runId" | "turnId">> {
  readonly sessionId?: string | undefined
  readonly runId?: string | undefined
  readonly turnId?: string | undefined
}

/**
 * An entry of `ann` at `epoch`, without content. Limits are not checked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const entry = (id: string, fields: Fields = {}): MemoryEntry =>
  ({
    ownerId: "ann",
    content: "",
    role: "user",
    timestamp: epoch,
    importance: 0.5,
    metadata: {},
    ...fields,
    id
  }) as MemoryEntry

/**
 * @since 0.1.0
 * @category constructors
 */
export const entryId = (id: string): EntryId => EntryId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const entryIds = (...ids: ReadonlyArray<string>): ReadonlyArray<EntryId> => ids.map(entryId)
/**
 * @since 0.1.0
 * @category constructors
 */
export const sessionId = (id: string): SessionId => SessionId.make(id)

/**
 * @since 0.1.0
 * @category getters
 */
export const idsOf = (entries: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> =>
  entries.map((one) => one.id)

/**
 * @since 0.1.0
 * @category getters
 */
export const found = (results: ReadonlyArray<MemorySearchResult>): ReadonlyArray<string> =>
  results.map((one) => one.entry.id)

/**
 * All selected entries of an owner, oldest first.
 *
 * @since 0.1.0
 * @category getters
 */
export const streamed = (store: MemoryStore.Service, ownerId: string, selection?: Selection) =>
  Effect.map(Stream.runCollect(store.stream(ownerId, selection)), Chunk.toReadonlyArray)

/**
 * Throws unless these are the same entries in the same order. A store may have a default TTL; then entries without an
 * expiry have that one.
 *
 * @since 0.1.0
 * @category assertions
 */
export const equalEntries = (
  actual: ReadonlyArray<MemoryEntry | undefined>,
  expected: ReadonlyArray<MemoryEntry | undefined>,
  what: string
): void =>
  equal(
    actual.map((one, at) => (one === undefined || expected[at]?.expiresAt !== undefined ? one : withoutExpiry(one))),
    expected,
    what
  )

/**
 * Like `equalEntries`, for one entry.
 *
 * @since 0.1.0
 * @category assertions
 */
export const equalEntry = (actual: MemoryEntry | undefined, expected: MemoryEntry | undefined, what: string): void =>
  equalEntries([actual], [expected], what)

const withoutExpiry = (one: MemoryEntry): MemoryEntry => {
  const { expiresAt: _, ...rest } = one
  return rest
}

/**
 * Weights under which one part alone decides.
 *
 * @since 0.1.0
 * @category constants
 */
export const only = {
  recency: { recencyWeight: 1, importanceWeight: 0, relevanceWeight: 0 },
  importance: { recencyWeight: 0, importanceWeight: 1, relevanceWeight: 0 },
  relevance: { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 }
} as const

/**
 * A query of `ann` for up to 100 results of any relevance, by relevance alone, independent of the configuration of the
 * store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const query = (text: string, fields: Partial<MemoryQuery> = {}): MemoryQuery => ({
  ownerId: "ann",
  query: text,
  topK: 100,
  minRelevance: 0,
  ...only.relevance,
  ...fields
})

/**
 * A query for results with at least one word of the text, by relevance alone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const matching = (text: string, fields: Partial<MemoryQuery> = {}): MemoryQuery =>
  query(text, { minRelevance: 1e-6, ...fields })

/**
 * An entry with a value in every field except its expiry and access figures.
 *
 * @since 0.1.0
 * @category constructors
 */
export const full = (id: string, fields: Fields = {}): MemoryEntry =>
  Entry.make({
    id: entryId(id),
    ownerId: "ann",
    content: "a full entry",
    role: "assistant",
    timestamp: epoch - 1234.5,
    importance: 0.25,
    metadata: { type: "turn", tags: ["a", "b"] },
    embedding: [0.5, -0.25, 1e-7, 0],
    sessionId: SessionId.make("session"),
    runId: RunId.make("run"),
    turnId: TurnId.make("turn"),
    ...(fields as {})
  })

/**
 * @since 0.1.0
 * @category constants
 */
export const hour = 3_600_000

/**
 * Entries with these contents under the ids `e0`, `e1`, …, each an hour younger than the previous one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const contents = (...texts: ReadonlyArray<string>): ReadonlyArray<MemoryEntry> =>
  texts.map((content, at) => entry(`e${at}`, { content, timestamp: epoch - (texts.length - at) * hour }))

/**
 * Names that are dangerous in keys, paths, patterns, SQL or objects.
 *
 * @since 0.1.0
 * @category constants
 */
export const hostileIds: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "toString",
  "a",
  "A",
  "aa",
  "a ",
  " a",
  "a:b",
  "a:b:c",
  "a/b",
  "a%",
  "a%3Ab",
  "a_b",
  "a.b",
  "a*",
  "a\\b",
  "a'b\"c",
  "a'; DELETE FROM memory_entries; --",
  "{a}",
  "é",
  "e\u0301",
  "日本\u{1f600}",
  "x".repeat(256),
  `${"x".repeat(255)}y`
]

/**
 * Dangerous names of owners, which may contain any character.
 *
 * @since 0.1.0
 * @category constants
 */
export const hostileOwners: ReadonlyArray<string> = [...hostileIds, "\n", "a\n", "a\u0000", "a\u0000b"]
