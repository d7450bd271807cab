/**
 * Which tools a request asks for: its clauses are dealt out to the tools by their words.
 *
 * @internal
 * @since 0.1.0
 */
import * as Arguments from "./OfflineArguments.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Mention, Scene } from "./OfflineMentions.js"
import type { Parameter, ToolProfile } from "./OfflineSchema.js"
import * as Shapes from "./OfflineShape.js"
import * as Wishes from "./OfflineWishes.js"

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

/**
 * Viterbi over clauses: the best tool for each, where changing the tool costs less at sentence ends and after "also",
 * "second", …
 */
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
    const chosen = required.some(
      (param) => param.shape.enum !== undefined && (filling.values.get(param.name)?.score ?? 0) >= 4
    )
    const factor = 0.8 + (0.35 * filled) / required.length + (chosen ? 0.15 : 0)
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

/**
 * A clause of few words that all belong to the tool, and that holds its arguments, asks for it however much other
 * clauses say.
 */
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

/** The one required parameter of a tool that reads something by its id. */
const idParam = (tool: ToolProfile): Parameter | undefined => {
  const required = tool.parameters.filter((param) => param.required)
  return !tool.mutates && required.length === 1 && required[0]!.topic === "id" ? required[0] : undefined
}

/**
 * How well a tool that reads by id fits a number that nothing else is said of: "four digits", and "where" if that is
 * asked.
 */
const idFit = (scene: Scene, index: number, tool: ToolProfile, mention: Mention): number => {
  const param = idParam(tool)
  if (param === undefined) return 0
  const { from, to } = scene.segments[index]!
  const told = new Set(Language.words(tool.description))
  const asked = scene.tokens
    .slice(from, Math.min(to, from + 40))
    .filter((token) => token.kind === "word" && told.has(token.lower))
  const size = Lexicon.numeral(
    /(?<![\p{L}\p{N}_])(\p{L}+|\d{1,2})[ -](?:digit|character|letter|figure)/u.exec(param.shape.description)?.[1] ?? ""
  )
  const length = size === undefined ? 0 : size === mention.text.length ? 0.3 : -0.5
  const value = param.shape.type === "string" ? mention.text : mention.number
  return Shapes.conforms(param.shape, value) ? 0.7 + length + Math.min(asked.length, 3) * 0.05 : 0
}

type Evidence = ReadonlyArray<ReadonlyArray<number>>

const bonus = (tool: ToolProfile, commands: ReadonlySet<string>): number => {
  let best = 0
  for (const verb of commands)
    best = Math.max(best, tool.acts.has(verb) ? 0.8 : tool.mutates && tool.core.has(verb) ? 0.5 : 0)
  return best
}

/**
 * What a clause asks for beside its words, for each tool: what it says as something to be done, something to be found,
 * and what it names by number alone.
 */
const hints = (scene: Scene, tools: ReadonlyArray<ToolProfile>, words: Evidence): Evidence =>
  scene.segments.map((_, index) => {
    const own = words[index]!
    const commands = Wishes.commands(scene, index)
    const done = tools.map((tool) => bonus(tool, commands))
    const pointed = Wishes.pointsAt(scene, index)
    const heard = Math.max(0, ...own.map((score, at) => score + done[at]!))
    if (pointed !== undefined) {
      if (heard >= 0.5) return done
      const fits = tools.map((tool) => idFit(scene, index, tool, pointed))
      const best = Math.max(...fits)
      return best <= 0 ? done : fits.map((fit, at) => (at === fits.indexOf(best) ? fit : done[at]!))
    }
    if (scene.mentions.some((mention) => mention.segment === index && Wishes.isIdentifier(mention))) return done
    const others = Math.max(0, ...own.map((score, at) => (tools[at]!.searches ? 0 : score + done[at]!)))
    if (others >= 0.85 || !Wishes.isWish(scene, index) || Wishes.sought(scene, index, new Set()) === undefined)
      return done
    return done.map((score, at) => (tools[at]!.searches ? score + 0.7 : score))
  })

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
  const ordered = scene.segments.map((_, index) => Wishes.commands(scene, index))
  /** What changes something wants its verb said, unless it is all there is. */
  const will = tools.map((tool) =>
    tools.length > 1 &&
    tool.mutates &&
    !tool.verbs.some((verb) => all.has(verb)) &&
    !ordered.some((commands) => Array.from(commands).some((verb) => tool.core.has(verb) || tool.acts.has(verb)))
      ? 0.4
      : 1
  )
  const words = stems.map((list) =>
    tools.map((tool, at) => will[at]! * list.reduce((sum, word) => sum + (tool.words.get(word) ?? 0) * rare(word), 0))
  )
  const extra = hints(scene, tools, words)
  const ranked = tools
    .map((tool, order) => {
      let score = 0
      for (const word of all) score += (tool.words.get(word) ?? 0) * rare(word)
      for (const row of extra) score += row[order]!
      return { tool, order, score: score * will[order]! }
    })
    .sort((a, b) => b.score - a.score || a.order - b.order)
  const best = ranked[0]
  if (best === undefined) return []
  const enough = force ? 0 : 0.55
  const kept = ranked.filter(({ score }) => score >= Math.max(enough, best.score * 0.05)).slice(0, maxStates)
  const states = kept.map(({ tool }) => tool)
  if (states.length === 0) return []
  const evidence = words.map((row, segment) => kept.map(({ order }) => row[order]! + extra[segment]![order]!))
  prefer(scene, states, evidence)
  const path = deal(scene, evidence, states.length)
  const found = states.map((tool, state) => {
    const segments = path.flatMap((at, segment) => (at === state ? [segment] : []))
    const own = new Set(segments.flatMap((segment) => stems[segment]!))
    let score = 0
    let core = 0
    for (const word of own) {
      score += (tool.words.get(word) ?? 0) * rare(word)
      if (tool.core.has(word) || tool.options.has(word)) core++
    }
    for (const segment of segments) {
      const bonus = extra[segment]![kept[state]!.order]!
      score += bonus
      if (bonus > 0) core++
    }
    return {
      tool,
      segments,
      evidence: new Map(segments.map((segment) => [segment, evidence[segment]![state]!])),
      score,
      core,
      /** A clause wants it by more than words. */
      wanted: segments.some((segment) => extra[segment]![kept[state]!.order]! >= 0.6),
      /** A search is no answer to a clause that only mentions what could be found. */
      named:
        !tool.searches || tool.parameters.some((param) => Array.from(param.seeks ?? []).some((noun) => own.has(noun)))
    }
  })
  const top = Math.max(...found.map(({ score }) => score))
  return found
    .filter(
      ({ core, named, score, segments, tool, wanted }) =>
        segments.length > 0 &&
        score >= enough &&
        (wanted || named || found.every((other) => other.tool === tool || other.segments.length === 0)) &&
        (wanted || score >= top * 0.28 || covered(scene, tool, segments)) &&
        (core > 0 || score >= 1.5 || force)
    )
    .sort((a, b) => a.segments[0]! - b.segments[0]!)
}
