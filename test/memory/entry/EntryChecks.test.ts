import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as EntryChecks from "../../../src/memory/entry/EntryChecks.js"
import { MemoryEntry, MemoryQuery, maxContent, OwnerId } from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryStoreError } from "../../../src/memory/entry/MemoryError.js"
import { Selection } from "../../../src/memory/entry/Selection.js"

const isEntry = Schema.is(Schema.typeSchema(MemoryEntry))
const isOwner = Schema.is(OwnerId)

const ids = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.string({ minLength: 1, maxLength: 20 }) },
  FastCheck.constantFrom<Array<unknown>>(
    "",
    "a".repeat(256),
    "a".repeat(257),
    "é".repeat(256),
    "a\nb",
    "a\n",
    "\u0000",
    "\u007f",
    "\u0085",
    "né",
    "🙂",
    "__proto__",
    null,
    1,
    ["a"],
    new String("a")
  )
)
const numbers = FastCheck.constantFrom<Array<unknown>>(
  0,
  -0,
  0.5,
  1,
  7,
  -1,
  1.000001,
  1e300,
  2 ** 53 - 1,
  2 ** 53,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  "1",
  null,
  1n
)
const maybe = (arbitrary: FastCheck.Arbitrary<unknown>) => FastCheck.oneof(FastCheck.constant(undefined), arbitrary)

const fields = Object.keys(MemoryEntry.fields).filter((field) => field !== "metadata" && field !== "embedding")

/** An entry in which at most a few fields are anything. */
const values = FastCheck.tuple(
  FastCheck.record(
    {
      id: ids,
      ownerId: ids,
      content: FastCheck.constantFrom<Array<unknown>>(
        "",
        "text",
        "a".repeat(maxContent),
        "a".repeat(maxContent + 1),
        null,
        5,
        undefined
      ),
      role: FastCheck.constantFrom<Array<unknown>>("user", "system", "assistant", "tool", "User", "", 1, undefined),
      timestamp: numbers,
      importance: numbers,
      sessionId: maybe(ids),
      runId: maybe(ids),
      turnId: maybe(ids),
      expiresAt: maybe(numbers),
      accessCount: maybe(numbers),
      lastAccessedAt: maybe(numbers)
    },
    { requiredKeys: [] }
  ),
  FastCheck.uniqueArray(FastCheck.constantFrom(...fields), { maxLength: 2 })
).map(([odd, taken]) => {
  const sound = {
    id: "entry-1",
    ownerId: "owner",
    content: "text",
    role: "user",
    timestamp: 5,
    importance: 0.5,
    metadata: {}
  }
  const chosen = Object.entries(odd).filter(([key]) => taken.includes(key))
  return { ...sound, ...Object.fromEntries(chosen) } as unknown as MemoryEntry
})

const ancestors = FastCheck.array(
  FastCheck.oneof(
    FastCheck.record({ sessionId: ids, from: maybe(numbers), until: maybe(numbers) }, { requiredKeys: [] }),
    FastCheck.constantFrom<Array<unknown>>(null, 1, "s")
  ),
  { maxLength: 2 }
)
const selected: Readonly<Record<string, FastCheck.Arbitrary<unknown>>> = {
  filters: FastCheck.oneof(
    FastCheck.constantFrom<Array<unknown>>({}, 1, null, [], new Date(0)),
    FastCheck.constantFrom<Array<unknown>>(
      ...["turn", null, true, 1, Number.NaN, undefined, 1n, [], {}, ["turn"]],
      ...[
        { in: [] },
        { in: ["turn", 1, null, false] },
        { in: [Number.NaN] },
        { in: [{}] },
        { in: new Array(1) },
        { in: "turn" }
      ],
      ...[{ in: ["turn"], gt: 1 }, { in: ["turn"], more: 1 }, { gt: 1 }, { gt: 1, more: 1 }, { more: 1 }]
    ).map((type) => ({ type }))
  ),
  timeRange: FastCheck.record({ start: numbers, end: numbers }),
  roles: FastCheck.constantFrom<Array<unknown>>([], ["user"], ["User"], "user"),
  sessionIds: FastCheck.array(ids, { maxLength: 2 }),
  lineage: FastCheck.oneof(ancestors, FastCheck.constantFrom<Array<unknown>>(null, "s", {})),
  tree: ids
}
const asked: Readonly<Record<string, FastCheck.Arbitrary<unknown>>> = {
  ...selected,
  ownerId: ids,
  query: FastCheck.constantFrom<Array<unknown>>("", "text", null, undefined),
  explain: FastCheck.constantFrom<Array<unknown>>(true, false, 0, undefined),
  ...Object.fromEntries(
    Object.keys(MemoryQuery.fields)
      .filter((field) => !(field in selected) && !["ownerId", "query", "explain"].includes(field))
      .map((field) => [field, maybe(numbers)])
  )
}

/** A value in which at most two fields are anything. */
const withOdd = (sound: object, fields: Readonly<Record<string, FastCheck.Arbitrary<unknown>>>) =>
  FastCheck.uniqueArray(FastCheck.constantFrom(...Object.keys(fields)), { maxLength: 2 })
    .chain((taken) =>
      FastCheck.record(Object.fromEntries(taken.map((field) => [field, fields[field] as FastCheck.Arbitrary<unknown>])))
    )
    .map((odd): unknown => ({ ...sound, ...odd }))

describe("EntryChecks", () => {
  for (const [name, schema, given, check] of [
    ["selections", Selection, withOdd({}, selected), EntryChecks.selection],
    ["queries", MemoryQuery, withOdd({ ownerId: "owner", query: "text" }, asked), EntryChecks.query]
  ] as const) {
    it(`accepts exactly the ${name} that the schema accepts`, () => {
      const isSound = Schema.is(Schema.typeSchema(schema as Schema.Schema<unknown>))
      const seen = { in: 0, out: 0 }
      FastCheck.assert(
        FastCheck.property(given, (value) => {
          const sound = isSound(value)
          seen[sound ? "in" : "out"]++
          assert.strictEqual(check("store", value as never) === undefined, sound)
        }),
        { numRuns: 3_000 }
      )
      assert.isAbove(seen.in, 300)
      assert.isAbove(seen.out, 300)
    })
  }

  it("accepts exactly the entries that the schema accepts", () => {
    const seen = { in: 0, out: 0 }
    FastCheck.assert(
      FastCheck.property(values, (value) => {
        const checked = EntryChecks.entry("store", value.ownerId, value, Number.POSITIVE_INFINITY)
        const sound = isEntry(value)
        seen[sound ? "in" : "out"]++
        assert.strictEqual(!(checked instanceof MemoryStoreError), sound)
        if (!(checked instanceof MemoryStoreError)) assert.isTrue(isEntry(checked))
      }),
      { numRuns: 5_000 }
    )
    assert.isAbove(seen.in, 500)
    assert.isAbove(seen.out, 500)
  })

  it("accepts exactly the owners that the schema accepts", () => {
    FastCheck.assert(
      FastCheck.property(ids, (ownerId) => {
        assert.strictEqual(EntryChecks.owner("store", ownerId as string) === undefined, isOwner(ownerId))
      }),
      { numRuns: 500 }
    )
  })

  it("ignores inherited fields", () => {
    const { id, ...rest } = { id: "entry-1", ownerId: "o", content: "", role: "user", timestamp: 0, importance: 1 }
    const value = Object.assign(Object.create({ id }), { ...rest, metadata: {} }) as MemoryEntry
    assert.instanceOf(EntryChecks.entry("store", "o", value, 1), MemoryStoreError)
  })
})
