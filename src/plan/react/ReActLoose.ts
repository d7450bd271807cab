/**
 * Reads calls and answers that a completion states without the markers of the protocol.
 *
 * @private
 * @since 0.1.0
 */
import * as ReActAction from "./ReActAction.js"
import * as ReActMarker from "./ReActMarker.js"

/** A final answer after the end of a sentence, within its line. It counts only where nothing else was found. */
export const lateFinal = /[.!?)]["'*]{0,2}[ \t]{1,4}Final Answer: ?/
const sentenceEnd = /[.!?)]["'*]{0,2}$/
const plainName = /^[\w.-]{1,64}$/

/** The tool that the line before an orphaned input names in its text (`I should look. Action: search`). */
export const lateAction = (text: string, line: number, tools: ReActAction.Tools): string | undefined => {
  const tail = text.slice(line, ReActMarker.endOfLine(text, line)).slice(-256)
  const index = tail.lastIndexOf("Action:")
  if (index === -1) return undefined
  const name = ReActAction.unwrapName(tail.slice(index + 7))
  const known = ReActAction.knownTool(name, tools)
  return known ?? (sentenceEnd.test(tail.slice(0, index).trimEnd()) && plainName.test(name) ? name : undefined)
}

export type Bracket = NonNullable<ReturnType<typeof ReActAction.readBracket>>

/**
 * A line that is only `Name[argument]`, of a known tool, of `Finish`, or alone in its text; or only `name({…})` of a
 * known tool, outside a fence.
 */
export const bareCall = (
  text: string,
  end: number,
  tools: ReActAction.Tools
): readonly [number, Bracket] | undefined => {
  const isSingle = !text.trim().includes("\n")
  let fenced = false
  for (let line = 0; line < end; line = ReActMarker.endOfLine(text, line) + 1) {
    const lineEnd = Math.min(end, ReActMarker.endOfLine(text, line))
    const content = text.slice(line, lineEnd).trim()
    if (ReActMarker.isFence(content)) fenced = !fenced
    if (content.endsWith(")") && !fenced) {
      const at = text.indexOf(content, line)
      const called = ReActAction.readParentheses(text, at, lineEnd)
      const tool = called === undefined ? undefined : ReActAction.knownTool(called.name, tools)
      if (called?.input?.raw.startsWith("{") === true && tool !== undefined) {
        return [line, { _tag: "Call", tool, input: called.input }]
      }
    }
    if (!content.endsWith("]")) continue
    const read = ReActAction.readBracket(text.slice(0, lineEnd), text.indexOf(content, line), tools)
    if (read === undefined) continue
    if (read._tag === "Finish" || isSingle || tools?.includes(read.tool) === true) return [line, read]
  }
  return undefined
}
