/**
 * Finds the end of the final answer of a ReAct completion: a complete action, unless a closed fence quotes it. A line
 * that begins like an observation is text of the answer. Reads line by line, so that an answer can be streamed.
 *
 * @private
 * @since 0.1.0
 */
import { inlineInput } from "./ReActAction.js"
import * as ReActMarker from "./ReActMarker.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReActAnswer {
  /**
   * Takes the next line after the first: the whole line if it is an action, else at least as much as
   * `ReActMarker.isDecided` requires. Returns the end of the answer once it is certain.
   */
  readonly push: (line: string, at: number) => number | undefined
  /** Whether later lines may still end the answer at or before the last line. */
  readonly isInDoubt: () => boolean
  /** The end of the answer if no more text comes; `undefined` for the end of the text. */
  readonly end: () => number | undefined
}

const bareFence = /^(?:```|~~~)\s*$/

/**
 * `isWrapped`: a fence was opened before the answer, and its end belongs to no fence of the answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (isWrapped: boolean): ReActAnswer => {
  let wrapped = isWrapped
  let fenced = false
  let insideFence: number | undefined
  let thought: number | undefined
  // An action that an input would complete.
  let action: { readonly at: number; readonly fenced: boolean } | undefined

  const cut = (at: number, isFenced: boolean): number | undefined => {
    if (!isFenced) return at
    insideFence ??= at
    return undefined
  }

  return {
    push: (line, at) => {
      const marker = ReActMarker.at(line, 0)
      if (marker !== undefined) {
        const before = action
        action = undefined
        let end = marker.kind === "input" && before !== undefined ? cut(before.at, before.fenced) : undefined
        if (marker.kind === "thought" && !fenced) thought = at
        else if (marker.kind === "action") {
          if (inlineInput.test(line.slice(marker.content))) end ??= cut(thought ?? at, fenced)
          else action = { at: thought ?? at, fenced }
        }
        if (end !== undefined) return end
      }
      const start = line.slice(0, ReActMarker.window).trimStart()
      if (!ReActMarker.isFence(start)) return undefined
      if (fenced) {
        fenced = false
        insideFence = undefined
        if (action?.fenced === true) action = undefined
      } else if (wrapped && bareFence.test(start)) wrapped = false
      else fenced = true
      return undefined
    },
    isInDoubt: () => thought !== undefined || action !== undefined || insideFence !== undefined,
    end: () => insideFence
  }
}
