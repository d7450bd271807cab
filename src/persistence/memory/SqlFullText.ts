/**
 * Full text of a database as lists of which entry has which word how often: what BM25 needs, and nothing of how the
 * database would rank by itself. That knows the words of all owners or no rarity at all; here each word begins with the
 * number of its owner, so that a list has the entries of one owner only, and how many there are is how many it has.
 *
 * A list comes as one JSON text: a row for each entry would take ten times as long. FTS5 tells every place of a word.
 * Postgres keeps which words an entry has, and how often only of those that it has more than once.
 *
 * @internal
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import type { Insert, Row } from "../engine/Database.js"
import { insertInto } from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"

/**
 * Bytes of the words of one entry in Postgres, which takes up to 2^20: of a longer text the words that it begins with
 * are found.
 *
 * @category constants
 */
export const maxBytes = 900_000

/** Characters of a word that is kept as it is. */
const maxWord = 200

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
  /** The lists of words, expired entries among them, by the place of the word. */
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
  /** From 0. */
  readonly place: number
  /** Each once. */
  readonly serials: ReadonlyArray<number>
  /** How often it stands in each of them. */
  readonly times: ArrayLike<number>
  /** Of each of them, where the lists tell them. */
  readonly lengths: ReadonlyArray<number> | undefined
}

/**
 * Those of a list that are not among others.
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
 * All values of a column of integers as one JSON text.
 *
 * @category conversions
 */
export const jsonOf =
  ({ name }: Dialect) =>
  (column: string, filter = ""): string =>
    name === "sqlite" ? `json_group_array(${column})${filter}` : `array_to_json(array_agg(${column})${filter})::text`

/**
 * Of such a text, or of none.
 *
 * @category conversions
 */
export const numbers = (json: unknown): ReadonlyArray<number> => (typeof json === "string" ? JSON.parse(json) : [])

/** As often as the word stands in it an entry is named, one time after the other. */
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
