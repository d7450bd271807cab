/**
 * Writes sessions to a key-value store, one call at a time. The record of a session is written last and makes the
 * change visible.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { isLive, type Session, type SessionCheckpoint, type SessionTurn } from "../turn/Session.js"
import type { SessionCapacityError, SessionConflictError, SessionStorageError } from "../turn/SessionError.js"
import type { Addition, Change, Created, Creation, Limits } from "../turn/SessionStore.js"
import * as SessionStoreErrors from "../turn/SessionStoreErrors.js"
import type { Access } from "./KeyValueAccess.js"
import * as KeyValueExchanges from "./KeyValueExchanges.js"
import * as KeyValueReader from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"
import * as KeyValueSweep from "./KeyValueSweep.js"
import * as KeyValueWriter from "./KeyValueWriter.js"

type Write<A, E = never> = Effect.Effect<A, E | SessionStorageError | KeyValueReader.Torn>

/**
 * The write methods of the port; run each inside `exclusive`.
 *
 * @category models
 */
export interface Changes {
  readonly create: (creation: Creation) => Write<Created, SessionConflictError | SessionCapacityError>
  readonly save: (change: Change) => Write<void, SessionConflictError | SessionCapacityError>
  readonly append: (addition: Addition) => Write<ReadonlyArray<SessionTurn>, SessionConflictError>
  readonly expire: (options: {
    readonly since: number
    readonly at: number
    readonly limit: number
  }) => Write<ReadonlyArray<Session>>
  readonly deleteCheckpoint: (id: SessionCheckpoint["id"]) => Write<boolean>
  readonly remove: (id: Session["id"]) => Write<boolean>
}

interface Parts extends Access {
  readonly writer: ReturnType<typeof KeyValueWriter.make>
}

const requireFreeCheckpoint = Effect.fnUntraced(function* (
  { reader }: Parts,
  checkpoint: SessionCheckpoint | undefined
) {
  if (checkpoint !== undefined && (yield* reader.checkpoint(checkpoint.id)) !== undefined) {
    return yield* SessionStoreErrors.checkpointExists
  }
})

const requireWithinLimits = Effect.fnUntraced(function* (
  { catalog }: Parts,
  session: Session,
  limits: Limits | undefined
) {
  if (limits === undefined) return
  const { index } = yield* catalog
  const refusal = SessionStoreErrors.overLimit(session, limits, {
    ofUser: () => index.liveOfUser(session.userId),
    ofParent: () => index.liveOfParent(session.parentSessionId)
  })
  if (refusal !== undefined) return yield* refusal
})

/** Removes the dead checkpoints of a record, so that it lists only what exists. */
const sweepCheckpoints = Effect.fnUntraced(function* ({ sweep }: Parts, record: Records.Record) {
  if (record.checkpoints.dead.length === 0) return record
  yield* sweep.checkpoints(record.session.id, record.checkpoints.dead)
  return { ...record, checkpoints: { ...record.checkpoints, dead: [] } }
})

/** The record that a session was read from. */
const previousRecord = Effect.fnUntraced(function* (parts: Parts, session: Session) {
  const { reader } = parts
  const found = yield* reader.record(session.id)
  const kept = found?.deleted === undefined ? found : undefined
  if (kept === undefined || kept.session.revision !== session.revision - 1) {
    return yield* SessionStoreErrors.staleRevision(session, kept?.session)
  }
  return yield* sweepCheckpoints(parts, kept)
})

const create = Effect.fnUntraced(function* (parts: Parts, { checkpoint, limits, session }: Creation) {
  const { catalog, commit, reader, writer } = parts
  const known = yield* reader.record(session.id)
  if (known !== undefined && known.deleted === undefined) {
    return { session: yield* reader.session(known), isNew: false }
  }
  const listed = yield* catalog
  if ((yield* reader.record(session.id)) !== undefined) return yield* SessionStoreErrors.idInUse(session)
  const base = session.head === undefined ? undefined : (yield* reader.turn(session.head))?.place
  if (session.head !== undefined && base === undefined) return yield* SessionStoreErrors.headMissing(session)
  yield* requireFreeCheckpoint(parts, checkpoint)
  yield* requireWithinLimits(parts, session, limits)
  const { entries, rest } = yield* writer.rest(session, undefined)
  const { entries: more, record } = yield* writer.checkpoint(
    {
      session: Records.standingOf(session),
      rest,
      turns: 0,
      ...(base === undefined ? undefined : { head: base, base }),
      checkpoints: KeyValueSweep.noCheckpoints
    },
    checkpoint,
    undefined
  )
  yield* Records.record.encode(record)
  yield* listed.list(session.id)
  yield* commit([...entries, ...more], record)
  return { session: yield* reader.session(record), isNew: true }
})

