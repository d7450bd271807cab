/**
 * The values that make up sessions in a key-value store, and their keys.
 *
 * The record of a session decides: turns and checkpoints are numbered, and those beyond its counts do not exist,
 * whatever is stored under their keys. An id is looked up through its number, and is valid only if the value with that
 * number has that id.
 *
 * @private
 * @since 0.1.0
 */

import * as Schema from "effect/Schema"
import { RunId, SessionId, TurnId } from "../../domain/Ids.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import { CheckpointId, type Session, SessionCheckpoint } from "../turn/Session.js"
import * as SessionCodec from "../turn/SessionCodec.js"

/**
 * Hashes code units: texts that are not normalized or not well-formed stay distinct. Lower case, for file systems that
 * ignore case.
 */
const hash = (...parts: ReadonlyArray<string>): string => {
  const sum = Sha256.make()
  // The length separates the parts.
  for (const part of parts) sum.add(`${part.length}:`).add(Sha256.utf16(part))
  return sum.hex()
}

type Kind = SessionCheckpoint["kind"]

/**
 * @category models
 */
export interface Keys {
  readonly catalog: string
  readonly chunk: (number: number) => string
  readonly record: (id: SessionId) => string
  /** The large part of a session. A write uses the one of two slots that the record does not name. */
  readonly rest: (id: SessionId, slot: number) => string
  readonly turn: (id: SessionId, number: number) => string
  readonly turnId: (id: SessionId, turnId: TurnId) => string
  readonly checkpoint: (id: SessionId, kind: Kind, number: number) => string
  readonly checkpointId: (id: CheckpointId) => string
  readonly merge: (into: SessionId, from: SessionId) => string
  readonly exchange: (id: SessionId, run: RunId) => string
  readonly leases: string
}

/**
 * @category constructors
 */
export const keys = (prefix: string): Keys => ({
  catalog: `${prefix}catalog`,
  chunk: (number) => `${prefix}catalog-${number}`,
  record: (id) => `${prefix}session-${hash(id)}`,
  rest: (id, slot) => `${prefix}state-${hash(id)}-${slot}`,
  turn: (id, number) => `${prefix}turn-${hash(id)}-${number}`,
  turnId: (id, turnId) => `${prefix}turn-id-${hash(id, turnId)}`,
  checkpoint: (id, kind, number) => `${prefix}checkpoint-${hash(id)}-${kind}-${number}`,
  checkpointId: (id) => `${prefix}checkpoint-id-${hash(id)}`,
  merge: (into, from) => `${prefix}merge-${hash(into, from)}`,
  exchange: (id, run) => `${prefix}exchange-${hash(id, run)}`,
  leases: `${prefix}leases`
})

/**
 * The digest that the large part must match.
 *
 * @category getters
 */
export const digest = (text: string): string => Sha256.hex(text).slice(0, 32)

const Count = Schema.NonNegativeInt

/**
 * The place of a turn: the session that wrote it, its number there, and the first number of the unbroken run of turns
 * that ends with it.
 *
 * @category schemas
 */
export const Place = Schema.Struct({ session: SessionId, number: Count, run: Count })
/**
 * @category models
 */
export interface Place extends Schema.Schema.Type<typeof Place> {}

/**
 * From and to, both inclusive.
 *
 * @category schemas
 */
export const Interval = Schema.Tuple(Count, Count)
/**
 * @category models
 */
export type Interval = typeof Interval.Type

/** The lowest number that may exist, and the next free one. */
const Range = Schema.Tuple(Count, Count)

/**
 * @category schemas
 */
export const Checkpoints = Schema.Struct({
  manual: Range,
  auto: Range,
  fork: Range,
  merge: Range,
  /** The number of checkpoints of the kinds that may be dropped. */
  live: Count,
  /** Deleted checkpoints whose values may still exist. */
  dead: Schema.Array(Schema.Tuple(SessionCheckpoint.fields.kind, Count))
})
/**
 * @category models
 */
export interface Checkpoints extends Schema.Schema.Type<typeof Checkpoints> {}

const { activeSkills, activeTools, branchName, cuts, lineage, metadata, systemPrompt, variables, ...standing } =
  SessionCodec.sessionFields

/**
 * The part of a session that may be large and seldom changes.
 *
 * @category schemas
 */
export const Rest = Schema.Struct({
  id: SessionId,
  activeSkills,
  activeTools,
  branchName,
  cuts,
  lineage,
  metadata,
  systemPrompt,
  variables
})
/**
 * @category models
 */
export interface Rest extends Schema.Schema.Type<typeof Rest> {}

/**
 * @category getters
 */
export const restOf = (session: Session): Rest => ({
  id: session.id,
  activeSkills: session.activeSkills,
  activeTools: session.activeTools,
  ...(session.branchName === undefined ? undefined : { branchName: session.branchName }),
  cuts: session.cuts,
  lineage: session.lineage,
  metadata: session.metadata,
  ...(session.systemPrompt === undefined ? undefined : { systemPrompt: session.systemPrompt }),
  variables: session.variables
})

