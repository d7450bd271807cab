/**
 * Which tools a request asks for: its clauses are dealt out to the tools by their words.
 *
 * @internal
 * @since 0.1.0
 */
import * as Arguments from "./OfflineArguments.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Scene } from "./OfflineMentions.js"
import type { ToolProfile } from "./OfflineSchema.js"

const maxStates = 16

/**
 * How much a stem tells tools apart: near zero for what all of them share.
 *
 * @since 0.1.0
 * @category getters
 */
export const rarity = (tools: ReadonlyArray<ToolProfile>): ((word: string) => number) => {
  const counts = new Map<string, number>()
  for (const tool of tools) for (const word of tool.words.keys()) counts.set(word, (counts.get(word) ?? 0) + 1)
  const most = Math.log(1 + tools.length)
  return (word) => {
    const count = counts.get(word)
    if (count === undefined) return 0
    return tools.length === 1
      ? 1
      : 0.12 + (0.88 * (Math.log(1 + tools.length / count) - Math.log(2))) / Math.max(most - Math.log(2), 0.1)
  }
}

const segmentStems = (scene: Scene): ReadonlyArray<ReadonlyArray<string>> =>
  scene.segments.map((segment) => {
    const found = new Set<string>()
    for (let i = segment.from; i < segment.to; i++) {
      const token = scene.tokens[i]!
      if (
        token.kind === "symbol" ||
        token.kind === "number" ||
        token.kind === "quoted" ||
        Language.isStopWord(token.lower)
      )
        continue
      if (Lexicon.currencies.has(token.lower)) found.add(Language.stem("currency"))
      for (const part of Language.words(token.text)) if (!Language.isStopWord(part)) found.add(Language.stem(part))
    }
    return Array.from(found)
  })

/**
 * The clause begins with a word that opens a new wish: "second", "also", "then".
 *
 * @since 0.1.0
 * @category predicates
 */
export const lead = (scene: Scene, index: number): boolean => {
  const segment = scene.segments[index]!
  for (let i = segment.from; i < Math.min(segment.to, segment.from + 3); i++) {
    if (
      /^(?:first|second|third|fourth|lastly|finally|next|also|additionally|then|afterwards|secondly|thirdly|firstly)$/.test(
        scene.tokens[i]!.lower
      )
    )
      return true
  }
  return false
}

/** Viterbi over clauses: the best tool for each, where changing the tool costs less at sentence ends and after "also", "second", … */
const deal = (scene: Scene, evidence: ReadonlyArray<ReadonlyArray<number>>, states: number): ReadonlyArray<number> => {
  let scores = evidence[0]?.slice() ?? []
  const back: Array<Array<number>> = []
  for (let s = 1; s < scene.segments.length; s++) {
    const segment = scene.segments[s]!
    const cost = lead(scene, s) ? 0.1 : segment.lead === "sentence" ? 0.3 : segment.lead === "and" ? 0.35 : 0.6
    let best = 0
    for (let t = 1; t < states; t++) if (scores[t]! > scores[best]!) best = t
    const next: Array<number> = []
    const from: Array<number> = []
    for (let t = 0; t < states; t++) {
      const stay = scores[t]!
      const move = scores[best]! - cost
      from.push(move > stay ? best : t)
      next.push(Math.max(stay, move) + evidence[s]![t]!)
    }
    scores = next
    back.push(from)
  }
  let state = 0
  for (let t = 1; t < states; t++) if (scores[t]! > scores[state]!) state = t
  const path = new Array<number>(scene.segments.length)
  for (let s = scene.segments.length - 1; s >= 0; s--) {
    path[s] = state
    if (s > 0) state = back[s - 1]![state]!
  }
  return path
}

