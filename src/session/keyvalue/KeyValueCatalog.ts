/**
 * The catalog of sessions in a key-value store: ids in chunks in the store, and the fields of lists in memory.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SessionId } from "../../domain/Ids.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import { type Entry, SessionIndex } from "../turn/SessionIndex.js"
import type { Reader } from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"
import type { Values } from "./KeyValueValues.js"

const chunkSize = 64

/**
 * @category models
 */
export class Catalog {
  private readonly entries = new Map<SessionId, Entry<Records.Standing>>()
  readonly index = new SessionIndex<Records.Standing>((id) => this.entries.get(id))
  /** Deleted sessions that branches need or that are not yet removed. */
  readonly deleted = new Set<SessionId>()
  /** Sessions with open exchanges. */
  readonly exchanges = new Map<SessionId, NonNullable<Records.Record["open"]>>()
  private readonly bases = new Map<SessionId, Records.Place>()
  private readonly forks = new Map<SessionId, Map<SessionId, Records.Place>>()
  private readonly chunks: Array<Set<SessionId>> = []
  private readonly chunkOf = new Map<SessionId, number>()
  /** Chunks with room for more ids. */
  private readonly open = new Set<number>()

  constructor(
    private readonly values: Values,
    private readonly keys: Records.Keys
  ) {}

  /** Takes over the current record of a session. */
  put(record: Records.Record): void {
    const { base, deleted, session } = record
    const entry = this.entries.get(session.id)
    if (deleted === undefined && record.open !== undefined && record.open.length > 0) {
      this.exchanges.set(session.id, record.open)
    } else this.exchanges.delete(session.id)
    if (deleted !== undefined) {
      if (entry !== undefined) this.index.remove(entry)
      this.entries.delete(session.id)
      this.deleted.add(session.id)
    } else if (entry === undefined) {
      const added = { session }
      this.entries.set(session.id, added)
      this.index.add(added)
    } else {
      this.index.remove(entry)
      entry.session = session
      this.index.add(entry)
    }
    if (base === undefined || this.bases.has(session.id)) return
    this.bases.set(session.id, base)
    const forks = this.forks.get(base.session) ?? new Map<SessionId, Records.Place>()
    this.forks.set(base.session, forks)
    forks.set(session.id, base)
  }

  /** The session no longer needs a turn of another session. */
  release(id: SessionId): void {
    const base = this.bases.get(id)
    if (base === undefined) return
    this.bases.delete(id)
    const forks = this.forks.get(base.session)
    forks?.delete(id)
    if (forks?.size === 0) this.forks.delete(base.session)
  }

  forksOf(id: SessionId): Iterable<Records.Place> {
    return this.forks.get(id)?.values() ?? []
  }

  /** Stores the id before the session itself, so that the session can be found. */
  list(id: SessionId): Effect.Effect<void, SessionStorageError> {
    return Effect.suspend(() => {
      if (this.chunkOf.has(id)) return Effect.void
      const [room] = this.open
      const number = room ?? this.chunks.length
      const isNew = room === undefined
      if (isNew) this.chunks.push(new Set())
      this.place(id, number)
      return Effect.zipRight(
        isNew ? this.values.set(Records.catalog, this.keys.catalog, { chunks: this.chunks.length }) : Effect.void,
        this.write(number)
      )
    })
  }

  /** Removes the id of a session that no longer exists. */
  unlist(id: SessionId): Effect.Effect<void, SessionStorageError> {
    return Effect.suspend(() => {
      this.deleted.delete(id)
      const number = this.chunkOf.get(id)
      if (number === undefined) return Effect.void
      this.chunkOf.delete(id)
      this.chunks[number]?.delete(id)
      this.open.add(number)
      return this.write(number)
    })
  }

  /** Ids without a record are skipped; the next write of the chunk drops them. */
  static readonly load = (
    values: Values,
    keys: Records.Keys,
    reader: Reader
  ): Effect.Effect<Catalog, SessionStorageError> =>
    Effect.gen(function* () {
      const catalog = new Catalog(values, keys)
      const count = (yield* values.get(Records.catalog, keys.catalog))?.chunks ?? 0
      for (let number = 0; number < count; number++) {
        catalog.chunks.push(new Set())
        catalog.open.add(number)
        for (const id of (yield* values.get(Records.chunk, keys.chunk(number))) ?? []) {
          const record = catalog.chunkOf.has(id) ? undefined : yield* reader.record(id)
          if (record === undefined) continue
          catalog.place(id, number)
          catalog.put(record)
        }
      }
      return catalog
    })

  private place(id: SessionId, number: number): void {
    const chunk = this.chunks[number] as Set<SessionId>
    chunk.add(id)
    this.chunkOf.set(id, number)
    if (chunk.size < chunkSize) this.open.add(number)
    else this.open.delete(number)
  }

  private write(number: number): Effect.Effect<void, SessionStorageError> {
    return this.values.set(Records.chunk, this.keys.chunk(number), [...(this.chunks[number] ?? [])])
  }
}
