/**
 * Decides the next move of the embedded model: call tools, ask for missing arguments, or answer.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest, ToolChoice } from "../llm/model/LlmClient.js"
import * as Answer from "./OfflineAnswer.js"
import * as Arguments from "./OfflineArguments.js"
import type { Call, Dialogue, Outcome } from "./OfflineDialogue.js"
import * as Dialogues from "./OfflineDialogue.js"
import * as Facts from "./OfflineFacts.js"
import * as Intent from "./OfflineIntent.js"
import * as Json from "./OfflineJson.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
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

const maxRounds = 6

interface Situation {
  readonly dialogue: Dialogue
  readonly matcher: Intent.Matcher
  /** The request, with the earlier ones it completes. */
  readonly text: string
  readonly isForced: boolean
}

const keyOf = ({ name, params }: Call): string => `${name} ${JSON.stringify(params)}`

/** A reply to a question of the model belongs to the request that caused the question. */
const requestText = ({ now, past }: Dialogue): string => {
  const parts = [now.request]
  for (const { reply, request } of past.slice(-4).toReversed()) {
    if (!reply.includes(Answer.asking)) break
    parts.unshift(request)
  }
  return parts.join("\n")
}

const elliptical = /^\s*(?:and|what about|how about|also|same|now|or)\b/i
const pointing = /\b(?:it|that|this|them|one|those|these|same|first|second|third|last)\b/i

const withFound = (
  intent: Intent.Intent,
  find: (param: Tools.Parameter) => { readonly value: unknown } | undefined
): Intent.Intent => {
  const found = intent.missing.map((param) => ({ param, found: find(param) }))
  const given = {
    ...intent.params,
    ...Object.fromEntries(found.flatMap((one) => (one.found === undefined ? [] : [[one.param.name, one.found.value]])))
  }
  const order = intent.tool.parameters.filter(({ name }) => Object.hasOwn(given, name))
  return {
    ...intent,
    params: Object.fromEntries(order.map(({ name }) => [name, given[name]])),
    missing: found.flatMap((one) => (one.found === undefined ? [one.param] : []))
  }
}

const outcomesOf = (exchanges: Dialogue["past"]): ReadonlyArray<Outcome> =>
  exchanges.flatMap(({ outcomes }) => outcomes)

/** Takes missing arguments from results of this request, then from earlier ones if the request refers to them. */
const resolve = ({ dialogue: { now, past } }: Situation, intent: Intent.Intent): Intent.Intent => {
  const here = withFound(intent, (param) => Facts.find(param, now.outcomes))
  const isBare = Text.tokens(now.request).every(({ isName, kind }) => !isName && kind !== "number" && kind !== "code")
  return pointing.test(now.request) || elliptical.test(now.request) || isBare
    ? withFound(here, (param) => Facts.find(param, outcomesOf(past)))
    : here
}

/** "and in Graz?": repeats the last call with new values. */
const repeated = ({ dialogue: { now, past }, matcher }: Situation): ReadonlyArray<Intent.Intent> => {
  const last = outcomesOf(past).at(-1)
  const tool = matcher.tools.find(({ name }) => name === last?.name)
  if (last === undefined || tool === undefined || !elliptical.test(now.request)) return []
  const { values } = Intent.fill(tool, Text.tokens(now.request), matcher.nouns)
  const said = new Map(Array.from(values).filter(([, { from, score, to }]) => to > from && score >= 0.75))
  return said.size === 0 ? [] : [{ tool, params: { ...last.params, ...Arguments.toObject(said) }, missing: [] }]
}

const wantedCalls = (situation: Situation): ReadonlyArray<Intent.Intent> => {
  const planned = Intent.intents(situation.matcher, situation.text)
  const again = planned.every(({ missing }) => missing.length > 0) ? repeated(situation) : []
  return again.length > 0 ? again : planned
}

