/**
 * Selects entries of an owner by a filter that is plain data, so that every backend can translate it to its own
 * language.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionId } from "../../domain/Ids.js"

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

/** An unknown field would be ignored, and would select more than intended. */
const strict = { onExcessProperty: "error" } as const

const Bound = Schema.Union(Schema.String, Schema.Finite)

/**
 * Bounds of a value. Numbers compare with numbers and texts with texts (by code unit). Other values are in no range.
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
 * The condition for the value of one metadata key: equal to a scalar, one of several, or within a range. `null` also
 * equals an absent value. A list matches if one of its elements does.
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
 * Conditions by metadata key; all must hold. Keys are literal: `a.b` is one key.
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
 * Both ends are inclusive, in milliseconds since the epoch.
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
 * A stretch of a session on the lineage of a branch: what the branch shares of it, from `from` to `until` (times of
 * turns, both inclusive). An omitted end is open. A session with abandoned parts is listed once for each stretch
 * between them. A summary (an entry with a `timeRange` in its metadata) must be entirely within one stretch, from its
 * `start` on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ancestor = Schema.Struct({
  sessionId: SessionId,
  from: Schema.optional(Schema.Finite),
  until: Schema.optional(Schema.Finite)
}).annotations({
  identifier: `${NAME}/Ancestor`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Ancestor extends Schema.Schema.Type<typeof Ancestor> {}

/**
 * The metadata key that names the session tree of an entry by the id of the tree's first session.
 *
 * @since 0.1.0
 * @category constants
 */
export const treeKey = "sessionTree"

/**
 * The metadata key that states, for an entry of a session that was rewound to an earlier turn, since when the session
 * has continued from there. Entries with different values are not merged.
 *
 * @since 0.1.0
 * @category constants
 */
export const stretchKey = "sessionStretch"

/**
 * The fields of a selection. An omitted field restricts nothing.
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
   * The sessions of a branch's lineage, including the branch itself. Entries of other sessions, and entries of these
   * sessions outside the listed stretches, are omitted. Entries without a session stay.
   */
  lineage: Schema.optional(Schema.Array(Ancestor)),
  /**
   * With a lineage: the first session of its session tree. The lineage then restricts only entries of that tree: those
   * of a session that it names or of this one, and those whose metadata says so under `treeKey`, compared as in a
   * filter. All other entries stay. An entry of the tree without a session is omitted, because its branch is unknown.
   * Without a lineage it has no effect.
   */
  tree: Schema.optional(SessionId)
} as const

/**
 * All given conditions must hold. `{}` selects everything of the owner.
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
 * The fields of an item that a selection reads.
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

const inRange = (range: Range): Test => {
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
  if (!("in" in condition)) return inRange(condition)
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
 * The time at which the content of an entry begins. A summary covers more than the moment it is dated.
 *
 * @since 0.1.0
 * @category getters
 */
export const beginning = ({ metadata, timestamp }: Pick<Selectable, "metadata" | "timestamp">): number => {
  const range = own(metadata, "timeRange")
  if (typeof range !== "object" || range === null || !Object.hasOwn(range, "start")) return timestamp
  const { start } = range as { readonly start: unknown }
  return typeof start === "number" && Number.isFinite(start) && start < timestamp ? start : timestamp
}

const onLineage = (lineage: ReadonlyArray<Ancestor>, tree: SessionId | undefined): ((item: Selectable) => boolean) => {
  const way = new Map<SessionId, Array<Ancestor>>()
  for (const ancestor of lineage) {
    const stretches = way.get(ancestor.sessionId)
    if (stretches === undefined) way.set(ancestor.sessionId, [ancestor])
    else stretches.push(ancestor)
  }
  const isNamed = tree === undefined ? undefined : compile(tree)
  return (item) => {
    const { metadata, sessionId, timestamp } = item
    const stretches = sessionId === undefined ? undefined : way.get(sessionId)
    if (stretches === undefined) {
      return isNamed === undefined ? sessionId === undefined : sessionId !== tree && !isNamed(own(metadata, treeKey))
    }
    return stretches.some(
      ({ from, until }) =>
        (until === undefined || timestamp <= until) && (from === undefined || beginning(item) >= from)
    )
  }
}

/**
 * Compiles the selection into a function for many entries. `undefined` if it selects everything.
 *
 * @since 0.1.0
 * @category combinators
 */
export const predicate = (selection: Selection): ((item: Selectable) => boolean) | undefined => {
  const tests: Array<(item: Selectable) => boolean> = []
  const { filters, lineage, roles, sessionIds, timeRange, tree } = selection
  if (timeRange !== undefined) {
    const { end, start } = timeRange
    tests.push((item) => item.timestamp >= start && item.timestamp <= end)
  }
  if (sessionIds !== undefined) {
    const wanted = new Set(sessionIds)
    tests.push((item) => item.sessionId !== undefined && wanted.has(item.sessionId))
  }
  if (lineage !== undefined) tests.push(onLineage(lineage, tree))
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
