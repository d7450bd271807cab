/**
 * Reads plans as models write them: numbered, labeled with "Step", bulleted, as headings, with tags, bold, fenced, with
 * text around them. Reads line by line, in time linear in the text.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as PlanBounds from "./PlanBounds.js"
import { PlanError } from "./PlanError.js"
import * as PlanLines from "./PlanLines.js"
import { fence, HEAD, type Line, planMarker, tag } from "./PlanLines.js"
import {
  type Beginning,
  type Chosen,
  choose,
  type Fences,
  findBeginning,
  findEnd,
  findFences,
  withoutEmphasis
} from "./PlanRegion.js"

/**
 * One step of a plan.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  /** `1`, `2`, …: the position in the plan, whatever number was written. */
  readonly id: string
  /** Without marker and tag. Sub-items and further lines are lines of their own. */
  readonly description: string
  readonly kind: "tool" | "reason"
  /** The name after `[TOOL:…]`, as it was written. */
  readonly tool?: string | undefined
  /** The number as it was written: `3`, `1.1`; absent for bullets and headings. */
  readonly number?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PlanText {
  /** At least one. */
  readonly steps: ReadonlyArray<Step>
  /** The text before the first step, or before its `PLAN:` marker. */
  readonly preamble: string
  /** The text after the last step. */
  readonly epilogue: string
}

/** Finds the `PLAN:` followed by prose, up to the work on it: its sentences, and their position. */
const readProse = (lines: ReadonlyArray<Line>, inside: ReadonlyArray<number>) => {
  for (const [i, line] of lines.entries()) {
    if (inside[i] !== -1 || line.indent >= 2 || (line.marker !== undefined && line.marker !== "heading")) continue
    const bare = withoutEmphasis(line)
    const match = planMarker.exec(bare.slice(0, HEAD))
    if (match === null) continue
    const said = [bare.slice(match[0].length)]
    let to = line.end
    for (let next = i + 1; next < lines.length; next++) {
      const more = lines[next]!
      const isOver = more.text === "" ? said.some((one) => one.trim() !== "") : more.level > 0 || inside[next] !== -1
      if (isOver || more.marker !== undefined || PlanBounds.beginsWork(withoutEmphasis(more))) break
      said.push(more.text)
      to = more.end
    }
    const found = PlanBounds.sentences(said.join("\n"))
    if (found.length > 0) return { found, from: line.start, to }
  }
  return undefined
}

const fromProse = (text: string, lines: ReadonlyArray<Line>, inside: ReadonlyArray<number>): PlanText | undefined => {
  const prose = readProse(lines, inside)
  if (prose === undefined) return undefined
  const steps: Array<Step> = []
  for (const sentence of prose.found) {
    const made = toStep(String(steps.length + 1), sentence, undefined)
    if (made !== undefined) steps.push(made)
  }
  if (steps.length === 0) return undefined
  return { steps, preamble: text.slice(0, prose.from).trim(), epilogue: text.slice(prose.to).trim() }
}

const hasParent = (parent: string | undefined, child: string | undefined): boolean =>
  parent !== undefined && child?.startsWith(`${parent}.`) === true

interface Draft {
  readonly number: string | undefined
  readonly lines: Array<string>
}

/** The lines of each step, with the beginning of the first and the end of the last. */
const collect = (text: string, lines: ReadonlyArray<Line>, { inside }: Fences, start: Beginning, chosen: Chosen) => {
  const drafts: Array<Draft> = []
  let current: Draft | undefined
  let from = start.marker < 0 ? -1 : lines[start.marker]!.start
  let to = 0
  let blank = false
  /** A paragraph that belongs to the last step only if another step follows. */
  let outside = false
  /** Text after a title between steps, which belongs to no step. */
  let between = false
  let doubtful: Array<string> = []
  const open = (line: Line, end: number) => {
    if (current !== undefined) for (const one of doubtful) current.lines.push(one)
    doubtful = []
    current = { number: line.number, lines: [line.rest] }
    drafts.push(current)
    to = end
    outside = false
    between = false
  }
  const take = (step: Draft, content: string, end: number) => {
    if (between) return
    if (outside) doubtful.push(content)
    else {
      step.lines.push(content)
      to = end
    }
  }
  const opens = (line: Line): boolean =>
    line.marker === chosen.marker &&
    line.indent < chosen.indent + 2 &&
    (chosen.marker !== "heading" || line.level === chosen.level) &&
    !hasParent(current?.number, line.number)
  if (start.first !== undefined) open(start.first, lines[start.marker]!.end)
  for (let i = start.marker + 1; i < lines.length; i++) {
    const line = lines[i]!
    const fenced = inside[i]!
    if (fenced < 0 && opens(line)) {
      if (from < 0) from = line.start
      open(line, line.end)
      blank = false
      continue
    }
    if (current === undefined) continue
    if (fenced >= 0) {
      // Verbatim, except for the indentation of the fence itself.
      const raw = text.slice(line.start, line.end).trimEnd()
      take(current, raw.slice(Math.min(lines[fenced]!.indent, raw.length - raw.trimStart().length)), line.end)
      blank = line.text === ""
    } else if (line.text === "" || (line.indent < 2 && line.marker === undefined && line.rest === "")) {
      blank = true
    } else {
      const outer = line.indent < chosen.indent + 2
      if (outer && line.level > 0 && (chosen.level === 0 || line.level <= chosen.level)) between = true
      else if (outer && blank && line.marker === undefined) outside = true
      take(current, line.text, line.end)
      blank = false
    }
  }
  return { drafts, from: Math.max(0, from), to }
}

