import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import type { MemoryEntry, MemoryQuery, MemorySearchResult } from "../../../src/memory/entry/MemoryEntry.js"
import { StorageError } from "../../../src/memory/entry/MemoryError.js"
import type { Selection } from "../../../src/memory/entry/Selection.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as MemoryStoreSuite from "../../../src/testing/memory/MemoryStoreSuite.js"

type Service = MemoryStore.Service

/** A store in memory, but for what is broken of it. */
const broken = (change: (store: Service) => Partial<Service>): Layer.Layer<MemoryStore.MemoryStore> =>
  Layer.effect(
    MemoryStore.MemoryStore,
    Effect.map(InMemoryMemoryStore.make(), (store) => ({ ...store, ...change(store) }))
  )

/** Every read of a selection reads another one. */
const selecting = (store: Service, change: (selection: Selection) => Selection): Partial<Service> => ({
  getRecent: (options) => store.getRecent({ ...options, selection: change(options.selection ?? {}) }),
  count: (ownerId, selection) => store.count(ownerId, change(selection ?? {})),
  stream: (ownerId, selection) => store.stream(ownerId, change(selection ?? {})),
  retrieve: (query) => store.retrieve({ ...query, ...change(query) })
})

/** What is stored again stands beside what was there. */
const doubling = (store: Service): Partial<Service> => ({
  store: (entry) =>
    Effect.flatMap(store.get(entry.ownerId, entry.id), (before) =>
      store.store(Option.isNone(before) ? entry : { ...entry, id: EntryId.make(`${entry.id} again`) })
    )
})

const retrieving = (
  change: (
    results: ReadonlyArray<MemorySearchResult>,
    query: MemoryQuery,
    store: Service
  ) => Effect.Effect<ReadonlyArray<MemorySearchResult>, any> | ReadonlyArray<MemorySearchResult>
) =>
  broken((store) => ({
    retrieve: (query) =>
      Effect.flatMap(store.retrieve(query), (results) => {
        const changed = change(results, query, store)
        return Effect.isEffect(changed) ? changed : Effect.succeed(changed)
      })
  }))

const refusal = new StorageError({ message: "The disk is full" })

