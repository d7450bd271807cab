/**
 * Erases the data of an owner in every table and store.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "../domain/Ids.js"
import * as RunBlobs from "../durable/payload/RunBlobs.js"
import * as QuotaUnits from "../governance/QuotaUnits.js"
import * as OwnerNamespace from "../memory/entry/OwnerNamespace.js"
import type * as SessionStore from "../session/turn/SessionStore.js"
import * as KeyText from "./engine/KeyText.js"
import type { DataTransferError } from "./engine/PersistenceError.js"
import * as CostLedgerBook from "./governance/CostLedgerBook.js"
import * as SqlRates from "./governance/SqlRates.js"
import type { Names } from "./OwnedConditions.js"
import type { Counts, EraseOptions, Service, Subject } from "./OwnerData.js"
import { add, because, blobsElsewhere, isHere, nameOf, PAGE, type Parts, type Tables } from "./OwnerStores.js"
import * as RedisCacheBackend from "./redis/RedisCacheBackend.js"
import { RedisClient } from "./redis/RedisClient.js"
import * as RedisRateLimitStore from "./redis/RedisRateLimitStore.js"
import * as VectorErasure from "./vector/VectorErasure.js"

/** Counts by part, which each step adds to. */
type Erased = Map<string, number>

type Step = (userId: UserId, names: Names, erased: Erased) => Effect.Effect<void, DataTransferError>

const governed = (userId: UserId): ReadonlyArray<string> => ["rpm", "tpm"].map((kind) => `${kind}:user:${userId}`)

const eraseSessions = Effect.fnUntraced(function* (store: SessionStore.Service, userId: UserId) {
  const erasing = because("sessions", "Erasing")
  let erased = 0
  for (;;) {
    const page = yield* Effect.mapError(store.list({ userId, limit: PAGE }), erasing)
    for (const { id } of page) if (yield* Effect.mapError(store.delete(id), erasing)) erased++
    if (page.length < PAGE) return erased
  }
})

const makeMemoryStep = (parts: Parts): Step => {
  const { facts, kept, memory } = parts
  return Effect.fnUntraced(function* (_, names, erased) {
    for (const owner of names.owners) {
      const erasing = because("memory", "Erasing")
      add(erased, "memory", yield* Effect.mapError(memory.clear(owner), erasing))
      if (!isHere(parts, memory)) add(erased, "memory", yield* Effect.mapError(kept.memory.clear(owner), erasing))
      add(erased, "facts", yield* Effect.mapError(facts.clear(owner), because("facts", "Erasing")))
      // The note of turns whose facts are left to the next start names the owner.
      yield* Effect.mapError(memory.delete(OwnerNamespace.unread, OwnerNamespace.unreadOf(owner)), erasing)
    }
  })
}

const makeSessionStep = (parts: Parts): Step => {
  const { kept, sessions } = parts
  return Effect.fnUntraced(function* (userId, _, erased) {
    add(erased, "sessions", yield* eraseSessions(sessions, userId))
    if (!isHere(parts, sessions)) add(erased, "sessions", yield* eraseSessions(kept.sessions, userId))
  })
}

const makeTableStep = ({ database }: Parts, tables: Tables): Step => {
  const eraseVectors = VectorErasure.erase(database)
  return Effect.fnUntraced(function* (_, names, erased) {
    for (const table of tables.all) {
      if (table.part === "sessions" || table.part === "costs") continue
      const rows = database.run(tables.statementsOf(table).erase, table.owned.params(names))
      add(erased, table.part, yield* Effect.mapError(rows, because(table.part, "Erasing")))
    }
    for (const owner of names.owners) {
      const vectors = database.transaction((tx) => eraseVectors(tx, owner))
      add(erased, "vectors", yield* Effect.mapError(vectors, because("vectors", "Erasing")))
    }
  })
}

