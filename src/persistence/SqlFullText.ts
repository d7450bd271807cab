/**
 * Full text of a database as lists of which entry has which word how often: what BM25 needs, and nothing of how the database would rank by
 * itself. That knows the words of all owners or no rarity at all; here each word begins with the number of its owner, so that a list has the
 * entries of one owner only, and how many there are is how many it has.
 *
 * FTS5 tells the places of a word. Postgres keeps up to 255 places of a word; they are numbered here, and `ts_rank` of a single word
 * grows with each of them by the inverse of its square, from which their number is read. What an entry has more often stands beside.
 *
 * @internal
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import type { Insert } from "./Database.js"
import { insertInto } from "./Database.js"
import type { Dialect, Param } from "./Dialect.js"

/**
 * Bytes of the words of one entry in Postgres, which takes up to 2^20: of a longer text the words that it begins with are found.
 *
 * @category constants
 */
export const maxBytes = 900_000

/** Characters of a word that is kept as it is. */
const maxWord = 200

/** Places of a word in Postgres. */
const maxPlaces = 255

const simple = /^[a-z0-9\u00ad-\ud7fe]*$/
const special = /[^a-z0-9\u00ad-\ud7fe]/g

const escaped = (character: string): string => `\u00ac${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Of letters, digits and characters beyond ASCII alone, so that no database sees anything in it than one word. */
const plain = (term: string): string => {
  if (term.length > maxWord) return `\u00acl${createHash("sha256").update(term, "utf16le").digest("hex")}`
  return simple.test(term) ? term : term.replace(special, escaped)
}

/**
 * What is looked for in the lists.
 *
 * @category conversions
 */
export const wordOf = (owner: number, term: string): string => `${owner}x${plain(term)}`

/**
 * The same for what filters ask for.
 *
 * @category conversions
 */
export const attributeOf = (owner: number, word: string): string => `${owner}a${word}`

/**
 * What an entry is found by.
 *
 * @category models
 */
export interface Words {
  /** With how often each occurs. */
  readonly terms: ReadonlyMap<string, number>
  /** All occurrences of all terms. */
  readonly length: number
  /** Words of attributes. */
  readonly attributes: ReadonlyArray<string>
}

/**
 * @category constructors
 */
export const words = (terms: ReadonlyArray<string>, attributes: ReadonlyArray<string>): Words => {
  const counted = new Map<string, number>()
  for (const term of terms) {
    const word = plain(term)
    counted.set(word, (counted.get(word) ?? 0) + 1)
  }
  return { terms: counted, length: terms.length, attributes }
}

/**
 * How a database keeps and reads the lists. What is read is for the entries `m` of one owner.
 *
 * @category models
 */
export interface FullText {
  readonly insert: Insert
  readonly row: (serial: number, owner: number, words: Words) => ReadonlyArray<Param>
  /** Removes those in the `list` of serials that is its parameter. */
  readonly remove: string
  /** As `m.serial`, what has one of the words, up to a number: `params` gives the parameters. */
  readonly having: {
    readonly sql: string
    readonly params: (words: ReadonlyArray<string>, limit: number) => Array<Param>
  }
  /** How many entries have each of the words, as `place` (from 0) and `holders`, expired or not. */
  readonly holders: string
  readonly holdersParams: (words: ReadonlyArray<string>) => Array<Param>
  /** The same of what has expired. */
  readonly expiredHolders: string
  readonly expiredHoldersParams: (words: ReadonlyArray<string>, owner: number, now: number) => Array<Param>
  /** `place`, `weight`, `serial` and `frequency` for each word and each entry that has it. */
  readonly postings: string
  readonly postingsParams: (words: ReadonlyArray<string>, weights: ReadonlyArray<number>) => Array<Param>
  /**
   * The best entries by the sum of what `share` gives of each word: `serial`, `id`, `timestamp` and `length`, with `place` and
   * `frequency` in a row for each word. `conditions` are about `m` and begin with ` AND `. With `among` it looks at so many of
   * the best ones and at those that are as good as the last of them, at nothing else; only where `narrows` says that this is worth it.
   */
  readonly best: (options: { readonly conditions: string; readonly share: Share; readonly narrows: boolean }) => string
  readonly bestParams: (options: {
    readonly words: ReadonlyArray<string>
    readonly weights: ReadonlyArray<number>
    readonly average: number
    readonly conditions: ReadonlyArray<Param>
    readonly limit: number
    readonly among: number | undefined
  }) => Array<Param>
  readonly narrows: boolean
}

/**
 * What a word counts, as an expression of its weight, its frequency and the length of the entry; one parameter is the average length.
 *
 * @category models
 */
export type Share = (weight: string, frequency: string, length: string) => string

const expired = "(SELECT e.serial FROM lex_memories e WHERE e.owner = ? AND e.expires_at <= ?)"

const order = "ORDER BY score DESC, m.timestamp DESC, m.id DESC LIMIT ?"

const chosen =
  " SELECT best.serial, best.id, best.timestamp, best.length, h.place, h.frequency" +
  " FROM best JOIN h ON h.serial = best.serial"

const sqlite = (dialect: Dialect): FullText => {
  const postings =
    "SELECT q.place, q.weight, p.doc AS serial, COUNT(*) AS frequency FROM" +
    " (SELECT key AS place, value ->> 0 AS word, value ->> 1 AS weight FROM json_each(?) LIMIT -1) q" +
    " CROSS JOIN lex_memory_places p WHERE p.term = q.word GROUP BY q.place, p.doc"
  const postingsParams: FullText["postingsParams"] = (words, weights) => [
    JSON.stringify(words.map((word, at) => [word, weights[at]]))
  ]
  return {
    insert: insertInto("lex_memory_words", ["rowid", "words"]),
    row: (serial, owner, { attributes, terms }) => {
      const all = attributes.map((word) => attributeOf(owner, word))
      for (const [term, times] of terms) {
        const word = `${owner}x${term}`
        for (let n = 0; n < times; n++) all.push(word)
      }
      return [serial, all.join(" ")]
    },
    remove: "DELETE FROM lex_memory_words WHERE rowid IN (SELECT value FROM json_each(?))",
    having: {
      sql: "SELECT DISTINCT p.doc AS serial FROM json_each(?) q CROSS JOIN lex_memory_places p WHERE p.term = q.value LIMIT ?",
      params: (words, limit) => [dialect.list(words), limit]
    },
    holders:
      "SELECT q.key AS place, (SELECT c.doc FROM lex_memory_counts c WHERE c.term = q.value) AS holders FROM json_each(?) q",
    holdersParams: (words) => [dialect.list(words)],
    expiredHolders:
      "SELECT q.key AS place, COUNT(DISTINCT p.doc) AS holders FROM json_each(?) q CROSS JOIN lex_memory_places p" +
      ` WHERE p.term = q.value AND p.doc IN ${expired} GROUP BY q.key`,
    expiredHoldersParams: (words, owner, now) => [dialect.list(words), owner, now],
    postings,
    postingsParams,
    // A row is found by its number at once: little is won by leaving some of them out.
    best: ({ conditions, share }) =>
      `WITH h AS MATERIALIZED (${postings}), best AS MATERIALIZED (SELECT m.serial, m.id, m.timestamp, m.words AS length,` +
      ` SUM(${share("h.weight", "h.frequency", "m.words")}) AS score FROM h CROSS JOIN lex_memories m` +
      ` WHERE m.serial = h.serial${conditions} GROUP BY m.serial ${order})${chosen}`,
    bestParams: ({ average, conditions, limit, weights, words }) => [
      ...postingsParams(words, weights),
      average,
      ...conditions,
      limit
    ],
    narrows: false
  }
}

/** What `ts_rank` gives at least for 1, 2, … places of a single word, all of weight 1. */
const thresholds = (): string => {
  const least: Array<number> = []
  let sum = 0
  for (let places = 1; places <= maxPlaces; places++) {
    const more = 1 / places ** 2
    least.push((sum + more / 2) / 1.64493406685)
    sum += more
  }
  return `'{${least.join(",")}}'::float8[]`
}

const postgres = (dialect: Dialect): FullText => {
  const query = (words: ReadonlyArray<string>) => words.map((word) => `'${word}'`)
  const places = `width_bucket(ts_rank('{1,1,1,1}', w.words, q.query)::float8, ${thresholds()})`
  const holders = (condition: string) =>
    "SELECT q.place - 1 AS place, (SELECT COUNT(*) FROM lex_memory_words w WHERE w.words @@ q.word::tsquery" +
    `${condition}) AS holders FROM unnest(?::text[]) WITH ORDINALITY AS q(word, place)`
  const postings =
    "SELECT q.place, q.weight, w.serial, w.length, CASE WHEN w.often IS NULL THEN" +
    ` ${places} ELSE COALESCE((w.often ->> trim(q.word, ''''))::float8, ${places}) END AS frequency` +
    // Read once, not for each entry.
    " FROM (SELECT u.place - 1 AS place, u.word, u.word::tsquery AS query, u.weight::float8 AS weight" +
    " FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS u(word, weight, place) OFFSET 0) q" +
    " JOIN lex_memory_words w ON w.words @@ q.query"
  const postingsParams: FullText["postingsParams"] = (words, weights) => [
    dialect.list(query(words)),
    dialect.list(weights.map(String))
  ]
  return {
    insert: insertInto("lex_memory_words", ["serial", "owner", "length", "words", "often"]),
    row: (serial, owner, { attributes, length, terms }) => {
      const all = attributes.map((word) => `'${attributeOf(owner, word)}'`)
      let bytes = all.length * 40
      const often: Array<[string, number]> = []
      for (const [term, times] of terms) {
        const word = `${owner}x${term}`
        const count = Math.min(times, maxPlaces)
        bytes += Buffer.byteLength(word) + 4 + 2 * count
        if (bytes > maxBytes) break
        if (times > maxPlaces) often.push([word, times])
        all.push(
          count === 1 ? `'${word}':1` : `'${word}':${Array.from({ length: count }, (_, at) => at + 1).join(",")}`
        )
      }
      return [
        serial,
        owner,
        length,
        all.join(" "),
        often.length === 0 ? null : JSON.stringify(Object.fromEntries(often))
      ]
    },
    remove: "DELETE FROM lex_memory_words WHERE serial = ANY(?::bigint[])",
    having: {
      sql: "SELECT w.serial FROM lex_memory_words w WHERE w.words @@ ?::tsquery LIMIT ?",
      params: (words, limit) => [query(words).join(" | "), limit]
    },
    holders: holders(""),
    holdersParams: (words) => [dialect.list(query(words))],
    expiredHolders: holders(` AND w.serial IN ${expired}`),
    expiredHoldersParams: (words, owner, now) => [owner, now, dialect.list(query(words))],
    postings,
    postingsParams,
    // Each row by its number, whatever the planner believes: joined as a whole, the rows of all owners would be read.
    best: ({ conditions, narrows, share }) =>
      `WITH h AS MATERIALIZED (${postings}), scored AS MATERIALIZED (SELECT h.serial,` +
      ` SUM(${share("h.weight", "h.frequency", "h.length")}) AS score FROM h GROUP BY h.serial),` +
      " best AS MATERIALIZED (SELECT m.serial, m.id, m.timestamp, m.words AS length, s.score" +
      ` FROM scored s CROSS JOIN LATERAL (SELECT * FROM lex_memories m WHERE m.serial = s.serial${conditions} OFFSET 0) m` +
      `${narrows ? " WHERE s.score >= COALESCE((SELECT score FROM scored ORDER BY score DESC OFFSET ? LIMIT 1), 0)" : ""}` +
      ` ${order})${chosen}`,
    bestParams: ({ among, average, conditions, limit, weights, words }) => [
      ...postingsParams(words, weights),
      average,
      ...conditions,
      ...(among === undefined ? [] : [among - 1]),
      limit
    ],
    narrows: true
  }
}

/**
 * @category constructors
 */
export const make = (dialect: Dialect): FullText => (dialect.name === "sqlite" ? sqlite(dialect) : postgres(dialect))