const Standing = Schema.Struct(standing)
/**
 * The part of a session that each turn changes.
 *
 * @category models
 */
export interface Standing extends Schema.Schema.Type<typeof Standing> {}

/**
 * @category getters
 */
export const standingOf = (session: Session): Standing => ({
  id: session.id,
  ...(session.userId === undefined ? undefined : { userId: session.userId }),
  status: session.status,
  ...(session.head === undefined ? undefined : { head: session.head }),
  depth: session.depth,
  totalTokens: session.totalTokens,
  totalCost: session.totalCost,
  createdAt: session.createdAt,
  updatedAt: session.updatedAt,
  revision: session.revision,
  ...(session.checkpointId === undefined ? undefined : { checkpointId: session.checkpointId }),
  ...(session.parentSessionId === undefined ? undefined : { parentSessionId: session.parentSessionId }),
  ...(session.rootSessionId === undefined ? undefined : { rootSessionId: session.rootSessionId })
})

/**
 * @category schemas
 */
export const Record = Schema.Struct({
  session: Standing,
  /** The slot of the large part, and its digest. */
  rest: Schema.Struct({ slot: Count, digest: Schema.String }),
  /** The number of turns this session wrote. */
  turns: Count,
  head: Schema.optional(Place),
  /** The turn of another session that this one was forked at. */
  base: Schema.optional(Place),
  checkpoints: Checkpoints,
  /** The runs with open exchanges, and their owners. */
  open: Schema.optional(Schema.Array(Schema.Struct({ run: RunId, owner: Schema.optional(Schema.String) }))),
  /** Of a deleted session: the turns that branches need, and those still to be removed. */
  deleted: Schema.optional(Schema.Struct({ kept: Schema.Array(Interval), swept: Schema.Array(Interval) }))
})
/**
 * @category models
 */
export interface Record extends Schema.Schema.Type<typeof Record> {}

const Slot = Schema.Struct({
  turn: SessionCodec.Turn,
  run: Count,
  parent: Schema.optional(Place)
})
/**
 * A turn under its number.
 *
 * @category models
 */
export interface Slot extends Schema.Schema.Type<typeof Slot> {}

/** A merge names the previous merge of the same session, which may be deleted. */
const CheckpointSlot = Schema.Struct({
  checkpoint: Schema.optional(SessionCodec.Checkpoint),
  from: Schema.optional(SessionId),
  before: Schema.optional(Count)
})
/**
 * A checkpoint under its number.
 *
 * @category models
 */
export interface CheckpointSlot extends Schema.Schema.Type<typeof CheckpointSlot> {}

const TurnPointer = Schema.Struct({ session: SessionId, turn: TurnId, number: Count })
const CheckpointPointer = Schema.Struct({
  id: CheckpointId,
  session: SessionId,
  kind: SessionCheckpoint.fields.kind,
  number: Count
})
const MergePointer = Schema.Struct({
  into: SessionId,
  from: SessionId,
  number: Count,
  /** The checkpoint that is valid if the record does not count that number. */
  before: Schema.optional(Count)
})

/**
 * @category constants
 */
export const record: SessionCodec.Codec<Record> = SessionCodec.make(Record)
/**
 * @category constants
 */
export const rest: SessionCodec.Codec<Rest> = SessionCodec.make(Rest)
/**
 * @category constants
 */
export const slot: SessionCodec.Codec<Slot> = SessionCodec.make(Slot)
/**
 * @category constants
 */
export const checkpointSlot: SessionCodec.Codec<CheckpointSlot> = SessionCodec.make(CheckpointSlot)
/**
 * @category constants
 */
export const turnPointer: SessionCodec.Codec<typeof TurnPointer.Type> = SessionCodec.make(TurnPointer)
/**
 * @category constants
 */
export const checkpointPointer: SessionCodec.Codec<typeof CheckpointPointer.Type> = SessionCodec.make(CheckpointPointer)
/**
 * @category constants
 */
export const mergePointer: SessionCodec.Codec<typeof MergePointer.Type> = SessionCodec.make(MergePointer)
/**
 * @category constants
 */
export const catalog: SessionCodec.Codec<{ readonly chunks: number }> = SessionCodec.make(
  Schema.Struct({ chunks: Count })
)
/**
 * @category constants
 */
export const chunk: SessionCodec.Codec<ReadonlyArray<SessionId>> = SessionCodec.make(Schema.Array(SessionId))
/**
 * Owners, and the time until which each is alive.
 *
 * @category constants
 */
export const leases: SessionCodec.Codec<ReadonlyArray<readonly [owner: string, until: number]>> = SessionCodec.make(
  Schema.Array(Schema.Tuple(Schema.String, Schema.Number))
)
