/**
 * Reads the YAML block at the top of a `SKILL.md` as plain text: no types, no tags, no expanding references. Reading
 * always ends, in time bounded by the bounded length.
 *
 * @private
 * @since 0.1.0
 */
import * as Yaml from "yaml"

/**
 * Longer blocks are not read.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_LENGTH = 64 * 1024

// The package's parser is recursive, and a stack overflow while a pattern is compiled ends the whole process: too deep
// a nesting must never reach it. The number of tokens bounds the time (8,192 of the worst take 0.2 s).
const MAX_DEPTH = 32
const MAX_TOKENS = 8192
const MAX_ALIASES = 32
const MAX_PROBLEMS = 16

/**
 * Position in the whole text, from line 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly message: string
  readonly line: number
}

/**
 * A value. Scalars are the text as written. Values nested too deeply, and keys that are not text, are `Deep`.
 *
 * @since 0.1.0
 * @category models
 */
export type Value =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "List"; readonly items: ReadonlyArray<Value> }
  | { readonly _tag: "Map"; readonly entries: ReadonlyArray<Entry> }
  | { readonly _tag: "Deep" }

/**
 * @since 0.1.0
 * @category models
 */
export interface Entry {
  readonly key: string
  readonly value: Value
  readonly line: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Parts {
  readonly yaml: string
  readonly body: string
}

/**
 * The content of a block. `broken`: not YAML, or not a map. `unusual`: YAML that other readers of skill files refuse.
 *
 * @since 0.1.0
 * @category models
 */
export interface Content {
  readonly entries: ReadonlyArray<Entry>
  readonly broken: ReadonlyArray<Problem>
  readonly unusual: ReadonlyArray<Problem>
}

const isMarker = (line: string): boolean => line.startsWith("---") && line.slice(3).trim() === ""

/**
 * Splits a text into front matter and body, or says why it cannot. Trailing blanks after a marker are accepted: such a
 * line is a marker in YAML as well.
 *
 * @since 0.1.0
 * @category parsing
 */
export const split = (text: string): Parts | Problem => {
  const from = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const firstEnd = text.indexOf("\n", from)
  if (firstEnd === -1 || !isMarker(text.slice(from, firstEnd)))
    return { message: "The file does not begin with a line ---, which opens its front matter", line: 1 }
  const start = firstEnd + 1
  let at = start
  while (at <= text.length) {
    const found = text.indexOf("\n", at)
    const end = found === -1 ? text.length : found
    if (text.startsWith("---", at) && isMarker(text.slice(at, end)))
      return { yaml: text.slice(start, at), body: text.slice(Math.min(end + 1, text.length)) }
    at = end + 1
  }
  return { message: "No line --- closes the front matter", line: 1 }
}

/** Maps an offset in the block to a line of the file; the block begins on line 2. */
const linesOf = (yaml: string): ((offset: number) => number) => {
  const starts = [0]
  for (let at = yaml.indexOf("\n"); at !== -1; at = yaml.indexOf("\n", at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle
    }
    return low + 2
  }
}

const tooMuch = (yaml: string): string | undefined => {
  if (yaml.length > MAX_LENGTH) return `The front matter is longer than ${MAX_LENGTH} characters`
  const indents: Array<number> = []
  let flow = 0
  let inline = 0
  let tokens = 0
  let isLineStart = true
  for (const token of new Yaml.Lexer().lex(yaml)) {
    if (++tokens > MAX_TOKENS) return "The front matter has too many parts"
    const type = Yaml.CST.tokenType(token)
    if (type === "newline") {
      isLineStart = true
      inline = 0
      continue
    }
    if (isLineStart && flow === 0) {
      const indent = type === "space" ? token.length : 0
      while (indents.length > 0 && (indents[indents.length - 1] as number) >= indent) indents.pop()
      indents.push(indent)
    }
    isLineStart = false
    if (type === "flow-seq-start" || type === "flow-map-start") flow++
    else if (type === "flow-seq-end" || type === "flow-map-end") flow = Math.max(0, flow - 1)
    else if (flow === 0 && (type === "seq-item-ind" || type === "explicit-key-ind" || type === "map-value-ind"))
      inline++
    if (indents.length + inline + flow > MAX_DEPTH) return "The front matter is nested too deeply"
  }
  return undefined
}

const isPlain = (value: string): boolean => !/^["'[\]{}|>&*!%@`#,?-]/.test(value)

const indentOf = (line: string): number => line.length - line.trimStart().length

/**
 * The block with plain values that contain a colon put in quotation marks, as in `description: Use it: always`;
 * `undefined` if there are none. A value continues over the following lines that are indented more than its key.
 *
 * @since 0.1.0
 * @category parsing
 */
export const quoteColons = (yaml: string): string | undefined => {
  const lines = yaml.slice(0, MAX_LENGTH + 1).split("\n")
  const quoted: Array<string> = []
  let isChanged = false
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string
    const indent = indentOf(line)
    const colon = line.indexOf(": ", indent)
    const value = colon === -1 ? "" : line.slice(colon + 2).trim()
    const key = line.slice(indent, Math.max(indent, colon))
    if (value === "" || !isPlain(value) || !isPlain(key)) {
      quoted.push(line)
      continue
    }
    let next = at + 1
    while (next < lines.length && (lines[next] as string).trim() !== "" && indentOf(lines[next] as string) > indent)
      next++
    const text = [value, ...lines.slice(at + 1, next).map((more) => more.trim())].join(" ")
    if (text.includes(": ") || text.endsWith(":")) {
      isChanged = true
      quoted.push(`${line.slice(0, colon)}: ${JSON.stringify(text)}`, ...lines.slice(at + 1, next).map(() => ""))
    } else quoted.push(...lines.slice(at, next))
    at = next - 1
  }
  return isChanged ? quoted.join("\n") : undefined
}

/**
 * The value as JSON; scalars stay text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toJson = (value: Value): unknown => {
  switch (value._tag) {
    case "Text":
      return value.text
    case "List":
      return value.items.map(toJson)
    case "Map":
      return Object.fromEntries(value.entries.map(({ key, value }) => [key, toJson(value)]))
    case "Deep":
      return null
  }
}

/** A longer block is left to the parser, which bounds it. */
const MAX_PLAIN = 4096

const plainKey = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
// Single-line text without other meaning in YAML; `: ` and ` #` are checked separately.
const plainText = /^[A-Za-z0-9(][\x20-\x7e\xa1-\u167f\u2010-\u2027\u3001-\ud7ff]*$/

/** The scalar after a key, trimmed; `undefined` if it needs the parser. */
const plainScalar = (text: string): string | undefined => {
  let from = 0
  let to = text.length
  while (from < to && text[from] === " ") from++
  while (to > from && text[to - 1] === " ") to--
  const value = text.slice(from, to)
  const quote = value[0]
  if (quote === '"' || quote === "'") {
    const inner = value.slice(1, -1)
    const isWhole = value.length > 1 && value.endsWith(quote) && plainText.test(`a${inner}`)
    return isWhole && !inner.includes(quote) && !(quote === '"' && inner.includes("\\")) ? inner : undefined
  }
  if (value === "") return ""
  const isPlain = plainText.test(value) && !value.includes(": ") && !value.includes(" #") && !value.endsWith(":")
  return isPlain ? value : undefined
}

/**
 * The entries of a block whose lines are all `key: value`, with at most one nested level below a key without a value:
 * the form of most files, with the parser's result. `undefined` for any other block.
 *
 * @since 0.1.0
 * @category parsing
 */
export const plain = (yaml: string): ReadonlyArray<Entry> | undefined => {
  if (yaml.length > MAX_PLAIN) return undefined
  const entries: Array<Entry> = []
  let inner: Array<Entry> = []
  let isOpen = false
  for (const [at, line] of yaml.split("\n").entries()) {
    if (line === "") continue
    const isInner = line.startsWith("  ")
    const colon = line.indexOf(":")
    const key = line.slice(isInner ? 2 : 0, Math.max(0, colon))
    const rest = line.slice(colon + 1)
    const text = rest === "" || rest[0] === " " ? plainScalar(rest) : undefined
    if (text === undefined || (isInner && !isOpen) || !plainKey.test(key)) return undefined
    const value: Value = { _tag: "Text", text }
    if (isInner) {
      inner.push({ key, value, line: at + 2 })
      continue
    }
    isOpen = rest.trim() === ""
    inner = []
    entries.push({ key, value: isOpen ? { _tag: "Map", entries: inner } : value, line: at + 2 })
  }
  return entries.map((entry) =>
    entry.value._tag === "Map" && entry.value.entries.length === 0
      ? { ...entry, value: { _tag: "Text", text: "" } }
      : entry
  )
}

/**
 * Reads the block. Never throws.
 *
 * @since 0.1.0
 * @category parsing
 */
export const read = (yaml: string): Content => {
  const entries = plain(yaml)
  return entries === undefined ? parse(yaml) : { entries, broken: [], unusual: [] }
}

/**
 * Reads the block with the package's parser, whatever it contains.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parse = (yaml: string): Content => {
  const broken: Array<Problem> = []
  const unusual: Array<Problem> = []
  const excess = tooMuch(yaml)
  if (excess !== undefined) return { entries: [], broken: [{ message: excess, line: 2 }], unusual }
  const lineOf = linesOf(yaml)
  const add = (to: Array<Problem>, message: string, offset: number): void => {
    const problem = { message: message.slice(0, 200), line: lineOf(offset) }
    const isKnown = to.some(({ line, message }) => line === problem.line && message === problem.message)
    if (to.length < MAX_PROBLEMS && !isKnown) to.push(problem)
  }

  // The package's check for unique keys takes quadratic time and is not used.
  const document = Yaml.parseDocument(yaml, {
    schema: "failsafe",
    version: "1.2",
    merge: false,
    uniqueKeys: false,
    prettyErrors: false
  })
  for (const error of document.errors) add(broken, `The front matter is no valid YAML: ${error.message}`, error.pos[0])
  if (broken.length > 0) return { entries: [], broken, unusual }

  let aliases = 0
  const offsetOf = (node: unknown): number => (Yaml.isNode(node) ? (node.range?.[0] ?? 0) : 0)
  const valueOf = (node: unknown, depth: number): Value => {
    if (Yaml.isAlias(node)) {
      add(unusual, "References to other values (*) are not used in skill files", offsetOf(node))
      const target = ++aliases > MAX_ALIASES ? undefined : node.resolve(document)
      if (target === undefined) {
        add(broken, `The reference *${node.source.slice(0, 64)} leads nowhere`, offsetOf(node))
        return { _tag: "Deep" }
      }
      return valueOf(target, depth)
    }
    if (Yaml.isNode(node) && node.tag !== undefined)
      add(unusual, "Tags (!) are not used in skill files", offsetOf(node))
    if ((Yaml.isScalar(node) || Yaml.isCollection(node)) && node.anchor !== undefined)
      add(unusual, "Anchors (&) are not used in skill files", offsetOf(node))
    if (!Yaml.isCollection(node)) {
      return { _tag: "Text", text: Yaml.isScalar(node) ? String(node.value ?? "") : "" }
    }
    if (depth === 0) return { _tag: "Deep" }
    return Yaml.isMap(node)
      ? { _tag: "Map", entries: entriesOf(node, depth - 1) }
      : { _tag: "List", items: node.items.map((item) => valueOf(item, depth - 1)) }
  }
  const entriesOf = (map: Yaml.YAMLMap, depth: number): ReadonlyArray<Entry> => {
    const entries: Array<Entry> = []
    for (const { key, value } of map.items) {
      const name = valueOf(key, 0)
      if (name._tag === "Text")
        entries.push({ key: name.text, value: valueOf(value, depth), line: lineOf(offsetOf(key)) })
      else add(broken, "A key of the front matter is no text", offsetOf(key))
    }
    return entries
  }

  const root = document.contents
  if (root === null) return { entries: [], broken, unusual }
  const content = valueOf(root, MAX_DEPTH)
  if (content._tag === "Map" && broken.length === 0) return { entries: content.entries, broken, unusual }
  if (content._tag !== "Map") add(broken, "The front matter is no map of fields to values", offsetOf(root))
  return { entries: [], broken, unusual }
}
