/**
 * What the offline model does next in a conversation: call tools, ask for what is missing, or answer.
 *
 * @internal
 * @since 0.1.0
 */
import type { LlmRequest, ToolChoice } from "../llm/model/LlmClient.js"
import * as Answer from "./OfflineAnswer.js"
import * as Arguments from "./OfflineArguments.js"
import type { Dialogue, Exchange, Outcome } from "./OfflineDialogue.js"
import * as Dialogues from "./OfflineDialogue.js"
import * as Facts from "./OfflineFacts.js"
import * as Json from "./OfflineJson.js"
import * as Language from "./OfflineLanguage.js"
import type { Scene } from "./OfflineMentions.js"
import * as Mentions from "./OfflineMentions.js"
import * as Plan from "./OfflinePlan.js"
import * as Render from "./OfflineRender.js"
import * as Schema from "./OfflineSchema.js"
import * as Selection from "./OfflineSelection.js"
import * as Shapes from "./OfflineShape.js"
import * as Wishes from "./OfflineWishes.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly name: string
  readonly params: { readonly [key: string]: unknown }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Decision {
  readonly text: string
  readonly calls: ReadonlyArray<Call>
}

/**
 * What the model says of itself.
 *
 * @since 0.1.0
 * @category constants
 */
export const notice =
  "I am an embedded word-matching model, not a language model: I pick tools by their words, take arguments from your text and report " +
  "what the tools return."

const maxRounds = 6

const key = (call: Call): string => `${call.name} ${JSON.stringify(call.params)}`

const empty: Exchange = { request: "", outcomes: [], rounds: 0, reply: "" }

interface Wanted {
  readonly tool: Schema.ToolProfile
  readonly params: { readonly [key: string]: unknown }
  readonly missing: ReadonlyArray<Schema.Parameter>
}

interface Situation {
  readonly dialogue: Dialogue
  readonly now: Exchange
  readonly past: ReadonlyArray<Exchange>
  readonly tools: ReadonlyArray<Schema.ToolProfile>
  readonly text: string
  readonly scene: Scene
  readonly force: boolean
}

const coreOf = (tools: ReadonlyArray<Schema.ToolProfile>) => (name: string) =>
  tools.find((tool) => tool.name === name)?.core ?? new Set<string>()

const elliptical = /^\s*(?:and|what about|how about|also|same|now|or)\b/i
const pointing = /\b(?:it|that|this|them|one|those|these|same|first|second|third|last)\b/i

/** A reply to our own question belongs to the request that made us ask. */
const requestText = (now: Exchange, past: ReadonlyArray<Exchange>): string => {
  const parts = [now.request]
  for (let i = past.length - 1; i >= 0 && parts.length < 5; i--) {
    if (!past[i]!.reply.includes(Answer.asking)) break
    parts.unshift(past[i]!.request)
  }
  return parts.join("\n")
}

const wantedOf = (intent: Plan.Intent): Wanted => ({
  tool: intent.tool,
  params: Arguments.object(intent),
  missing: intent.missing
})

const withMissing = (
  wanted: Wanted,
  look: (param: Schema.Parameter) => { readonly value: unknown } | undefined
): Wanted => {
  const params: Array<readonly [string, unknown]> = Object.entries(wanted.params)
  const missing = wanted.missing.filter((param) => {
    const found = look(param)
    if (found !== undefined) params.push([param.name, found.value])
    return found === undefined
  })
  return missing.length === wanted.missing.length ? wanted : { ...wanted, params: Object.fromEntries(params), missing }
}

/** What the conversation knows: results of this request, then of earlier ones, then what the user said before. */
const resolve = (situation: Situation, wanted: Wanted): Wanted => {
  const { now, past, scene, tools } = situation
  const core = coreOf(tools)
  const here = withMissing(wanted, (param) => Facts.find(param, now.outcomes, situation.text, core))
  if (here.missing.length === 0 || past.length === 0) return here
  const bare = scene.mentions.every((mention) => mention.kind === "phrase" || mention.ordinal === true)
  if (!pointing.test(now.request) && !elliptical.test(now.request) && !bare) return here
  const earlier = past.flatMap((exchange) => exchange.outcomes)
  const found = withMissing(here, (param) => Facts.find(param, earlier, situation.text, core))
  if (found.missing.length === 0) return found
  for (let i = past.length - 1; i >= Math.max(0, past.length - 4); i--) {
    const before = Arguments.fill(found.missing, { scene: Mentions.scene(past[i]!.request) }, wanted.tool.core)
    if (before.values.size === 0) continue
    return withMissing(found, (param) => {
      const value = before.values.get(param.name)
      return value === undefined || value.score < 1.5 ? undefined : { value: value.value }
    })
  }
  return found
}

