/**
 * A `QueueStore` in a database: the queue outlives its process, and several processes share it.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ownerOf, QueuedRun } from "../../agent/record/QueuedRun.js"
import * as QueueFullError from "../../agent/record/QueueFullError.js"
import * as QueueStore from "../../agent/record/QueueStore.js"
import * as RunErrors from "../../agent/record/RunError.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type { Access, Database } from "../engine/Database.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as QueueStatements from "./QueueStatements.js"

type RunError = RunErrors.RunError

interface Row {
  readonly run_id: string
  readonly owner: string
  readonly user_id: string | null
  readonly agent: string
  readonly fingerprint: string
  readonly state: number
  readonly rank: number
  readonly cancelled: number
  readonly body: string
}

interface Totals {
  readonly turn: number
  readonly waiting: number
}

const states = ["delayed", "waiting", "claimed"] as const

const failure = (error: SqlError): RunError =>
  new RunErrors.RunError({ ...SqlFailure.fields(error), reason: "storage" })

const unreadable = (): RunError =>
  new RunErrors.RunError({ reason: "storage", message: "What the database holds of a queued run cannot be read" })

const decode = Schema.decodeUnknown(QueuedRun)
const encode = Schema.encodeSync(QueuedRun)

const runOf = ({ body, cancelled }: Pick<Row, "body" | "cancelled">): Effect.Effect<QueuedRun, RunError> =>
  Effect.try({ try: () => ExactJson.decode(body), catch: unreadable }).pipe(
    Effect.flatMap((value) => Effect.mapError(decode(value), unreadable)),
    Effect.map((run) => (Number(cancelled) === 1 ? { ...run, cancelled: true } : run))
  )

const orStorage = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, Exclude<E, SqlError> | RunError> =>
  Effect.catchAll(effect, (error) =>
    Effect.fail(
      (error as { readonly _tag?: unknown } | null)?._tag === "SqlError"
        ? failure(error as SqlError)
        : (error as Exclude<E, SqlError>)
    )
  )

const totalsIn = (tx: Access, sql: QueueStatements.Statements): Effect.Effect<Totals, SqlError> =>
  Effect.map(tx.first(sql.totals), (row) => ({
    turn: Number(row?.["turn"] ?? 0),
    waiting: Number(row?.["waiting"] ?? 0)
  }))

const countIn = (tx: Access, text: string, params: ReadonlyArray<string | number>): Effect.Effect<number, SqlError> =>
  Effect.map(tx.first(text, params), (row) => Number(row?.["count"] ?? 0))

/** Claims for one process, within a transaction. */
class Claiming {
  private readonly owners = new Map<string, number>()
  private readonly agents = new Map<string, number>()
  private claimed = 0

  constructor(
    private readonly tx: Access,
    private readonly sql: QueueStatements.Statements,
    private readonly list: Database["dialect"]["list"],
    private readonly options: QueueStore.ClaimOptions
  ) {}

  private count(owner: string, agent: string, count: number): void {
    this.owners.set(owner, (this.owners.get(owner) ?? 0) + count)
    this.agents.set(agent, (this.agents.get(agent) ?? 0) + count)
    this.claimed += count
  }

  /** Lets delayed runs wait whose time has come. */
  private ready({ turn }: Totals): Effect.Effect<void, SqlError> {
    const { sql, tx } = this
    return Effect.flatMap(tx.rows<Row>(sql.ready, [this.options.now]), (found) =>
      Effect.forEach(
        found,
        ({ agent, owner, run_id }) =>
          Effect.zipRight(tx.run(sql.wait, [run_id]), tx.run(sql.enterLane, [owner, agent, owner, turn])),
        { discard: true }
      )
    )
  }

