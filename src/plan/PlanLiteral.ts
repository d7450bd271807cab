/**
 * Reads literals of planned calls, in Python or JSON notation, while they arrive. A generator yields where it needs
 * more text. Nothing is evaluated.
 *
 * @since 0.1.0
 * @private
 */

/** Text that may still grow, with a position. */
export interface Cursor {
  text: string
  at: number
  /** Whether the text is complete. */
  ended: boolean
}

export type Reading<A> = Generator<void, A, void>

/** Not a literal. */
export const NONE: unique symbol = Symbol.for("effect-lexigram/strategy/PlanLiteral/NONE")
export type NONE = typeof NONE

export interface Arguments {
  readonly args: ReadonlyArray<unknown>
  readonly named: { readonly [name: string]: unknown }
}

/** Maximum length of a list of arguments in UTF-16 units, and maximum nesting. */
export const maxChars = 32_768
const maxDepth = 64

/** Waits until there is a character at the cursor, or the text is complete. */
export function* fill(cursor: Cursor): Reading<void> {
  while (cursor.at >= cursor.text.length && !cursor.ended) yield
}

function* peek(cursor: Cursor): Reading<string> {
  if (cursor.at >= cursor.text.length) yield* fill(cursor)
  return cursor.text[cursor.at] ?? ""
}

const isSpace = (char: string): boolean => char === " " || char === "\n" || char === "\t" || char === "\r"

/** Moves the cursor to the next character that is not white space, or to the end of the available text. */
export const skipSpace = (cursor: Cursor): void => {
  while (cursor.at < cursor.text.length && isSpace(cursor.text[cursor.at] as string)) cursor.at++
}

/** The next character that is not white space. The cursor is on it. */
export function* next(cursor: Cursor): Reading<string> {
  for (;;) {
    skipSpace(cursor)
    if (cursor.at < cursor.text.length) return cursor.text[cursor.at] as string
    if (cursor.ended) return ""
    yield
  }
}

function* run(cursor: Cursor, accept: (char: string, before: string) => boolean): Reading<string> {
  const from = cursor.at
  for (;;) {
    const char = yield* peek(cursor)
    if (char === "" || !accept(char, cursor.text[cursor.at - 1] ?? "")) return cursor.text.slice(from, cursor.at)
    cursor.at++
  }
}

const isWord = (char: string): boolean => /[\p{L}\p{N}_]/u.test(char)
const isDigit = (char: string): boolean => char >= "0" && char <= "9"

const words: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null]
])

const decimal = /^[+-]?(?:(?:0|[1-9][\d_]*)(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?$/
const hexadecimal = /^[+-]?0[xX][\da-fA-F]+$/

function* numeral(cursor: Cursor): Reading<number | NONE> {
  const sign = cursor.text[cursor.at] === "-" || cursor.text[cursor.at] === "+" ? cursor.at++ : -1
  const from = sign < 0 ? cursor.at : sign
  yield* run(
    cursor,
    (char, before) =>
      isWord(char) || char === "." || ((char === "-" || char === "+") && (before === "e" || before === "E"))
  )
  const text = cursor.text.slice(from, cursor.at)
  const value = decimal.test(text)
    ? Number(text.replaceAll("_", ""))
    : hexadecimal.test(text)
      ? (text.startsWith("-") ? -1 : 1) * Number.parseInt(text.replace(/^[+-]/, ""), 16)
      : Number.NaN
  return Number.isFinite(value) ? value : NONE
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ["b", "\b"],
  ["f", "\f"],
  ["v", "\v"],
  ["a", "\x07"],
  ["0", "\0"],
  ["\n", ""],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["`", "`"],
  ["/", "/"]
])

const hexLength: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["U", 8]
])

function* escape(cursor: Cursor): Reading<string | NONE> {
  const char = yield* peek(cursor)
  if (char === "") return NONE
  cursor.at++
  const length = hexLength.get(char)
  if (length === undefined) return escapes.get(char) ?? `\\${char}`
  const from = cursor.at
  yield* run(cursor, (digit) => cursor.at - from < length && /[\da-fA-F]/.test(digit))
  const digits = cursor.text.slice(from, cursor.at)
  const code = Number.parseInt(digits, 16)
  return digits.length < length || code > 0x10ffff ? `\\${char}${digits}` : String.fromCodePoint(code)
}

/** Reads a string. The cursor is on its opening quote. */
function* quoted(cursor: Cursor, from: number, isRaw: boolean): Reading<string | NONE> {
  const quote = cursor.text[cursor.at++] as string
  const parts: Array<string> = []
  let start = cursor.at
  for (;;) {
    if (cursor.at >= cursor.text.length) yield* fill(cursor)
    const char = cursor.text[cursor.at]
    if (char === undefined || cursor.at - from > maxChars) return NONE
    if (char === quote) {
      parts.push(cursor.text.slice(start, cursor.at++))
      return parts.join("")
    }
    cursor.at++
    if (char !== "\\") continue
    if (isRaw) {
      yield* fill(cursor)
      cursor.at++
      continue
    }
    parts.push(cursor.text.slice(start, cursor.at - 1))
    const escaped = yield* escape(cursor)
    if (escaped === NONE) return NONE
    parts.push(escaped)
    start = cursor.at
  }
}

const isQuote = (char: string): boolean => char === '"' || char === "'"