const save = Effect.fnUntraced(function* (parts: Parts, { checkpoint, keepCheckpoints, limits, session }: Change) {
  const { commit, reader, writer } = parts
  const kept = yield* previousRecord(parts, session)
  yield* requireFreeCheckpoint(parts, checkpoint)
  const standing = { isLive: isLive(kept.session), isUsers: kept.session.userId === session.userId }
  yield* requireWithinLimits(parts, session, SessionStoreErrors.limitsOf(standing, limits))
  const before = kept.session.head
  const isThere = before?.sessionId === session.head?.sessionId && before?.turnId === session.head?.turnId
  const head = isThere ? kept.head : session.head === undefined ? undefined : (yield* reader.turn(session.head))?.place
  const { head: _, ...others } = kept
  const { entries, rest } = yield* writer.rest(session, kept)
  const made = yield* writer.checkpoint(
    {
      ...others,
      session: Records.standingOf(session),
      rest,
      ...(head === undefined ? undefined : { head })
    },
    checkpoint,
    keepCheckpoints
  )
  yield* commit([...entries, ...made.entries], made.record)
})

const append = Effect.fnUntraced(function* (parts: Parts, addition: Addition) {
  const { commit, keys, reader, values, writer } = parts
  const { checkpoint, closes, isStateChanged, keepCheckpoints, session, turns } = addition
  const kept = yield* previousRecord(parts, session)
  const known: Array<SessionTurn> = []
  for (const { id } of turns) {
    const found = yield* reader.turn({ sessionId: session.id, turnId: id })
    if (found !== undefined) known.push(found.slot.turn)
  }
  if (known.length > 0) return known
  if (new Set(turns.map(({ id }) => id)).size < turns.length) return yield* SessionStoreErrors.duplicateTurns
  yield* requireFreeCheckpoint(parts, checkpoint)
  const { checkpointId, depth, head, revision, totalCost, totalTokens, updatedAt } = session
  const changed = isStateChanged === true ? yield* writer.rest(session, kept) : undefined
  const moved: Records.Standing = {
    ...kept.session,
    ...(head === undefined ? undefined : { head }),
    depth,
    totalTokens,
    totalCost,
    updatedAt,
    revision,
    ...(checkpointId === undefined ? undefined : { checkpointId })
  }
  const standing =
    changed === undefined
      ? { ...kept, session: moved }
      : { ...kept, session: Records.standingOf(session), rest: changed.rest }
  const added = yield* writer.turns(standing, turns)
  const made = yield* writer.checkpoint(added.record, checkpoint, keepCheckpoints)
  const record = closes === undefined ? made.record : KeyValueExchanges.without(made.record, closes)
  yield* commit([...(changed?.entries ?? []), ...added.entries, ...made.entries], record)
  if (closes !== undefined) yield* Effect.ignore(values.remove(keys.exchange(session.id, closes)))
  return known
})

const expire = Effect.fnUntraced(function* (
  { catalog, commit, keys, reader, invalidate: forget }: Parts,
  {
    at,
    limit,
    since
  }: {
    readonly since: number
    readonly at: number
    readonly limit: number
  }
) {
  const { index } = yield* catalog
  const expired: Array<Session> = []
  for (const { id } of index.idle(since, limit, undefined).map((entry) => entry.session)) {
    const one = Effect.gen(function* () {
      const kept = yield* reader.record(id)
      if (kept === undefined) return yield* new KeyValueReader.Torn({ key: keys.record(id) })
      const session = {
        ...kept.session,
        status: "expired" as const,
        updatedAt: at,
        revision: kept.session.revision + 1
      }
      const now = yield* reader.session({ ...kept, session })
      yield* commit([], { ...kept, session })
      return now
    })
    const done = yield* Effect.either(one)
    if (Either.isRight(done)) expired.push(done.right)
    else if (expired.length === 0) return yield* done.left
    else {
      forget()
      break
    }
  }
  return expired
})

const deleteCheckpoint = Effect.fnUntraced(function* (parts: Parts, id: SessionCheckpoint["id"]) {
  const { commit, reader } = parts
  const found = yield* reader.checkpoint(id)
  if (found === undefined) return false
  const { checkpoint, number } = found
  const record = yield* sweepCheckpoints(parts, found.record)
  const { checkpoints } = record
  const isBounded = checkpoint.kind === "manual" || checkpoint.kind === "auto"
  yield* commit([], {
    ...record,
    checkpoints: {
      ...checkpoints,
      live: checkpoints.live - (isBounded ? 1 : 0),
      dead: [[checkpoint.kind, number]]
    }
  })
  return true
})

const remove = Effect.fnUntraced(function* ({ catalog, keys, reader, sweep, values }: Parts, id: Session["id"]) {
  const all = yield* catalog
  const kept = yield* reader.record(id)
  if (kept === undefined || kept.deleted !== undefined) return false
  const deleted: Records.Record["deleted"] = {
    kept: yield* sweep.needed(all, id),
    swept: kept.turns === 0 ? [] : [[0, kept.turns - 1]]
  }
  const { open, ...others } = kept
  const record: Records.Record = { ...others, deleted }
  yield* values.set(Records.record, keys.record(id), record)
  all.put(record)
  for (const { run } of open ?? []) yield* values.remove(keys.exchange(id, run))
  yield* sweep.tidy(all, id)
  return true
})

/**
 * @category constructors
 */
export const make = (access: Access): Changes => {
  const parts: Parts = { ...access, writer: KeyValueWriter.make(access.keys, access.reader) }
  return {
    create: (creation) => create(parts, creation),
    save: (change) => save(parts, change),
    append: (addition) => append(parts, addition),
    expire: (options) => expire(parts, options),
    deleteCheckpoint: (id) => deleteCheckpoint(parts, id),
    remove: (id) => remove(parts, id)
  }
}
