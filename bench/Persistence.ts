/**
 * Cost of stores in databases: compared with the bare driver sending the same statements and the same JSON, by history
 * length, and for searches among many entries. Rows above their limit are reported, and with `--strict` end the bench
 * with code 1.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Databases from "./Databases.js"
import { cpuMicros, makeRow, type Row, type Sample } from "./Harness.js"
import * as PersistenceRedis from "./PersistenceRedis.js"
import * as PersistenceSearch from "./PersistenceSearch.js"
import * as PersistenceSizes from "./PersistenceSizes.js"
import * as Servers from "./Servers.js"
import * as Statements from "./Statements.js"
import { type Operation, sqlOperations } from "./StoreOperations.js"

export interface Options {
  readonly quick: boolean
  readonly strict: boolean
  /** Runs only the operations whose names contain this. */
  readonly match: string | undefined
}

/** Largest allowed ratio of a store to the bare driver. */
const most = 2

export type Above = (what: string, value: number, limit: number) => void

const count = async (opened: Databases.Opened, table: string): Promise<number> => {
  const rows = await Effect.runPromise(opened.client.unsafe(`SELECT COUNT(*) AS kept FROM ${table}`))
  return Number((rows[0] as { readonly kept: unknown }).kept)
}

/** A store and its bare counterpart. */
export interface Rivals {
  /** Repetitions in a round. */
  readonly times: number
  /** Prepares the operations from a number on, before the measurement starts. */
  readonly store: (from: number) => () => Promise<unknown>
  readonly driver: (from: number) => () => unknown
  /** This process does all the work, so its CPU time counts, independent of other load. */
  readonly inProcess: boolean
}

/** Runs round by round; the best round of each side counts, as the least disturbed. */
export const compare = async (
  row: string,
  rivals: Rivals,
  options: { readonly rounds: number; readonly warmup: number; readonly above: Above }
): Promise<ReadonlyArray<Row>> => {
  const rates: { readonly store: Array<Sample>; readonly driver: Array<Sample> } = { store: [], driver: [] }
  const micros: { readonly store: Array<number>; readonly driver: Array<number> } = { store: [], driver: [] }
  for (let round = 0; round < options.warmup + options.rounds; round++) {
    for (const subject of round % 2 === 0 ? (["driver", "store"] as const) : (["store", "driver"] as const)) {
      const work = rivals[subject](round * rivals.times)
      const cpu = cpuMicros()
      const wall = performance.now()
      await work()
      const wallMicros = (performance.now() - wall) * 1000
      const cpuTime = cpuMicros() - cpu
      if (round < options.warmup) continue
      rates[subject].push({ value: (rivals.times / wallMicros) * 1e6, counts: {} })
      micros[subject].push((rivals.inProcess ? cpuTime : wallMicros) / rivals.times)
    }
  }
  const best = { store: Math.min(...micros.store), driver: Math.min(...micros.driver) }
  const ratio = best.store / best.driver
  options.above(row, ratio, most)
  const unit = rivals.inProcess ? "µs CPU, best" : "µs, best"
  return [
    makeRow(row, "effect-lexigram", "a second", rates.store, {}),
    makeRow(row, "the driver alone", "a second", rates.driver, {}),
    makeRow(row, "effect-lexigram", unit, [{ value: best.store, counts: {} }], {}),
    makeRow(row, "the driver alone", unit, [{ value: best.driver, counts: {} }], {}),
    makeRow(row, "effect-lexigram to the driver", "ratio", [{ value: ratio, counts: {} }], {})
  ]
}

const warmOperations = 2_000

/** The caller makes the inputs of a store. */
export const repeated = (act: (n: number) => Effect.Effect<unknown, unknown>, from: number, times: number) => {
  const acts = Array.from({ length: times }, (_, at) => act(from + at))
  return () => Effect.runPromise(Effect.all(acts, { discard: true }))
}

const operation = async (
  place: Databases.Place,
  { durable, make, name, table, times }: Operation,
  given: { readonly rounds: number; readonly warmup: number; readonly above: Above }
): Promise<ReadonlyArray<Row>> => {
  // In a single process, code must be compiled before the measurement.
  const warm = place.name === "SQLite" ? Math.ceil(warmOperations / times) : 0
  const options = { ...given, warmup: Math.max(given.warmup, warm) }
  const opened = [await place.open(), await place.open(), await place.open()] as const
  const [written, ours, theirs] = opened
  try {
    const total = (options.warmup + options.rounds) * times
    const recorder = Statements.recorder(written.client)
    const recorded = await Effect.runPromise(
      Effect.provideService(make, SqlClient.SqlClient, recorder.client) as Effect.Effect<
        (n: number) => Effect.Effect<unknown, unknown>
      >
    )
    recorder.take()
    const operations: Array<ReadonlyArray<Statements.Prepared>> = []
    for (let n = 0; n < total; n++) {
      await Effect.runPromise(recorded(n))
      operations.push(recorder.take().map(Statements.prepare))
    }
    const act = await ours.run(make)
    // Prologue of the operations.
    await theirs.run(make)
    const driver = await theirs.driver({ durable })
    const rows = await compare(
      `${place.name} ${name}`,
      {
        times,
        inProcess: place.name === "SQLite",
        store: (from) => repeated(act, from, times),
        driver: (from) => {
          const some = operations.slice(from, from + times)
          return () => driver.run(some)
        }
      },
      options
    )
    await driver.close()
    if (table !== undefined) {
      const [kept, expected] = [await count(ours, table), await count(theirs, table)]
      if (kept !== expected || kept === 0)
        throw new Error(`${name} is void: ${kept} rows, and ${expected} by the driver`)
    }
    return rows
  } finally {
    for (const one of opened) await one.close()
  }
}

export const rows = async (options: Options): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  const above: Above = (what, value, limit) => {
    if (value <= limit) return
    console.error(`above its limit: ${what}: ${value.toPrecision(3)}, more than ${limit}`)
    if (options.strict) process.exitCode = 1
  }
  const servers = Servers.make()
  const missing = (name: string, reason: string): void =>
    console.error(`not measured: ${name}, which is not there: ${reason}`)
  try {
    const postgres = await servers.url("postgres")
    if ("missing" in postgres) missing("Postgres", postgres.missing)
    const places: ReadonlyArray<Databases.Place> = [
      Databases.sqlite,
      ...("url" in postgres ? [Databases.postgres(postgres.url)] : [])
    ]
    const rounds = { warmup: options.quick ? 4 : 10, rounds: options.quick ? 8 : 30, above }
    for (const place of places) {
      for (const one of sqlOperations.filter(({ name }) => name.includes(options.match ?? "")))
        rows.push(...(await operation(place, one, rounds)))
    }
    if (options.match !== undefined) return rows
    const redis = await servers.url("redis")
    if ("missing" in redis) missing("Redis", redis.missing)
    else rows.push(...(await PersistenceRedis.rows(redis.url, rounds)))
    for (const place of places) {
      rows.push(...(await PersistenceSizes.rows(place, { quick: options.quick, above })))
      rows.push(...(await PersistenceSearch.rows(place, { quick: options.quick, above })))
    }
  } finally {
    await servers.end()
  }
  return rows
}
