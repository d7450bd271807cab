/**
 * The calls a request asks for: the clauses of each tool are cut where they name new values.
 *
 * @internal
 * @since 0.1.0
 */

import type { Filling } from "./OfflineArguments.js"
import * as Arguments from "./OfflineArguments.js"
import type { Candidate } from "./OfflineCandidates.js"
import * as Language from "./OfflineLanguage.js"
import type { Scene } from "./OfflineMentions.js"
import type { Parameter, ToolProfile } from "./OfflineSchema.js"
import type { Share } from "./OfflineSelection.js"
import * as Selection from "./OfflineSelection.js"

/**
 * A call the text asks for. `missing` are required parameters that it does not provide.
 *
 * @since 0.1.0
 * @category models
 */
export interface Intent {
  readonly tool: ToolProfile
  readonly values: ReadonlyMap<string, Candidate>
  readonly missing: ReadonlyArray<Parameter>
  readonly segments: ReadonlySet<number>
  readonly at: number
}

const maxCalls = 16
const maxChunks = 24

const valuesOf = (filling: { readonly values: ReadonlyMap<string, Candidate> }): string =>
  JSON.stringify(Arguments.object(filling))

/** A name said in full and in short is one value. */
const alike = (a: unknown, b: unknown): boolean =>
  typeof a === "string" && typeof b === "string"
    ? a.toLowerCase().includes(b.toLowerCase()) || b.toLowerCase().includes(a.toLowerCase())
    : JSON.stringify(a) === JSON.stringify(b)

const isScalar = (param: Parameter): boolean =>
  param.shape.type !== "array" && param.shape.type !== "object" && param.shape.type !== "boolean"

const read = (filling: Filling, param: Parameter): Candidate | undefined => {
  const value = filling.values.get(param.name)
  return value !== undefined && (value.to > value.from || value.score > 0) ? value : undefined
}

/** Cuts a tool's clauses where a clause that names the tool again brings other values for required parameters. */
const group = (scene: Scene, share: Share): ReadonlyArray<ReadonlySet<number>> => {
  const { tool } = share
  const required = tool.parameters.filter((param) => param.required)
  const decisive = required.length > 0 ? required : tool.parameters
  const strongest = Math.max(...share.evidence.values())
  const chunks: Array<{ segments: Array<number>; anchored: boolean }> = []
  for (const segment of share.segments) {
    const anchored = strongest > 0 && share.evidence.get(segment)! >= strongest * 0.45
    const current = chunks[chunks.length - 1]
    const sentence = scene.segments[segment]!.lead === "sentence"
    if (
      current === undefined ||
      (anchored && current.anchored) ||
      (sentence && Selection.lead(scene, segment) && current.anchored)
    )
      chunks.push({ segments: [segment], anchored })
    else {
      current.segments.push(segment)
      current.anchored ||= anchored
    }
  }
  const groups: Array<Set<number>> = []
  for (const chunk of chunks.slice(0, maxChunks)) {
    const last = groups[groups.length - 1]
    if (last === undefined) {
      groups.push(new Set(chunk.segments))
      continue
    }
    const before = Arguments.fill(tool.parameters, { scene, segments: last }, tool.core)
    const alone = Arguments.fill(tool.parameters, { scene, segments: new Set(chunk.segments) }, tool.core)
    const filled = decisive.filter((param) => isScalar(param) && (read(alone, param)?.score ?? 0) >= 1.4)
    const conflict = filled.some((param) => {
      const old = read(before, param)
      return old !== undefined && !alike(old.value, alone.values.get(param.name)!.value)
    })
    if (
      conflict &&
      (before.missing.length === 0 || alone.missing.length === 0) &&
      filled.length * 2 >= decisive.filter(isScalar).length
    )
      groups.push(new Set(chunk.segments))
    else for (const segment of chunk.segments) last.add(segment)
  }
  return groups
}