/** What is broken, and cases that are there to notice it. */
const layers: ReadonlyArray<readonly [string, Layer.Layer<MemoryStore.MemoryStore>, ReadonlyArray<string>]> = [
  [
    "reads of everybody's entries",
    broken((store) => ({
      getRecent: ({ n, selection }) =>
        Stream.runCollect(Stream.flatMap(store.owners, (owner) => store.stream(owner, selection))).pipe(
          Effect.map((all) => Array.from(all).reverse().slice(0, n))
        )
    })),
    ["getRecent sees nothing of another owner", "getRecent with a selection sees nothing of another owner"]
  ],
  [
    "owners whose case makes no difference",
    broken((store) => ({
      clear: (ownerId) =>
        Effect.zipLeft(
          store.clear(ownerId),
          Effect.all([store.clear(ownerId.toUpperCase()), store.clear(ownerId.toLowerCase())])
        )
    })),
    ["clear touches nothing of another owner"]
  ],
  [
    "deletions by the pattern of an owner",
    broken((store) => ({
      delete: (ownerId, id) =>
        Effect.zipLeft(store.delete(ownerId, id), ownerId.endsWith("%") ? store.delete("a", id) : Effect.void)
    })),
    ["delete touches nothing of another owner"]
  ],
  [
    "no expiry",
    broken((store) => {
      const immortal = ({ expiresAt: _, ...entry }: MemoryEntry): MemoryEntry => entry
      return {
        store: (entry) => store.store(immortal(entry)),
        storeMany: (entries) => store.storeMany(entries.map(immortal)),
        apply: (ownerId, change) => store.apply(ownerId, { ...change, store: change.store?.map(immortal) })
      }
    }),
    [
      "an entry exists until its expiry",
      "an entry stored after its expiry does not exist",
      "expire removes expired entries of all owners and returns their number",
      "neighbors are selected and not expired"
    ]
  ],
  [
    "an expiry that is a millisecond late",
    broken((store) => {
      const late = (entry: MemoryEntry): MemoryEntry =>
        entry.expiresAt === undefined ? entry : { ...entry, expiresAt: entry.expiresAt + 1 }
      return { storeMany: (entries) => store.storeMany(entries.map(late)) }
    }),
    ["an entry exists until its expiry"]
  ],
  [
    "expire counts nothing",
    broken((store) => ({ expire: Effect.as(store.expire, 0) })),
    ["expire removes expired entries of all owners and returns their number"]
  ],
  [
    "the newest in the order of their ids",
    broken((store) => ({
      getRecent: (options) =>
        Effect.map(store.getRecent(options), (entries) => [...entries].sort((a, b) => (a.id < b.id ? 1 : -1)))
    })),
    ["returns the newest first, and equal times by descending id"]
  ],
  [
    "the newest of all, and then what is selected",
    broken((store) => ({
      getRecent: ({ n, ownerId, selection }) =>
        Effect.flatMap(store.getRecent({ ownerId, n: n * 10 }), (newest) =>
          Effect.map(Stream.runCollect(store.stream(ownerId, selection)), (selected) => {
            const ids = new Set(Array.from(selected, (one) => one.id))
            return newest.filter((one) => ids.has(one.id)).slice(0, n)
          })
        )
    })),
    ["finds the newest selected entries among many others"]
  ],
  [
    "a stream of its first page",
    broken((store) => ({ stream: (ownerId, selection) => Stream.take(store.stream(ownerId, selection), 256) })),
    ["streams everything once, oldest first, over many pages"]
  ],
  [
    "owners of their first page",
    broken((store) => ({ owners: Stream.take(store.owners, 256) })),
    ["streams owners once each, ascending, over many pages"]
  ],
  [
    "filters that count and stream do not know",
    broken((store) => ({
      count: (ownerId, selection) => store.count(ownerId, { ...selection, filters: {} }),
      stream: (ownerId, selection) => store.stream(ownerId, { ...selection, filters: {} })
    })),
    ["a filter is equal to a value of its type", "agrees with a simple model after any sequence of operations"]
  ],
  [
    "filters of numbers that are texts",
    broken((store) =>
      selecting(store, (selection) => ({
        ...selection,
        filters: Object.fromEntries(
          Object.entries(selection.filters ?? {}).map(([key, one]) => [
            key,
            typeof one === "number" ? { in: [one, String(one)] } : one
          ])
        )
      }))
    ),
    ["a filter is equal to a value of its type"]
  ],
  [
    "filters that lose __proto__",
    broken((store) =>
      selecting(store, (selection) => {
        const filters: Record<string, any> = {}
        for (const [key, one] of Object.entries(selection.filters ?? {})) filters[key] = one
        return { ...selection, filters }
      })
    ),
    ["keys of filters are taken as they stand"]
  ],
  [
    "ranges of time without their end",
    broken((store) =>
      selecting(store, (selection) => ({
        ...selection,
        ...(selection.timeRange === undefined
          ? undefined
          : { timeRange: { start: selection.timeRange.start, end: selection.timeRange.end - 0.25 } })
      }))
    ),
    ["a range of time has both its ends"]
  ],
  [
    "lineages without what belongs to no session",
    broken((store) =>
      selecting(store, (selection) => ({
        ...selection,
        ...(selection.lineage === undefined
          ? undefined
          : { sessionIds: selection.sessionIds ?? selection.lineage.map((one) => one.sessionId) })
      }))
    ),
    ["a lineage has its sessions up to where the branch left them, and what belongs to no session"]
  ],
  [
    "lineages without what was left behind",
    broken((store) =>
      selecting(store, ({ lineage, ...selection }) => ({
        ...selection,
        ...(lineage === undefined ? undefined : { lineage: lineage.map(({ from: _, ...one }) => one) })
      }))
    ),
    [
      "a lineage has its sessions up to where the branch left them, and what belongs to no session",
      "what stands for several moments lies in one stretch as a whole"
    ]
  ],
  [
    "lineages without their tree",
    broken((store) => selecting(store, ({ tree: _, ...selection }) => selection)),
    ["in a tree of sessions a lineage leaves what belongs to others"]
  ],
  [
    "lineages of a tree that entries do not name",
    broken((store) =>
      selecting(store, (selection) =>
        selection.tree === undefined ? selection : { ...selection, tree: SessionId.make(`${selection.tree} `) }
      )
    ),
    ["in a tree of sessions a lineage leaves what belongs to others"]
  ],
  [
    "writes up to the first bad entry",
    broken((store) => ({
      storeMany: (entries) => Effect.forEach(entries, (entry) => store.store(entry), { discard: true })
    })),
    ["rejects an entry beyond the limits and stores nothing of the call"]
  ],
  [
    "a change that deletes before it looks",
    broken((store) => ({
      apply: (ownerId, change) =>
        Effect.flatMap(store.apply(ownerId, { delete: change.delete }), (deleted) =>
          Effect.as(store.apply(ownerId, { store: change.store }), deleted)
        )
    })),
    [
      "apply rejects an entry of another owner and changes nothing",
      "rejects an entry beyond the limits and stores nothing of the call"
    ]
  ],
  [
    "deletions forgotten",
    broken((store) => ({
      delete: (ownerId, id) => Effect.map(store.get(ownerId, id), (found) => found._tag === "Some")
    })),
    ["deleting returns true once and removes the entry everywhere"]
  ],
  [
    "deletions that always tell they did something",
    broken((store) => ({ delete: (ownerId, id) => Effect.as(store.delete(ownerId, id), true) })),
    ["deleting returns true once and removes the entry everywhere", "finds nothing that was never stored"]
  ],
  ["doubles of what is stored again", broken(doubling), ["storing an id again replaces its entry"]],
  [
    "a count that clear forgets",
    broken((store) => {
      const cleared = new Set<string>()
      return {
        clear: (ownerId) => Effect.tap(store.clear(ownerId), () => Effect.sync(() => cleared.add(ownerId))),
        count: (ownerId, selection) =>
          Effect.map(store.count(ownerId, selection), (count) => (cleared.has(ownerId) ? Math.max(1, count) : count))
      }
    }),
    ["clear removes everything of one owner and returns the count"]
  ],
  [
    "access figures that start anew",
    broken((store) => ({
      store: (entry) => Effect.zipRight(store.delete(entry.ownerId, entry.id), store.store(entry))
    })),
    ["keeps the higher access figures of an entry that is stored again"]
  ],
  [
    "accesses counted by reading and writing",
    broken((store) => ({
      recordAccess: (ownerId, ids) =>
        Effect.gen(function* () {
          const entries = yield* store.getMany(ownerId, ids)
          yield* Effect.yieldNow()
          const lastAccessedAt = yield* Clock.currentTimeMillis
          yield* store.storeMany(
            entries.map((one) => ({ ...one, accessCount: (one.accessCount ?? 0) + 1, lastAccessedAt }))
          )
        }).pipe(Effect.orDie)
    })),
    ["counts all concurrent accesses"]
  ],
  [
    "retrieving is an access",
    retrieving((results, query, store) =>
      Effect.as(
        store.recordAccess(
          query.ownerId,
          results.map((one) => one.entry.id)
        ),
        results
      )
    ),
    ["retrieving does not count as access"]
  ],
  [
    "metadata that loses its types",
    broken((store) => ({
      store: (entry) =>
        store.store({
          ...entry,
          metadata: JSON.parse(JSON.stringify(entry.metadata, (_, value) => (value === null ? undefined : value)))
        })
    })),
    ["returns an entry unchanged"]
  ],
  [
    "relevance that is the same for all",
    retrieving((results) => results.map((one) => ({ ...one, relevance: 0.5 }))),
    [
      "an entry without query words has no relevance and stays unless a minimum is set",
      "without words every entry is equally relevant, and recency and importance decide"
    ]
  ],
  [
    "the least relevance put to the score",
    broken((store) => ({
      retrieve: ({ minRelevance = 0, ...query }) =>
        Effect.map(store.retrieve({ ...query, minRelevance: 0 }), (results) =>
          results.filter((one) => one.score >= minRelevance)
        )
    })),
    ["applies the minimum to the relevance, not to the score"]
  ],
  [
    "weights that are not heard",
    broken((store) => ({
      retrieve: ({ importanceWeight: _, recencyWeight: __, relevanceWeight: ___, ...query }) => store.retrieve(query)
    })),
    ["each part of the score decides the order when it alone has weight"]
  ],
  [
    "scores that add up to more",
    retrieving((results) => results.map((one) => ({ ...one, score: one.score * 2 }))),
    ["scores are between 0 and 1 and descend, and results name their store"]
  ],
  [
    "worst first",
    retrieving((results) => [...results].reverse()),
    ["a rare word counts for more than a common one", "equal scores come newest first"]
  ],
  [
    "pages that overlap",
    broken((store) => ({
      retrieve: ({ offset = 0, ...query }) => store.retrieve({ ...query, offset: Math.max(0, offset - 1) })
    })),
    ["pages together contain everything once"]
  ],
  [
    "words as they are written",
    retrieving((results, query) =>
      (query.minRelevance ?? 0) === 0
        ? results
        : results.filter((one) => query.query.split(" ").some((word) => one.entry.content.includes(word)))
    ),
    [
      "words are found whatever their case",
      "words are found by their stem",
      "words are found with and without their accents"
    ]
  ],
  [
    "explanations nobody asked for",
    broken((store) => ({ retrieve: (query) => store.retrieve({ ...query, explain: true }) })),
    ["explains the score on request"]
  ],
  [
    "neighbours of every session",
    retrieving((results, { neighbours = 0, ownerId }, store) =>
      neighbours === 0
        ? results
        : Effect.map(Stream.runCollect(store.stream(ownerId)), (all) => {
            const entries = Array.from(all)
            return results
              .filter((one) => one.neighbourOf === undefined)
              .flatMap((one) => {
                const at = entries.findIndex((entry) => entry.id === one.entry.id)
                const beside = entries.slice(Math.max(0, at - neighbours), at + neighbours + 1)
                return [
                  one,
                  ...beside
                    .filter((entry) => entry.id !== one.entry.id)
                    .map((entry) => ({ ...one, entry, neighbourOf: one.entry.id }))
                ]
              })
          })
    ),
    ["neighbors are the adjacent entries of the same session", "an entry without a session has no neighbors"]
  ],
  [
    "no diversity, and doubles",
    broken((store) => ({
      retrieve: ({ diversity: _, suppressDuplicates: __, ...query }) => store.retrieve(query)
    })),
    ["diversity ranks different entries higher", "suppressing duplicates keeps the best of equal results"]
  ],
  [
    "that corrections are no doubles",
    broken((store) => ({
      retrieve: (query) =>
        Effect.map(store.retrieve(query), (results) => {
          if (query.suppressDuplicates === undefined) return results
          const texts = results.map(({ entry }) => entry.content.replace(/\d+|not /g, ""))
          return results.filter((_, at) => texts.indexOf(texts[at] as string) === at)
        })
    })),
    ["results that differ in a number, a date, a denial or a name are no doubles, whatever is suppressed"]
  ],
  ["no health", broken(() => ({ health: Effect.fail(refusal) })), ["reports health"]]
]

