/**
 * Answers in sentences from what tools returned and from what the conversation says. Results are quoted and rendered, never obeyed.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialogue, Outcome } from "./OfflineDialogue.js"
import * as Facts from "./OfflineFacts.js"
import * as Language from "./OfflineLanguage.js"
import type { Parameter } from "./OfflineSchema.js"

const maxAnswer = 2_000
const maxItems = 10
const maxFields = 12

const isRecord = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`

/**
 * A key as words: `trackingId` is "tracking id".
 *
 * @since 0.1.0
 * @category conversions
 */
export const label = (key: string): string => Language.words(key).join(" ") || key

const months = "January February March April May June July August September October November December".split(" ")

const moneyKey = /price|cost|amount|total|balance|fee|salary|budget|fare|refund|payment/i

const scalar = (key: string, value: unknown, currency: string | undefined): string => {
  if (value === null || value === undefined) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number") {
    const text = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(12)))
    return currency !== undefined && moneyKey.test(key) ? `${text} ${currency}` : text
  }
  const text = String(value)
  const date = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(text)
  if (date === null) return clip(text, 600)
  const month = months[Number(date[2]) - 1]
  if (month === undefined) return text
  const zone = date[5] === undefined ? "" : date[5] === "Z" ? " UTC" : ` ${date[5]}`
  return `${Number(date[3])} ${month} ${date[1]}${date[4] === undefined ? "" : `, ${date[4]}${zone}`}`
}

const relevance = (text: string, asked: ReadonlySet<string>): number => {
  let score = 0
  for (const word of Language.contentStems(clip(text, 2_000))) if (asked.has(word)) score++
  return score
}

const currencyOf = (value: { readonly [key: string]: unknown }): string | undefined => {
  const code = value["currency"] ?? value["currencyCode"] ?? value["currency_code"]
  return typeof code === "string" && /^\p{L}{3}$/u.test(code) ? code : undefined
}

const inline = (key: string, value: unknown, asked: ReadonlySet<string>, depth: number): string => {
  if (Array.isArray(value)) {
    if (value.length === 0) return "none"
    const shown = value.slice(0, maxItems).map((item) => inline(key, item, asked, depth + 1))
    const more = value.length > maxItems ? ` and ${value.length - maxItems} more` : ""
    return `${shown.join(isRecord(value[0]) ? "; " : ", ")}${more}`
  }
  if (!isRecord(value)) return scalar(key, value, undefined)
  return depth > 4
    ? "…"
    : fields(value, asked)
        .map(([name, inner]) => `${label(name)} ${said(value, name, inner, asked, depth)}`)
        .join(", ")
}

const said = (
  owner: { readonly [key: string]: unknown },
  name: string,
  value: unknown,
  asked: ReadonlySet<string>,
  depth: number
): string => {
  if (typeof value === "object" && value !== null) {
    const text = inline(name, value, asked, depth + 1)
    return isRecord(value) ? `(${text})` : text
  }
  return scalar(name, value, currencyOf(owner))
}

/** Fields the question names come first; empty ones are left out. */
const fields = (
  value: { readonly [key: string]: unknown },
  asked: ReadonlySet<string>
): ReadonlyArray<readonly [string, unknown]> => {
  const known = Object.keys(value).filter((key) => value[key] !== null && value[key] !== undefined && value[key] !== "")
  const ranked = known.map((key, order) => ({ key, order, score: relevance(label(key), asked) }))
  ranked.sort((a, b) => b.score - a.score || a.order - b.order)
  return ranked.slice(0, maxFields).map(({ key }) => [key, value[key]] as const)
}

const sentence = (text: string): string => {
  const trimmed = text.trim()
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…:]$/.test(capital) ? capital : `${capital}.`
}

/** The sentences of a text that share most words with the question, in the text's order. */
const excerpt = (text: string, asked: ReadonlySet<string>): string => {
  const all = Language.sentences(text)
  if (all.length <= 3 && text.length <= 600) return text.trim()
  const ranked = all.map((line, order) => ({ line, order, score: relevance(line, asked) }))
  ranked.sort((a, b) => b.score - a.score || a.order - b.order)
  const best = ranked.slice(0, 3).sort((a, b) => a.order - b.order)
  return best.map(({ line }) => clip(line, 400)).join(" ")
}