/** Adjacent strings are joined. */
function* strings(cursor: Cursor, from: number, isRaw: boolean): Reading<string | NONE> {
  const parts: Array<string> = []
  let raw = isRaw
  for (;;) {
    const part = yield* quoted(cursor, from, raw)
    if (part === NONE) return NONE
    parts.push(part)
    raw = false
    if (!isQuote(yield* next(cursor))) return parts.join("")
  }
}

/** `$1` or `${1}` outside a string. */
function* reference(cursor: Cursor): Reading<string | NONE> {
  const from = cursor.at++
  const isBraced = (yield* peek(cursor)) === "{"
  if (isBraced) cursor.at++
  const name = yield* run(cursor, isBraced ? (char) => isWord(char) || char === "-" : isDigit)
  if (name === "") return NONE
  if (isBraced) {
    if ((yield* peek(cursor)) !== "}") return NONE
    cursor.at++
  }
  return cursor.text.slice(from, cursor.at)
}

function* items(cursor: Cursor, close: string, from: number, depth: number): Reading<Array<unknown> | NONE> {
  const values: Array<unknown> = []
  for (;;) {
    if ((yield* next(cursor)) === close) {
      cursor.at++
      return values
    }
    const value = yield* literal(cursor, from, depth)
    if (value === NONE) return NONE
    values.push(value)
    const char = yield* next(cursor)
    if (char === ",") cursor.at++
    else if (char !== close) return NONE
  }
}

/** A dictionary, or a set, which is read as a list. */
function* braced(cursor: Cursor, from: number, depth: number): Reading<unknown> {
  const entries: Array<readonly [string, unknown]> = []
  const values: Array<unknown> = []
  for (;;) {
    const char = yield* next(cursor)
    if (char === "}") {
      cursor.at++
      if (values.length > 0) return entries.length > 0 ? NONE : values
      return Object.fromEntries(entries.filter(([key]) => key !== "__proto__"))
    }
    const key = /[A-Za-z_]/.test(char) ? yield* bareKey(cursor, from, depth) : yield* literal(cursor, from, depth)
    if (key === NONE) return NONE
    if ((yield* next(cursor)) === ":") {
      cursor.at++
      if (typeof key === "object" && key !== null) return NONE
      const value = yield* literal(cursor, from, depth)
      if (value === NONE) return NONE
      entries.push([String(key), value])
    } else values.push(key)
    const after = yield* next(cursor)
    if (after === ",") cursor.at++
    else if (after !== "}") return NONE
  }
}

/** A key without quotes, or a word that is a value. */
function* bareKey(cursor: Cursor, from: number, depth: number): Reading<unknown> {
  const mark = cursor.at
  const word = yield* run(cursor, isWord)
  if ((yield* next(cursor)) === ":" && !words.has(word)) return word
  cursor.at = mark
  return yield* literal(cursor, from, depth)
}

/** Reads a value. The cursor is after it. */
export function* literal(cursor: Cursor, from: number, depth: number): Reading<unknown> {
  const char = yield* next(cursor)
  if (depth > maxDepth || cursor.at - from > maxChars) return NONE
  if (isQuote(char)) return yield* strings(cursor, from, false)
  switch (char) {
    case "[":
      cursor.at++
      return yield* items(cursor, "]", from, depth + 1)
    case "(": {
      cursor.at++
      const values = yield* items(cursor, ")", from, depth + 1)
      // Parentheses around one value are only grouping, unless a comma makes it a tuple.
      return values !== NONE &&
        values.length === 1 &&
        !/,\s*\)$/.test(cursor.text.slice(Math.max(0, cursor.at - 16), cursor.at))
        ? values[0]
        : values
    }
    case "{":
      cursor.at++
      return yield* braced(cursor, from, depth + 1)
    case "$":
      return yield* reference(cursor)
  }
  if (isDigit(char) || char === "-" || char === "+" || char === ".") return yield* numeral(cursor)
  return yield* word(cursor, from)
}

function* word(cursor: Cursor, from: number): Reading<unknown> {
  const text = yield* run(cursor, isWord)
  if (words.has(text)) return words.get(text)
  return /^[rbuf]{1,2}$/i.test(text) && isQuote(yield* peek(cursor))
    ? yield* strings(cursor, from, /r/i.test(text))
    : NONE
}

/**
 * Reads the arguments of a call, from after the opening bracket to after the closing one. `NONE` if they are not
 * literals or do not end.
 */
export function* callArguments(cursor: Cursor, close: ")" | "]" = ")"): Reading<Arguments | NONE> {
  const from = cursor.at
  const args: Array<unknown> = []
  const named: Array<readonly [string, unknown]> = []
  for (;;) {
    const char = yield* next(cursor)
    if (char === close) {
      cursor.at++
      return { args, named: Object.fromEntries(named) }
    }
    let name: string | undefined
    if (/[A-Za-z_]/.test(char)) {
      const mark = cursor.at
      const text = yield* run(cursor, isWord)
      if ((yield* next(cursor)) === "=" && text !== "__proto__") {
        cursor.at++
        name = text
      } else cursor.at = mark
    }
    const value = yield* literal(cursor, from, 0)
    if (value === NONE) return NONE
    if (name === undefined) args.push(value)
    else named.push([name, value])
    const after = yield* next(cursor)
    if (after === ",") cursor.at++
    else if (after !== close) return NONE
  }
}

/** Runs a reader over complete text. */
export const runAll = <A>(reading: Reading<A>): A | undefined => {
  const result = reading.next()
  return result.done === true ? result.value : undefined
}