/** Of tools that fit alike, the one whose arguments the text holds. */
const prefer = (scene: Scene, states: ReadonlyArray<ToolProfile>, evidence: ReadonlyArray<Array<number>>): void => {
  states.forEach((tool, state) => {
    const required = tool.parameters.filter((param) => param.required)
    if (required.length === 0) return
    const filling = Arguments.fill(required, { scene }, tool.core)
    const filled = Array.from(filling.values.values()).filter((value) => value.score >= 1.2).length
    const factor = 0.8 + (0.35 * filled) / required.length
    for (const row of evidence) row[state] = row[state]! * factor
  })
}

/**
 * A tool with its clauses, and how much each says for it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Share {
  readonly tool: ToolProfile
  readonly segments: ReadonlyArray<number>
  readonly evidence: ReadonlyMap<number, number>
}

/** A clause of few words that all belong to the tool, and that holds its arguments, asks for it however much other clauses say. */
const covered = (scene: Scene, tool: ToolProfile, segments: ReadonlyArray<number>): boolean => {
  const named = scene.mentions.filter((mention) => mention.kind === "name")
  let own = 0
  let all = 0
  for (const segment of segments) {
    for (let i = scene.segments[segment]!.from; i < scene.segments[segment]!.to; i++) {
      const token = scene.tokens[i]!
      if (
        token.kind !== "word" ||
        Language.isStopWord(token.lower) ||
        named.some((mention) => i >= mention.from && i < mention.to)
      )
        continue
      all++
      if (tool.words.has(token.stem)) own++
    }
  }
  return (
    own > 0 &&
    own * 2 > all &&
    Arguments.fill(tool.parameters, { scene, segments: new Set(segments) }, tool.core).missing.length === 0
  )
}

/**
 * The tools the text asks for, each with its clauses, in the order of the text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const shares = (scene: Scene, tools: ReadonlyArray<ToolProfile>, force: boolean): ReadonlyArray<Share> => {
  const rare = rarity(tools)
  const stems = segmentStems(scene)
  const all = new Set(stems.flat())
  const total = (tool: ToolProfile) => {
    let score = 0
    for (const word of all) score += (tool.words.get(word) ?? 0) * rare(word)
    return score * will(tool)
  }
  /** What changes something wants its verb said, unless it is all there is. */
  const will = (tool: ToolProfile) =>
    tools.length > 1 && tool.mutates && !tool.verbs.some((verb) => all.has(verb)) ? 0.4 : 1
  const ranked = tools
    .map((tool, order) => ({ tool, order, score: total(tool) }))
    .sort((a, b) => b.score - a.score || a.order - b.order)
  const best = ranked[0]
  if (best === undefined) return []
  const enough = force ? 0 : 0.55
  const states = ranked
    .filter(({ score }) => score >= Math.max(enough, best.score * 0.05))
    .slice(0, maxStates)
    .map(({ tool }) => tool)
  if (states.length === 0) return []
  const evidence = stems.map((words) =>
    states.map((tool) => will(tool) * words.reduce((sum, word) => sum + (tool.words.get(word) ?? 0) * rare(word), 0))
  )
  prefer(scene, states, evidence)
  const path = deal(scene, evidence, states.length)
  const found = states.map((tool, state): Share & { readonly score: number; readonly core: number } => {
    const segments = path.flatMap((at, segment) => (at === state ? [segment] : []))
    const words = new Set(segments.flatMap((segment) => stems[segment]!))
    let score = 0
    let core = 0
    for (const word of words) {
      score += (tool.words.get(word) ?? 0) * rare(word)
      if (tool.core.has(word)) core++
    }
    return {
      tool,
      segments,
      evidence: new Map(segments.map((segment) => [segment, evidence[segment]![state]!])),
      score,
      core
    }
  })
  const top = Math.max(...found.map(({ score }) => score))
  return found
    .filter(
      ({ core, score, segments, tool }) =>
        segments.length > 0 &&
        score >= enough &&
        (score >= top * 0.28 || covered(scene, tool, segments)) &&
        (core > 0 || score >= 1.5 || force)
    )
    .sort((a, b) => a.segments[0]! - b.segments[0]!)
}
