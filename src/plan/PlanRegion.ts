/**
 * Finds the lines of a reply that hold its plan: its fences, its `PLAN:` marker, the markers of its steps, and where
 * work on it begins.
 *
 * @private
 * @since 0.1.0
 */
import * as PlanBounds from "./PlanBounds.js"
import * as PlanLines from "./PlanLines.js"
import { fence, HEAD, type Line, type Marker, markers, planMarker } from "./PlanLines.js"

export interface Fences {
  /** For each line, the index of the line that opened the fence around it, or -1. */
  readonly inside: ReadonlyArray<number>
  /** Lines that open or close a fence. */
  readonly edges: ReadonlySet<number>
}

export const findFences = (lines: ReadonlyArray<Line>): Fences => {
  const inside: Array<number> = []
  const edges = new Set<number>()
  let opened = -1
  let mark = ""
  let indent = 0
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    // A fence inside an item ends with the item.
    if (opened >= 0 && indent >= 2 && line.text !== "" && line.indent < 2) opened = -1
    const found = fence.exec(line.text.slice(0, HEAD))?.[1]
    if (opened < 0 && found !== undefined) {
      opened = i
      mark = found
      indent = line.indent
      edges.add(i)
      inside.push(i)
      continue
    }
    inside.push(opened)
    if (opened >= 0 && found !== undefined && line.text === found && found.startsWith(mark)) {
      edges.add(i)
      opened = -1
    }
  }
  return { inside, edges }
}

export const withoutEmphasis = (line: Line): string =>
  (line.level > 0 ? line.rest : line.text).replace(/^[*_`]{1,3}/, "")

export interface Beginning {
  /** The line of the `PLAN:` marker, or -1. */
  readonly marker: number
  /** The step on that line. */
  readonly first: Line | undefined
}

/** The last `PLAN:` that is followed by steps. */
export const findBeginning = (lines: ReadonlyArray<Line>, inside: ReadonlyArray<number>): Beginning => {
  let followed = false
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i]!
    if (inside[i] !== -1) continue
    const isText = line.marker === undefined || line.marker === "heading"
    const text = isText && line.indent < 2 ? withoutEmphasis(line) : ""
    const match = planMarker.exec(text.slice(0, HEAD))
    if (match !== null) {
      const behind = text.slice(match[0].length)
      const first = behind === "" ? undefined : PlanLines.read(behind, 0, behind.length)
      const opens = first?.marker !== undefined && first.marker !== "heading"
      if (followed || opens) return { marker: i, first: opens ? first : undefined }
    }
    if (!isText) followed = true
  }
  return { marker: -1, first: undefined }
}

export interface Chosen {
  readonly marker: Marker
  readonly indent: number
  /** The heading level of the steps, or 0. */
  readonly level: number
}

/** Chooses the kind of marker that makes the steps: the first kind present among the outermost markers. */
export const choose = (lines: ReadonlyArray<Line>): Chosen | undefined => {
  const decimals = lines.filter((line) => line.marker === "decimal").length
  const items = lines.filter(
    ({ marker }) => marker !== undefined && marker !== "heading" && (marker !== "decimal" || decimals > 1)
  )
  if (items.length === 0) {
    const counts = new Map<number, number>()
    for (const { level } of lines) if (level > 0) counts.set(level, (counts.get(level) ?? 0) + 1)
    // A single heading is a title.
    const several = [...counts].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]
    return several === undefined ? undefined : { marker: "heading", indent: 0, level: several[0] }
  }
  const indent = items.reduce((least, line) => Math.min(least, line.indent), Number.POSITIVE_INFINITY)
  const outer = items.filter((line) => line.indent < indent + 2)
  const marker = markers.find((one) => outer.some((line) => line.marker === one)) as Marker
  return { marker, indent, level: outer.find((line) => line.marker === marker)?.level ?? 0 }
}

/** Whether a list is announced as facts instead of as a plan. */
const isGiven = (lines: ReadonlyArray<Line>, at: number): boolean => {
  let before = at - 1
  while (before >= 0 && lines[before]!.text === "") before--
  return before >= 0 && PlanBounds.announcesFacts(withoutEmphasis(lines[before]!))
}

/** The last unfenced line labeled as a step, or -1. */
const lastLabel = (lines: ReadonlyArray<Line>): number =>
  lines.findLastIndex(({ indent, marker }) => marker === "label" && indent < 2)

/**
 * The line where the work on the plan begins: a line that says so, or a step with number 1 after higher ones without a
 * title in between. Work in steps (`Step 1:`) ends a numbered plan, unless its list is announced as something else;
 * numbered work ends a plan in steps without lists. `lines.length` if there is none.
 */
export const findEnd = (lines: ReadonlyArray<Line>, inside: ReadonlyArray<number>, start: Beginning): number => {
  let first = start.first
  let last = first?.number === undefined ? 0 : Number.parseInt(first.number, 10)
  let titled = false
  let given = false
  let hasLists = false
  const label = lastLabel(lines)
  for (let i = start.marker + 1; i < lines.length; i++) {
    const line = lines[i]!
    if (inside[i] !== -1) continue
    const isText = line.marker === undefined || line.marker === "heading"
    const isBegun = first !== undefined || start.marker >= 0
    if (isText) {
      if (isBegun && line.indent < 2 && PlanBounds.beginsWork(withoutEmphasis(line))) return i
      if (line.level > 0) titled = true
      continue
    }
    if (line.indent >= (first?.indent ?? line.indent) + 2) {
      hasLists = true
      continue
    }
    if (first === undefined) {
      first = line
      given = start.marker < 0 && isGiven(lines, i)
    }
    const number = line.number === undefined || line.number.includes(".") ? 0 : Number.parseInt(line.number, 10)
    const again = number === 1 && last > 1 && !titled
    if (first.marker === "label" && line.marker !== "label") {
      // Numbers from 1 after a blank line and the last step.
      if (again && !hasLists && i > label && line.marker === "number" && lines[i - 1]!.text === "") return i
      hasLists = true
      continue
    }
    const isWork = line.marker === "label" && (start.marker >= 0 || (first.marker === "number" && !given))
    if ((line.marker !== first.marker && !isWork) || number === 0) continue
    if (again) return i
    last = number
    titled = false
  }
  return lines.length
}
