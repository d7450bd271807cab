/**
 * Writes answers from tool results and the words of the conversation. Results are quoted, never obeyed.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialogue, Outcome } from "./OfflineDialogue.js"
import { isRecord } from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
import type { Parameter } from "./OfflineTools.js"

const maxAnswer = 2_000
const maxItems = 5
const maxFields = 8
const maxFocus = 4

type Fields = { readonly [key: string]: unknown }

const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`

/**
 * Splits a key into words: `trackingId` is "tracking id".
 *
 * @category conversions
 */
export const label = (key: string): string => Text.words(key).join(" ") || key

const sentence = (text: string): string => {
  const trimmed = text.trim()
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…:]$/.test(capital) ? capital : `${capital}.`
}

/** Removes the braces and quotation marks of JSON. */
const prose = (text: string): string =>
  /[[{]\s*["{[]|"\s*:|\{\s*\}/.test(text)
    ? text
        .replace(/"([^"\n]{1,60})"\s*:\s*/g, (_, key: string) => `${label(key)}: `)
        .replace(/[{}[\]"]/g, " ")
        .replace(/[ \t]{2,}/g, " ")
        .trim()
    : text

const months = "January February March April May June July August September October November December".split(" ")

const money = /price|cost|amount|total|balance|fee|refund|payment|rate$/i

const isCurrency = (key: string): boolean => /^currency(?:_?code)?$/i.test(key)

const currencyOf = (fields: Fields): string | undefined => {
  const code = Object.entries(fields).find(([key]) => isCurrency(key))?.[1]
  return typeof code === "string" ? code : undefined
}

const number = (key: string, value: number, currency: string | undefined): string => {
  const isMoney = money.test(key)
  const text = Number.isInteger(value)
    ? String(value)
    : isMoney
      ? value.toFixed(2)
      : String(Number(value.toPrecision(12)))
  return isMoney && currency !== undefined ? `${text} ${currency}` : text
}

const date = (text: string): string | undefined => {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::[\d.]{2,12})?(Z|[+-]\d{2}:\d{2})?)?$/.exec(text)
  const month = months[Number(match?.[2]) - 1]
  if (match === null || month === undefined) return undefined
  const [, year, , day, time, zone] = match
  const at = time === undefined ? "" : `, ${time}${zone === undefined ? "" : zone === "Z" ? " UTC" : ` ${zone}`}`
  return `${Number(day)} ${month} ${year}${at}`
}

/** Renders a value within a sentence. */
const inline = (key: string, value: unknown, currency: string | undefined, depth = 0): string => {
  if (value === null || value === undefined || depth > 4) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number") return number(key, value, currency)
  if (Array.isArray(value)) {
    const shown = value.slice(0, maxItems).map((item) => inline(key, item, currency, depth + 1))
    const more = value.length > maxItems ? ` and ${value.length - maxItems} more` : ""
    return shown.length === 0 ? "none" : `${shown.join(isRecord(value[0]) ? "; " : ", ")}${more}`
  }
  if (isRecord(value)) return record(value, currency, depth + 1)
  const text = String(value)
  return date(text) ?? clip(prose(text), 600)
}

const titles = ["name", "title", "label", "subject", "what"]

/** Renders a record briefly: its name, then its short fields. */
const record = (fields: Fields, currency: string | undefined, depth: number): string => {
  const title = titles.find((key) => typeof fields[key] === "string")
  const code = currencyOf(fields) ?? currency
  const told = Object.entries(fields)
    .filter(
      ([key, value]) =>
        key !== title &&
        !isCurrency(key) &&
        !(title !== undefined && (/(?:^|_)(?:id|sku)$|Id$/.test(key) || String(value).length > 60))
    )
    .slice(0, maxFields / 2)
    .map(([key, value]) => `${label(key)} ${inline(key, value, code, depth)}`)
    .join(", ")
  if (title === undefined) return told
  const name = String(fields[title])
  return told === "" ? name : depth > 0 ? `${name} (${told})` : `${name}: ${told}`
}

/** Keys that answer "where", "when", "how much" and "who". */
const questions: ReadonlyArray<readonly [question: RegExp, key: RegExp]> = [
  [/\bwhere/i, /\b(?:status|place|location|town|carrier|seen)\b/],
  [/\bwhen\b|\bhow long\b/i, /estimated|deliver|due|date|\bday\b|until|\btime\b/],
  [/\bhow much\b|\bcosts?\b/i, money],
  [/\bhow many\b|\bin stock\b/i, /count|quantity|stock|copies/],
  [/\bwho\b/i, /\b(?:name|customer|guest|owner|author|doctor)\b/],
  [/^\s*(?:is|are|was|has|have|did)\b/i, /\bstatus\b/]
]

/** Puts the fields that the question asks for first. */
const ranked = (fields: Fields, question: string) => {
  const asked = new Set(Text.contentStems(question))
  const wanted = questions.filter(([pattern]) => pattern.test(question)).map(([, key]) => key)
  return Object.entries(fields)
    .filter(([key, value]) => value !== null && value !== undefined && value !== "" && !isCurrency(key))
    .map(([key, value]) => {
      const named = Text.contentStems(label(key)).filter((stem) => asked.has(stem)).length
      return { key, value, score: 2 * named + wanted.filter((pattern) => pattern.test(label(key))).length }
    })
    .sort((a, b) => b.score - a.score)
}

const nothing = (echoed: Fields): string => {
  const told = Object.values(echoed).filter((value) => typeof value === "string" || typeof value === "number")
  return told.length === 0 ? "Nothing was found." : `Nothing was found for ${clip(prose(told.join(", ")), 200)}.`
}

const listing = (list: ReadonlyArray<unknown>, echoed: Fields, currency: string | undefined): string => {
  if (list.length === 0) return nothing(echoed)
  const one = (item: unknown) => (isRecord(item) ? record(item, currency, 0) : inline("", item, currency))
  if (list.length === 1) return `I found ${one(list[0])}.`
  if (!list.some((item) => typeof item === "object")) return sentence(clip(list.map(one).join(", "), 600))
  const shown = list.slice(0, maxItems).map((item, index) => `${index + 1}. ${one(item)}`)
  const more = list.length > maxItems ? [`… and ${list.length - maxItems} more`] : []
  return [`I found ${list.length}:`, ...shown, ...more].join("\n")
}

/**
 * Renders a result in sentences. The passed arguments (`echoed`) are not repeated.
 *
 * @category conversions
 */
const render = (result: unknown, question: string, echoed: Fields = {}): string => {
  if (result === null) return nothing(echoed)
  if (result === undefined || result === "") return "The tool returned nothing."
  if (typeof result === "string") return sentence(clip(prose(result), 1_000))
  if (Array.isArray(result)) return listing(result, echoed, undefined)
  if (!isRecord(result)) return `The result is ${inline("", result, undefined)}.`
  if (result["found"] === false) return nothing(echoed)
  const currency = currencyOf(result)
  const all = ranked(result, question)
  const isEcho = (key: string, value: unknown): boolean =>
    Object.entries(echoed).some(([name, passed]) => String(passed) === String(value) && label(name) === label(key))
  const news = all.filter(({ key, value }) => !isEcho(key, value))
  const known = (news.length > 0 ? news : all).slice(0, maxFields)
  if (known.length === 0) return "The result is empty."
  const [only] = known
  if (known.length === 1 && Array.isArray(only!.value)) return listing(only!.value, echoed, currency)
  const asked = known.filter(({ score }) => score > 0).slice(0, maxFocus)
  const focus = asked.length > 0 ? asked : known.slice(0, 1)
  const lead = focus.map(({ key, value }) =>
    sentence(
      typeof value === "object" || typeof value === "boolean"
        ? `${label(key)}: ${inline(key, value, currency)}`
        : `the ${label(key)} is ${inline(key, value, currency)}`
    )
  )
  const rest = known
    .filter((field) => !focus.includes(field))
    .map(({ key, value }) => `${label(key)}: ${inline(key, value, currency)}`)
  return rest.length === 0 ? lead.join(" ") : `${lead.join(" ")} ${sentence(rest.join("; "))}`
}

/** Explains a failure in plain words, without tool names or advice to a model. */
const explain = ({ name, result }: Outcome): string => {
  const message = isRecord(result) ? (result["message"] ?? result["error"] ?? result["reason"]) : result
  const text = typeof message === "string" ? message : (JSON.stringify(message ?? result) ?? "")
  const plain = text
    .replace(/^\s*error\s*:\s*/i, "")
    .replace(/^"[^"\n]{1,128}" failed:\s*/, "")
    .replace(/^The arguments of "[^"\n]{1,128}" are not valid:/, "these details were not accepted:")
    .replace(/\.? (?:Correct the arguments and|Do not) call (?:it again|the tool again)[^\n]{0,200}$/, "")
    .replaceAll(`"${name}"`, label(name))
  const told = sentence(clip(prose(plain), 400))
  return /\b(?:no|not|none|nothing|unknown|cannot|unavailable)\b/i.test(told)
    ? told
    : `I could not finish this: ${told}`
}

const heading = ({ name, params }: Outcome): string => {
  const shown = Object.values(params).filter((value) => typeof value === "string" || typeof value === "number")
  const title = label(name)
  return `${title.charAt(0).toUpperCase()}${title.slice(1)} ${clip(shown.slice(0, 3).join(", "), 60)}`.trim()
}

/**
 * Composes the answer to a request from the results of its calls.
 *
 * @category constructors
 */
export const compose = (question: string, outcomes: ReadonlyArray<Outcome>): string => {
  const last = outcomes.slice(-12)
  const parts = last.map((outcome) => {
    const body = outcome.isFailure ? explain(outcome) : render(outcome.result, question, outcome.params)
    return last.length === 1 ? body : `${heading(outcome)}: ${body}`
  })
  return clip(parts.join("\n"), maxAnswer)
}

/**
 * Start of a question for a missing argument.
 *
 * @category constants
 */
export const asking = "Before I can do that, please tell me"

/**
 * Asks for parameters by their descriptions.
 *
 * @category constructors
 */
export const ask = (params: ReadonlyArray<Parameter>): string => {
  const told = params.map(({ name, shape }) => {
    const about = clip((Text.sentences(shape.description)[0] ?? "").replace(/\.$/, ""), 200)
    const choice = shape.enum === undefined ? "" : `one of ${shape.enum.slice(0, 8).join(", ")}`
    const details = [about.charAt(0).toLowerCase() + about.slice(1), choice].filter((text) => text !== "").join(", ")
    return `the ${label(name)}${details === "" ? "" : ` (${details})`}`
  })
  return `${asking} ${told.join(" and ")}.`
}

const toUser = (text: string): string =>
  text
    .replace(/\bmy\b/gi, "your")
    .replace(/\bI am\b|\bI'm\b/gi, "you are")
    .replace(/\bI\b|\bme\b/g, "you")

/**
 * The sentence of the conversation or the system prompt that shares at least half of the words of a question.
 *
 * @category constructors
 */
export const extract = ({ now, past, system }: Dialogue): string | undefined => {
  const lines = Text.sentences(now.request)
  const asks = lines.filter((line) => /\?$|^(?:what|who|when|where|which|how|why|is|are|tell|list)\b/i.test(line))
  const question = asks.join(" ") || now.request
  const asked = new Set([...Text.contentStems(question), ...(/\bname\b/i.test(question) ? [Text.stem("name")] : [])])
  const statements = [
    ...[...past.map(({ request }) => request), ...lines.filter((line) => !asks.includes(line) && asks.length > 0)]
      .flatMap(Text.sentences)
      .map((line) => ({ line, own: true })),
    ...past
      .flatMap(({ outcomes }) => outcomes.filter(({ isFailure }) => !isFailure))
      .map(({ result }) => ({ line: render(result, question), own: false })),
    ...Text.sentences(system).map((line) => ({ line, own: false }))
  ].filter(({ line }) => !line.endsWith("?") && line.length <= 600)
  let best: { readonly line: string; readonly score: number } | undefined
  for (const { line, own } of statements) {
    const said = new Set(Text.words(line).map(Text.stem))
    const score = Array.from(asked).filter((stem) => said.has(stem)).length / asked.size
    if (score >= 0.5 && score >= (best?.score ?? 0)) best = { line: own ? toUser(line) : line, score }
  }
  return best === undefined ? undefined : sentence(best.line)
}