/** Drops calls already made: those with the same arguments first, then calls of the same tool in order. */
const unserved = (
  wanted: ReadonlyArray<Intent.Intent>,
  outcomes: ReadonlyArray<Outcome>
): ReadonlyArray<Intent.Intent> => {
  const served = outcomes.slice()
  const take = (matches: (outcome: Outcome) => boolean): boolean => {
    const at = served.findIndex(matches)
    if (at >= 0) served.splice(at, 1)
    return at >= 0
  }
  const isSame =
    ({ params, tool }: Intent.Intent) =>
    (outcome: Outcome) =>
      outcome.name === tool.name && JSON.stringify(outcome.params) === JSON.stringify(params)
  return wanted
    .filter((intent) => !take(isSame(intent)))
    .filter(({ tool }) => !take((outcome) => outcome.name === tool.name))
}

/** A read-only tool with known arguments whose words promise the missing value. */
const producer = (
  { dialogue: { now }, matcher, text }: Situation,
  missing: ReadonlyArray<Tools.Parameter>
): Call | undefined => {
  const tokens = Text.tokens(text)
  const about = new Set([...tokens.map(({ stem }) => stem), ...missing.flatMap(({ key }) => key)])
  const able = matcher.tools
    .filter(({ mutates, name }) => !mutates && !now.outcomes.some((outcome) => outcome.name === name))
    .flatMap((tool) => {
      const filling = Intent.fill(tool, tokens, matcher.nouns)
      const isNamed = Array.from(filling.values.values()).some(({ score }) => score >= 2)
      const shared = Array.from(tool.words.keys()).filter((stem) => about.has(stem)).length
      const call: Call = { name: tool.name, params: Arguments.toObject(filling.values) }
      return filling.missing.length === 0 && isNamed && shared > 0 ? [{ call, shared }] : []
    })
  return able.sort((a, b) => b.shared - a.shared)[0]?.call
}

/** A call of the first tool, for a caller that requires one. */
const forced = ({ matcher, text }: Situation, wanted: Intent.Intent | undefined): ReadonlyArray<Call> => {
  const tool = wanted?.tool ?? matcher.tools[0]
  const params = tool === undefined ? undefined : Json.generate(tool.shape.raw, text)
  return tool !== undefined && Schema.isRecord(params) ? [{ name: tool.name, params }] : []
}

/** Verb of a requested change that no tool makes. */
const impossible = ({ dialogue: { now }, matcher: { tools }, text }: Situation): string | undefined => {
  if (tools.some(({ mutates, name }) => mutates && now.outcomes.some((outcome) => outcome.name === name)))
    return undefined
  const tokens = Text.tokens(text)
  const verb = Intent.commands(tokens).find(
    (stem) => Tools.isChange(stem) && !tools.some(({ verbs, words }) => words.has(stem) || verbs.includes(stem))
  )
  return tokens.find(({ stem }) => stem === verb)?.lower
}

const plain = ({ dialogue, matcher }: Situation): Decision => {
  const known = Answer.extract(dialogue)
  if (known !== undefined) return { text: known, calls: [] }
  const names = matcher.tools.slice(0, 8).map(({ name }) => name)
  const offer =
    names.length === 0
      ? "There is no tool here that I could use, and nothing in this conversation answers that."
      : `I can use these tools: ${names.join(", ")}. None of their words fit your request.`
  return { text: `${notice} ${offer}`, calls: [] }
}

/** Answers with the results, the impossible requests, and the questions to the user. */
const answer = (situation: Situation, missing: ReadonlyArray<Tools.Parameter>): Decision => {
  const { dialogue, text } = situation
  const { outcomes } = dialogue.now
  const verb = outcomes.length > 0 ? impossible(situation) : undefined
  const asked = missing.filter(({ name }, at) => missing.findIndex((other) => other.name === name) === at)
  const lines = [
    ...(verb === undefined ? [] : [`I have no tool that could ${verb} it; this is what I found.`]),
    ...(outcomes.length === 0 ? [] : [Answer.compose(text, outcomes)]),
    // After a call that did not return the value, the user may not know it either.
    ...(asked.length === 0 || outcomes.length > 0 ? [] : [Answer.ask(asked)])
  ]
  return lines.length > 0 ? { text: lines.join("\n"), calls: [] } : plain(situation)
}

