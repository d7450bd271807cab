/**
 * Which entries of an owner are meant: a filter as plain data, so that every backend can answer it in its own language.
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

/** A condition of another form would be read as one without its conditions, which selects more than was meant. */
const strict = { onExcessProperty: "error" } as const

const Bound = Schema.Union(Schema.String, Schema.Finite)

/**
 * Bounds of a value. Numbers are compared with numbers and texts with texts (by code unit); anything else lies in no
 * range.
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
 * What the value under one key of the metadata must be: equal to a scalar, one of several, or within a range. `null` is
 * also equal to a value that is not there. A value that is a list fits when one of its elements does.
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
 * A stretch of a session on the way from the first turn to a branch: what it remembers from `from` to `until` (times of
 * turns, both inclusive); an end that is left out is open. A session of which parts were left behind is named once for
 * each stretch between them. What stands for others, with a `timeRange` in its metadata, has to lie in one stretch as a
 * whole, from the `start` of that on.
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
 * The key of the metadata under which an entry names the tree of sessions it belongs to, by the id of the first of
 * them.
 *
 * @since 0.1.0
 * @category constants
 */
export const treeKey = "sessionTree"

/**
 * The key of the metadata under which an entry of a session that was taken back to an earlier turn says since when the
 * session has gone on from there. Entries that differ in it are not put together.
 *
 * @since 0.1.0
 * @category constants
 */
export const stretchKey = "sessionStretch"

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
   * The sessions a branch comes from and the branch itself: entries of any other session are left out, and of these
   * what lies in no stretch that is named. Entries that belong to no session stay.
   */
  lineage: Schema.optional(Schema.Array(Ancestor)),
  /**
   * With a lineage: the first session of the tree of sessions it goes through. The lineage then restricts only what
   * belongs to that tree: entries of a session that it names or of this one, and those whose metadata says so under
   * `treeKey`, equal as in a filter. All others stay. An entry that belongs to the tree, but to no session, is left
   * out: nobody can say which branch it is of. Without a lineage: nothing.
   */
  tree: Schema.optional(SessionId)
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
 * When what an entry says begins: a summary stands for more than the moment it is of.
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
 * The selection as a function, made once for many entries; `undefined` when it selects everything.
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
