import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { SessionId } from "../../../src/domain/Ids.js"
import * as Selection from "../../../src/memory/entry/Selection.js"

const session = (id: string) => SessionId.make(id)

const item = (fields: Partial<Selection.Selectable> = {}): Selection.Selectable => ({
  timestamp: 0,
  role: "user",
  metadata: {},
  ...fields
})

const selects = (selection: Selection.Selection, fields: Partial<Selection.Selectable> = {}): boolean =>
  Selection.predicate(selection)?.(item(fields)) ?? true

/** Whether the value under `k` fits the condition. */
const fits = (condition: Selection.Condition, value: unknown): boolean =>
  selects({ filters: { k: condition } }, { metadata: value === undefined ? {} : { k: value } })

describe("Selection", () => {
  it("selects everything when nothing is given", () => {
    assert.isUndefined(Selection.predicate({}))
    assert.isUndefined(Selection.predicate({ filters: {} }))
    assert.isUndefined(
      Selection.predicate({ filters: undefined, timeRange: undefined, roles: undefined, sessionIds: undefined })
    )
  })

  it("matches a scalar with itself only", () => {
    assert.isTrue(fits("a", "a"))
    assert.isTrue(fits(1, 1))
    assert.isTrue(fits(true, true))
    assert.isTrue(fits(0, -0))
    for (const value of ["A", "a ", 1, true, null, undefined, {}, { a: "a" }]) assert.isFalse(fits("a", value))
    for (const value of ["1", true, 1.1, null, undefined, Number.NaN]) assert.isFalse(fits(1, value))
    for (const value of [false, "true", 1, undefined]) assert.isFalse(fits(true, value))
  })

  it("matches null with null and absent values", () => {
    assert.isTrue(fits(null, null))
    assert.isTrue(fits(null, undefined))
    assert.isTrue(selects({ filters: { k: null } }, { metadata: { k: undefined } }))
    for (const value of [0, "", false, "null", [], {}]) assert.isFalse(fits(null, value))
  })

  it("matches one of several", () => {
    assert.isTrue(fits({ in: ["a", 2] }, 2))
    assert.isTrue(fits({ in: ["a", null] }, undefined))
    assert.isFalse(fits({ in: ["a", 2] }, "2"))
    assert.isFalse(fits({ in: ["a", 2] }, undefined))
    assert.isFalse(fits({ in: [] }, undefined))
    assert.isFalse(fits({ in: [] }, "a"))
  })

  it("compares numbers with numbers in a range", () => {
    assert.isTrue(fits({ gt: 1 }, 2))
    assert.isFalse(fits({ gt: 1 }, 1))
    assert.isTrue(fits({ gte: 1 }, 1))
    assert.isFalse(fits({ gte: 1 }, 0))
    assert.isTrue(fits({ lt: 1 }, 0))
    assert.isFalse(fits({ lt: 1 }, 1))
    assert.isTrue(fits({ lte: 1 }, 1))
    assert.isFalse(fits({ lte: 1 }, 2))
    assert.isTrue(fits({ gt: 1, lt: 3 }, 2))
    assert.isFalse(fits({ gt: 1, lt: 3 }, 3))
    for (const value of ["2", true, null, undefined, {}]) assert.isFalse(fits({ gt: 1 }, value))
    assert.isFalse(fits({ gte: 0 }, Number.NaN))
  })

  it("compares texts with texts in a range, by code unit", () => {
    assert.isTrue(fits({ gte: "2024-01-01", lt: "2025-01-01" }, "2024-06-30"))
    assert.isFalse(fits({ gte: "2024-01-01", lt: "2025-01-01" }, "2025-01-01"))
    assert.isTrue(fits({ gt: "Z" }, "a"))
    assert.isTrue(fits({ gt: "9" }, "A"))
    assert.isFalse(fits({ gt: "10" }, 11))
  })

  it("matches nothing in a range with bounds of both kinds, and any number and text without bounds", () => {
    for (const value of [2, "b"]) {
      assert.isFalse(fits({ gt: 1, lt: "c" }, value))
      assert.isTrue(fits({}, value))
    }
    for (const value of [true, null, undefined, {}, []]) assert.isFalse(fits({}, value))
  })

  it("matches a list when one of its elements matches", () => {
    assert.isTrue(fits("a", ["b", "a"]))
    assert.isTrue(fits({ in: ["c", "a"] }, ["b", "a"]))
    assert.isTrue(fits({ gt: 5 }, [1, 9]))
    assert.isTrue(fits(null, ["a", null]))
    assert.isFalse(fits("a", ["b", "c"]))
    assert.isFalse(fits("a", []))
    assert.isFalse(fits({ gt: 5, lt: 8 }, [1, 9]))
    assert.isFalse(fits("a", [["a"]]))
  })

  it("requires all conditions", () => {
    const filters = { a: 1, b: "x" }
    assert.isTrue(selects({ filters }, { metadata: { a: 1, b: "x", c: 0 } }))
    assert.isFalse(selects({ filters }, { metadata: { a: 1, b: "y" } }))
    assert.isFalse(selects({ filters }, { metadata: { a: 1 } }))
  })

  it("takes keys literally", () => {
    assert.isTrue(selects({ filters: { "a.b": 1 } }, { metadata: { "a.b": 1 } }))
    assert.isFalse(selects({ filters: { "a.b": 1 } }, { metadata: { a: { b: 1 } } }))
    assert.isTrue(selects({ filters: { "": 1 } }, { metadata: { "": 1 } }))
    assert.isTrue(selects({ filters: { "$.a' OR 1=1 --": 1 } }, { metadata: { "$.a' OR 1=1 --": 1 } }))
  })

  it("reads own keys only, whatever their name", () => {
    for (const key of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const filters = JSON.parse(`{ "${key}": "x" }`)
      assert.isFalse(selects({ filters }, { metadata: {} }))
      assert.isTrue(selects({ filters }, { metadata: JSON.parse(`{ "${key}": "x" }`) }))
      assert.isTrue(selects({ filters: JSON.parse(`{ "${key}": null }`) }, { metadata: {} }))
    }
    assert.isFalse(selects({ filters: { inherited: 1 } }, { metadata: Object.create({ inherited: 1 }) }))
    assert.isTrue(selects({ filters: { k: 1 } }, { metadata: Object.assign(Object.create(null), { k: 1 }) }))
  })

  it("includes both ends of a time range", () => {
    const timeRange = { start: 10, end: 20 }
    for (const timestamp of [10, 15, 20]) assert.isTrue(selects({ timeRange }, { timestamp }))
    for (const timestamp of [9, 21]) assert.isFalse(selects({ timeRange }, { timestamp }))
    assert.isFalse(selects({ timeRange: { start: 20, end: 10 } }, { timestamp: 15 }))
  })

  it("selects roles, and nothing for an empty list", () => {
    assert.isTrue(selects({ roles: ["user", "tool"] }, { role: "tool" }))
    assert.isFalse(selects({ roles: ["user", "tool"] }, { role: "assistant" }))
    assert.isFalse(selects({ roles: [] }, { role: "user" }))
  })

  it("selects sessions; an entry without a session is in none", () => {
    assert.isTrue(selects({ sessionIds: [session("a"), session("b")] }, { sessionId: session("b") }))
    assert.isFalse(selects({ sessionIds: [session("a")] }, { sessionId: session("b") }))
    assert.isFalse(selects({ sessionIds: [session("a")] }))
    assert.isFalse(selects({ sessionIds: [] }, { sessionId: session("a") }))
    assert.isTrue(selects({ sessionIds: [session("__proto__")] }, { sessionId: session("__proto__") }))
  })

  it("selects by a lineage its sessions up to the branch point, and entries without a session", () => {
    const lineage = [{ sessionId: session("root"), until: 10 }, { sessionId: session("branch") }]
    assert.isTrue(selects({ lineage }, { sessionId: session("root"), timestamp: 10 }))
    assert.isFalse(selects({ lineage }, { sessionId: session("root"), timestamp: 11 }))
    assert.isTrue(selects({ lineage }, { sessionId: session("branch"), timestamp: 1e9 }))
    assert.isFalse(selects({ lineage }, { sessionId: session("sibling"), timestamp: 1 }))
    assert.isTrue(selects({ lineage }, { timestamp: 1e9 }))
    assert.isFalse(selects({ lineage: [] }, { sessionId: session("root") }))
    assert.isTrue(selects({ lineage: [] }))
  })

  it("extends a session that a lineage lists twice to the later end", () => {
    for (const untils of [
      [10, 20],
      [20, 10]
    ]) {
      const lineage = untils.map((until) => ({ sessionId: session("a"), until }))
      assert.isTrue(selects({ lineage }, { sessionId: session("a"), timestamp: 20 }))
      assert.isFalse(selects({ lineage }, { sessionId: session("a"), timestamp: 21 }))
    }
    const lineage = [{ sessionId: session("a") }, { sessionId: session("a"), until: 5 }]
    assert.isTrue(selects({ lineage }, { sessionId: session("a"), timestamp: 99 }))
  })

  it("selects each stretch of a session that a lineage lists", () => {
    const lineage = [
      { sessionId: session("a"), until: 10 },
      { sessionId: session("a"), from: 20, until: 30 },
      { sessionId: session("a"), from: 40 }
    ]
    const times = [9, 10, 11, 19, 20, 30, 31, 39, 40, 41]
    assert.deepStrictEqual(
      times.filter((timestamp) => selects({ lineage }, { sessionId: session("a"), timestamp })),
      [9, 10, 20, 30, 40, 41]
    )
  })

  it("requires all of a summary to be in one stretch", () => {
    const lineage = [
      { sessionId: session("a"), until: 10 },
      { sessionId: session("a"), from: 20, until: 30 }
    ]
    const summary = (start: unknown, timestamp: number) =>
      selects({ lineage }, { sessionId: session("a"), timestamp, metadata: { timeRange: { start, end: timestamp } } })
    assert.isTrue(summary(2, 10))
    assert.isTrue(summary(20, 30))
    assert.isFalse(summary(19, 30))
    assert.isFalse(summary(2, 30))
    assert.isFalse(summary(25, 31))
    for (const odd of [undefined, null, "19", Number.NaN, 99]) assert.isTrue(summary(odd, 25))
    assert.isTrue(selects({ lineage }, { sessionId: session("a"), timestamp: 25, metadata: { timeRange: null } }))
  })

  it("restricts only entries of the tree with a lineage and a tree", () => {
    const way = {
      lineage: [{ sessionId: session("root"), until: 10 }, { sessionId: session("branch") }],
      tree: session("root")
    }
    const of = (tree: unknown) => ({ [Selection.treeKey]: tree })
    assert.isTrue(selects(way, { sessionId: session("root"), timestamp: 10 }))
    assert.isFalse(selects(way, { sessionId: session("root"), timestamp: 11, metadata: of("elsewhere") }))
    assert.isTrue(selects(way, { sessionId: session("branch"), timestamp: 99, metadata: of("root") }))
    assert.isFalse(selects(way, { sessionId: session("sibling"), timestamp: 1, metadata: of("root") }))
    assert.isFalse(selects(way, { sessionId: session("sibling"), timestamp: 1, metadata: of(["x", "root"]) }))
    assert.isTrue(selects(way, { sessionId: session("stranger"), timestamp: 1, metadata: of("stranger") }))
    assert.isTrue(selects(way, { sessionId: session("stranger"), timestamp: 1 }))
    assert.isTrue(selects(way, { timestamp: 1 }))
    assert.isFalse(selects(way, { timestamp: 1, metadata: of("root") }))
    assert.isFalse(selects({ ...way, lineage: [] }, { sessionId: session("root") }))
    assert.isTrue(selects({ tree: session("root") }, { sessionId: session("sibling"), metadata: of("root") }))
  })

  it("rejects an invalid selection", () => {
    const valid = Schema.is(Selection.Selection)
    assert.isTrue(valid({ filters: { a: { in: [1, null] }, b: { gt: "x" }, c: null } }))
    for (const invalid of [
      { filters: { a: [1] } },
      { filters: { a: { in: [{}] } } },
      { filters: { a: { in: "x" } } },
      { filters: { a: { gte: 1, in: [2] } } },
      { filters: { a: { like: "x%" } } },
      { filters: { a: { gt: true } } },
      { filters: { a: Number.NaN } },
      { timeRange: { start: 0 } },
      { roles: ["admin"] },
      { sessionIds: ["\n"] }
    ]) {
      assert.isFalse(valid(invalid), JSON.stringify(invalid))
    }
  })

  it("keeps selections through JSON", () => {
    FastCheck.assert(
      FastCheck.property(selections, (selection) => {
        FastCheck.pre(!Object.hasOwn(selection.filters ?? {}, "__proto__"))
        const read = Schema.decodeUnknownSync(Selection.Selection)(JSON.parse(JSON.stringify(selection)))
        assert.deepStrictEqual(read, JSON.parse(JSON.stringify(selection)))
      })
    )
  })

  it("agrees with a naive evaluation", () => {
    FastCheck.assert(
      FastCheck.property(selections, FastCheck.array(items, { minLength: 1, maxLength: 12 }), (selection, some) => {
        const predicate = Selection.predicate(selection) ?? (() => true)
        for (const one of some) assert.strictEqual(predicate(one), naive(selection, one))
      }),
      { numRuns: 2_000 }
    )
  })
})