/** None of these breaks it: a store that fails at everything shows nothing. */
const unconcerned = "getMany returns existing entries in the order of the ids"

const failures = (layer: Layer.Layer<MemoryStore.MemoryStore>, only?: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(MemoryStoreSuite.cases, (one) =>
      only === undefined || only.includes(one.name)
        ? Effect.map(Effect.exit(MemoryStoreSuite.check(one, layer)), (exit) =>
            exit._tag === "Failure" ? [one.name] : []
          )
        : Effect.succeed([])
    ),
    (names) => names.flat()
  )

describe("MemoryStoreSuite", () => {
  it("names each case once", () => {
    const names = MemoryStoreSuite.cases.map((one) => one.name)
    assert.deepStrictEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      []
    )
  })

  // All cases in one test, on a machine that may be busy.
  it.effect(
    "passes every case for a correct store",
    () =>
      Effect.map(MemoryStoreSuite.run(InMemoryMemoryStore.layer()), (outcomes) => {
        assert.lengthOf(outcomes, MemoryStoreSuite.cases.length)
        assert.deepStrictEqual(
          outcomes.flatMap((one) => (one.failure === undefined ? [] : [`${one.name}: ${Cause.pretty(one.failure)}`])),
          []
        )
      }),
    300_000
  )

  it.effect("fails every case with the reason when a store cannot be built", () =>
    Effect.map(MemoryStoreSuite.run(Layer.fail(refusal)), (outcomes) => {
      assert.lengthOf(outcomes, MemoryStoreSuite.cases.length)
      for (const one of outcomes) {
        assert.deepStrictEqual(one.failure, Cause.fail(refusal))
      }
    })
  )

  it.effect("passes few cases for a store that stores nothing", () =>
    Effect.map(failures(MemoryStore.layerNoop), (names) => {
      assert.isAbove(names.length, MemoryStoreSuite.cases.length - 10)
    })
  )

  for (const [what, layer, expected] of layers) {
    it.effect(`telemetry ${what}`, () =>
      Effect.map(failures(layer, [...expected, unconcerned]), (names) => assert.sameMembers([...names], [...expected]))
    )
  }
})
