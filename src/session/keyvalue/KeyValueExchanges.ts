/**
 * Open exchanges in a key-value store. Each is a value of its own, and the record of the session lists them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId } from "../../domain/Ids.js"
import type { Exchange } from "../turn/Session.js"
import * as SessionCodec from "../turn/SessionCodec.js"
import type { SessionConflictError, SessionStorageError } from "../turn/SessionError.js"
import type { ExchangeRef } from "../turn/SessionStore.js"
import * as SessionStoreErrors from "../turn/SessionStoreErrors.js"
import type { Access } from "./KeyValueAccess.js"
import type { Torn } from "./KeyValueReader.js"
import * as Records from "./KeyValueRecords.js"

type Done<A, E = never> = Effect.Effect<A, E | SessionStorageError | Torn>

/**
 * The exchange methods of the port; run each inside `exclusive`.
 *
 * @category models
 */
export interface Exchanges {
  readonly open: (exchange: Exchange) => Done<void, SessionConflictError>
  readonly exchange: (ref: ExchangeRef) => Done<Exchange | undefined>
  readonly withdraw: (ref: ExchangeRef) => Done<boolean>
  readonly lease: (options: { readonly owner: string; readonly until: number }) => Done<void>
  readonly orphans: (options: { readonly at: number; readonly limit: number }) => Done<ReadonlyArray<Exchange>>
}

/**
 * The record without an exchange.
 *
 * @category getters
 */
export const without = ({ open = [], ...record }: Records.Record, runId: RunId): Records.Record => {
  const left = open.filter(({ run }) => run !== runId)
  return left.length === 0 ? record : { ...record, open: left }
}

const isOpen = (record: Records.Record, runId: RunId): boolean =>
  record.deleted === undefined && (record.open ?? []).some(({ run }) => run === runId)

/**
 * @category constructors
 */
export const make = ({ catalog, commit, keys, reader, values }: Access): Exchanges => {
  const leases = Effect.map(values.get(Records.leases, keys.leases), (found) => new Map(found ?? []))
  const setLeases = (leases: ReadonlyMap<string, number>) => values.set(Records.leases, keys.leases, Array.from(leases))

  const exchange: Exchanges["exchange"] = Effect.fnUntraced(function* ({ runId, sessionId }) {
    const record = yield* reader.record(sessionId)
    if (record === undefined || !isOpen(record, runId)) return undefined
    return yield* values.get(SessionCodec.exchange, keys.exchange(sessionId, runId))
  })

  return {
    exchange,
    open: Effect.fnUntraced(function* (exchange) {
      const { owner, runId, sessionId } = exchange
      const record = yield* reader.record(sessionId)
      if (record === undefined || record.deleted !== undefined)
        return yield* SessionStoreErrors.sessionMissing(sessionId)
      const text = yield* SessionCodec.exchange.encode(exchange)
      if (owner !== undefined) {
        const known = yield* leases
        // An owner that never had a lease has no valid one.
        if (!known.has(owner)) yield* setLeases(known.set(owner, 0))
      }
      const rest = without(record, runId)
      const named = { run: runId, ...(owner === undefined ? {} : { owner }) }
      yield* commit([[keys.exchange(sessionId, runId), text]], { ...rest, open: [...(rest.open ?? []), named] })
    }),
    withdraw: Effect.fnUntraced(function* ({ runId, sessionId }) {
      const record = yield* reader.record(sessionId)
      if (record === undefined || !isOpen(record, runId)) return false
      yield* commit([], without(record, runId))
      yield* values.remove(keys.exchange(sessionId, runId))
      return true
    }),
    lease: ({ owner, until }) => Effect.flatMap(leases, (known) => setLeases(known.set(owner, until))),
    orphans: Effect.fnUntraced(function* ({ at, limit }) {
      const known = yield* leases
      const ended = new Set(Array.from(known.keys()).filter((owner) => (known.get(owner) as number) <= at))
      const found: Array<Exchange> = []
      if (ended.size === 0 || limit <= 0) return found
      const holding = new Set<string>()
      const orphans: Array<readonly [until: number, ref: ExchangeRef]> = []
      for (const [sessionId, open] of (yield* catalog).exchanges) {
        for (const { owner, run } of open) {
          if (owner === undefined || !ended.has(owner)) continue
          holding.add(owner)
          orphans.push([known.get(owner) as number, { sessionId, runId: run }])
        }
      }
      for (const [, { runId, sessionId }] of orphans.sort(([a], [b]) => a - b)) {
        if (found.length >= limit) break
        const key = keys.exchange(sessionId, runId)
        const text = yield* values.text(key)
        for (const one of yield* SessionCodec.readableExchanges(key, Option.toArray(text))) found.push(one)
      }
      const idle = Array.from(ended).filter((owner) => !holding.has(owner))
      for (const owner of idle) known.delete(owner)
      if (idle.length > 0) yield* setLeases(known)
      return found
    })
  }
}