/** Closes the accounts of the user, which releases holds in all accounts that they are in. */
const makeCostStep = ({ database, kept }: Parts): Step => {
  const book = CostLedgerBook.make(database.dialect)
  const closeAll = Effect.fnUntraced(function* (userId: UserId, erased: Erased) {
    for (const { account } of yield* book.ofUser(database, userId)) {
      yield* kept.ledger.close(account)
      add(erased, "costs", 1)
    }
  })
  return (userId, _, erased) => Effect.mapError(closeAll(userId, erased), because("costs", "Erasing"))
}

/** Forgets the rates and the quotas of the user, who is the tenant unless the application names another. */
const makeRateStep = ({ database }: Parts): Step => {
  const { dialect } = database
  const present = dialect.sql(`SELECT rate_key FROM lex_rates WHERE ${dialect.oneOf("rate_key")}`)
  const quotas = dialect.sql(
    `SELECT rate_key FROM lex_rates WHERE rate_key > ? AND rate_key < ? ORDER BY rate_key LIMIT ${PAGE}`
  )

  const ratesOf = Effect.fnUntraced(function* (userId: UserId) {
    const keys = [...governed(userId)]
    for (let after = "quota:"; ; ) {
      const rows = yield* database.rows<{ readonly rate_key: string }>(quotas, [after, "quota;"])
      keys.push(
        ...rows
          .map(({ rate_key }) => KeyText.decode(rate_key))
          .filter((key) => QuotaUnits.tenantOf(key) === `user:${userId}`)
      )
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) break
      after = last.rate_key
    }
    const there = yield* database.rows<{ readonly rate_key: string }>(present, [dialect.list(keys.map(KeyText.encode))])
    return there.map(({ rate_key }) => KeyText.decode(rate_key))
  })

  return Effect.fnUntraced(function* (userId, _, erased) {
    const keys = yield* Effect.mapError(ratesOf(userId), because("rates", "Reading"))
    add(erased, "rates", keys.length)
    yield* Effect.mapError(SqlRates.forget(database, keys), because("rates", "Erasing"))
  })
}

const makeRedisStep = ({ redis }: Parts): Step => {
  if (Option.isNone(redis)) return () => Effect.void
  return Effect.fnUntraced(function* (userId, _, erased) {
    const cleared = Effect.provideService(RedisCacheBackend.clear(), RedisClient, redis.value)
    add(erased, "caches", yield* Effect.mapError(cleared, because("caches", "Erasing")))
    for (const key of governed(userId)) {
      const forgotten = Effect.provideService(RedisRateLimitStore.forget(key), RedisClient, redis.value)
      if (yield* Effect.mapError(forgotten, because("rates", "Erasing"))) add(erased, "rates", 1)
    }
  })
}

/** Blobs outside the database; those in it are rows of a table. */
const makeBlobStep = (parts: Parts): Step => {
  const blobs = blobsElsewhere(parts)
  if (Option.isNone(blobs)) return () => Effect.void
  return Effect.fnUntraced(function* (userId, { executions }, erased) {
    // The runs after their executions: one that goes on puts none after that.
    for (const owner of [userId, ...executions.map(RunBlobs.ownerOf)]) {
      add(erased, "blobs", yield* Effect.mapError(blobs.value.removeOwner({ owner }), because("blobs", "Erasing")))
    }
  })
}

/**
 * @category constructors
 */
export const make = (parts: Parts, tables: Tables): Service["erase"] => {
  const memory = [makeMemoryStep(parts), makeTableStep(parts, tables)]
  const all = [
    makeMemoryStep(parts),
    makeSessionStep(parts),
    makeTableStep(parts, tables),
    makeBlobStep(parts),
    makeCostStep(parts),
    makeRateStep(parts),
    makeRedisStep(parts)
  ]
  return Effect.fnUntraced(function* (subject: Subject, options?: EraseOptions) {
    const erased: Erased = new Map()
    const userId = nameOf(subject)
    // Read before the sessions are deleted, by which runs and approvals are found.
    const names = yield* Effect.mapError(tables.namesOf(userId, options), because("sessions", "Reading"))
    // A namespace has memory alone: no sessions, costs or rates.
    for (const step of typeof subject === "string" ? all : memory) yield* step(userId, names, erased)
    return Object.fromEntries(erased) as Counts
  })
}