/** "and in Rome?", "what about the second one?": the last call again with other values. */
const repeat = (situation: Situation): ReadonlyArray<Wanted> => {
  const { now, past, scene, tools } = situation
  const earlier = past.flatMap((exchange) => exchange.outcomes)
  const last = earlier[earlier.length - 1]
  if (last === undefined) return []
  const tool = tools.find((candidate) => candidate.name === last.name)
  const pointed = Facts.item(earlier, now.request)
  if (pointed !== undefined) {
    const outcome: Outcome = { ...pointed.outcome, params: {}, result: pointed.value }
    const able = [
      ...(tool === undefined ? [] : [tool]),
      ...tools.filter((candidate) => candidate !== tool && !candidate.mutates)
    ]
    for (const candidate of able) {
      const required = candidate.parameters.filter((param) => param.required)
      if (required.length === 0 || candidate.name === pointed.outcome.name) continue
      const filled = withMissing({ tool: candidate, params: {}, missing: required }, (param) =>
        Facts.find(param, [outcome], "", coreOf(tools))
      )
      if (filled.missing.length === 0) return [filled]
    }
  }
  if (tool === undefined) return []
  const filling = Arguments.fill(tool.parameters, { scene }, tool.core)
  const said = Array.from(filling.values).filter(([, value]) => value.to > value.from && value.score >= 0.75)
  return said.length === 0
    ? []
    : [
        {
          tool,
          params: { ...last.params, ...Object.fromEntries(said.map(([name, { value }]) => [name, value])) },
          missing: []
        }
      ]
}

const wantedCalls = (situation: Situation): ReadonlyArray<Wanted> => {
  const { now, past, scene, tools } = situation
  const planned = Plan.plan(scene, tools, { force: situation.force }).map(wantedOf)
  const open = past.length > 0 && (elliptical.test(now.request) || planned.length === 0)
  if (open) {
    const complete = planned.filter((wanted) => wanted.missing.length === 0)
    const again = complete.length > 0 ? [] : repeat(situation)
    if (again.length > 0) return again
  }
  return planned
}