/** `1900 and 1950`, `5 days in Rome and 7 days in Bonn`: further values in the same places make further calls. */
const multiply = (
  scene: Scene,
  tool: ToolProfile,
  filling: Filling,
  segments: ReadonlySet<number>
): ReadonlyArray<ReadonlyMap<string, Candidate>> => {
  const used = Array.from(filling.values.values())
  const taken = (from: number, to: number) => used.some((value) => value.from < to && from < value.to)
  const variants: Array<ReadonlyMap<string, Candidate>> = [filling.values]
  for (const param of tool.parameters) {
    const own = filling.values.get(param.name)
    if (
      own?.mention === undefined ||
      !isScalar(param) ||
      !(param.required || tool.parameters.every((other) => !other.required))
    )
      continue
    const list = Arguments.listed(scene, own.mention).filter(
      (mention) =>
        !taken(mention.from, mention.to) && segments.has(mention.segment) && sameUnit(mention.unit, own.mention?.unit)
    )
    const others = list.flatMap((mention) =>
      Arguments.candidates(param, { scene, segments: new Set([mention.segment]) }, new Map(), tool.core).filter(
        (candidate) => candidate.mention === mention
      )
    )
    if (others.length === 0 || others.length !== list.length) continue
    const base = variants.slice()
    for (const other of others)
      for (const values of base)
        if (variants.length < maxCalls) variants.push(new Map([...values, [param.name, other]]))
  }
  if (variants.length > 1) return variants.slice().sort((a, b) => start(a, variants) - start(b, variants))
  const first = Math.min(
    ...used.filter((value) => value.to > value.from).map((value) => scene.tokens[value.from]!.segment)
  )
  for (const segment of Array.from(segments).slice(0, maxChunks)) {
    if (segment <= first || !isParallel(scene, segment)) continue
    const fresh = Arguments.fill(tool.parameters, { scene, segments: new Set([segment]) }, tool.core)
    const changes = Array.from(fresh.values).filter(([name, value]) => {
      const old = filling.values.get(name)
      return (
        value.mention !== undefined &&
        value.score >= 1.4 &&
        old?.mention !== undefined &&
        !taken(value.from, value.to) &&
        scene.tokens[old.from]!.segment !== segment
      )
    })
    if (changes.length > 0) variants.push(new Map([...filling.values, ...changes]))
  }
  return variants
}

/** Where the value stands that tells a variant from the others. */
const start = (values: ReadonlyMap<string, Candidate>, all: ReadonlyArray<ReadonlyMap<string, Candidate>>): number => {
  for (const [name, value] of values) if (all.some((other) => other.get(name) !== value)) return value.from
  return 0
}

const sameUnit = (a: string | undefined, b: string | undefined): boolean =>
  a === undefined || b === undefined || Language.stem(a) === Language.stem(b)

/** A clause after a conjunction that holds little more than values. */
const isParallel = (scene: Scene, index: number): boolean => {
  const segment = scene.segments[index]!
  if (segment.lead !== "and" && segment.lead !== "comma") return false
  const within = scene.mentions.filter((mention) => mention.segment === index && mention.kind !== "phrase")
  let loose = 0
  for (let i = segment.from; i < segment.to; i++) {
    const token = scene.tokens[i]!
    const content = token.kind === "word" && !Language.isStopWord(token.lower)
    if (content && !within.some((mention) => i >= mention.from && i <= mention.to)) loose++
  }
  return within.length > 0 && loose <= 1
}

/** "in these years", "for both", "in each city". */
const refersBack = (scene: Scene, segments: ReadonlySet<number>): boolean => {
  for (const segment of segments) {
    const { from, to } = scene.segments[segment]!
    for (let i = from; i < to; i++)
      if (/^(?:these|those|both|each|every|same|respective|all)$/.test(scene.tokens[i]!.lower)) return true
  }
  return false
}

const nearest = (intents: ReadonlyArray<Intent>, index: number, param: Parameter): ReadonlyArray<Candidate> => {
  const other = (candidate: Intent | undefined) => {
    const twin = candidate?.tool.parameters.find(
      (known) =>
        known.shape.type === param.shape.type &&
        (known.name === param.name || (known.topic === param.topic && known.topic !== "any" && known.topic !== "id"))
    )
    return twin === undefined ? undefined : candidate?.values.get(twin.name)
  }
  const fits = (value: Candidate | undefined): value is Candidate => value !== undefined && value.to > value.from
  const distinct = (list: ReadonlyArray<Candidate>) =>
    list.filter(
      (value, at) => list.findIndex((twin) => JSON.stringify(twin.value) === JSON.stringify(value.value)) === at
    )
  const earlier = distinct(intents.slice(0, index).map(other).filter(fits))
  return earlier.length > 0
    ? earlier
    : distinct(
        intents
          .slice(index + 1)
          .map(other)
          .filter(fits)
      )
}

/**
 * Values that other calls of the request name stand in for missing ones; all of them where the clause says "each" or
 * lists follow.
 */
const share = (scene: Scene, intents: ReadonlyArray<Intent>): ReadonlyArray<Intent> => {
  const result: Array<Intent> = []
  intents.forEach((intent, index) => {
    let variants: Array<Intent> = [intent]
    const back = refersBack(scene, intent.segments)
    for (const param of intent.tool.parameters) {
      const absent = intent.missing.some((missing) => missing.name === param.name)
      if (!absent || !isScalar(param)) continue
      const values = nearest(intents, index, param)
      if (values.length === 0) continue
      const following = !intents.slice(0, index).some((other) => other.values.has(param.name))
      const chosen = back || (following && values.length > 1) ? values : values.slice(-1)
      variants = variants.flatMap((variant) =>
        chosen.map((value) => ({
          ...variant,
          values: new Map([...variant.values, [param.name, value]]),
          missing: variant.missing.filter((other) => other.name !== param.name)
        }))
      )
    }
    result.push(...variants.slice(0, maxCalls))
  })
  return result
}

