/**
 * Code fences in a model's text. Text inside a fence is quoted and has no meaning for a reader of the text.
 *
 * @private
 * @since 0.1.0
 */

const fence = /^[ \t]{0,8}(`{3}|~{3})/

/**
 * Replaces each character of a closed fenced block by a space, so that positions stay the same. A text that is fenced
 * as a whole is not a quote. Linear in the text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const blank = (text: string): string => {
  const start = text.length - text.trimStart().length
  const end = text.trimEnd().length
  let result = ""
  let copied = 0
  let opened: { readonly at: number; readonly mark: string } | undefined
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf("\n", from)
    const next = newline < 0 ? text.length : newline + 1
    const mark = fence.exec(text.slice(from, Math.min(next, from + 16)))?.[1]
    if (mark !== undefined && opened === undefined) opened = { at: from, mark }
    else if (mark !== undefined && mark === opened?.mark) {
      const isWhole = opened.at <= start && next >= end
      if (!isWhole) {
        result += text.slice(copied, opened.at) + text.slice(opened.at, next).replace(/[^\n]/g, " ")
        copied = next
      }
      opened = undefined
    }
    from = next
  }
  return copied === 0 ? text : result + text.slice(copied)
}