const toStep = (id: string, text: string, number: string | undefined): Step | undefined => {
  const found = tag.exec(text.slice(0, HEAD))
  const description = found === null ? text : text.slice(found[0].length).trim()
  const tool = found?.[1]?.replace(/^[\s"'`*]{1,8}|[\s"'`*]{1,8}$/g, "") ?? ""
  if (description === "" && tool === "") return undefined
  return {
    id,
    description: description === "" ? `Use ${tool}` : description,
    ...(tool === "" ? { kind: "reason" } : { kind: "tool", tool }),
    ...(number === undefined ? {} : { number })
  }
}

/**
 * Reads one step from a text with or without a tag; `undefined` for an empty one.
 *
 * @since 0.1.0
 * @category conversions
 */
export const step = (id: string, text: string): Step | undefined => toStep(id, text.trim(), undefined)

const fail = (reason: "empty" | "malformed", message: string) =>
  Either.left(
    new PlanError({
      strategyName: "",
      issues: [{ reason, message }],
      message: `There is no plan in the text: ${message}`,
      hint: 'Write one step per line: "1. …", "Step 1: …", "- …" or "1. [TOOL:name] …"'
    })
  )

const withoutLastFence = (text: string): string => {
  const last = text.lastIndexOf("\n") + 1
  return fence.test(text.slice(last, last + HEAD)) ? text.slice(0, last).trim() : text
}

const withoutFirstFence = (text: string): string => {
  if (!fence.test(text.slice(0, HEAD))) return text
  const end = text.indexOf("\n")
  return end < 0 ? "" : text.slice(end).trim()
}

/**
 * Reads the plan of a text. The first of these markers that is present makes the steps: `Step 1:`, numbered headings,
 * numbers, bullets, bare tags, headings. Text with another marker, deeper indentation, or a number below its step
 * (`1.1`) belongs to the step above it. If a text has a `PLAN:` followed by steps, the plan begins at the last one. It
 * ends where the work begins: at `Calculations:`, `Solution:`, `Let's carry out the plan` and similar lines, or where
 * the numbers start over; a numbered plan ends at the `Step 1:` of its work. Prose after a `PLAN:` has one step per
 * sentence. Fenced text is part of its step; if all steps are fenced, the fence is removed. A text without any step is
 * a `PlanError` (with an empty `strategyName`).
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { PlanText } from "effect-lexigram/plan"
 *
 * PlanText.parse("PLAN:\n1. [TOOL:search] Find the capital\n2. [REASON] Compare")
 * ```
 */
export const parse = (text: string): Either.Either<PlanText, PlanError> => {
  let lines = PlanLines.all(text)
  let fences = findFences(lines)
  const isItem = (line: Line) => line.marker !== undefined && line.marker !== "heading"
  const wrapped = !lines.some((line, i) => fences.inside[i] === -1 && isItem(line)) && lines.some(isItem)
  if (wrapped) {
    const { edges } = fences
    lines = lines.map((line, i) => (edges.has(i) ? { ...line, text: "", rest: "", marker: undefined } : line))
    fences = { inside: lines.map(() => -1), edges: new Set() }
  }
  const { inside } = fences
  const start = findBeginning(lines, inside)
  const end = findEnd(lines, inside, start)
  lines = lines.slice(0, end)
  const chosen = choose([
    ...(start.first === undefined ? [] : [start.first]),
    ...lines.filter((_, i) => i > start.marker && inside[i] === -1)
  ])
  if (chosen === undefined || (chosen.marker === "heading" && end < inside.length)) {
    const prose = fromProse(text, lines, inside)
    if (prose !== undefined) return Either.right(prose)
  }
  if (chosen === undefined) return fail("empty", "no line begins a step")
  const { drafts, from, to } = collect(text, lines, fences, start, chosen)
  const steps: Array<Step> = []
  for (const draft of drafts) {
    const made = toStep(String(steps.length + 1), draft.lines.join("\n").trim(), draft.number)
    if (made !== undefined) steps.push(made)
  }
  if (steps.length === 0) return fail("malformed", "its steps are empty")
  const [preamble, epilogue] = [text.slice(0, from).trim(), text.slice(to).trim()]
  return Either.right({
    steps,
    preamble: wrapped ? withoutLastFence(preamble) : preamble,
    epilogue: wrapped ? withoutFirstFence(epilogue) : epilogue
  })
}

/**
 * Writes a plan as text that `parse` reads back: each step after its marker (default `1.`, `2.`, …) and tag, with
 * further lines indented below.
 *
 * @since 0.1.0
 * @category conversions
 */
export const print = (
  steps: ReadonlyArray<Pick<Step, "description" | "tool">>,
  options: { readonly marker?: ((index: number) => string) | undefined } = {}
): string => {
  const marker = options.marker ?? ((index) => `${index + 1}.`)
  return steps
    .map(({ description, tool }, index) => {
      const [first = "", ...more] = description.split("\n")
      const name = tool === undefined ? "[REASON]" : `[TOOL:${tool}]`
      return [`${marker(index)} ${name} ${first}`.trim(), ...more.map((line) => `   ${line}`)].join("\n")
    })
    .join("\n")
}
