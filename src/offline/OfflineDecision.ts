/**
 * Decides the next move of the embedded model: call tools, ask for missing arguments, or answer.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest } from "../llm/model/LlmClient.js"
import * as Answer from "./OfflineAnswer.js"
import type { Call, Dialogue, Exchange, Outcome } from "./OfflineDialogue.js"
import * as Dialogues from "./OfflineDialogue.js"
import * as Intent from "./OfflineIntent.js"
import * as Json from "./OfflineJson.js"
import * as Schema from "./OfflineSchema.js"
import * as Tools from "./OfflineTools.js"

/**
 * @category models
 */
export interface Decision {
  readonly text: string
  readonly calls: ReadonlyArray<Call>
}

/**
 * Statement of the model about itself.
 *
 * @category constants
 */
export const notice =
  "I am an embedded word-matching model, not a language model: I pick tools by their words, take arguments from your text and report " +
  "what the tools return."

const maxTools = 512

interface Situation {
  readonly dialogue: Dialogue
  readonly tools: ReadonlyArray<Tools.Tool>
  /** The request, with the earlier ones it completes. */
  readonly text: string
}

/** A reply to a question of the model belongs to the request that caused the question. */
const requestText = ({ now, past }: Dialogue): string => {
  const last = past.findLastIndex(({ reply }) => !reply.includes(Answer.asking))
  return [...past.slice(last + 1), now].map(({ request }) => request).join("\n")
}

const outcomesOf = (exchanges: ReadonlyArray<Exchange>): ReadonlyArray<Outcome> =>
  exchanges.flatMap(({ outcomes }) => outcomes)

const pointing = /\b(?:it|that|this|them|one|those|these|same)\b/i

/** Takes missing arguments from results of this request, then from earlier ones if the request refers to them. */
const resolve = ({ dialogue: { now, past } }: Situation, intent: Intent.Intent): Intent.Intent => {
  const known = pointing.test(now.request) ? outcomesOf([...past, now]) : now.outcomes
  const found = new Map(intent.missing.map((param) => [param.name, Dialogues.find(param, known)] as const))
  const given = (name: string) => found.get(name) ?? (Object.hasOwn(intent.params, name) ? [intent.params[name]] : [])
  return {
    tool: intent.tool,
    params: Object.fromEntries(
      intent.tool.parameters.flatMap(({ name }) => given(name).map((value) => [name, value] as const))
    ),
    missing: intent.missing.filter(({ name }) => given(name).length === 0)
  }
}

/** Drops as many calls of each tool as were made already. */
const unserved = (
  wanted: ReadonlyArray<Intent.Intent>,
  outcomes: ReadonlyArray<Outcome>
): ReadonlyArray<Intent.Intent> => {
  const served = outcomes.map(({ name }) => name)
  return wanted.filter(({ tool }) => {
    const at = served.indexOf(tool.name)
    if (at >= 0) served.splice(at, 1)
    return at < 0
  })
}

const plain = ({ dialogue, tools }: Situation): string => {
  const names = tools.slice(0, 8).map(({ name }) => name)
  const offer =
    names.length === 0
      ? "There is no tool here that I could use, and nothing in this conversation answers that."
      : `I can use these tools: ${names.join(", ")}. None of their words fit your request.`
  return Answer.extract(dialogue) ?? `${notice} ${offer}`
}

/** Answers with the results, or else asks the user for what is missing. */
const answer = (situation: Situation, missing: ReadonlyArray<Tools.Parameter>): string => {
  const { dialogue, text, tools } = situation
  const { outcomes } = dialogue.now
  const verb = Intent.unable(tools, text)
  const results = outcomes.length === 0 ? "" : Answer.compose(text, outcomes)
  if (results !== "") return verb === undefined ? results : `I have no tool that could ${verb} it. ${results}`
  const asked = new Map(missing.map((param) => [param.name, param]))
  return asked.size > 0 ? Answer.ask(Array.from(asked.values())) : plain(situation)
}

/** The complete calls that were not made yet, each once. */
const callsOf = (open: ReadonlyArray<Intent.Intent>, made: ReadonlyArray<Outcome>): ReadonlyArray<Call> => {
  const keyOf = ({ name, params }: Call): string => JSON.stringify([name, params])
  const known = new Set(made.map(keyOf))
  const ready = open.filter(({ missing, params, tool }) => missing.length === 0 && Schema.conforms(tool.shape, params))
  const calls = new Map(ready.map(({ params, tool: { name } }) => [keyOf({ name, params }), { name, params }]))
  return Array.from(calls).flatMap(([key, call]) => (known.has(key) ? [] : [call]))
}

/** A call for a caller that requires one. */
const forced = ({ name, shape }: Tools.Tool, text: string): Call => {
  const params = Json.generate(shape.raw, text)
  return { name, params: Schema.isRecord(params) ? params : {} }
}

const json = ({ now, past }: Dialogue, schema: { readonly [key: string]: unknown }): string => {
  const texts = [...past, now].map(({ request }) => request)
  const results = outcomesOf([...past, now]).map(({ result }) => result ?? "")
  const said = results.map((result) => (typeof result === "string" ? result : JSON.stringify(result)))
  return JSON.stringify(Json.generate(schema, [...texts, ...said].join("\n")))
}

/**
 * Decides from the request alone: the same request gives the same decision.
 *
 * @category constructors
 */
export const decide = (request: LlmRequest): Decision => {
  const dialogue = Dialogues.read(request)
  const { responseFormat, settings, toolChoice = "auto", tools = [] } = request
  const named = typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.tool) : tools
  const able = toolChoice === "none" ? [] : named.slice(0, maxTools).map(Tools.make)
  const situation: Situation = { dialogue, tools: able, text: requestText(dialogue) }
  const { outcomes } = dialogue.now
  const open = unserved(Intent.intents(able, situation.text), outcomes).map((intent) => resolve(situation, intent))
  const ready = callsOf(open, outcomes)
  const isForced = outcomes.length === 0 && (toolChoice === "required" || typeof toolChoice === "object")
  const chosen = isForced ? (open[0]?.tool ?? able[0]) : undefined
  const calls = ready.length === 0 && chosen !== undefined ? [forced(chosen, situation.text)] : ready
  if (calls.length > 0) return { text: "", calls: settings?.parallelToolCalls === false ? calls.slice(0, 1) : calls }
  if (responseFormat?.type === "json") return { text: json(dialogue, responseFormat.schema), calls: [] }
  const missing = open.flatMap((intent) => intent.missing)
  return { text: answer(situation, missing), calls: [] }
}
