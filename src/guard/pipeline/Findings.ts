/**
 * Findings in a text, and the text they leave.
 *
 * @private
 * @since 0.1.0
 */
import type { Finding } from "./Guard.js"

/**
 * The findings as they are promised: inside the text, by start, not overlapping. Of two that overlap the one that
 * begins first stays, and the other keeps what lies behind it, so that nothing found gets away because a window broke
 * its promise.
 */
export const ordered = (findings: ReadonlyArray<Finding>, length: number): ReadonlyArray<Finding> => {
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

/** A piece of a text and what stands in its place. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Edits by start; of those that overlap one is made, with the replacement of the one that begins first. */
export const merged = (edits: ReadonlyArray<Edit>): ReadonlyArray<Edit> => {
  const out: Array<Edit> = []
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    const before = out[out.length - 1]
    if (before === undefined || edit.start >= before.end) out.push(edit)
    else if (edit.end > before.end) out[out.length - 1] = { ...before, end: edit.end }
  }
  return out
}

/** The text with edits applied that stand by start and do not overlap. */
export const applied = (text: string, edits: ReadonlyArray<Edit>): string => {
  let out = ""
  let at = 0
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.replacement
    at = edit.end
  }
  return out + text.slice(at)
}

/** How often each label was found. */
export const counts = (findings: ReadonlyArray<Finding>): { readonly [label: string]: number } => {
  const found = new Map<string, number>()
  for (const { label } of findings) found.set(label, (found.get(label) ?? 0) + 1)
  return Object.fromEntries(found)
}
