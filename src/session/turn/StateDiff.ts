/**
 * The difference between two session states, field by field. It can be read, stored, and applied to a state.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Cut, type SessionState, SessionStatus, SessionTurn, TurnRef } from "./Session.js"
import * as StateValues from "./StateValues.js"

const NAME = "effect-lexigram/session/StateDiff"

/**
 * Keys that were set, with their values, and keys that were removed. A list, so that no key has a special meaning.
 *
 * @since 0.1.0
 * @category schemas
 */
export const KeysChange = Schema.Struct({
  set: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Unknown })),
  removed: Schema.Array(Schema.String)
}).annotations({ identifier: `${NAME}/KeysChange` })
/**
 * @since 0.1.0
 * @category models
 */
export interface KeysChange extends Schema.Schema.Type<typeof KeysChange> {}

/**
 * Names that were removed, and names that were appended. `order`: the whole list, when these two do not produce it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NamesChange = Schema.Struct({
  added: Schema.Array(Schema.String),
  removed: Schema.Array(Schema.String),
  order: Schema.optional(Schema.Array(Schema.String))
}).annotations({ identifier: `${NAME}/NamesChange` })
/**
 * @since 0.1.0
 * @category models
 */
export interface NamesChange extends Schema.Schema.Type<typeof NamesChange> {}

const fromToFields = <A, I>(value: Schema.Schema<A, I>) => Schema.Struct({ from: value, to: value })
const maybe = <A, I>(value: Schema.Schema<A, I>) =>
  Schema.Struct({ from: Schema.optional(value), to: Schema.optional(value) })

/**
 * Only fields that differ are present; the diff of equal states is empty.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StateDiff = Schema.Struct({
  /** The turns after the last common turn on either path: references on one side, whole turns on the other. */
  turns: Schema.optional(Schema.Struct({ removed: Schema.Array(TurnRef), added: Schema.Array(SessionTurn) })),
  /** The newest turn; absent if there was none. */
  head: Schema.optional(maybe(TurnRef)),
  status: Schema.optional(fromToFields(SessionStatus)),
  systemPrompt: Schema.optional(maybe(Schema.String)),
  variables: Schema.optional(KeysChange),
  metadata: Schema.optional(KeysChange),
  activeTools: Schema.optional(NamesChange),
  activeSkills: Schema.optional(NamesChange),
  /** Of the turns on the path to the head. */
  metrics: Schema.optional(
    Schema.Struct({
      depth: Schema.optional(fromToFields(Schema.Number)),
      totalTokens: Schema.optional(fromToFields(Schema.Number)),
      totalCost: Schema.optional(fromToFields(Schema.Number))
    })
  ),
  cuts: Schema.optional(fromToFields(Schema.Array(Cut)))
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface StateDiff extends Schema.Schema.Type<typeof StateDiff> {}

const keysChange = (from: StateValues.Attributes, to: StateValues.Attributes): KeysChange | undefined => {
  const set = Object.keys(to)
    .filter((key) => !StateValues.equalOption(StateValues.get(from, key), StateValues.get(to, key)))
    .map((key) => ({ key, value: to[key] }))
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key))
  return set.length === 0 && removed.length === 0 ? undefined : { set, removed }
}

const without = (names: ReadonlyArray<string>, less: ReadonlyArray<string>): ReadonlyArray<string> => {
  const gone = new Set(less)
  return names.filter((name) => !gone.has(name))
}

const unique = (names: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(names))

const namesChange = (from: ReadonlyArray<string>, to: ReadonlyArray<string>): NamesChange | undefined => {
  if (StateValues.equal(from, to)) return undefined
  const change: NamesChange = { added: unique(without(to, from)), removed: unique(without(from, to)) }
  return StateValues.equal(withNames(from, change), to) ? change : { ...change, order: to }
}

