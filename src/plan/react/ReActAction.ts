/**
 * Reads the text after an `Action:` marker: the name of a tool and its input, in the spellings that models use.
 *
 * @private
 * @since 0.1.0
 */
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as ReActInput from "./ReActInput.js"
import * as ReActMarker from "./ReActMarker.js"

/**
 * Names of the available tools, if known.
 *
 * @since 0.1.0
 * @category models
 */
export type Tools = ReadonlyArray<string> | undefined

const maxName = 128

const wrappers: ReadonlyArray<readonly [string, string]> = [
  ["**", "**"],
  ["*", "*"],
  ["`", "`"],
  ['"', '"'],
  ["'", "'"],
  ["[", "]"],
  ["<", ">"]
]

/**
 * A name without surrounding emphasis, backticks, quotes, brackets or call parentheses.
 *
 * @since 0.1.0
 * @category conversions
 */
export const unwrapName = (name: string): string => {
  let result = name.trim()
  for (let changed = true; changed; ) {
    changed = false
    for (const [open, close] of wrappers) {
      if (result.length > open.length + close.length && result.startsWith(open) && result.endsWith(close)) {
        result = result.slice(open.length, -close.length).trim()
        changed = true
      }
    }
  }
  result = result.replace(/^[*`]{1,3}|[*`]{1,3}$/g, "").trim()
  return result.endsWith("()") ? result.slice(0, -2) : result
}

const loose = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, "")

/**
 * Resolves a tool name: the exact name, else the only one that differs in case, spaces, hyphens or underscores.
 *
 * @since 0.1.0
 * @category getters
 */
export const knownTool = (name: string, tools: Tools): string | undefined => {
  if (tools === undefined) return undefined
  if (tools.includes(name)) return name
  const key = loose(name)
  const similar = tools.filter((tool) => loose(tool) === key)
  return similar.length === 1 ? similar[0] : undefined
}

// What models write when they want no tool.
const noTool = /^(?:none|null|n\/a|no action(?: needed| required)?)[.]?$/i

const bracketName = /^[*`"']{0,3}([A-Za-z_][\w .:/-]{0,127}?) ?\[/

/**
 * `Nameless` has no usable name; `NoTool` says that no tool is wanted.
 *
 * @since 0.1.0
 * @category models
 */
export type Read =
  | { readonly _tag: "Call"; readonly tool: string; readonly input: ReActInput.Input }
  | { readonly _tag: "Finish"; readonly answer: string; readonly end: number }
  | { readonly _tag: "NoTool"; readonly end: number }
  | { readonly _tag: "Nameless"; readonly end: number }

/**
 * An input marker on the line of its action.
 *
 * @since 0.1.0
 * @category constants
 */
export const inlineInput = /[ \t]action[ _-]{0,2}input[ \t]{0,4}[:：]/i

/**
 * Reads `Name[argument]` at `from`. The argument may span lines if a bracket closes it before the next marker.
 *
 * @since 0.1.0
 * @category conversions
 */
export const readBracket = (
  text: string,
  from: number,
  tools: Tools
): Extract<Read, { readonly _tag: "Call" | "Finish" }> | undefined => {
  const lineEnd = ReActMarker.endOfLine(text, from)
  const line = text.slice(from, lineEnd)
  const match = bracketName.exec(line.slice(0, 2 * maxName))
  if (match === null) return undefined
  const name = match[1]!
  const open = from + match[0].length
  const region =
    ReActMarker.next(text, ReActMarker.nextLine(text, lineEnd), ReActMarker.boundaries)?.line ?? text.length
  const closes = (end: number) => /\][*`"'.\s]{0,8}$/.test(text.slice(Math.max(open, end - 9), end))
  const rest = text.slice(open, region).trimEnd()
  const isOpen = () => line.split("[").length > line.split("]").length
  const spansLines = (!closes(lineEnd) || isOpen()) && closes(open + rest.length)
  const end = spansLines ? open + rest.length : lineEnd
  const close = text.lastIndexOf("]", end - 1)
  const raw = text.slice(open, close >= open ? close : end).trim()
  const tool = knownTool(name, tools)
  if (tool === undefined && name.toLowerCase() === "finish") return { _tag: "Finish", answer: raw, end }
  const record = raw.startsWith("{") ? ReActInput.leadingRecord(raw) : undefined
  return { _tag: "Call", tool: tool ?? name, input: { value: record ?? (raw === "" ? {} : raw), raw, end } }
}

