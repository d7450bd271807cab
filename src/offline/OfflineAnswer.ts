/**
 * Writes answers: the fields of tool results, and the words of the conversation. Both are quoted, never obeyed.
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

type Fields = { readonly [key: string]: unknown }

const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`

/** Splits a key into words: `trackingId` is "tracking id". */
const label = (key: string): string => Text.words(key).join(" ") || key

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const sentence = (text: string): string => (/[.!?…:]$/.test(text) ? capital(text) : `${capital(text)}.`)

const months = "January February March April May June July August September October November December".split(" ")

/** Spells out a date in ISO 8601. */
const date = (text: string): string | undefined => {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::[\d.]{2,12})?(?:Z|[+-]\d{2}:\d{2})?)?$/.exec(text)
  const month = months[Number(match?.[2]) - 1]
  return match === null || month === undefined
    ? undefined
    : `${Number(match[3])} ${month} ${match[1]}${match[4] === undefined ? "" : `, ${match[4]}`}`
}

/** Renders a value within a sentence. */
const inline = (value: unknown, depth = 0): string => {
  if (value === null || value === undefined || depth > 4) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (Array.isArray(value)) {
    const more = value.length > maxItems ? ` and ${value.length - maxItems} more` : ""
    const shown = value.slice(0, maxItems).map((item) => inline(item, depth + 1))
    return shown.length === 0 ? "none" : `${shown.join(isRecord(value[0]) ? "; " : ", ")}${more}`
  }
  if (isRecord(value)) return record(value, depth + 1)
  return date(String(value)) ?? clip(String(value), 600)
}

const titles = ["name", "title", "label", "subject", "what"]

/** Renders a record within a list: its name, then its other fields. */
const record = (fields: Fields, depth: number): string => {
  const title = titles.find((key) => typeof fields[key] === "string")
  const rest = Object.entries(fields).filter(([key]) => key !== title && !/^sku$|_?id$/i.test(key))
  const told = rest
    .slice(0, maxFields)
    .map(([key, value]) => `${label(key)} ${inline(value, depth)}`)
    .join(", ")
  return title === undefined ? told : `${fields[title]} (${told})`
}

const listing = (list: ReadonlyArray<unknown>): string => {
  if (!list.some(isRecord)) return sentence(clip(inline(list), 600))
  const shown = list.slice(0, maxItems).map((item, index) => `${index + 1}. ${inline(item)}`)
  const more = list.length > maxItems ? [`… and ${list.length - maxItems} more`] : []
  return [`I found ${list.length}:`, ...shown, ...more].join("\n")
}

/** Renders a result; fields that the question names come first, and arguments of the call are not repeated. */
const render = (result: unknown, question: string, params: Fields = {}): string => {
  if (result === null || result === undefined || result === "" || (Array.isArray(result) && result.length === 0))
    return "Nothing was found."
  if (Array.isArray(result)) return listing(result)
  if (!isRecord(result)) return sentence(clip(inline(result), 1_000))
  const asked = new Set(Text.contentStems(question))
  const isNamed = (key: string): boolean => Text.contentStems(label(key)).some((stem) => asked.has(stem))
  const passed = new Set(Object.entries(params).map(([key, value]) => `${label(key)} ${value}`))
  const fields = Object.entries(result).filter(
    ([key, value]) => value !== null && value !== undefined && value !== "" && !passed.has(`${label(key)} ${value}`)
  )
  const [only, second] = fields
  if (only === undefined) return "Done."
  if (second === undefined && Array.isArray(only[1])) return listing(only[1])
  const ranked = [...fields.filter(([key]) => isNamed(key)), ...fields.filter(([key]) => !isNamed(key))]
  const told = ranked.slice(0, maxFields).map(([key, value]) => `${label(key)}: ${inline(value)}`)
  return sentence(told.join("; "))
}

/** Explains a failure without the words that only a model reads. */
const explain = ({ name, result }: Outcome): string => {
  const message = isRecord(result) ? (result["message"] ?? result["error"] ?? result["reason"]) : result
  const text = typeof message === "string" ? message : (JSON.stringify(message ?? result) ?? "")
  const plain = text
    .replace(/^\s*error\s*:\s*/i, "")
    .replace(/^"[^"\n]{1,128}" failed:\s*/, "")
    .replace(/\.? (?:Correct the arguments and|Do not) call (?:it again|the tool again)[^\n]{0,200}$/, "")
    .replaceAll(`"${name}"`, label(name))
  return sentence(clip(plain, 400))
}

const heading = ({ name, params }: Outcome): string =>
  capital(clip([label(name), ...Object.values(params).map((value) => inline(value))].join(" "), 60))

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
    const choice = shape.enum === undefined ? "" : `one of ${shape.enum.slice(0, 8).join(", ")}`
    const about = clip(shape.description, 200) || choice
    return `the ${label(name)}${about === "" ? "" : ` (${about.charAt(0).toLowerCase()}${about.slice(1)})`}`
  })
  return `${asking} ${told.join(" and ")}.`
}

/**
 * The sentence of the conversation, its results or the system prompt that shares most words with a question, if it
 * shares at least half of them.
 *
 * @category constructors
 */
export const extract = ({ now, past, system }: Dialogue): string | undefined => {
  const lines = Text.sentences(now.request)
  const question = lines.filter((line) => line.endsWith("?")).join(" ") || now.request
  const asked = new Set(
    Text.words(question)
      .filter((word) => word === "name" || Text.isContent(word))
      .map(Text.stem)
  )
  const results = past.flatMap(({ outcomes }) => outcomes.filter(({ isFailure }) => !isFailure))
  const statements = [
    ...past.flatMap(({ request }) => Text.sentences(request)),
    ...(question === now.request ? [] : lines),
    ...results.map(({ result }) => render(result, question)),
    ...Text.sentences(system)
  ].filter((line) => !line.endsWith("?") && line.length <= 600)
  let best: { readonly line: string; readonly score: number } | undefined
  for (const line of statements) {
    const said = new Set(Text.words(line).map(Text.stem))
    const score = Array.from(asked).filter((stem) => said.has(stem)).length / asked.size
    if (score >= 0.5 && score >= (best?.score ?? 0)) best = { line, score }
  }
  return best === undefined ? undefined : `The conversation says: ${sentence(best.line)}`
}