  /** The next run, by the turns of the owners that may claim. */
  private readonly next: Effect.Effect<Row | undefined, SqlError> = Effect.suspend(() =>
    Effect.gen(this, function* () {
      const { options, sql, tx } = this
      const full = this.list(
        Array.from(this.owners).flatMap(([owner, count]) => (count >= options.perOwner ? [owner] : []))
      )
      let best: (Row & { readonly turn: number }) | undefined
      for (const name of options.agents) {
        const agent = IndexKey.of(name)
        if ((this.agents.get(agent) ?? 0) >= options.perAgent) continue
        for (;;) {
          const lane = yield* tx.first<{ readonly owner: string; readonly turn: number }>(sql.lane, [agent, full])
          if (lane === undefined) break
          const head = yield* tx.first<Row>(sql.head, [lane.owner, agent])
          if (head === undefined) {
            // Its runs were erased.
            yield* tx.run(sql.emptyLane, [lane.owner, agent])
            continue
          }
          const found = { ...head, turn: Number(lane.turn) }
          if (
            best === undefined ||
            found.turn < best.turn ||
            (found.turn === best.turn && Number(found.rank) < Number(best.rank))
          ) {
            best = found
          }
          break
        }
      }
      return best
    })
  )

  readonly run: Effect.Effect<ReadonlyArray<Row>, SqlError> = Effect.suspend(() =>
    Effect.gen(this, function* () {
      const { options, sql, tx } = this
      const totals = yield* totalsIn(tx, sql)
      let { turn } = totals
      yield* this.ready(totals)
      for (const { agent, count, owner } of yield* tx.rows(sql.claimed)) this.count(owner, agent, Number(count))
      const found: Array<Row> = []
      while (found.length < QueueStore.MAX_CLAIM && this.claimed < options.concurrency) {
        const row = yield* this.next
        if (row === undefined) break
        yield* tx.run(sql.take, [options.worker, options.leaseUntil, 0, row.run_id])
        yield* tx.run(sql.leaveLane, [row.owner, row.agent])
        yield* tx.run(sql.dropLane, [row.owner, row.agent])
        yield* tx.run(sql.turn, [++turn, row.owner])
        this.count(row.owner, row.agent, 1)
        found.push(row)
      }
      let waiting = Math.max(0, totals.waiting - found.length)
      if (found.length === 0 && waiting > 0) {
        const { waits } = (yield* tx.first(sql.isEmpty)) ?? {}
        // What was erased no longer waits.
        if (waits === false || Number(waits) === 0) waiting = 0
      }
      if (found.length > 0 || waiting !== totals.waiting) yield* tx.run(sql.setTotals, [turn, waiting])
      return found
    })
  )
}

