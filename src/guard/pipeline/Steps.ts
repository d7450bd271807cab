/**
 * Checks long texts in slices, so that the event loop turns between them and the check can be interrupted.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stepwise from "../../internal/fiber/Stepwise.js"
import * as Findings from "./Findings.js"
import type * as Guard from "./Guard.js"

export { finish, perStep, type Steps } from "../../internal/fiber/Stepwise.js"

/**
 * Runs the work on a text, and reads its result: at once if the text is short, otherwise the event loop turns between
 * the steps.
 */
export const run = <A, B>(
  text: string,
  work: (text: string) => Stepwise.Steps<A>,
  read: (found: A) => B
): Effect.Effect<B> =>
  Effect.suspend(() =>
    text.length <= Stepwise.perStep
      ? Effect.succeed(read(Stepwise.finish(work(text))))
      : Effect.map(Stepwise.turning(work(text)), read)
  )

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** Moves an index that would split a surrogate pair. */
const whole = (text: string, at: number): number => (isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at)

/**
 * Finds what a window finds in a text, slice by slice. Each slice is read with `reach` characters on both sides and
 * ends before a finding that continues after it, so the result equals that of the whole text.
 */
export function* find(window: Guard.Window, text: string): Stepwise.Steps<ReadonlyArray<Guard.Finding>> {
  const { reach } = window
  const size = Math.max(Stepwise.perStep, 2 * reach)
  const found: Array<Guard.Finding> = []
  let done = 0
  let ahead = size
  while (done < text.length) {
    if (done > 0 || ahead > size) yield
    const from = whole(text, Math.max(0, done - reach))
    const end = Math.min(text.length, done + ahead)
    const isLast = end === text.length
    const limit = isLast ? end : whole(text, end - reach)
    const slice = text.slice(from, end)
    const findings = Findings.order(window.find(slice, from), slice.length)
    const over = isLast
      ? undefined
      : findings.find((finding) => from + finding.start < limit && from + finding.end >= limit)
    const cut = over === undefined ? limit : from + over.start
    if (cut <= done) {
      ahead *= 2
      continue
    }
    for (const finding of findings) {
      const start = from + finding.start
      if (start >= done && start < cut)
        found.push(from === 0 ? finding : { ...finding, start, end: from + finding.end })
    }
    done = cut
    ahead = size
  }
  return found
}
