/**
 * Removes what deleted sessions leave in a key-value store, except turns on the path to a branch.
 *
 * The record of a deleted session lists the turns to keep before the others are removed. An interrupted removal
 * continues when the store is read the next time.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SessionId } from "../../domain/Ids.js"
import type { SessionCheckpoint } from "../turn/Session.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type { Catalog } from "./KeyValueCatalog.js"
import type { Reader } from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"
import type { Values } from "./KeyValueValues.js"

type Kind = SessionCheckpoint["kind"]
type Write<A> = Effect.Effect<A, SessionStorageError>

const kinds: ReadonlyArray<Kind> = ["manual", "auto", "fork", "merge"]

/**
 * @category constants
 */
export const noCheckpoints: Records.Checkpoints = {
  manual: [0, 0],
  auto: [0, 0],
  fork: [0, 0],
  merge: [0, 0],
  live: 0,
  dead: []
}

const isEmpty = (checkpoints: Records.Checkpoints): boolean => kinds.every((kind) => checkpoints[kind][1] === 0)

const isSame = (a: ReadonlyArray<Records.Interval>, b: ReadonlyArray<Records.Interval>): boolean =>
  a.length === b.length && a.every(([from, to], at) => b[at]?.[0] === from && b[at]?.[1] === to)

/** A turn that was dropped never comes back. */
const within = (
  wanted: ReadonlyArray<Records.Interval>,
  kept: ReadonlyArray<Records.Interval>
): ReadonlyArray<Records.Interval> =>
  wanted.flatMap(([from, to]) =>
    kept.flatMap(([first, last]): ReadonlyArray<Records.Interval> => {
      const [begin, end] = [Math.max(from, first), Math.min(to, last)]
      return begin <= end ? [[begin, end]] : []
    })
  )

const holds = (intervals: ReadonlyArray<Records.Interval>, number: number): boolean =>
  intervals.some(([from, to]) => from <= number && number <= to)

/**
 * @category models
 */
export interface Sweep {
  /** The turns of a session on the path to a branch. */
  readonly needed: (catalog: Catalog, id: SessionId) => Write<ReadonlyArray<Records.Interval>>
  /** Removes the values that a deleted session no longer needs, and the ancestors that only it needed. */
  readonly tidy: (catalog: Catalog, id: SessionId) => Write<void>
  /** Continues all interrupted removals. */
  readonly resume: (catalog: Catalog) => Write<void>
  /** Removes checkpoints that the record no longer counts. */
  readonly checkpoints: (
    id: SessionId,
    dead: Iterable<readonly [Kind, number]>,
    options?: { readonly forGood: boolean }
  ) => Write<void>
}

/**
 * @category constructors
 */
export const make = (values: Values, keys: Records.Keys, reader: Reader): Sweep => {
  const needed: Sweep["needed"] = Effect.fnUntraced(function* (catalog, id) {
    /** The last needed number of each run, by its first number. */
    const runs = new Map<number, number>()
    for (const fork of catalog.forksOf(id)) {
      let place: Records.Place | undefined = fork
      while (place !== undefined && place.session === id) {
        const known: number | undefined = runs.get(place.run)
        runs.set(place.run, Math.max(known ?? 0, place.number))
        if (known !== undefined) break
        place = (yield* reader.slot(id, place.run))?.parent
      }
    }
    return [...runs].sort(([a], [b]) => a - b)
  })

  const checkpoints: Sweep["checkpoints"] = Effect.fnUntraced(function* (id, dead, options) {
    for (const [kind, number] of dead) {
      const slot = yield* reader.checkpointSlot(id, kind, number)
      if (slot === undefined) continue
      const { checkpoint, ...merge } = slot
      if (checkpoint !== undefined) {
        const key = keys.checkpointId(checkpoint.id)
        const pointer = yield* values.get(Records.checkpointPointer, key)
        if (pointer?.session === id && pointer.kind === kind && pointer.number === number) yield* values.remove(key)
      }
      const key = keys.checkpoint(id, kind, number)
      if (options?.forGood === true) {
        if (merge.from !== undefined) yield* values.remove(keys.merge(id, merge.from))
        yield* values.remove(key)
      } else if (kind !== "merge") yield* values.remove(key)
      else if (checkpoint !== undefined) yield* values.set(Records.checkpointSlot, key, merge)
    }
  })

  const turn = Effect.fnUntraced(function* (id: SessionId, number: number) {
    const slot = yield* reader.slot(id, number)
    if (slot === undefined) return false
    yield* values.remove(keys.turnId(id, slot.turn.id))
    yield* values.remove(keys.turn(id, number))
    return true
  })

  const turns = Effect.fnUntraced(function* (
    id: SessionId,
    swept: ReadonlyArray<Records.Interval>,
    kept: ReadonlyArray<Records.Interval>
  ) {
    for (const [from, to] of swept) {
      // The last turn first: an interrupted removal leaves only turns whose parents exist.
      for (let number = to; number >= from; number--) if (!holds(kept, number)) yield* turn(id, number)
    }
  })

  const remains = Effect.fnUntraced(function* (id: SessionId, { checkpoints: counted }: Records.Record) {
    yield* values.remove(keys.rest(id, 0))
    yield* values.remove(keys.rest(id, 1))
    for (const kind of kinds) {
      const [, next] = counted[kind]
      // An interrupted write may have stored one more than the record counts.
      for (let number = 0; number <= next; number++) yield* checkpoints(id, [[kind, number]], { forGood: true })
    }
  })

  const tidy: Sweep["tidy"] = Effect.fnUntraced(function* (catalog, id) {
    let record = yield* reader.record(id)
    if (record?.deleted === undefined) return
    const kept = within(yield* needed(catalog, id), record.deleted.kept)
    if (!isSame(kept, record.deleted.kept)) {
      const swept = [...record.deleted.swept, ...record.deleted.kept]
      record = { ...record, deleted: { kept, swept } }
      yield* values.set(Records.record, keys.record(id), record)
    }
    const swept = record.deleted?.swept ?? []
    const hasRemains = !isEmpty(record.checkpoints) || record.rest.digest !== ""
    yield* turns(id, swept, kept)
    if (hasRemains) yield* remains(id, record)
    if (kept.length > 0) {
      if (swept.length === 0 && !hasRemains) return
      return yield* values.set(Records.record, keys.record(id), {
        ...record,
        rest: { slot: 0, digest: "" },
        checkpoints: noCheckpoints,
        deleted: { kept, swept: [] }
      })
    }
    // Turns that the record never counted.
    for (let number = record.turns; yield* turn(id, number); number++);
    catalog.release(id)
    if (record.base !== undefined) yield* tidy(catalog, record.base.session)
    yield* values.remove(keys.record(id))
    yield* catalog.unlist(id)
  })

  return {
    needed,
    checkpoints,
    tidy,
    resume: (catalog) => Effect.forEach([...catalog.deleted], (id) => tidy(catalog, id), { discard: true })
  }
}
