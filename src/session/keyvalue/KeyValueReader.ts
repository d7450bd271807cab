/**
 * Reads sessions, turns and checkpoints from a key-value store.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../../domain/Ids.js"
import type { CheckpointId, Session, SessionCheckpoint, SessionTurn, TurnRef } from "../turn/Session.js"
import * as SessionCodec from "../turn/SessionCodec.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as Records from "./KeyValueRecords.js"
import type { Values } from "./KeyValueValues.js"

/**
 * A counted value is missing: it was written or deleted during the read, or it is lost.
 *
 * @category errors
 */
export class Torn extends Data.TaggedError("Torn")<{ readonly key: string }> {}

type Read<A> = Effect.Effect<A, SessionStorageError | Torn>

/**
 * @category models
 */
export interface LocatedTurn {
  readonly place: Records.Place
  readonly slot: Records.Slot
}

/**
 * @category models
 */
export interface LocatedCheckpoint {
  readonly record: Records.Record
  readonly checkpoint: SessionCheckpoint
  readonly number: number
}

/**
 * @category models
 */
export interface Reader {
  readonly record: (id: SessionId) => Effect.Effect<Records.Record | undefined, SessionStorageError>
  readonly session: (record: Records.Record) => Read<Session>
  readonly slot: (id: SessionId, number: number) => Effect.Effect<Records.Slot | undefined, SessionStorageError>
  readonly turn: (ref: TurnRef) => Read<LocatedTurn | undefined>
  readonly turns: (
    head: TurnRef,
    options: { readonly limit: number; readonly since?: TurnRef | undefined }
  ) => Read<ReadonlyArray<SessionTurn>>
  readonly checkpointSlot: (
    id: SessionId,
    kind: SessionCheckpoint["kind"],
    number: number
  ) => Effect.Effect<Records.CheckpointSlot | undefined, SessionStorageError>
  readonly checkpoint: (id: CheckpointId) => Effect.Effect<LocatedCheckpoint | undefined, SessionStorageError>
  readonly checkpoints: (
    id: SessionId,
    options: Parameters<SessionStore.Service["checkpoints"]>[1]
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionStorageError>
  /** The number of the newest merge of these two in the record, even if its checkpoint is deleted. */
  readonly mergeNumber: (
    record: Records.Record,
    from: SessionId
  ) => Effect.Effect<number | undefined, SessionStorageError>
  readonly lastMerge: (
    into: SessionId,
    from: SessionId
  ) => Effect.Effect<SessionCheckpoint | undefined, SessionStorageError>
}

type Kind = SessionCheckpoint["kind"]
const kinds: ReadonlyArray<Kind> = ["manual", "auto", "fork", "merge"]

const isSame = (a: TurnRef | undefined, b: TurnRef | undefined): boolean =>
  a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.turnId === b.turnId

const isCounted = ({ deleted, turns }: Records.Record, number: number): boolean =>
  deleted === undefined ? number < turns : deleted.kept.some(([from, to]) => from <= number && number <= to)

const isDead = ({ checkpoints }: Records.Record, kind: Kind, number: number): boolean =>
  checkpoints.dead.some(([of, one]) => of === kind && one === number)

/**
 * @category constructors
 */
export const make = (values: Values, keys: Records.Keys): Reader => {
  const record: Reader["record"] = (id) => {
    const key = keys.record(id)
    return Effect.flatMap(values.get(Records.record, key), (found) =>
      found !== undefined && found.session.id !== id ? Effect.fail(SessionCodec.unreadable(key)) : Effect.succeed(found)
    )
  }
  const live = (id: SessionId) => Effect.map(record(id), (found) => (found?.deleted === undefined ? found : undefined))
  const slot: Reader["slot"] = (id, number) => values.get(Records.slot, keys.turn(id, number))
  const checkpointSlot: Reader["checkpointSlot"] = (id, kind, number) =>
    values.get(Records.checkpointSlot, keys.checkpoint(id, kind, number))

  const turn: Reader["turn"] = Effect.fnUntraced(function* (ref) {
    const pointer = yield* values.get(Records.turnPointer, keys.turnId(ref.sessionId, ref.turnId))
    if (pointer === undefined || pointer.session !== ref.sessionId || pointer.turn !== ref.turnId) return undefined
    const of = yield* record(ref.sessionId)
    if (of === undefined || !isCounted(of, pointer.number)) return undefined
    const found = yield* slot(ref.sessionId, pointer.number)
    if (found === undefined) return yield* new Torn({ key: keys.turn(ref.sessionId, pointer.number) })
    // An interrupted write may have left a turn id that points to the number of another turn.
    if (found.turn.id !== ref.turnId || found.turn.sessionId !== ref.sessionId) return undefined
    return { place: { session: ref.sessionId, number: pointer.number, run: found.run }, slot: found }
  })

  const above = Effect.fnUntraced(function* ({ parent, turn }: Records.Slot) {
    if (parent === undefined) return undefined
    const found = yield* slot(parent.session, parent.number)
    if (found === undefined || !isSame(turn.parent, { sessionId: found.turn.sessionId, turnId: found.turn.id })) {
      return yield* new Torn({ key: keys.turn(parent.session, parent.number) })
    }
    return found
  })

  const turns: Reader["turns"] = Effect.fnUntraced(function* (head, { limit, since }) {
    const found: Array<SessionTurn> = []
    if (limit <= 0 || isSame(head, since)) return found
    let at = (yield* turn(head))?.slot
    while (at !== undefined) {
      found.push(at.turn)
      if (found.length >= limit || isSame(at.turn.parent, since)) break
      at = yield* above(at)
    }
    return found.reverse()
  })

  /**
   * The first number whose checkpoint has this revision or a higher one. Numbers of deleted checkpoints are skipped.
   */
  const firstSince = Effect.fnUntraced(function* (
    id: SessionId,
    kind: Kind,
    from: number,
    to: number,
    revision: number
  ) {
    let [low, high] = [from, to]
    while (low < high) {
      const middle = (low + high) >>> 1
      let at = middle
      let one = (yield* checkpointSlot(id, kind, at))?.checkpoint
      while (one === undefined && at > low) one = (yield* checkpointSlot(id, kind, --at))?.checkpoint
      if (one !== undefined && one.revision >= revision) high = at
      else low = middle + 1
    }
    return high
  })

  const checkpoints: Reader["checkpoints"] = Effect.fnUntraced(function* (id, { before, kinds: wanted, limit }) {
    const found: Array<SessionCheckpoint> = []
    const of = yield* live(id)
    if (of === undefined || limit <= 0) return found
    const heads: Array<{ readonly kind: Kind; at: number; value: SessionCheckpoint }> = []
    /** The newest existing checkpoint below a number. */
    const below = Effect.fnUntraced(function* (kind: Kind, number: number) {
      const [low] = of.checkpoints[kind]
      for (let at = number - 1; at >= low; at--) {
        if (isDead(of, kind, at)) continue
        const value = (yield* checkpointSlot(id, kind, at))?.checkpoint
        if (value !== undefined) return { kind, at, value }
      }
      return undefined
    })
    for (const kind of new Set(wanted ?? kinds)) {
      const [low, next] = of.checkpoints[kind]
      const top = before === undefined ? next : yield* firstSince(id, kind, low, next, before)
      const head = yield* below(kind, top)
      if (head !== undefined) heads.push(head)
    }
    while (heads.length > 0) {
      const newest = heads.reduce((a, b) => (b.value.revision > a.value.revision ? b : a))
      found.push(newest.value)
      if (found.length >= limit) break
      const next = yield* below(newest.kind, newest.at)
      if (next === undefined) heads.splice(heads.indexOf(newest), 1)
      else Object.assign(newest, next)
    }
    return found
  })

  const mergeNumber: Reader["mergeNumber"] = Effect.fnUntraced(function* (of, from) {
    const into = of.session.id
    const pointer = yield* values.get(Records.mergePointer, keys.merge(into, from))
    if (pointer === undefined || pointer.into !== into || pointer.from !== from) return undefined
    if (pointer.number < of.checkpoints.merge[1]) {
      const found = yield* checkpointSlot(into, "merge", pointer.number)
      if (found?.from === from) return pointer.number
    }
    return pointer.before
  })

  return {
    record,
    slot,
    turn,
    turns,
    checkpointSlot,
    checkpoints,
    mergeNumber,
    session: Effect.fnUntraced(function* (of) {
      const { id } = of.session
      const key = keys.rest(id, of.rest.slot)
      const text = yield* values.text(key)
      if (Option.isNone(text) || Records.digest(text.value) !== of.rest.digest) return yield* new Torn({ key })
      return { ...(yield* Records.rest.decode(key, text.value)), ...of.session }
    }),
    checkpoint: Effect.fnUntraced(function* (id) {
      const pointer = yield* values.get(Records.checkpointPointer, keys.checkpointId(id))
      if (pointer === undefined || pointer.id !== id) return undefined
      const { kind, number } = pointer
      const of = yield* live(pointer.session)
      if (of === undefined || isDead(of, kind, number)) return undefined
      const [low, next] = of.checkpoints[kind]
      if (number < low || number >= next) return undefined
      const checkpoint = (yield* checkpointSlot(pointer.session, kind, number))?.checkpoint
      return checkpoint?.id === id ? { record: of, checkpoint, number } : undefined
    }),
    lastMerge: Effect.fnUntraced(function* (into, from) {
      const of = yield* live(into)
      let number = of === undefined ? undefined : yield* mergeNumber(of, from)
      while (of !== undefined && number !== undefined) {
        const found: Records.CheckpointSlot | undefined = yield* checkpointSlot(into, "merge", number)
        if (found?.checkpoint !== undefined && !isDead(of, "merge", number)) return found.checkpoint
        number = found?.before
      }
      return undefined
    })
  }
}