/**
 * A result in sentences, the fields that the question names first.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (result: unknown, question: string, echoed: { readonly [key: string]: unknown } = {}): string => {
  const asked = new Set(Language.contentStems(question))
  if (result === null || result === undefined || result === "") return "The tool returned nothing."
  if (typeof result === "string") return sentence(excerpt(result, asked))
  if (Array.isArray(result)) return renderList(result, question, asked)
  if (!isRecord(result)) return `The result is ${scalar("", result, undefined)}.`
  const all = fields(result, asked)
  const telling = all.filter(([key, value]) => !isEcho(key, value, echoed))
  const known = telling.length > 0 ? telling : all
  if (known.length === 0) return "The result is empty."
  const only = known.length === 1 ? known[0]! : undefined
  if (only !== undefined) {
    if (Array.isArray(only[1])) return renderList(only[1], question, asked)
    if (typeof only[1] === "string")
      return sentence(
        /^(?:result|output|text|content|message|answer|summary|description)$/i.test(only[0])
          ? excerpt(only[1], asked)
          : `the ${label(only[0])} is ${scalar(only[0], only[1], undefined)}`
      )
  }
  const focus = known.filter(([key]) => relevance(label(key), asked) > 0)
  const first = focus.length > 0 ? focus : known.slice(0, 1)
  const rest = known.filter((field) => !first.includes(field))
  const lead = first
    .map(([key, value]) =>
      sentence(
        typeof value === "boolean"
          ? `${label(key)}: ${value ? "yes" : "no"}`
          : `the ${label(key)} is ${said(result, key, value, asked, 0)}`
      )
    )
    .join(" ")
  return rest.length === 0
    ? lead
    : `${lead} ${sentence(rest.map(([key, value]) => `${label(key)}: ${said(result, key, value, asked, 0)}`).join("; "))}`
}

/** A field that only repeats what was passed. */
const isEcho = (key: string, value: unknown, echoed: { readonly [key: string]: unknown }): boolean =>
  (typeof value === "string" || typeof value === "number") &&
  Object.entries(echoed).some(
    ([name, passed]) => String(passed) === String(value) && Language.words(name).join() === Language.words(key).join()
  )

const renderList = (list: ReadonlyArray<unknown>, question: string, asked: ReadonlySet<string>): string => {
  if (list.length === 0) return "Nothing was found."
  const at = Facts.pick(list, question)
  if (at !== undefined) return sentence(inline("", list[at], asked, 0))
  if (list.length === 1) return render(list[0], question)
  const shown = list.slice(0, maxItems).map((item, index) => `${index + 1}. ${inline("", item, asked, 0)}`)
  const more = list.length > maxItems ? `\n… and ${list.length - maxItems} more` : ""
  return `There are ${list.length} results:\n${shown.join("\n")}${more}`
}

/**
 * What a failed result says went wrong.
 *
 * @since 0.1.0
 * @category getters
 */
export const errorText = (result: unknown): string => {
  const message = isRecord(result)
    ? (result["message"] ?? result["error"] ?? result["reason"] ?? result["detail"])
    : result
  const text =
    isRecord(message) && typeof message["message"] === "string"
      ? message["message"]
      : typeof message === "string"
        ? message
        : JSON.stringify(message ?? result)
  return clip(text.replace(/^\s*error\s*:\s*/i, ""), 400)
}

/** What tells this call apart from the others: the values of its parameters that differ, else what it did. */
const heading = (outcome: Outcome, all: ReadonlyArray<Outcome>): string => {
  const twins = all.filter((other) => other.name === outcome.name)
  const differing = Object.entries(outcome.params).filter(([key, value]) =>
    twins.some((other) => JSON.stringify(other.params[key]) !== JSON.stringify(value))
  )
  const shown = (twins.length > 1 ? differing : []).map(([, value]) =>
    typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value)
  )
  const name = label(outcome.name)
  return clip(shown.length > 0 ? shown.join(", ") : name.charAt(0).toUpperCase() + name.slice(1), 120)
}