// Few keys and values, so that they meet.
const keys = FastCheck.constantFrom("a", "b", "a.b", "__proto__", "constructor", "sessionTree", "timeRange")
const scalars = FastCheck.constantFrom<Selection.Scalar>("a", "b", "s", "t", "", "1", 0, 1, 2, -1, true, false, null)
const bounds = FastCheck.constantFrom<string | number>("a", "b", "1", 0, 1, 2)
const ranges = FastCheck.record({ gt: bounds, gte: bounds, lt: bounds, lte: bounds }, { requiredKeys: [] })
const conditions: FastCheck.Arbitrary<Selection.Condition> = FastCheck.oneof(
  scalars,
  FastCheck.record({ in: FastCheck.array(scalars, { maxLength: 3 }) }),
  ranges
)
const sessions = FastCheck.constantFrom(session("s"), session("t"), session("__proto__"))
const times = FastCheck.integer({ min: 0, max: 5 })
const roles = FastCheck.constantFrom<Selection.MemoryRole>("system", "user", "assistant", "tool")

/** As data from outside: `__proto__` is a key like any other. */
const record = <A>(values: FastCheck.Arbitrary<A>): FastCheck.Arbitrary<Record<string, A>> =>
  FastCheck.array(FastCheck.tuple(keys, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries))

