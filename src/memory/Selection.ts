/**
 * Which entries of an owner are meant: a filter as plain data, so that every backend can answer it in its own language.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionId } from "../domain/Ids.js"

const NAME = "effect-lexigram/memory/Selection"

/**
 * @since 0.1.0
 * @category schemas
 */
export const MemoryRole = Schema.Literal("system", "user", "assistant", "tool")
/**
 * @since 0.1.0
 * @category models
 */
export type MemoryRole = typeof MemoryRole.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const Scalar = Schema.Union(Schema.String, Schema.Finite, Schema.Boolean, Schema.Null)
/**
 * @since 0.1.0
 * @category models
 */
export type Scalar = typeof Scalar.Type

/** A condition of another form would be read as one without its conditions, which selects more than was meant. */
const strict = { onExcessProperty: "error" } as const

const Bound = Schema.Union(Schema.String, Schema.Finite)

/**
 * Bounds of a value. Numbers are compared with numbers and texts with texts (by code unit); anything else lies in no range.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Range = Schema.Struct({
  gt: Schema.optional(Bound),
  gte: Schema.optional(Bound),
  lt: Schema.optional(Bound),
  lte: Schema.optional(Bound)
}).annotations({
  identifier: `${NAME}/Range`,
  parseOptions: strict
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Range extends Schema.Schema.Type<typeof Range> {}

/**
 * What the value under one key of the metadata must be: equal to a scalar, one of several, or within a range. `null` is also equal to a
 * value that is not there. A value that is a list fits when one of its elements does.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Condition = Schema.Union(
  Scalar,
  Schema.Struct({ in: Schema.Array(Scalar) }).annotations({ parseOptions: strict }),
  Range
).annotations({ identifier: `${NAME}/Condition` })
/**
 * @since 0.1.0
 * @category models
 */
export type Condition = typeof Condition.Type

/**
 * Conditions by key of the metadata; all must hold. Keys are taken literally: `a.b` is one key.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Filters = Schema.Record({ key: Schema.String, value: Condition }).annotations({
  identifier: `${NAME}/Filters`
})
/**
 * @since 0.1.0
 * @category models
 */
export type Filters = typeof Filters.Type

/**
 * Both ends belong to the range; milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TimeRange = Schema.Struct({ start: Schema.Finite, end: Schema.Finite }).annotations({
  identifier: `${NAME}/TimeRange`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface TimeRange extends Schema.Schema.Type<typeof TimeRange> {}

/**
 * A session on the way from the first turn to a branch: what it remembers up to `until` (the time of the turn where the branch left it,
 * inclusive), or all of it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ancestor = Schema.Struct({ sessionId: SessionId, until: Schema.optional(Schema.Finite) }).annotations({
  identifier: `${NAME}/Ancestor`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Ancestor extends Schema.Schema.Type<typeof Ancestor> {}

/**
 * The fields of a selection; what is left out restricts nothing.
 *
 * @since 0.1.0
 * @category schemas
 */
export const fields = {
  filters: Schema.optional(Filters),
  timeRange: Schema.optional(TimeRange),
  roles: Schema.optional(Schema.Array(MemoryRole)),
  /** Only entries of these sessions. */
  sessionIds: Schema.optional(Schema.Array(SessionId)),
  /**
   * The sessions a branch comes from and the branch itself: entries of any other session are left out, and of these what was said after
   * the branch left them. Entries that belong to no session stay.
   */
  lineage: Schema.optional(Schema.Array(Ancestor))
} as const

/**
 * All that is given must hold; `{}` is everything of the owner.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Selection = Schema.Struct(fields).annotations({ identifier: `${NAME}/Selection` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Selection extends Schema.Schema.Type<typeof Selection> {}

/**
 * What a selection looks at.
 *
 * @since 0.1.0
 * @category models
 */
export interface Selectable {
  readonly timestamp: number
  readonly role: MemoryRole
  readonly metadata: Readonly<Record<string, unknown>>
  readonly sessionId?: SessionId | undefined
}

type Test = (value: unknown) => boolean

const equal = (wanted: Scalar): Test =>
  wanted === null ? (value) => value === null || value === undefined : (value) => value === wanted

const within = (range: Range): Test => {
  const bounds = [
    [range.gt, (value: string | number, bound: string | number) => value > bound],
    [range.gte, (value: string | number, bound: string | number) => value >= bound],
    [range.lt, (value: string | number, bound: string | number) => value < bound],
    [range.lte, (value: string | number, bound: string | number) => value <= bound]
  ] as const
  return (value) => {
    if (typeof value !== "number" && typeof value !== "string") return false
    for (const [bound, holds] of bounds) {
      if (bound !== undefined && !(typeof bound === typeof value && holds(value, bound))) return false
    }
    return true
  }
}

const one = (condition: Condition): Test => {
  if (condition === null || typeof condition !== "object") return equal(condition)
  if (!("in" in condition)) return within(condition)
  const tests = condition.in.map(equal)
  return tests.length === 1 ? (tests[0] as Test) : (value) => tests.some((test) => test(value))
}

const compile = (condition: Condition): Test => {
  const test = one(condition)
  return (value) => test(value) || (typeof value === "object" && Array.isArray(value) && value.some(test))
}

const own = (metadata: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(metadata, key) ? metadata[key] : undefined

/**
 * The selection as a function, made once for many entries; `undefined` when it selects everything.
 *
 * @since 0.1.0
 * @category combinators
 */
export const predicate = (selection: Selection): ((item: Selectable) => boolean) | undefined => {
  const tests: Array<(item: Selectable) => boolean> = []
  const { filters, lineage, roles, sessionIds, timeRange } = selection
  if (timeRange !== undefined) {
    const { end, start } = timeRange
    tests.push((item) => item.timestamp >= start && item.timestamp <= end)
  }
  if (sessionIds !== undefined) {
    const wanted = new Set(sessionIds)
    tests.push((item) => item.sessionId !== undefined && wanted.has(item.sessionId))
  }
  if (lineage !== undefined) {
    // A session that is named twice counts as far as the later of both.
    const until = new Map<SessionId, number>()
    for (const ancestor of lineage) {
      const end = ancestor.until ?? Number.POSITIVE_INFINITY
      until.set(ancestor.sessionId, Math.max(end, until.get(ancestor.sessionId) ?? end))
    }
    tests.push((item) => {
      if (item.sessionId === undefined) return true
      const end = until.get(item.sessionId)
      return end !== undefined && item.timestamp <= end
    })
  }
  if (roles !== undefined) {
    const wanted = new Set(roles)
    tests.push((item) => wanted.has(item.role))
  }
  for (const [key, condition] of Object.entries(filters ?? {})) {
    const test = compile(condition)
    tests.push((item) => test(own(item.metadata, key)))
  }
  return tests.length <= 1 ? tests[0] : (item) => tests.every((test) => test(item))
}
