/**
 * The sources of an article: reads tool results as sources, keeps each source once under its number, and ranks sources
 * by the words they share with a question.
 *
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as JsonRepair from "../../internal/text/JsonRepair.js"

/**
 * A source with its number. `found` are the queries that led to it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Source = Schema.Struct({
  id: Schema.Number,
  title: Schema.String,
  url: Schema.optional(Schema.String),
  text: Schema.String,
  tool: Schema.String,
  found: Schema.Array(Schema.String)
}).annotations({ identifier: "effect-lexigram/strategy/StormSources/Source" })
/**
 * @since 0.1.0
 * @category models
 */
export interface Source extends Schema.Schema.Type<typeof Source> {}

/**
 * A source as a tool returned it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Found {
  readonly title: string
  readonly url?: string | undefined
  readonly text: string
}

const RESULTS_MAX = 20
const TITLE_MAX = 200
const NESTING_MAX = 6

const listFields = [
  "results",
  "items",
  "sources",
  "documents",
  "docs",
  "hits",
  "matches",
  "pages",
  "data",
  "organic",
  "organic_results",
  "webPages",
  "value",
  "response"
]
const urlFields = ["url", "link", "href", "uri", "source"]
const titleFields = ["title", "name", "heading", "headline"]
const textFields = [
  "content",
  "text",
  "snippet",
  "snippets",
  "passage",
  "page_content",
  "pageContent",
  "body",
  "extract",
  "summary",
  "abstract",
  "description",
  "raw_content",
  "toc",
  "headings"
]

type Item = { readonly [key: string]: unknown }

const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, " ").trim()

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).replace(/[\ud800-\udbff]$/, "")}…`

/** The normalized form of a web address; `undefined` for other text. */
const urlOf = (text: string): string | undefined => {
  if (text.length > 2000 || !/^\s*https?:\/\//i.test(text)) return undefined
  try {
    const url = new URL(text.trim())
    url.hash = ""
    url.username = ""
    url.password = ""
    for (const name of [...url.searchParams.keys()]) if (/^utm_/i.test(name)) url.searchParams.delete(name)
    const { href } = url
    return href.endsWith("/") ? href.slice(0, -1) : href
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value.trim()
  if (Array.isArray(value)) {
    return value
      .slice(0, RESULTS_MAX)
      .filter((one) => typeof one === "string")
      .join("\n")
      .trim()
  }
  return ""
}

const first = <A>(item: Item, names: ReadonlyArray<string>, read: (value: unknown) => A | undefined): A | undefined => {
  for (const name of names) {
    if (!Object.hasOwn(item, name)) continue
    const value = read(item[name])
    if (value !== undefined) return value
  }
  return undefined
}

const filled = (value: unknown): string | undefined => {
  const text = textOf(value)
  return text === "" ? undefined : text
}

/** Keeps all different texts: a short one may contain what a long one omits. */
const texts = (item: Item): string => {
  const found: Array<string> = []
  for (const name of textFields) {
    const text = Object.hasOwn(item, name) ? textOf(item[name]) : ""
    if (text !== "" && !found.some((other) => other.includes(text))) found.push(text)
  }
  return found.join("\n")
}

const fromItem = (item: Item): Found | undefined => {
  const inner = Predicate.isReadonlyRecord(item["metadata"]) ? item["metadata"] : {}
  const url = first(item, urlFields, (value) => (typeof value === "string" ? urlOf(value) : undefined))
  const title = oneLine(first(item, titleFields, filled) ?? first(inner, titleFields, filled) ?? "")
  const text = texts(item)
  const address = url ?? first(inner, urlFields, (value) => (typeof value === "string" ? urlOf(value) : undefined))
  if (text === "" && (title === "" || address === undefined)) return undefined
  return { title, ...(address === undefined ? {} : { url: address }), text: text === "" ? title : text }
}

const fromValue = (value: unknown, depth: number): ReadonlyArray<Found> | undefined => {
  if (depth > NESTING_MAX) return undefined
  if (Array.isArray(value)) {
    const found: Array<Found> = []
    for (const one of value) {
      if (found.length >= RESULTS_MAX) break
      if (typeof one === "string") {
        if (one.trim() !== "") found.push({ title: "", text: one.trim() })
      } else if (Predicate.isReadonlyRecord(one)) {
        const item = fromItem(one)
        if (item !== undefined) found.push(item)
      }
    }
    return found
  }
  if (!Predicate.isReadonlyRecord(value)) return undefined
  const single = fromItem(value)
  for (const name of listFields) {
    if (!Object.hasOwn(value, name)) continue
    const inner = value[name]
    if (!Array.isArray(inner) && !Predicate.isReadonlyRecord(inner)) continue
    // A document may list its parts: then the document is the source.
    if (Array.isArray(inner) && single !== undefined && !inner.some(Predicate.isReadonlyRecord)) continue
    const found = fromValue(inner, depth + 1)
    if (found !== undefined) return found
  }
  return single === undefined ? undefined : [single]
}

const truncated = /\n\[TRUNCATED: [^\n]{1,80}\]$/

/**
 * Reads the sources in a result: items of an array, or of the list in an object, with an address, a title and a text
 * under common names; anything else is one source of plain text. An empty result is not a source. Texts are cut to
 * `maxChars`.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { StormSources } from "effect-lexigram/strategy"
 *
 * const result = { results: [{ link: "https://example.org/fjord", name: "Fjord", snippet: "A long, deep bay" }] }
 *
 * // How `Storm` reads the result of a tool.
 * const [source] = StormSources.read(result, 500)
 * console.log(source?.title, source?.url) // Fjord https://example.org/fjord
 * ```
 */
export const read = (result: unknown, maxChars: number): ReadonlyArray<Found> => {
  const bounded = (found: Found): Found => ({
    ...found,
    title: truncate(found.title, TITLE_MAX),
    text: truncate(found.text, maxChars)
  })
  if (typeof result !== "string") {
    const found = fromValue(result, 0)
    if (found !== undefined) return found.map(bounded)
    if (
      result === null ||
      result === undefined ||
      (Predicate.isReadonlyRecord(result) && Object.keys(result).length === 0)
    )
      return []
    const text = JSON.stringify(result)
    return text === undefined ? [] : [bounded({ title: "", text })]
  }
  const text = result.replace(truncated, "").trim()
  if (text === "") return []
  if (/^[[{]/.test(text)) {
    const json = JsonRepair.parse(text)
    const found = Either.isRight(json) ? fromValue(json.right, 0) : undefined
    if (found !== undefined) return found.map(bounded)
  }
  return [bounded({ title: "", text })]
}

const textKey = (text: string): string => oneLine(text).toLowerCase()

/**
 * Merges results into the known sources. A known address or text keeps its number, and a known address may gain text.
 * Returns the new or changed sources, and the numbers of the results in order.
 *
 * @since 0.1.0
 * @category combinators
 */
export const collect = (
  known: ReadonlyArray<Source>,
  batches: ReadonlyArray<{ readonly tool: string; readonly query: string; readonly found: ReadonlyArray<Found> }>,
  maxChars: number
): { readonly changed: ReadonlyArray<Source>; readonly ids: ReadonlyArray<ReadonlyArray<number>> } => {
  const byUrl = new Map<string, number>()
  const byText = new Map<string, number>()
  const sources = new Map<number, Source>()
  const changed = new Set<number>()
  let last = 0
  for (const source of known) {
    sources.set(source.id, source)
    if (source.url !== undefined) byUrl.set(source.url, source.id)
    byText.set(textKey(source.text), source.id)
    last = Math.max(last, source.id)
  }
  const put = (tool: string, query: string, { text, title, url }: Found): number => {
    const key = textKey(text)
    const id = (url === undefined ? undefined : byUrl.get(url)) ?? byText.get(key)
    if (id === undefined) {
      const source: Source = { id: ++last, title, ...(url === undefined ? {} : { url }), text, tool, found: [query] }
      sources.set(last, source)
      changed.add(last)
      if (url !== undefined) byUrl.set(url, last)
      byText.set(key, last)
      return last
    }
    const source = sources.get(id) as Source
    const more = source.text.includes(text) || source.text.length >= maxChars ? source.text : `${source.text}\n${text}`
    if (more !== source.text || !source.found.includes(query)) {
      const found = source.found.includes(query) ? source.found : [...source.found, query]
      sources.set(id, { ...source, text: truncate(more, maxChars), found })
      changed.add(id)
    }
    byText.set(key, id)
    return id
  }
  const ids = batches.map(({ found, query, tool }) => [...new Set(found.map((one) => put(tool, query, one)))])
  return { changed: [...changed].map((id) => sources.get(id) as Source), ids }
}

/**
 * Replaces sources by others with the same number, and adds new ones.
 *
 * @since 0.1.0
 * @category combinators
 */
export const merge = (sources: ReadonlyArray<Source>, changed: ReadonlyArray<Source>): ReadonlyArray<Source> => {
  if (changed.length === 0) return sources
  const all = new Map(sources.map((source) => [source.id, source]))
  for (const source of changed) all.set(source.id, source)
  return [...all.values()]
}

const scripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** The words of a text without a plural `s`; pairs of characters in scripts without spaces between words. */
const wordsOf = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    if (scripts.test(word)) {
      const signs = [...word]
      for (let i = 0; i < signs.length; i++) words.push(signs.slice(i, i + 2).join(""))
    } else if (word.length > 1) {
      words.push(word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word)
    }
  }
  return words
}

/**
 * The sources relevant to a question, best first, at most `limit`: BM25 over title, text and the queries that found
 * them. If no word is shared, the first ones in the order of their keys. The order of discovery does not matter.
 *
 * @since 0.1.0
 * @category combinators
 */
export const rank = (sources: ReadonlyArray<Source>, question: string, limit: number): ReadonlyArray<Source> => {
  if (sources.length === 0 || limit <= 0) return []
  const documents = sources.map((source) => {
    const words = wordsOf(`${source.title} ${source.title} ${source.text} ${source.found.join(" ")}`)
    const counts = new Map<string, number>()
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
    return { source, counts, length: words.length, key: source.url ?? textKey(source.text) }
  })
  const average = documents.reduce((sum, document) => sum + document.length, 0) / documents.length || 1
  const weights = new Map<string, number>()
  for (const word of new Set(wordsOf(question))) {
    const holding = documents.reduce((sum, document) => sum + (document.counts.has(word) ? 1 : 0), 0)
    if (holding > 0) weights.set(word, Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5)))
  }
  const scored = documents.map((document) => {
    let score = 0
    for (const [word, weight] of weights) {
      const count = document.counts.get(word)
      if (count === undefined) continue
      score += (weight * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * document.length) / average))
    }
    return { ...document, score }
  })
  const relevant = scored.filter((document) => document.score > 0)
  return (relevant.length > 0 ? relevant : scored)
    .sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .slice(0, limit)
    .map((document) => document.source)
}

const tags = /<(?=\/?\s*(?:source|conversation|topic|related|article)\b)/gi

/**
 * Escapes text for a block, so that it cannot end the block.
 *
 * @since 0.1.0
 * @category conversions
 */
export const sealed = (text: string): string => text.replace(tags, "‹")

/**
 * Escapes outside text for a block, so that it cannot end the block and has no citations.
 *
 * @since 0.1.0
 * @category conversions
 */
export const inert = (text: string): string =>
  sealed(text).replace(/[[【]([\d\s,;–-]+)[\]】]/g, (whole, numbers: string) =>
    /\d/.test(numbers) ? `(${numbers.trim()})` : whole
  )

/**
 * Writes the sources as blocks, each with its number; `none` without sources.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (sources: ReadonlyArray<Source>): string =>
  sources.length === 0
    ? "none"
    : sources
        .map(({ id, text, title, url }) =>
          [
            `<source id="${id}">`,
            ...(title === "" ? [] : [`Title: ${inert(title)}`]),
            ...(url === undefined ? [] : [`Address: ${inert(url)}`]),
            inert(text),
            "</source>"
          ].join("\n")
        )
        .join("\n\n")