const withTools = (situation: Situation, parallel: boolean): Decision => {
  const { dialogue, isForced, matcher } = situation
  const { outcomes, rounds } = dialogue.now
  const open = unserved(wantedCalls(situation), outcomes).map((intent) => resolve(situation, intent))
  const called = new Set(outcomes.map(keyOf))
  const ready = new Map<string, Call>()
  for (const { missing, params, tool } of open) {
    const call: Call = { name: tool.name, params }
    if (missing.length === 0 && !called.has(keyOf(call)) && Schema.conforms(tool.shape, params))
      ready.set(keyOf(call), call)
  }
  const missing = open.flatMap((intent) => intent.missing)
  if (rounds >= maxRounds) return answer(situation, [])
  if (ready.size > 0) return { text: "", calls: Array.from(ready.values()).slice(0, parallel ? undefined : 1) }
  const first = missing.length === 0 ? undefined : producer(situation, missing)
  const tool = matcher.tools.find(({ name }) => name === first?.name)
  if (first !== undefined && tool !== undefined && Schema.conforms(tool.shape, first.params))
    return { text: "", calls: [first] }
  const calls = isForced && rounds === 0 ? forced(situation, open[0]) : []
  return calls.length > 0 ? { text: "", calls } : answer(situation, missing)
}

const json = ({ now, past }: Dialogue, schema: { readonly [key: string]: unknown }): string => {
  const all = [...past, now]
  const results = outcomesOf(all).map(({ result }) =>
    typeof result === "string" ? result : JSON.stringify(result ?? "")
  )
  return JSON.stringify(Json.generate(schema, [...all.map(({ request }) => request), ...results].join("\n")))
}

const allowed = <T extends { readonly name: string }>(tools: ReadonlyArray<T>, choice: ToolChoice): ReadonlyArray<T> =>
  choice === "none" ? [] : typeof choice === "object" ? tools.filter(({ name }) => name === choice.tool) : tools

/** A tool result may contain protocol markers: when quoted, they must not begin a line. */
const harmless = (text: string): string =>
  text.replace(/^[\s>*#`_~-]{0,20}(?:thought|action|observation|final)/gim, (marker) => `| ${marker.trimStart()}`)

/** Form of the text protocol: one action per turn. */
const toProtocol = ({ calls: [call], text }: Decision): Decision => ({
  text:
    call === undefined
      ? `THOUGHT: I can answer now.\nFINAL_ANSWER: ${harmless(text)}`
      : `THOUGHT: I need ${Answer.label(call.name)} for this.\nACTION: ${call.name}\nACTION_INPUT: ${JSON.stringify(call.params)}`,
  calls: []
})

/**
 * Decides from the request alone: the same request gives the same decision.
 *
 * @category constructors
 */
export const decide = (request: LlmRequest): Decision => {
  const dialogue = Dialogues.read(request)
  const choice = request.toolChoice ?? "auto"
  const matcher = Intent.matcher(allowed(dialogue.tools, choice).map(Tools.make))
  const isForced = choice === "required" || typeof choice === "object"
  const situation: Situation = { dialogue, matcher, text: requestText(dialogue), isForced }
  const isNative = dialogue.protocol === "native"
  const format = request.responseFormat
  const mayCall = matcher.tools.length > 0 && (format?.type !== "json" || isNative)
  const decision =
    mayCall || dialogue.now.outcomes.length > 0
      ? withTools(situation, isNative && request.settings?.parallelToolCalls !== false)
      : undefined
  if (decision !== undefined && decision.calls.length > 0 && isNative) return decision
  if (format?.type === "json") return { text: json(dialogue, format.schema), calls: [] }
  const said = decision ?? plain(situation)
  return isNative ? said : toProtocol(said)
}
