/**
 * The best entries for a text, by the same BM25 as in memory: how many entries of the owner have a word comes from full text, how many and
 * how long they are from the row of the owner. The database chooses the candidates by the formula, over all entries that have a word; here they are
 * given their scores, in the order of the words, so that these are the same to the last digit.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as LexicalIndex from "../memory/LexicalIndex.js"
import type { Selection } from "../memory/Selection.js"
import type * as Database from "./Database.js"
import type { Dialect } from "./Dialect.js"
import * as KeyText from "./KeyText.js"
import * as SqlFullText from "./SqlFullText.js"
import type { Owner } from "./SqlMemoryWrites.js"
import * as SqlSelection from "./SqlSelection.js"
import * as StatementTexts from "./StatementTexts.js"

/**
 * @category models
 */
export interface Found {
  readonly hits: ReadonlyArray<{ readonly serial: number; readonly score: number }>
  readonly ceiling: number
}

/**
 * @category models
 */
export type Search = (
  db: Database.Access,
  owner: Owner,
  options: {
    readonly terms: ReadonlyArray<string>
    readonly limit: number
    readonly selection: Selection
    readonly now: number
  }
) => Effect.Effect<Found, SqlError>

/** A sum that is added up in another order may be off by its last digit: so many more are given their scores here. */
const SLACK = 16

/** So many of the best ones are looked at before all of them are. */
const BEST = 2_000

interface Candidate {
  readonly serial: number
  readonly id: string
  readonly timestamp: number
  readonly length: number
  /** By the place of the word in the query. */
  readonly frequencies: Array<number | undefined>
  score: number
}

/** Best first; equal ones newest first. */
const byScore = (a: Candidate, b: Candidate): number =>
  b.score - a.score || b.timestamp - a.timestamp || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)

const none: Found = { hits: [], ceiling: 0 }

/**
 * @category constructors
 */
export const make = (dialect: Dialect, full: SqlFullText.FullText): Search => {
  const expired = dialect.sql(
    "SELECT COUNT(*) AS entries, SUM(words) AS words FROM lex_memories WHERE owner = ? AND expires_at <= ?"
  )
  const holders = dialect.sql(full.holders)
  const expiredHolders = dialect.sql(full.expiredHolders)
  const { B, K1 } = LexicalIndex
  const share: SqlFullText.Share = (weight, frequency, length) =>
    `${weight} * ${frequency} * ${K1 + 1} / (${frequency} + ${K1} * (${1 - B} + ${B} * ${length} / ?))`
  const texts = (narrows: boolean) =>
    StatementTexts.make((where: string) =>
      dialect.sql(
        full.best({
          conditions: ` AND m.owner = ? AND (m.expires_at IS NULL OR m.expires_at > ?)${where}`,
          share,
          narrows
        })
      )
    )
  const ofBest = texts(true)
  const ofAll = texts(false)

  const counts = (rows: ReadonlyArray<Database.Row>, words: number): ReadonlyArray<number> => {
    const byPlace = new Array<number>(words).fill(0)
    for (const row of rows) byPlace[Number(row["place"])] = Number(row["holders"] ?? 0)
    return byPlace
  }

  return Effect.fnUntraced(function* (db, owner, { limit, now, selection, terms }) {
    const words = Array.from(new Set(terms), (term) => SqlFullText.wordOf(owner.serial, term))
    const expires = owner.nextExpiry !== null && owner.nextExpiry <= now
    const gone = expires ? yield* db.first(expired, [owner.serial, now]) : undefined
    const live = owner.entries - Number(gone?.["entries"] ?? 0)
    if (live <= 0) return none
    if (words.length === 0) return none
    const total = owner.words - Number(gone?.["words"] ?? 0)
    const average = Math.max(1, total / live)
    const everywhere = counts(yield* db.rows(holders, full.holdersParams(words)), words.length)
    const out =
      Number(gone?.["entries"] ?? 0) === 0
        ? undefined
        : counts(yield* db.rows(expiredHolders, full.expiredHoldersParams(words, owner.serial, now)), words.length)
    const having = everywhere.map((count, at) => Math.max(0, count - (out?.[at] ?? 0)))
    // Somebody may have stored more since the owner was read.
    const weights = having.map((count) => LexicalIndex.idf(Math.max(live, count), count))
    const ceiling = weights.reduce((sum, weight) => sum + weight * (K1 + 1), 0)
    const held = words.flatMap((word, place) => (having[place] === 0 ? [] : [{ word, place }]))
    if (limit <= 0 || held.length === 0) return { hits: [], ceiling }
    const where = SqlSelection.where(dialect, selection)
    const read = (among: number | undefined) =>
      db.rows(
        (among === undefined ? ofAll : ofBest)(where.sql),
        full.bestParams({
          words: held.map(({ word }) => word),
          weights: held.map(({ place }) => weights[place] as number),
          average,
          conditions: [owner.serial, now, ...where.params],
          limit: limit + SLACK,
          among
        })
      )
    const isEach = where.sql === "" && gone === undefined
    const among = isEach ? limit + SLACK : Math.max(BEST, (limit + SLACK) * 4)
    const narrows = full.narrows && held.reduce((sum, { place }) => sum + (having[place] as number), 0) > among
    let rows = yield* read(narrows ? among : undefined)
    // The best ones are the best of all that are wanted only if enough of them are.
    if (narrows && !isEach && new Set(rows.map(({ serial }) => serial)).size < limit + SLACK)
      rows = yield* read(undefined)
    const candidates = new Map<number, Candidate>()
    for (const row of rows) {
      const serial = Number(row["serial"])
      let candidate = candidates.get(serial)
      if (candidate === undefined) {
        candidate = {
          serial,
          id: KeyText.decode(row["id"]),
          timestamp: Number(row["timestamp"]),
          length: Number(row["length"]),
          frequencies: [],
          score: 0
        }
        candidates.set(serial, candidate)
      }
      candidate.frequencies[(held[Number(row["place"])] as { readonly place: number }).place] = Number(row["frequency"])
    }
    const scored = Array.from(candidates.values())
    for (const one of scored) {
      weights.forEach((weight, place) => {
        const frequency = one.frequencies[place]
        if (frequency !== undefined) one.score += LexicalIndex.share(weight, frequency, one.length, average)
      })
    }
    return { hits: scored.sort(byScore).slice(0, limit), ceiling }
  })
}
