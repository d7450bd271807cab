/**
 * Decides which calls the `allowed-tools` of a skill permit.
 *
 * - `Read`: every call of the tool. Names are case-insensitive; `*` in a name matches any text.
 * - `Bash(npm test)`: exactly this argument.
 * - `Bash(git:*)`: `git`, alone or followed by white space and more.
 * - `Read(docs/*)`: `*` matches any text, also none; everything else matches itself, case-sensitively.
 *
 * The text matched by a `*` in an argument must be harmless to a shell: an argument with `;`, `&`, `|`, `<`, `>`,
 * backticks, `$(`, `${`, `$[` or control characters (including line ends) matches no such pattern, quoted or not, and
 * one with `..` in a path only `:*`. Patterns that begin with `http://` or `https://` are for addresses: these may
 * contain `&` and `;`, but no white space. `(*)` and `(:*)` do not restrict.
 *
 * The argument is the text in a call's parameters. A call with several texts, at any depth, matches if all of them do
 * (unless `mainArguments` names the one that counts); a call without text matches no pattern.
 *
 * @since 0.1.0
 */
import type { AllowedTool } from "../definition/SkillFile.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly name: string
  readonly params: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Tools that a name also refers to, besides the tool of that name: `{ Bash: ["run_command"] }`. */
  readonly aliases?: Readonly<Record<string, ReadonlyArray<string>>> | undefined
  /**
   * The parameter that patterns apply to, by tool: `{ run_command: "command" }`. Other parameters may then have any
   * value.
   */
  readonly mainArguments?: Readonly<Record<string, string>> | undefined
}

/**
 * Longer patterns match nothing.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_PATTERN_LENGTH = 1024

/** Matching each piece at its leftmost position leaves the most for the rest: no backtracking. */
const glob = (pattern: string, text: string): boolean => {
  const pieces = pattern.split("*")
  const first = pieces[0] as string
  if (pieces.length === 1) return pattern === text
  const last = pieces[pieces.length - 1] as string
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found === -1 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

const lower = (name: string): string => name.toLowerCase()

// biome-ignore lint/suspicious/noControlCharactersInRegex: they end a command
const shellSyntax = /[;&|<>`]|\$[({[]|[\u0000-\u0008\u000a-\u001f\u007f\u0085\u2028\u2029]/
const upwards = /(?:^|[\\/\s'"=]|%2f|%5c)(?:\.|%2e){2}(?:$|[\\/\s'"]|%2f|%5c)/i
const address = /^https?:\/\//

const argumentMatches = (pattern: string, text: string): boolean => {
  if (pattern === "*" || pattern === ":*") return true
  if (pattern.length > MAX_PATTERN_LENGTH) return false
  if (!pattern.includes("*")) return pattern === text
  if (address.test(pattern)) return !/\s/.test(text) && !upwards.test(text) && glob(pattern, text)
  if (shellSyntax.test(text)) return false
  if (!pattern.endsWith(":*")) return !upwards.test(text) && glob(pattern, text)
  const prefix = pattern.slice(0, -2)
  return glob(prefix, text) || glob(`${prefix} *`, text) || glob(`${prefix}\t*`, text)
}

/** All texts of the parameters; undefined if they are nested too deeply to collect. */
const textsOf = (params: unknown): ReadonlyArray<string> | undefined => {
  const texts: Array<string> = []
  const seen = new Set<object>()
  let level: Array<unknown> = [params]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > 100) return undefined
    const below: Array<unknown> = []
    for (const value of level) {
      if (typeof value === "string") texts.push(value)
      else if (typeof value === "object" && value !== null && !seen.has(value)) {
        seen.add(value)
        for (const item of Object.values(value)) below.push(item)
      }
    }
    level = below
  }
  return texts
}

const own = <A>(record: Readonly<Record<string, A>> | undefined, key: string): A | undefined =>
  record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined

const argumentsOf = (call: Call, options: Options | undefined): ReadonlyArray<string> | undefined => {
  const main = own(options?.mainArguments, call.name)
  if (main === undefined) return textsOf(call.params)
  const { params } = call
  const value =
    typeof params === "object" && params !== null ? own(params as Readonly<Record<string, unknown>>, main) : undefined
  return typeof value === "string" ? [value] : undefined
}

const nameMatches = (allowed: string, name: string, options: Options | undefined): boolean => {
  if (allowed.length > MAX_PATTERN_LENGTH) return false
  return glob(lower(allowed), lower(name)) || own(options?.aliases, allowed)?.includes(name) === true
}

/**
 * Whether one of these tools is the called one and its pattern matches the arguments.
 *
 * @since 0.1.0
 * @category predicates
 * @example
 * ```ts
 * import { AllowedTools } from "effect-lexigram/skill"
 *
 * const allowed = [{ name: "Read" }, { name: "Bash", pattern: "git:*" }]
 *
 * AllowedTools.allows(allowed, { name: "Bash", params: { command: "git status" } }) // true
 * AllowedTools.allows(allowed, { name: "Bash", params: { command: "git status; rm -r ." } }) // false
 * ```
 */
export const allows = (allowed: ReadonlyArray<AllowedTool>, call: Call, options?: Options | undefined): boolean => {
  let texts: ReadonlyArray<string> | undefined
  let read = false
  for (const { name, pattern } of allowed) {
    if (!nameMatches(name, call.name, options)) continue
    if (pattern === undefined) return true
    if (!read) {
      texts = argumentsOf(call, options)
      read = true
    }
    if (texts !== undefined && texts.length > 0 && texts.every((text) => argumentMatches(pattern, text))) return true
  }
  return false
}

/**
 * The notation of a skill file: `Bash(git:*)`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const format = (tool: AllowedTool): string =>
  tool.pattern === undefined ? tool.name : `${tool.name}(${tool.pattern})`
