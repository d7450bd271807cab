/**
 * Uses the full text of a database as lists of which entry has which word how often: what BM25 needs. The ranking of
 * the database itself would mix all owners or ignore rarity. Here each word is prefixed with the number of its owner,
 * so that a list has the entries of one owner, and its length is the document frequency.
 *
 * A list is read as one JSON text, because a row per entry takes ten times as long. FTS5 returns every position of a
 * word. Postgres stores the words of an entry, and frequencies only of those that occur more than once.
 *
 * @private
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import type { Insert, Row } from "../engine/Database.js"
import { insertInto } from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"

/**
 * The most bytes of the words of one entry in Postgres, which allows 2^20. Only the first words of a longer text are
 * found.
 *
 * @category constants
 */
const maxBytes = 900_000

/** The most characters of a word that is stored as it is. */
const maxWord = 200

const simple = /^[a-z0-9\u00ad-\ud7fe]*$/
const special = /[^a-z0-9\u00ad-\ud7fe]/g

const escaped = (character: string): string => `\u00ac${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Only letters, digits and non-ASCII characters, so that every database sees one word. */
const plain = (term: string): string => {
  if (term.length > maxWord) return `\u00acl${createHash("sha256").update(term, "utf16le").digest("hex")}`
  return simple.test(term) ? term : term.replace(special, escaped)
}

/**
 * The list entry of a term.
 *
 * @category conversions
 */
export const wordOf = (owner: number, term: string): string => `${owner}x${plain(term)}`

/**
 * The list entry of an attribute.
 *
 * @category conversions
 */
export const attributeOf = (owner: number, word: string): string => `${owner}a${word}`

/**
 * The words by which an entry is found.
 *
 * @category models
 */
export interface Words {
  /** Terms with their frequencies. */
  readonly terms: ReadonlyMap<string, number>
  /** Occurrences of all terms. */
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
 * Stores and reads the lists. Reads are restricted to the entries `m` of one owner.
 *
 * @category models
 */
export interface FullText {
  readonly insert: Insert
  readonly row: (serial: number, owner: number, words: Words) => ReadonlyArray<Param>
  /** Removes the entries in the `list` of serials that is its parameter. */
  readonly remove: string
  /** Selects as `m.serial` up to a number of entries that have one of the words; `params` builds the parameters. */
  readonly having: {
    readonly sql: string
    readonly params: (words: ReadonlyArray<string>, limit: number) => Array<Param>
  }
  /** The lists of words by place, including expired entries. */
  readonly lists: string
  readonly listsParams: (words: ReadonlyArray<string>) => Array<Param>
  readonly listOf: (row: Row) => List
}

/**
 * The entries that have a word.
 *
 * @category models
 */
export interface List {
  /** Starts at 0. */
  readonly place: number
  /** Each entry once. */
  readonly serials: ReadonlyArray<number>
  /** Frequency in each entry. */
  readonly times: ArrayLike<number>
  /** Length of each entry, if the lists have it. */
  readonly lengths: ReadonlyArray<number> | undefined
}

/**
 * The list without some entries.
 *
 * @category combinators
 */
export const without = ({ lengths, place, serials, times }: List, others: ReadonlySet<number>): List => {
  const kept = serials.flatMap((serial, at) => (others.has(serial) ? [] : [at]))
  return {
    place,
    serials: kept.map((at) => serials[at] as number),
    times: kept.map((at) => times[at] as number),
    lengths: lengths === undefined ? undefined : kept.map((at) => lengths[at] as number)
  }
}

/**
 * All values of an integer column as one JSON text.
 *
 * @category conversions
 */
export const jsonOf =
  ({ name }: Dialect) =>
  (column: string, filter = ""): string =>
    name === "sqlite" ? `json_group_array(${column})${filter}` : `array_to_json(array_agg(${column})${filter})::text`

/**
 * The numbers of such a text, or none.
 *
 * @category conversions
 */
export const numbers = (json: unknown): ReadonlyArray<number> => (typeof json === "string" ? JSON.parse(json) : [])

/** An entry is repeated once per occurrence of the word, consecutively. */
const counted = (named: ReadonlyArray<number>): Omit<List, "place"> => {
  const serials: Array<number> = []
  const times = new Uint32Array(named.length)
  for (let at = 0, last = -1; at < named.length; at++) {
    const serial = named[at] as number
    if (serial !== last) serials.push(serial)
    times[serials.length - 1]!++
    last = serial
  }
  return { serials, times, lengths: undefined }
}

const sqlite = (dialect: Dialect): FullText => ({
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
  lists:
    `SELECT q.key AS place, (SELECT ${jsonOf(dialect)("p.doc")} FROM lex_memory_places p WHERE p.term = q.value) AS serials` +
    " FROM json_each(?) q",
  listsParams: (words) => [dialect.list(words)],
  listOf: (row) => ({ place: Number(row["place"]), ...counted(numbers(row["serials"])) })
})

const postgres = (dialect: Dialect): FullText => {
  const all = jsonOf(dialect)
  const repeated = " FILTER (WHERE w.often -> q.word IS NOT NULL)"
  return {
    insert: insertInto("lex_memory_words", ["serial", "owner", "length", "words", "often"]),
    row: (serial, owner, { attributes, length, terms }) => {
      const all = attributes.map((word) => `'${attributeOf(owner, word)}'`)
      let bytes = all.length * 40
      const often: Array<[string, number]> = []
      for (const [term, times] of terms) {
        const word = `${owner}x${term}`
        bytes += Buffer.byteLength(word) + 4
        if (bytes > maxBytes) break
        if (times > 1) often.push([word, times])
        all.push(`'${word}'`)
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
      params: (words, limit) => [words.map((word) => `'${word}'`).join(" | "), limit]
    },
    lists:
      "SELECT q.place - 1 AS place, l.* FROM unnest(?::text[]) WITH ORDINALITY AS q(word, place) CROSS JOIN LATERAL (SELECT" +
      ` ${all("w.serial")} AS serials, ${all("w.length")} AS lengths, ${all("w.serial", repeated)} AS repeated,` +
      ` ${all("(w.often ->> q.word)::int4", repeated)} AS times` +
      " FROM lex_memory_words w WHERE w.words @@ ('''' || q.word || '''')::tsquery) l",
    listsParams: (words) => [dialect.list(words)],
    listOf: (row) => {
      const serials = numbers(row["serials"])
      const times = new Uint32Array(serials.length).fill(1)
      const repeated = numbers(row["repeated"])
      if (repeated.length > 0) {
        const often = new Map(repeated.map((serial, at) => [serial, at]))
        const known = numbers(row["times"])
        serials.forEach((serial, at) => {
          const more = often.get(serial)
          if (more !== undefined) times[at] = known[more] as number
        })
      }
      return { place: Number(row["place"]), serials, times, lengths: numbers(row["lengths"]) }
    }
  }
}

/**
 * @category constructors
 */
export const make = (dialect: Dialect): FullText => (dialect.name === "sqlite" ? sqlite(dialect) : postgres(dialect))