interface Parentheses {
  readonly name: string
  /** The text in the parentheses, unless it is a remark. */
  readonly input: ReActInput.Input | undefined
  readonly end: number
}

const parenthesesName = /^[*`"']{0,3}([A-Za-z_][\w .:/-]{0,127}?)[*`"']{0,3}([ \t]{0,4})\(\s{0,8}/
const closing = /^\s{0,8}\)[*`"'.;\s]{0,8}(?=\n|$)/

/**
 * Reads `name({…})`, `name("text")` or `name (remark)` at `from`. An object may span lines; anything else ends with its
 * line.
 *
 * @since 0.1.0
 * @category conversions
 */
export const readParentheses = (text: string, from: number, lineEnd: number): Parentheses | undefined => {
  const match = parenthesesName.exec(text.slice(from, from + 2 * maxName))
  if (match === null || from + match[0].trimEnd().length > lineEnd) return undefined
  const name = match[1]!
  const open = from + match[0].length
  const balanced = text[open] === "{" ? JsonRepair.balancedAt(text, open) : undefined
  if (balanced !== undefined) {
    const closed = closing.exec(text.slice(balanced.end, balanced.end + 32))
    const value = closed === null ? undefined : ReActInput.leadingRecord(balanced.text)
    if (closed === null || value === undefined) return undefined
    const end = balanced.end + closed[0].trimEnd().length
    return { name, input: { value, raw: text.slice(open, balanced.end), end }, end }
  }
  if (open > lineEnd) return undefined
  const line = text.slice(open, lineEnd)
  const close = line.lastIndexOf(")")
  if (close === -1 || closing.exec(line.slice(close)) === null) return undefined
  const raw = line.slice(0, close).trim()
  const isRemark = raw === "" || (match[2] !== "" && !/^["'`]/.test(raw))
  return { name, input: isRemark ? undefined : { value: ReActInput.decode(raw), raw, end: lineEnd }, end: lineEnd }
}

const nameless = /^(?:$|[{`~])/

const afterSpaces = (text: string, from: number): number => {
  let at = from
  while (text[at] === " " || text[at] === "\t") at++
  return at
}

/**
 * Reads the action of a marker.
 *
 * @since 0.1.0
 * @category conversions
 */
export const read = (text: string, marker: ReActMarker.Marker, tools: Tools): Read => {
  let start = marker.content
  let end = marker.lineEnd
  const isBlank = () => /^[\s`~]*$/.test(text.slice(start, end))
  while (isBlank() && end < text.length) {
    const line = end + 1
    if (ReActMarker.at(text, line) !== undefined) break
    start = line
    end = ReActMarker.endOfLine(text, line)
  }
  const inline = inlineInput.exec(text.slice(start, end))
  const nameEnd = inline === null ? end : start + inline.index
  const written = nameEnd - start > 4 * maxName ? "" : text.slice(start, nameEnd).trim()
  const whole = unwrapName(written)
  let known = knownTool(whole, tools)
  if (known === undefined && inline === null && written !== "") {
    const bracket = readBracket(text, text.indexOf(written, start), tools)
    if (bracket !== undefined) return bracket
  }
  const parentheses = known === undefined ? readParentheses(text, afterSpaces(text, start), nameEnd) : undefined
  const name = parentheses?.name ?? whole
  if (parentheses !== undefined) {
    known = knownTool(name, tools)
    end = Math.max(end, parentheses.end)
  }
  const next = inline === null ? ReActMarker.next(text, ReActMarker.nextLine(text, end), ReActMarker.kinds) : undefined
  const region = inline === null ? (next?.line ?? text.length) : end
  let input: ReActInput.Input = parentheses?.input ?? { value: {}, raw: "", end: nameEnd }
  if (inline !== null) input = ReActInput.read(text, nameEnd + inline[0].length)
  else if (next?.kind === "input") input = ReActInput.read(text, next.content)
  else if (parentheses?.input === undefined) {
    const unlabelled = text.slice(nameEnd, region).trim()
    const value =
      unlabelled.startsWith("{") || ReActMarker.isFence(unlabelled) ? ReActInput.decode(unlabelled) : undefined
    if (typeof value === "object" && value !== null) input = { value, raw: unlabelled, end: region }
  }
  if (name.length > maxName || nameless.test(name)) return { _tag: "Nameless", end: input.end }
  if (known === undefined && noTool.test(name)) return { _tag: "NoTool", end: input.end }
  return { _tag: "Call", tool: known ?? name, input }
}