/** Drops what was called already: the same arguments first, then, in order, calls of the same tool. */
const unserved = (wanted: ReadonlyArray<Wanted>, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<Wanted> => {
  const free = outcomes.slice()
  const take = (matches: (outcome: Outcome) => boolean): boolean => {
    const at = free.findIndex(matches)
    if (at >= 0) free.splice(at, 1)
    return at >= 0
  }
  const alike = (one: Wanted) => (outcome: Outcome) =>
    outcome.name === one.tool.name &&
    Object.entries(one.params).every(([name, value]) => JSON.stringify(outcome.params[name]) === JSON.stringify(value))
  return wanted.filter((one) => !take(alike(one))).filter((one) => !take((outcome) => outcome.name === one.tool.name))
}

/** A tool that only reads, whose arguments are there, and whose words promise the missing value. */
const producer = (
  situation: Situation,
  missing: ReadonlyArray<Schema.Parameter>,
  called: ReadonlySet<string>
): Call | undefined => {
  const rare = Selection.rarity(situation.tools)
  const said = new Set(Language.contentStems(situation.text))
  let best: { readonly call: Call; readonly score: number } | undefined
  for (const tool of situation.tools) {
    if (tool.mutates || situation.now.outcomes.some((outcome) => outcome.name === tool.name)) continue
    const filling = Arguments.fill(tool.parameters, { scene: situation.scene }, tool.core)
    const strong = Array.from(filling.values.values()).some((value) => value.score >= 2)
    const call = { name: tool.name, params: Arguments.object(filling) }
    if (filling.missing.length > 0 || !strong || called.has(key(call))) continue
    let score = 0
    for (const word of said) score += (tool.words.get(word) ?? 0) * rare(word)
    for (const param of missing) for (const word of param.key) if (tool.words.has(word)) score += 0.5
    if (score >= 0.6 && score > (best?.score ?? 0)) best = { call, score }
  }
  return best?.call
}

const corrections = (
  situation: Situation,
  wanted: ReadonlyArray<Wanted>,
  called: ReadonlySet<string>
): ReadonlyArray<Call> => {
  const { outcomes } = situation.now
  const toolNames = new Set(situation.tools.map((tool) => tool.name))
  return situation.tools.flatMap((tool) => {
    const mine = outcomes.filter((outcome) => outcome.name === tool.name)
    const names = tool.parameters.map((param) => param.name)
    const failed = mine.filter((outcome) => outcome.isFailure && Answer.isRefusal(outcome.result, names))
    const intended = Math.max(1, wanted.filter((one) => one.tool === tool).length)
    if (failed.length === 0 || mine.length > intended) return []
    return failed.flatMap((outcome) => {
      const message = Answer.errorText(outcome.result)
      const params = Json.correct(tool.parameters, outcome.params, message, situation.scene, toolNames)
      const call = params === undefined ? undefined : { name: tool.name, params }
      return call !== undefined && Shapes.conforms(tool.shape, call.params) && !called.has(key(call)) ? [call] : []
    })
  })
}

const limit = (calls: ReadonlyArray<Call>, parallel: boolean): ReadonlyArray<Call> =>
  parallel ? calls : calls.slice(0, 1)

const plain = (situation: Situation): Decision => {
  const known = Answer.extract(situation.dialogue)
  if (known !== undefined) return { text: known, calls: [] }
  const names = situation.tools.slice(0, 8).map((tool) => tool.name)
  const offer =
    names.length === 0
      ? "There is no tool here that I could use, and nothing in this conversation answers that."
      : `I can use these tools: ${names.join(", ")}. None of their words fit your request.`
  return { text: `${notice} ${offer}`, calls: [] }
}

const forced = (situation: Situation, wanted: ReadonlyArray<Wanted>): ReadonlyArray<Call> => {
  const first =
    wanted[0] ??
    (situation.tools[0] === undefined
      ? undefined
      : {
          tool: situation.tools[0],
          params: {},
          missing: situation.tools[0].parameters.filter((param) => param.required)
        })
  if (first === undefined) return []
  const filled = withMissing(first, (param) => ({ value: Json.value(param, situation.scene) }))
  return [{ name: first.tool.name, params: filled.params }]
}

/** A change that was asked for and that no tool makes: what was read instead does not stand in for it silently. */
const impossible = (situation: Situation): string | undefined => {
  const { now, scene, tools } = situation
  if (now.outcomes.some((outcome) => tools.some((tool) => tool.name === outcome.name && tool.mutates))) return undefined
  for (let index = 0; index < Math.min(scene.segments.length, 20); index++) {
    for (const verb of Wishes.commands(scene, index)) {
      if (!Schema.isChange(verb) || tools.some((tool) => tool.words.has(verb))) continue
      const word = scene.tokens.find((token) => token.stem === verb)?.lower ?? verb
      return `I have no tool that could ${word} it; this is what I found.`
    }
  }
  return undefined
}

/** A call of this request was to bring the id and did not: then there is none, and the user need not know it either. */
const isPromised = (situation: Situation, param: Schema.Parameter): boolean =>
  param.topic === "id" &&
  situation.now.outcomes.some((outcome) =>
    situation.tools.some(
      (tool) =>
        tool.name === outcome.name &&
        Schema.specific(param).length > 0 &&
        Schema.specific(param).every((word) => tool.words.has(word)) &&
        !tool.parameters.some((own) => own.name === param.name)
    )
  )

const withTools = (situation: Situation, parallel: boolean): Decision => {
  const { now } = situation
  const called = new Set(now.outcomes.map(key))
  const wanted = wantedCalls(situation)
  if (now.rounds < maxRounds) {
    const corrected = corrections(situation, wanted, called)
    if (corrected.length > 0) return { text: "", calls: limit(corrected, parallel) }
  }
  const open = unserved(wanted, now.outcomes).map((one) => resolve(situation, one))
  const ready = open
    .filter((one) => one.missing.length === 0)
    .map((one): Call => ({ name: one.tool.name, params: inOrder(one) }))
    .filter(
      (call, index, all) => !called.has(key(call)) && all.findIndex((other) => key(other) === key(call)) === index
    )
    .filter((call) =>
      situation.tools.some((tool) => tool.name === call.name && Shapes.conforms(tool.shape, call.params))
    )
  const stuck = open.filter((one) => one.missing.length > 0)
  if (now.rounds < maxRounds) {
    if (ready.length > 0) return { text: "", calls: limit(ready, parallel) }
    const missing = stuck.flatMap((one) => one.missing)
    const first = missing.length === 0 ? undefined : producer(situation, missing, called)
    if (first !== undefined) return { text: "", calls: [first] }
    if (situation.force && now.rounds === 0) {
      const calls = forced(situation, open)
      if (calls.length > 0) return { text: "", calls }
    }
  }
  const lines: Array<string> = []
  const unable = now.outcomes.length > 0 ? impossible(situation) : undefined
  if (unable !== undefined) lines.push(unable)
  if (now.outcomes.length > 0) lines.push(Answer.compose(situation.text, now.outcomes))
  const failed = now.outcomes.some((outcome) => outcome.isFailure)
  const asked = stuck
    .flatMap((one) => one.missing)
    .filter((param, index, all) => all.findIndex((other) => other.name === param.name) === index)
    .filter((param) => !isPromised(situation, param))
  if (asked.length > 0 && !failed && now.rounds < maxRounds) lines.push(Answer.ask(asked))
  if (lines.length > 0) return { text: lines.join("\n"), calls: [] }
  const pointed =
    situation.past.length === 0
      ? undefined
      : Facts.item(
          situation.past.flatMap((exchange) => exchange.outcomes),
          now.request
        )
  return pointed === undefined ? plain(situation) : { text: Render.render(pointed.value, now.request), calls: [] }
}

const inOrder = (one: Wanted): { readonly [key: string]: unknown } =>
  Object.fromEntries([
    ...one.tool.parameters.flatMap((param) =>
      Object.hasOwn(one.params, param.name) ? [[param.name, one.params[param.name]] as const] : []
    ),
    ...Object.entries(one.params).filter(([name]) => !one.tool.parameters.some((param) => param.name === name))
  ])

const refusal = /\b(?:invalid|validation|expected|required|missing|must|does not match|not valid|schema|error)\b/i

const json = (dialogue: Dialogue, schema: { readonly [key: string]: unknown }): string => {
  const last = dialogue.exchanges[dialogue.exchanges.length - 1] ?? empty
  const before = dialogue.exchanges[dialogue.exchanges.length - 2]
  const complains = before !== undefined && /^\s*[[{]/.test(before.reply) && refusal.test(last.request)
  const told = dialogue.exchanges.slice(0, complains ? -1 : undefined)
  const results = told.flatMap((exchange) =>
    exchange.outcomes.map((outcome) =>
      typeof outcome.result === "string" ? outcome.result : JSON.stringify(outcome.result ?? "")
    )
  )
  const text = [...told.map((exchange) => exchange.request), ...results].join("\n")
  const made = Json.generate(schema, text)
  if (!complains || typeof made !== "object" || made === null || Array.isArray(made)) return JSON.stringify(made)
  const corrected = Json.correct(
    Schema.parameters(Shapes.shapeOf(schema)),
    made as { readonly [key: string]: unknown },
    last.request,
    Mentions.scene(text)
  )
  return JSON.stringify(corrected ?? made)
}

const chosen = (tools: ReadonlyArray<Schema.ToolProfile>, choice: ToolChoice): ReadonlyArray<Schema.ToolProfile> =>
  choice === "none" ? [] : typeof choice === "object" ? tools.filter((tool) => tool.name === choice.tool) : tools

/**
 * What a tool returned may hold the protocol's markers: quoted in an answer they must not stand at the start of a line.
 */
const harmless = (text: string): string =>
  text.replace(/^[\s>*#`_~-]{0,20}(?:thought|action|observation|final)/gim, (marker) => `| ${marker.trimStart()}`)

/** The protocol's own form: one action a turn. */
const spoken = (decision: Decision): Decision => {
  const call = decision.calls[0]
  const text =
    call === undefined
      ? `THOUGHT: I can answer now.\nFINAL_ANSWER: ${harmless(decision.text)}`
      : `THOUGHT: I need ${Render.label(call.name)} for this.\nACTION: ${call.name}\nACTION_INPUT: ${JSON.stringify(call.params)}`
  return { text, calls: [] }
}

/**
 * Decides from the request alone: the same request, the same decision.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decide = (request: LlmRequest): Decision => {
  const dialogue = Dialogues.read(request)
  const choice = request.toolChoice ?? "auto"
  const tools = chosen(dialogue.tools.map(Schema.profile), choice)
  const now = dialogue.exchanges[dialogue.exchanges.length - 1] ?? empty
  const past = dialogue.exchanges.slice(0, -1)
  const native = dialogue.protocol === "native"
  const calls = tools.length > 0 && (request.responseFormat?.type !== "json" || native)
  const text = requestText(now, past)
  const force = choice === "required" || typeof choice === "object"
  const situation: Situation = { dialogue, now, past, tools, text, scene: Mentions.scene(text), force }
  const parallel = native && request.settings?.parallelToolCalls !== false
  const decision = calls || now.outcomes.length > 0 ? withTools(situation, parallel) : undefined
  if (decision !== undefined && decision.calls.length > 0 && native) return decision
  if (request.responseFormat?.type === "json") return { text: json(dialogue, request.responseFormat.schema), calls: [] }
  const answer = decision ?? plain(situation)
  return native ? answer : spoken(answer)
}
