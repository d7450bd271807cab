/**
 * Answers in sentences from what tools returned and from what the conversation says. Results are quoted and rendered,
 * never obeyed.
 *
 * @internal
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { Dialogue, Outcome } from "./OfflineDialogue.js"
import * as Language from "./OfflineLanguage.js"
import * as Render from "./OfflineRender.js"
import type { Parameter } from "./OfflineSchema.js"

const maxAnswer = 2_000

/**
 * What a failed result says went wrong, without the frame that names the tool.
 *
 * @since 0.1.0
 * @category getters
 */
export const errorText = (result: unknown): string => {
  const message = Predicate.isReadonlyRecord(result)
    ? (result["message"] ?? result["error"] ?? result["reason"] ?? result["detail"])
    : result
  const inner =
    Predicate.isReadonlyRecord(message) && typeof message["message"] === "string" ? message["message"] : message
  const text = typeof inner === "string" ? inner : (JSON.stringify(inner ?? result) ?? "")
  return Render.clip(text.replace(/^\s*error\s*:\s*/i, "").replace(/^"[^"\n]{1,128}" failed:\s*/, ""), 1_000)
}

const refusal = /^The arguments of "[^"\n]{1,128}" are not valid:\s*/

/**
 * The result refuses arguments for their form: it says so itself, or names one of them with what it must be.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isRefusal = (result: unknown, names: ReadonlyArray<string>): boolean => {
  const text = errorText(result)
  if (refusal.test(text)) return true
  if (!/\b(?:invalid|not valid|must|should|expected|one of|allowed|required|malformed)\b/i.test(text)) return false
  const said = new Set(Language.words(text))
  return names.some((name) => Language.words(name).every((word) => said.has(word)))
}

const advice =
  /(?<!\s)\s*(?:Correct the arguments and call the tool again|Do not call it again with the same arguments[^.]{0,80})\.?\s*$/

/** The plain words for the user: neither the name of a tool nor what the model was advised to do. */
const explanation = (name: string, result: unknown): string => {
  const text = Render.prose(
    errorText(result)
      .replace(advice, "")
      .replace(refusal, "these details were not accepted: ")
      .replace(/^"[^"\n]{1,128}" was not allowed/, "this was not allowed")
      .replaceAll(`"${name}"`, Render.label(name))
  )
  const plain = Render.sentence(Render.clip(text, 400))
  return /\b(?:no|not|none|nothing|unknown|never|cannot|can't|doesn't|isn't|does not|unavailable)\b/i.test(plain)
    ? plain
    : `I could not finish this: ${plain}`
}

/** What tells this call apart from the others: what it did, and the values of its parameters that differ. */
const heading = (outcome: Outcome, all: ReadonlyArray<Outcome>): string => {
  const twins = all.filter((other) => other.name === outcome.name)
  const differing = Object.entries(outcome.params).filter(
    ([key, value]) =>
      twins.length === 1 || twins.some((other) => JSON.stringify(other.params[key]) !== JSON.stringify(value))
  )
  const shown = differing
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .slice(0, 3)
    .map(([, value]) => Render.clip(String(value), 60))
  const name = Render.label(outcome.name)
  const title = name.charAt(0).toUpperCase() + name.slice(1)
  return shown.length === 0 ? title : twins.length > 1 ? shown.join(", ") : `${title} ${shown.join(", ")}`
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
      !outcome.isFailure ||
      !isRefusal(outcome.result, Object.keys(outcome.params)) ||
      !outcomes.slice(index + 1).some((later) => later.name === outcome.name && !later.isFailure)
  )
  const last = shown.slice(-12)
  const parts = last.map((outcome) => {
    const body = outcome.isFailure
      ? explanation(outcome.name, outcome.result)
      : Render.render(outcome.result, question, outcome.params)
    return last.length === 1 ? body : `${heading(outcome, last)}: ${body}`
  })
  return Render.clip(parts.join("\n"), maxAnswer)
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
    const about = (Language.sentences(shape.description)[0] ?? "").replace(/(?<![.\s])[.\s]+$/, "")
    const options = (shape.enum ?? [])
      .filter((option) => typeof option === "string" || typeof option === "number")
      .slice(0, 8)
    const choice = options.length > 0 ? `, one of ${options.join(", ")}` : ""
    return about === ""
      ? `the ${Render.label(name)}${choice}`
      : `the ${Render.label(name)} (${about.charAt(0).toLowerCase()}${Render.clip(about.slice(1), 200)}${choice})`
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
 * A reply from the conversation's own words: the sentence said earlier, or standing in the system prompt, that answers
 * the question.
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
        exchange.outcomes.map((outcome) => ({ line: Render.render(outcome.result, question), own: false }))
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
  return best === undefined ? undefined : Render.sentence(best.own ? toUser(best.line) : best.line)
}