/**
 * The answer to a request from the results of its calls; failures that no later call made good are explained.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compose = (question: string, outcomes: ReadonlyArray<Outcome>): string => {
  const shown = outcomes.filter(
    (outcome, index) =>
      !outcome.isFailure || !outcomes.slice(index + 1).some((later) => later.name === outcome.name && !later.isFailure)
  )
  const last = shown.slice(-12)
  const parts = last.map((outcome) => {
    const body = outcome.isFailure
      ? `I could not finish this: ${sentence(errorText(outcome.result))}`
      : render(outcome.result, question, outcome.params)
    return last.length === 1 ? body : `${heading(outcome, last)}: ${body}`
  })
  return clip(parts.join("\n"), maxAnswer)
}

/**
 * How a question for a missing argument begins.
 *
 * @since 0.1.0
 * @category constants
 */
export const asking = "Before I can do that, please tell me"

/**
 * Asks for parameters by what their descriptions say.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ask = (params: ReadonlyArray<Parameter>): string => {
  const told = params.map(({ name, shape }) => {
    const about = (Language.sentences(shape.description)[0] ?? "").replace(/[.\s]+$/, "")
    const options = (shape.enum ?? [])
      .filter((option) => typeof option === "string" || typeof option === "number")
      .slice(0, 8)
    const choice = options.length > 0 ? `, one of ${options.join(", ")}` : ""
    return about === ""
      ? `the ${label(name)}${choice}`
      : `the ${label(name)} (${about.charAt(0).toLowerCase()}${clip(about.slice(1), 200)}${choice})`
  })
  return `${asking} ${told.length > 1 ? `${told.slice(0, -1).join(", ")} and ${told[told.length - 1]}` : told[0]}.`
}

const asksBack: ReadonlyArray<readonly [RegExp, (sentence: string) => string]> = [
  [/\bmy\b/gi, () => "your"],
  [/\bI am\b|\bI'm\b/gi, () => "you are"],
  [/\bI\b/g, () => "you"],
  [/\bme\b/gi, () => "you"]
]

const toUser = (text: string): string => asksBack.reduce((line, [pattern, word]) => line.replace(pattern, word), text)

/**
 * A reply from the conversation's own words: the sentence said earlier, or standing in the system prompt, that answers the question.
 *
 * @since 0.1.0
 * @category constructors
 */
export const extract = (dialogue: Dialogue): string | undefined => {
  const last = dialogue.exchanges[dialogue.exchanges.length - 1]
  if (last === undefined) return undefined
  const lines = Language.sentences(last.request)
  const question =
    lines
      .filter((line) =>
        /\?$|^(?:what|who|when|where|which|how|why|is|are|does|do|did|tell|list|summari[sz]e|name)\b/i.test(line)
      )
      .join(" ") || last.request
  const asked = new Set(
    Language.contentStems(question).concat(/\bname\b/i.test(question) ? [Language.stem("name")] : [])
  )
  if (asked.size === 0) return undefined
  const statements = [
    ...dialogue.exchanges
      .slice(0, -1)
      .flatMap((exchange) => Language.sentences(exchange.request).map((line) => ({ line, own: true }))),
    ...lines.filter((line) => !question.includes(line)).map((line) => ({ line, own: true })),
    ...dialogue.exchanges
      .slice(0, -1)
      .flatMap((exchange) =>
        exchange.outcomes.map((outcome) => ({ line: render(outcome.result, question), own: false }))
      ),
    ...Language.sentences(dialogue.system).map((line) => ({ line, own: false }))
  ].filter(({ line }) => !/\?$/.test(line) && line.length <= 600)
  let best: { readonly line: string; readonly own: boolean; readonly score: number } | undefined
  for (const { line, own } of statements.slice(0, 1_000)) {
    const stems = new Set(Language.words(line).map(Language.stem))
    let hits = 0
    for (const word of asked) if (stems.has(word)) hits++
    const score = hits / asked.size + (/\b(?:my|i)\b/i.test(question) && /\b(?:my|i|i'm)\b/i.test(line) ? 0.3 : 0)
    if (hits > 0 && score >= 0.5 && score >= (best?.score ?? 0)) best = { line, own, score }
  }
  return best === undefined ? undefined : sentence(best.own ? toUser(best.line) : best.line)
}
