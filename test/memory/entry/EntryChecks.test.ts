import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as EntryChecks from "../../../src/memory/entry/EntryChecks.js"
import { MemoryEntry, maxContent, OwnerId } from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryStoreError } from "../../../src/memory/entry/MemoryError.js"

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

describe("EntryChecks", () => {
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