const changed = <A>(from: A, to: A): { readonly from: A; readonly to: A } | undefined =>
  StateValues.equal(from, to) ? undefined : { from, to }

const optionalField = <A>(name: "from" | "to", value: A | undefined) => (value === undefined ? {} : { [name]: value })

const maybeChanged = <A>(
  from: A | undefined,
  to: A | undefined
): { readonly from?: A | undefined; readonly to?: A | undefined } | undefined =>
  StateValues.equal(from, to) ? undefined : { ...optionalField("from", from), ...optionalField("to", to) }

/** Drops fields that are `undefined`, and returns nothing when none is left. */
const present = <A extends object>(fields: A): A | undefined => {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as A)
}

/**
 * Computes the difference from one state to the other. Turns are not part of states; the caller passes those it has
 * read.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compute = (
  from: SessionState,
  to: SessionState,
  turns?: { readonly removed: ReadonlyArray<TurnRef>; readonly added: ReadonlyArray<SessionTurn> } | undefined
): StateDiff =>
  present({
    turns: turns === undefined || turns.removed.length + turns.added.length === 0 ? undefined : turns,
    head: maybeChanged(from.head, to.head),
    status: changed(from.status, to.status),
    systemPrompt: maybeChanged(from.systemPrompt, to.systemPrompt),
    variables: keysChange(from.variables, to.variables),
    metadata: keysChange(from.metadata, to.metadata),
    activeTools: namesChange(from.activeTools, to.activeTools),
    activeSkills: namesChange(from.activeSkills, to.activeSkills),
    metrics: present({
      depth: changed(from.depth, to.depth),
      totalTokens: changed(from.totalTokens, to.totalTokens),
      totalCost: changed(from.totalCost, to.totalCost)
    }),
    cuts: changed(from.cuts, to.cuts)
  }) ?? {}

/**
 * Whether two states are equal.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isEmpty = (diff: StateDiff): boolean => Object.values(diff).every((change) => change === undefined)

const withKeys = (attributes: StateValues.Attributes, change: KeysChange | undefined): StateValues.Attributes => {
  if (change === undefined) return attributes
  const values = new Map(Object.entries(attributes))
  for (const key of change.removed) values.delete(key)
  for (const { key, value } of change.set) values.set(key, value)
  return StateValues.fromEntries(values)
}

const withNames = (names: ReadonlyArray<string>, change: NamesChange | undefined): ReadonlyArray<string> => {
  if (change === undefined) return names
  const kept = without(names, change.removed)
  const left = [...kept, ...without(change.added, kept)]
  if (change.order === undefined) return left
  const here = new Set(left)
  return [...change.order.filter((name) => here.has(name)), ...without(left, change.order)]
}

/**
 * Applies a diff to a state. Applied to the state it was computed from, it gives the other one; applied to any other
 * state, it changes the same fields and keeps the rest.
 *
 * @since 0.1.0
 * @category combinators
 */
export const apply = (state: SessionState, diff: StateDiff): SessionState => {
  const { head: oldHead, systemPrompt: oldPrompt, ...rest } = state
  const head = diff.head === undefined ? oldHead : diff.head.to
  const systemPrompt = diff.systemPrompt === undefined ? oldPrompt : diff.systemPrompt.to
  return {
    ...rest,
    status: diff.status?.to ?? rest.status,
    metadata: withKeys(rest.metadata, diff.metadata),
    activeTools: withNames(rest.activeTools, diff.activeTools),
    activeSkills: withNames(rest.activeSkills, diff.activeSkills),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    variables: withKeys(rest.variables, diff.variables),
    ...(head === undefined ? {} : { head }),
    depth: diff.metrics?.depth?.to ?? rest.depth,
    totalTokens: diff.metrics?.totalTokens?.to ?? rest.totalTokens,
    totalCost: diff.metrics?.totalCost?.to ?? rest.totalCost,
    cuts: diff.cuts?.to ?? rest.cuts
  }
}