const makeService = (database: Database): QueueStore.Service => {
  const { dialect } = database
  const sql = QueueStatements.make(dialect)
  return {
    add: (run, { maxWaiting, now }) =>
      orStorage(
        database.transaction((tx) =>
          Effect.gen(function* () {
            const totals = yield* totalsIn(tx, sql)
            const key = IndexKey.of(run.runId)
            const owner = IndexKey.of(ownerOf(run))
            const known = yield* tx.first<Row>(sql.get, [key])
            if (known !== undefined) {
              if (known.owner !== owner || known.fingerprint !== run.fingerprint) {
                return yield* RunErrors.conflict(run.runId)
              }
              return { run: yield* runOf(known), added: false }
            }
            const waiting = totals.waiting < maxWaiting ? totals.waiting : yield* countIn(tx, sql.waiting, [])
            if (waiting >= maxWaiting) return yield* QueueFullError.make(maxWaiting)
            const agent = IndexKey.of(run.agent)
            const isDelayed = run.notBefore > now
            yield* tx.run(sql.insert, [
              key,
              owner,
              IndexKey.orNull(run.userId),
              agent,
              run.fingerprint,
              isDelayed ? 0 : 1,
              run.rank,
              run.notBefore,
              ExactJson.encode(encode(run))
            ])
            if (!isDelayed) yield* tx.run(sql.enterLane, [owner, agent, owner, totals.turn])
            yield* tx.run(sql.setTotals, [totals.turn, waiting + 1])
            return { run, added: true }
          })
        )
      ),
    get: (runId, access) =>
      orStorage(
        Effect.gen(function* () {
          const row = yield* database.first<Row>(sql.get, [IndexKey.of(runId)])
          if (row === undefined) return Option.none()
          const run = yield* runOf(row)
          const owner = run.system === true ? IndexKey.everybody : run.userId
          if (!(yield* SystemAccess.permits(access?.userId, owner))) return Option.none()
          const ahead =
            Number(row.state) === 2
              ? 0
              : yield* countIn(database, sql.ahead, [row.owner, row.agent, Number(row.rank), row.run_id])
          return Option.some({ run, state: states[Number(row.state)] ?? "claimed", ahead })
        })
      ),
    counts: (access) =>
      orStorage(
        Effect.gen(function* () {
          if (access?.userId === undefined && (yield* SystemAccess.isGranted)) {
            const totals = yield* database.first(sql.readTotals)
            const claimed = yield* database.rows(sql.claimed)
            return {
              waiting: Number(totals?.["waiting"] ?? 0),
              running: claimed.reduce((sum, { count }) => sum + Number(count), 0)
            }
          }
          const owner = IndexKey.of(access?.userId === undefined ? "nobody" : `user:${access.userId}`)
          return {
            waiting: yield* countIn(database, sql.waitingOf, [owner]),
            running: yield* countIn(database, sql.claimedOf, [owner])
          }
        })
      ),
    claim: (options) =>
      orStorage(
        Effect.flatMap(
          database.transaction((tx) => new Claiming(tx, sql, dialect.list, options).run),
          (found) => Effect.forEach(found, runOf)
        )
      ),
    takeOver: ({ agents, leaseUntil, now, worker }) =>
      orStorage(
        Effect.flatMap(
          database.transaction((tx) =>
            Effect.tap(tx.rows<Row>(sql.expired, [now, dialect.list(agents.map(IndexKey.of))]), (found) =>
              Effect.forEach(
                found,
                ({ cancelled, run_id }) => tx.run(sql.take, [worker, leaseUntil, Number(cancelled), run_id]),
                { discard: true }
              )
            )
          ),
          (found) => Effect.forEach(found, runOf)
        )
      ),
    renew: ({ leaseUntil, worker }) =>
      orStorage(
        Effect.flatMap(database.rows<Row>(sql.renew, [leaseUntil, worker]), (found) =>
          Effect.forEach(found, (row) => Effect.map(runOf({ ...row, cancelled: 0 }), ({ runId }) => runId))
        )
      ),
    cancel: (runId, { leaseUntil, worker }) =>
      orStorage(
        database.transaction((tx) =>
          Effect.gen(function* () {
            const totals = yield* totalsIn(tx, sql)
            const row = yield* tx.first<Row>(sql.get, [IndexKey.of(runId)])
            if (row === undefined || Number(row.state) === 2) return false
            yield* tx.run(sql.take, [worker, leaseUntil, 1, row.run_id])
            if (Number(row.state) === 1) {
              yield* tx.run(sql.leaveLane, [row.owner, row.agent])
              yield* tx.run(sql.dropLane, [row.owner, row.agent])
            }
            yield* tx.run(sql.setTotals, [totals.turn, Math.max(0, totals.waiting - 1)])
            return true
          })
        )
      ),
    remove: (runId) => Effect.asVoid(orStorage(database.run(sql.remove, [IndexKey.of(runId)])))
  }
}

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), makeService)

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<QueueStore.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<QueueStore.QueueStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  QueueStore.QueueStore,
  make
)

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { QueueRunner } from "effect-lexigram/agent"
 * import { PostgresClient, SqlQueueStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const writer = Agent.make("writer", { system: "You write summaries." })
 *
 * // Requires `Runs` of the same agents, such as `DurableRuns.layer({ agents: [writer] })`.
 * const queue = QueueRunner.layer({ agents: [writer], concurrency: 20 }).pipe(
 *   Layer.provide(SqlQueueStore.layerMigrated),
 *   Layer.provide(PostgresClient.layer({ url: Redacted.make("postgres://localhost/agents") }))
 * )
 * ```
 */
export const layerMigrated: Layer.Layer<QueueStore.QueueStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  QueueStore.QueueStore,
  build(true)
)
