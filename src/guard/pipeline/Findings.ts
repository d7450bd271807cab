/**
 * Orders and merges findings, and applies edits to a text.
 *
 * @private
 * @since 0.1.0
 */
import type { Finding } from "./Guard.js"

/**
 * Enforces the contract of findings: within the text, ordered by start, without overlaps. Of two that overlap, the
 * first stays and the other keeps the rest, so nothing found escapes when a window breaks its contract.
 */
export const order = (findings: ReadonlyArray<Finding>, length: number): ReadonlyArray<Finding> => {
  let last = 0
  for (const finding of findings) {
    if (finding.start < last || finding.end <= finding.start || finding.end > length) return repaired(findings, length)
    last = finding.end
  }
  return findings
}

const repaired = (findings: ReadonlyArray<Finding>, length: number): ReadonlyArray<Finding> => {
  const out: Array<Finding> = []
  let last = 0
  for (const finding of [...findings].sort((a, b) => a.start - b.start)) {
    const start = Math.max(finding.start, last)
    const end = Math.min(finding.end, length)
    if (!(end > start)) continue
    out.push(start === finding.start && end === finding.end ? finding : { ...finding, start, end })
    last = end
  }
  return out
}

/** A piece of a text and its replacement. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Orders edits by start and merges those that overlap, with the replacement of the first. */
export const mergeEdits = (edits: ReadonlyArray<Edit>): ReadonlyArray<Edit> => {
  const out: Array<Edit> = []
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    const before = out[out.length - 1]
    if (before === undefined || edit.start >= before.end) out.push(edit)
    else if (edit.end > before.end) out[out.length - 1] = { ...before, end: edit.end }
  }
  return out
}

/** Applies edits that are ordered by start and do not overlap. */
export const applyEdits = (text: string, edits: ReadonlyArray<Edit>): string => {
  let out = ""
  let at = 0
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.replacement
    at = edit.end
  }
  return out + text.slice(at)
}

/** Counts findings by label. */
export const counts = (findings: ReadonlyArray<Finding>): { readonly [label: string]: number } => {
  const found = new Map<string, number>()
  for (const { label } of findings) found.set(label, (found.get(label) ?? 0) + 1)
  return Object.fromEntries(found)
}