const selections: FastCheck.Arbitrary<Selection.Selection> = FastCheck.record(
  {
    filters: record(conditions),
    timeRange: FastCheck.record({ start: times, end: times }),
    roles: FastCheck.array(roles, { maxLength: 3 }),
    sessionIds: FastCheck.array(sessions, { maxLength: 2 }),
    lineage: FastCheck.array(
      FastCheck.record({ sessionId: sessions, from: times, until: times }, { requiredKeys: ["sessionId"] }),
      { maxLength: 3 }
    ),
    tree: sessions
  },
  { requiredKeys: [] }
)

const items: FastCheck.Arbitrary<Selection.Selectable> = FastCheck.record(
  {
    timestamp: times,
    role: roles,
    sessionId: sessions,
    metadata: record<unknown>(
      FastCheck.oneof(
        scalars,
        FastCheck.array(scalars, { maxLength: 3 }),
        FastCheck.record({ start: times }),
        FastCheck.constant({ nested: "a" })
      )
    )
  },
  { requiredKeys: ["timestamp", "role", "metadata"] }
)

const naiveValue = (condition: Selection.Condition, value: unknown): boolean => {
  if (Array.isArray(value) && value.some((element) => naiveValue(condition, element))) return true
  if (condition === null) return value === null || value === undefined
  if (typeof condition !== "object") return value === condition
  if ("in" in condition) return condition.in.some((one) => naiveValue(one, value))
  if (typeof value !== "string" && typeof value !== "number") return false
  const compared = (bound: string | number | undefined, holds: (order: number) => boolean): boolean => {
    if (bound === undefined) return true
    if (typeof bound !== typeof value) return false
    return holds(value === bound ? 0 : value > bound ? 1 : -1)
  }
  return (
    compared(condition.gt, (order) => order > 0) &&
    compared(condition.gte, (order) => order >= 0) &&
    compared(condition.lt, (order) => order < 0) &&
    compared(condition.lte, (order) => order <= 0)
  )
}

const naive = (selection: Selection.Selection, one: Selection.Selectable): boolean => {
  const { filters, lineage, roles: wanted, sessionIds, timeRange, tree } = selection
  if (timeRange !== undefined && (one.timestamp < timeRange.start || one.timestamp > timeRange.end)) return false
  if (wanted !== undefined && !wanted.includes(one.role)) return false
  if (sessionIds !== undefined && !sessionIds.some((id) => id === one.sessionId)) return false
  const has = new Map(Object.entries(one.metadata))
  if (lineage !== undefined) {
    const range = has.get("timeRange") as { readonly start?: unknown } | null | undefined
    const start = typeof range?.start === "number" ? Math.min(range.start, one.timestamp) : one.timestamp
    const stretches = lineage.filter(({ sessionId }) => sessionId === one.sessionId)
    const isFree =
      tree === undefined
        ? one.sessionId === undefined
        : stretches.length === 0 && one.sessionId !== tree && !naiveValue(tree, has.get("sessionTree"))
    if (!isFree && !stretches.some(({ from = -1, until = 9 }) => start >= from && one.timestamp <= until)) return false
  }
  return Object.entries(filters ?? {}).every(([key, condition]) => naiveValue(condition, has.get(key)))
}
