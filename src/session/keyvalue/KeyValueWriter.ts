/**
 * Prepares the values that turns and checkpoints need in a key-value store, before the first one is written.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Session, SessionCheckpoint, SessionTurn } from "../turn/Session.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type { Reader } from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"

type Kind = SessionCheckpoint["kind"]

/**
 * Texts by key, in the order they are written.
 *
 * @category models
 */
export type Entries = ReadonlyArray<readonly [key: string, text: string]>

/**
 * @category models
 */
export interface Writer {
  /** Turns after the head of a session, and the record that counts them. */
  readonly turns: (
    record: Records.Record,
    turns: ReadonlyArray<SessionTurn>
  ) => Effect.Effect<{ readonly entries: Entries; readonly record: Records.Record }, SessionStorageError>
  /** A checkpoint, and the record that counts it and drops the oldest ones. */
  readonly checkpoint: (
    record: Records.Record,
    checkpoint: SessionCheckpoint | undefined,
    keep: number | undefined
  ) => Effect.Effect<{ readonly entries: Entries; readonly record: Records.Record }, SessionStorageError>
  readonly rest: (
    session: Session,
    record: Records.Record | undefined
  ) => Effect.Effect<{ readonly entries: Entries; readonly rest: Records.Record["rest"] }, SessionStorageError>
}

const mayGo = (kind: Kind): kind is "manual" | "auto" => kind === "manual" || kind === "auto"

/**
 * @category constructors
 */
export const make = (keys: Records.Keys, reader: Reader): Writer => {
  /** The oldest existing checkpoints of a kind, including the one being written. */
  const oldest = Effect.fnUntraced(function* (
    record: Records.Record,
    kind: "manual" | "auto",
    written: { readonly checkpoint: SessionCheckpoint; readonly number: number }
  ) {
    const [low, next] = record.checkpoints[kind]
    for (let number = low; number < next; number++) {
      if (kind === written.checkpoint.kind && number === written.number)
        return { number, revision: written.checkpoint.revision }
      if (record.checkpoints.dead.some(([of, one]) => of === kind && one === number)) continue
      const found = (yield* reader.checkpointSlot(record.session.id, kind, number))?.checkpoint
      if (found !== undefined) return { number, revision: found.revision }
    }
    return undefined
  })

  const pruned = Effect.fnUntraced(function* (
    given: Records.Record,
    keep: number,
    written: { readonly checkpoint: SessionCheckpoint; readonly number: number }
  ) {
    let record = given
    while (record.checkpoints.live > keep) {
      const [manual, auto] = [yield* oldest(record, "manual", written), yield* oldest(record, "auto", written)]
      const kind = auto === undefined || (manual !== undefined && manual.revision < auto.revision) ? "manual" : "auto"
      const gone = kind === "manual" ? manual : auto
      // The counted value is lost.
      if (gone === undefined) return { ...record, checkpoints: { ...record.checkpoints, live: 0 } }
      const { checkpoints } = record
      record = {
        ...record,
        checkpoints: {
          ...checkpoints,
          [kind]: [gone.number + 1, checkpoints[kind][1]],
          live: checkpoints.live - 1,
          dead: [...checkpoints.dead, [kind, gone.number]]
        }
      }
    }
    return record
  })

  return {
    turns: Effect.fnUntraced(function* (record, turns) {
      const { id } = record.session
      const entries: Array<readonly [string, string]> = []
      let number = record.turns
      let parent = record.head
      for (const turn of turns) {
        const run = parent !== undefined && parent.session === id && parent.number === number - 1 ? parent.run : number
        const slot = { turn, run, ...(parent === undefined ? undefined : { parent }) }
        entries.push(
          [keys.turn(id, number), yield* Records.slot.encode(slot)],
          [keys.turnId(id, turn.id), yield* Records.turnPointer.encode({ session: id, turn: turn.id, number })]
        )
        parent = { session: id, number, run }
        number++
      }
      return { entries, record: { ...record, turns: number, head: parent } }
    }),

    checkpoint: Effect.fnUntraced(function* (given, checkpoint, keep) {
      if (checkpoint === undefined) return { entries: [], record: given }
      const { kind } = checkpoint
      const { id } = given.session
      const { checkpoints } = given
      const [low, number] = checkpoints[kind]
      const from = checkpoint.merge?.sessionId
      const before = from === undefined ? undefined : yield* reader.mergeNumber(given, from)
      const origin = {
        ...(from === undefined ? undefined : { from }),
        ...(before === undefined ? undefined : { before })
      }
      const entries: Array<readonly [string, string]> = [
        [keys.checkpoint(id, kind, number), yield* Records.checkpointSlot.encode({ checkpoint, ...origin })],
        [
          keys.checkpointId(checkpoint.id),
          yield* Records.checkpointPointer.encode({ id: checkpoint.id, session: id, kind, number })
        ]
      ]
      if (from !== undefined) {
        const pointer = { into: id, from, number, ...(before === undefined ? undefined : { before }) }
        entries.push([keys.merge(id, from), yield* Records.mergePointer.encode(pointer)])
      }
      const counted: Records.Record = {
        ...given,
        checkpoints: { ...checkpoints, [kind]: [low, number + 1], live: checkpoints.live + (mayGo(kind) ? 1 : 0) }
      }
      return {
        entries,
        record: keep === undefined ? counted : yield* pruned(counted, Math.max(0, keep), { checkpoint, number })
      }
    }),

    rest: Effect.fnUntraced(function* (session, record) {
      const text = yield* Records.rest.encode(Records.restOf(session))
      const digest = Records.digest(text)
      if (record?.rest.digest === digest) return { entries: [], rest: record.rest }
      const slot = record === undefined ? 0 : 1 - record.rest.slot
      return { entries: [[keys.rest(session.id, slot), text]], rest: { slot, digest } }
    })
  }
}