/** What the tool's own clauses leave out is looked for in the whole text, then with the words of the text itself. */
const complete = (scene: Scene, intent: Intent, all: ReadonlyArray<Intent>): Intent => {
  if (intent.missing.length === 0) return intent
  const whole = Arguments.fill(intent.tool.parameters, { scene }, intent.tool.core)
  const values = new Map(intent.values)
  const missing: Array<Parameter> = []
  const free = (candidate: Candidate) =>
    candidate.to <= candidate.from ||
    !Array.from(values.values()).some((other) => candidate.from < other.to && other.from < candidate.to)
  for (const param of intent.missing) {
    const value = whole.values.get(param.name)
    const elsewhere =
      param.topic === "id" &&
      value !== undefined &&
      all.some(
        (other) =>
          other.tool !== intent.tool &&
          Array.from(other.values).some(
            ([name, taken]) => name !== param.name && taken.mention !== undefined && taken.mention === value.mention
          )
      )
    const chosen = value !== undefined && free(value) && !elsewhere ? value : looseText(scene, intent, param, free)
    if (chosen === undefined) missing.push(param)
    else values.set(param.name, chosen)
  }
  return { ...intent, values: ordered(intent.tool, values), missing }
}

/** A text parameter of no particular kind takes the clause's own words, if some are left that only it can mean. */
const looseText = (
  scene: Scene,
  intent: Intent,
  param: Parameter,
  free: (candidate: Candidate) => boolean
): Candidate | undefined => {
  if (
    param.shape.type !== "string" ||
    (param.topic !== "any" && param.topic !== "content") ||
    (intent.values.size === 0 && intent.missing.length > 1)
  )
    return undefined
  return Arguments.candidates(param, { scene, segments: intent.segments }, new Map(), intent.tool.core)
    .filter((candidate) => candidate.mention !== undefined && candidate.score > 0 && free(candidate))
    .filter(({ from, mention, to }) => mention!.kind !== "phrase" || mention!.prepositions.length > 0 || to - from > 1)
    .sort((a, b) => b.score - a.score || a.from - b.from)[0]
}

/**
 * "recipes for plum cake and onion soup": a list of loose words is a reason for as many calls, so it is taken at once.
 */
const withLists = (scene: Scene, tool: ToolProfile, segments: ReadonlySet<number>, filling: Filling): Filling => {
  const values = new Map(filling.values)
  const free = (candidate: Candidate) =>
    candidate.to <= candidate.from ||
    !Array.from(values.values()).some((other) => candidate.from < other.to && other.from < candidate.to)
  const missing = filling.missing.filter((param) => {
    const loose = looseText(scene, { tool, values, missing: filling.missing, segments, at: 0 }, param, free)
    if (loose?.mention === undefined || Arguments.listed(scene, loose.mention).length < 2) return true
    values.set(param.name, loose)
    return false
  })
  return { values, missing }
}

const ordered = (tool: ToolProfile, values: ReadonlyMap<string, Candidate>): ReadonlyMap<string, Candidate> =>
  new Map(
    tool.parameters.flatMap((param) => (values.has(param.name) ? [[param.name, values.get(param.name)!] as const] : []))
  )

/**
 * The calls a text asks for, in the order of the text; no two alike.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plan = (
  scene: Scene,
  tools: ReadonlyArray<ToolProfile>,
  options?: { readonly force?: boolean | undefined }
): ReadonlyArray<Intent> => {
  if (scene.segments.length === 0) return []
  const intents: Array<Intent> = []
  for (const part of Selection.shares(scene, tools, options?.force === true)) {
    for (const segments of group(scene, part)) {
      const filling = withLists(
        scene,
        part.tool,
        segments,
        Arguments.fill(part.tool.parameters, { scene, segments }, part.tool.core)
      )
      for (const values of multiply(scene, part.tool, filling, segments)) {
        intents.push({ tool: part.tool, values, missing: filling.missing, segments, at: Math.min(...segments) })
      }
    }
  }
  const seen = new Set<string>()
  return share(scene, intents.slice(0, maxCalls))
    .map((intent, _index, all) => complete(scene, intent, all))
    .filter((intent) => {
      const key = `${intent.tool.name} ${valuesOf(intent)}`
      if (seen.has(key)) return false
      seen.add(key)
      return true
    })
    .slice(0, maxCalls)
}
