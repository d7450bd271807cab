/**
 * Results of tools in sentences: what the question asks for first, records and lists kept short, never as JSON.
 *
 * @internal
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Facts from "./OfflineFacts.js"
import * as Language from "./OfflineLanguage.js"
import type { Mention } from "./OfflineMentions.js"
import * as Mentions from "./OfflineMentions.js"

const maxItems = 5
const maxNested = 8
const maxFields = 12
const maxRest = 4
const maxPlain = 7
const maxNote = 60

type Fields = { readonly [key: string]: unknown }

/**
 * A text cut to a length, with an ellipsis where it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`

/**
 * A key as words: `trackingId` is "tracking id".
 *
 * @since 0.1.0
 * @category conversions
 */
export const label = (key: string): string => Language.words(key).join(" ") || key

/**
 * A text as a sentence: a capital at its start, a full stop at its end.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sentence = (text: string): string => {
  const trimmed = text.trim()
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…:]$/.test(capital) ? capital : `${capital}.`
}

/**
 * A text without the braces and quotation marks of JSON, if it holds any.
 *
 * @since 0.1.0
 * @category combinators
 */
export const prose = (text: string): string =>
  /[[{]\s*(?:"|\{|\[)|"\s*:\s*["{[\d]|\{\s*\}/.test(text)
    ? text
        .replace(/"([^"\n]{1,60})"\s*:\s*/g, (_, key: string) => `${label(key)}: `)
        .replace(/[{}[\]"]/g, " ")
        .replace(/[ \t]{2,}/g, " ")
        .replace(/[ \t](?=[,;.:])/g, "")
        .replace(/,(?=\S)/g, ", ")
        .trim()
    : text

const months = "January February March April May June July August September October November December".split(" ")

const moneyKey = /price|cost|amount|total|balance|fee|salary|budget|fare|refund|payment|rate$/i

const currencyOf = (value: Fields, inherited: string | undefined): string | undefined => {
  const code = value["currency"] ?? value["currencyCode"] ?? value["currency_code"]
  return typeof code === "string" && /^\p{L}{3}$/u.test(code) ? code : inherited
}

const isCurrencyKey = (key: string): boolean => /^currency(?:_?code)?$/i.test(key)

const scalar = (key: string, value: unknown, currency: string | undefined): string => {
  if (value === null || value === undefined) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number") {
    const money = moneyKey.test(key)
    const text = Number.isInteger(value)
      ? String(value)
      : money && Math.abs(value) < 1e12
        ? value.toFixed(2)
        : String(Number(value.toPrecision(12)))
    return currency !== undefined && money ? `${text} ${currency}` : text
  }
  const text = String(value)
  const date = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(text)
  if (date === null)
    return clip(
      prose(text).replace(/(?<=\s)\d{4}-\d{2}-\d{2}(?=[\s.,;)]|$)/g, (day) => scalar("", day, undefined)),
      600
    )
  const month = months[Number(date[2]) - 1]
  if (month === undefined) return text
  const zone = date[5] === undefined ? "" : date[5] === "Z" ? " UTC" : ` ${date[5]}`
  return `${Number(date[3])} ${month} ${date[1]}${date[4] === undefined ? "" : `, ${date[4]}${zone}`}`
}

/** What a question wants to know: its words, and what "where", "when", "who" and "how much" stand for. */
interface Asked {
  readonly stems: ReadonlySet<string>
  readonly kinds: ReadonlyArray<(key: string, value: unknown) => number>
}

const isDate = (value: unknown): boolean => typeof value === "string" && /^\d{4}-\d{2}-\d{2}/.test(value)

const kinds: ReadonlyArray<readonly [question: RegExp, fits: (key: string, value: unknown) => number]> = [
  [
    /\bwhere(?:'s)?\b/i,
    (key) =>
      /\b(?:status|state|place|location|room|floor|shelf|seen|position|stop)\b/.test(key)
        ? 1
        : /\b(?:carrier|building|branch|gate)\b/.test(key)
          ? 0.9
          : /\b(?:city|town|address|country)\b/.test(key)
            ? 0.7
            : 0
  ],
  [
    /\bwhen(?:'s)?\b|\bhow long\b|\bwhat (?:day|date|time)\b|\bby which\b/i,
    (key, value) =>
      isDate(value)
        ? /estimat|expect|arriv|deliver|due|eta\b|start|depart|appointment|until/.test(key)
          ? 1
          : 0.8
        : /\b(?:day|date|time|hour|hours|eta|when)\b/.test(key)
          ? 0.9
          : 0
  ],
  [
    /\bhow much\b|\bcosts?\b|\bprices?\b|\bexpensive\b/i,
    (key, value) => (typeof value === "number" && moneyKey.test(key) ? 1 : 0)
  ],
  [
    /\bhow many\b|\bin stock\b|\bavailable\b/i,
    (key, value) =>
      (typeof value === "number" || typeof value === "boolean") &&
      /count|quantity|stock|number|copies|available|free|total|left/.test(key)
        ? 0.9
        : 0
  ],
  [
    /\bwho(?:se|'s)?\b/i,
    (key) =>
      /\b(?:name|customer|guest|owner|author|person|patient|member|doctor|lecturer|teacher|user|by)\b/.test(key)
        ? 0.9
        : 0
  ],
  [/^\s*(?:is|are|was|has|have|did)\b/i, (key) => (/\b(?:status|state)\b/.test(key) ? 0.9 : 0)]
]

const askedOf = (question: string): Asked => ({
  stems: new Set(Language.contentStems(question)),
  kinds: kinds.filter(([pattern]) => pattern.test(question)).map(([, fits]) => fits)
})

/** How many words of the text the question shares. */
const relevance = (text: string, stems: ReadonlySet<string>): number => {
  let score = 0
  for (const word of Language.contentStems(clip(text, 2_000))) if (stems.has(word)) score++
  return score
}

const weight = (key: string, value: unknown, asked: Asked): number => {
  const name = label(key)
  return relevance(name, asked.stems) + asked.kinds.reduce((sum, fits) => sum + fits(name, value), 0)
}

interface Field {
  readonly key: string
  readonly value: unknown
  readonly score: number
}

/** Fields the question asks for come first; empty ones are left out, and a currency that stands with its amounts. */
const fields = (record: Fields, asked: Asked): ReadonlyArray<Field> => {
  const known = Object.keys(record).filter((key) => {
    const value = record[key]
    return value !== null && value !== undefined && value !== ""
  })
  const priced = known.some((key) => typeof record[key] === "number" && moneyKey.test(key))
  const ranked = known
    .filter((key) => !(priced && isCurrencyKey(key) && currencyOf(record, undefined) !== undefined))
    .map((key, order) => ({ key, value: record[key], order, score: weight(key, record[key], asked) }))
  ranked.sort((a, b) => b.score - a.score || a.order - b.order)
  return ranked.slice(0, maxFields)
}

const isIdKey = (key: string): boolean => /(?:^|[\s_])(?:id|sku|uuid|key|ref|isbn)$|[a-z]I[dD]$/i.test(key)

const isDescription = (key: string): boolean => /description|summary|details|notes?$|text$/i.test(key)

const titleKey = (record: Fields): string | undefined =>
  ["name", "title", "label", "subject", "what", "headline"].find(
    (key) => typeof record[key] === "string" && record[key] !== ""
  ) ??
  Object.keys(record).find(
    (key) => /(?:name|title)$/i.test(key) && typeof record[key] === "string" && record[key] !== ""
  )

/** A record in a few words: what it is called, then the fields that tell most. */
const compact = (record: Fields, asked: Asked, currency: string | undefined, depth: number): string => {
  const title = titleKey(record)
  const code = currencyOf(record, currency)
  const all = fields(record, asked).filter(({ key }) => key !== title)
  const short = all.filter(
    ({ key, score, value }) =>
      score > 0 ||
      (!(title !== undefined && isIdKey(key)) &&
        (typeof value !== "string" || value.length <= maxNote || title === undefined))
  )
  const terse = short.filter(({ key, score }) => score > 0 || !isDescription(key))
  const told = (terse.length > 0 ? terse : short.length > 0 ? short : all)
    .slice(0, title === undefined ? 6 : maxRest)
    .map(({ key, value }) => `${label(key)} ${within(key, value, asked, code, depth)}`)
    .join(", ")
  const name = title === undefined ? "" : scalar(title, record[title], code)
  return name === "" ? told : told === "" ? name : depth > 0 ? `${name} (${told})` : `${name}: ${told}`
}

/** A value inside a sentence. */
const within = (key: string, value: unknown, asked: Asked, currency: string | undefined, depth: number): string => {
  if (depth > 4) return "…"
  if (Predicate.isReadonlyRecord(value)) {
    const text = compact(value, asked, currency, depth + 1)
    return text === "" ? "none" : titleKey(value) === undefined ? `(${text})` : text
  }
  if (!Array.isArray(value)) return scalar(key, value, currency)
  if (value.length === 0) return "none"
  const shown = value.slice(0, maxNested).map((item) => within(key, item, asked, currency, depth + 1))
  const more = value.length > maxNested ? ` and ${value.length - maxNested} more` : ""
  return `${shown.join(Predicate.isReadonlyRecord(value[0]) ? "; " : ", ")}${more}`
}

/** The sentences of a text that share most words with the question, in the text's order. */
const excerpt = (text: string, stems: ReadonlySet<string>): string => {
  const all = Language.sentences(text)
  if (all.length <= 3 && text.length <= 600) return text.trim()
  const ranked = all.map((line, order) => ({ line, order, score: relevance(line, stems) }))
  ranked.sort((a, b) => b.score - a.score || a.order - b.order)
  const best = ranked.slice(0, 3).sort((a, b) => a.order - b.order)
  return best.map(({ line }) => clip(line, 400)).join(" ")
}

/** A field that only repeats what was passed. */
const isEcho = (key: string, value: unknown, echoed: Fields): boolean =>
  (typeof value === "string" || typeof value === "number") &&
  Object.entries(echoed).some(
    ([name, passed]) => String(passed) === String(value) && Language.words(name).join() === Language.words(key).join()
  )

const nothing = (echoed: Fields): string => {
  const told = Object.entries(echoed)
    .filter((entry): entry is [string, string | number] => typeof entry[1] === "string" || typeof entry[1] === "number")
    .slice(0, 3)
    .map(([key, value], index) =>
      index === 0 ? clip(scalar(key, value, undefined), 80) : `${label(key)} ${clip(scalar(key, value, undefined), 80)}`
    )
  return told.length === 0 ? "Nothing was found." : `Nothing was found for ${told.join(", ")}.`
}

/** The items within the limit that the question sets, if a field of theirs can be held against it. */
const withinLimit = (list: ReadonlyArray<unknown>, question: string): ReadonlyArray<unknown> => {
  const limits = Mentions.scene(question).mentions.filter(
    (mention) => mention.bound !== undefined && mention.number !== undefined
  )
  return limits.reduce((left, limit) => {
    const keys = new Set(
      left.slice(0, 200).flatMap((item) => (Predicate.isReadonlyRecord(item) ? Object.keys(item) : []))
    )
    const key = Array.from(keys).find((name) => left.every((item) => measures(item, name)) && concerns(name, limit))
    if (key === undefined) return left
    return left.filter((item) => {
      const value = (item as Fields)[key] as number
      return limit.bound === "most" ? value <= limit.number! : value >= limit.number!
    })
  }, list)
}

const measures = (item: unknown, key: string): boolean =>
  Predicate.isReadonlyRecord(item) && typeof item[key] === "number"

const concerns = (key: string, limit: Mention): boolean =>
  limit.money !== undefined
    ? moneyKey.test(key)
    : limit.unit !== undefined
      ? Language.words(key).some((word) => Language.stem(word) === Language.stem(limit.unit!))
      : moneyKey.test(key)

const listing = (
  list: ReadonlyArray<unknown>,
  question: string,
  asked: Asked,
  echoed: Fields,
  currency?: string
): string => {
  if (list.length === 0) return nothing(echoed)
  const one = (item: unknown) =>
    Predicate.isReadonlyRecord(item) ? compact(item, asked, currency, 0) : within("", item, asked, currency, 0)
  const at = Facts.pick(list, question)
  if (at !== undefined) return sentence(one(list[at]))
  const fit = withinLimit(list, question)
  if (fit.length === 0) return `There are ${list.length}, but none within that limit.`
  if (fit.length === 1)
    return Predicate.isReadonlyRecord(fit[0]) ? `I found ${one(fit[0])}.` : sentence(`the result is ${one(fit[0])}`)
  if (!fit.some((item) => typeof item === "object" && item !== null)) {
    const more = fit.length > 2 * maxNested ? ` and ${fit.length - 2 * maxNested} more` : ""
    return sentence(
      `${fit
        .slice(0, 2 * maxNested)
        .map(one)
        .join(", ")}${more}`
    )
  }
  const shown = fit.slice(0, maxItems).map((item, index) => `${index + 1}. ${one(item)}`)
  const more = fit.length > maxItems ? `\n… and ${fit.length - maxItems} more` : ""
  return `I found ${fit.length}:\n${shown.join("\n")}${more}`
}

const envelope =
  /^(?:count|total|totalcount|page|pages|query|next|previous|size|limit|offset|status|ok|success|more|took)$/i

/** `{ "results": […], "count": 2 }`: the list is all that it says. */
const enveloped = (all: ReadonlyArray<Field>): ReadonlyArray<unknown> | undefined => {
  const lists = all.filter(({ value }) => Array.isArray(value))
  return lists.length === 1 &&
    all.every(({ key, value }) => Array.isArray(value) || envelope.test(key.replace(/[_-]/g, "")))
    ? (lists[0]!.value as ReadonlyArray<unknown>)
    : undefined
}

const isMissing = (record: Fields): boolean =>
  ["found", "exists"].some((key) => record[key] === false) && Object.keys(record).length <= 4

/**
 * A result in sentences, the fields that the question asks for first. `echoed` is what was passed: it is not repeated.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (result: unknown, question: string, echoed: Fields = {}): string => {
  const asked = askedOf(question)
  if (result === null) return nothing(echoed)
  if (result === undefined || result === "") return "The tool returned nothing."
  if (typeof result === "string") return sentence(excerpt(prose(result), asked.stems))
  if (Array.isArray(result)) return listing(result, question, asked, echoed)
  if (!Predicate.isReadonlyRecord(result)) return `The result is ${scalar("", result, undefined)}.`
  if (isMissing(result)) return nothing(echoed)
  const all = fields(result, asked)
  const telling = all.filter(({ key, value }) => !isEcho(key, value, echoed))
  const known = telling.length > 0 ? telling : all
  if (known.length === 0) return "The result is empty."
  const currency = currencyOf(result, undefined)
  const list = enveloped(known)
  if (list !== undefined) return listing(list, question, asked, echoed, currency)
  const only = known.length === 1 ? known[0]! : undefined
  if (
    typeof only?.value === "string" &&
    /^(?:result|output|text|content|message|answer|summary|description)$/i.test(only.key)
  )
    return sentence(excerpt(prose(only.value), asked.stems))
  return told(known, asked, currency)
}

const told = (known: ReadonlyArray<Field>, asked: Asked, currency: string | undefined): string => {
  const focus = known.filter(({ score }) => score >= 0.8).slice(0, 4)
  const first = focus.length > 0 ? focus : known.slice(0, 1)
  const rest = known.filter((field) => !first.includes(field)).slice(0, focus.length > 0 ? maxRest : maxPlain)
  const lead = first.map(({ key, value }) =>
    typeof value === "boolean"
      ? sentence(`${label(key)}: ${value ? "yes" : "no"}`)
      : Array.isArray(value) || (Predicate.isReadonlyRecord(value) && titleKey(value) === undefined)
        ? sentence(`${label(key)}: ${within(key, value, asked, currency, 0).replace(/^\((.*)\)$/s, "$1")}`)
        : sentence(`the ${label(key)} is ${within(key, value, asked, currency, 0)}`)
  )
  const others = rest.map(({ key, value }) => `${label(key)}: ${within(key, value, asked, currency, 0)}`)
  return others.length === 0 ? lead.join(" ") : `${lead.join(" ")} ${sentence(others.join("; "))}`
}
