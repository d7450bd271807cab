/**
 * Reads the three forms in which plans of ReWOO are written.
 *
 * @since 0.1.0
 * @private
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as JsonRepair from "../internal/text/JsonRepair.js"
import { type Cursor, callArguments, maxChars, NONE, runAll } from "./PlanLiteral.js"
import { withoutFence } from "./PlanStructure.js"

/** A piece of evidence as written; `problem` says why it is unreadable. */
export interface Step {
  readonly variable: string
  readonly tool: string
  readonly input: unknown
  readonly plan: string
  readonly notation: "#E" | "{}"
  /** Whether every `{word}` is a reference. */
  readonly strict: boolean
  readonly problem?: string | undefined
}

export interface Written {
  readonly plans: ReadonlyArray<string>
  readonly steps: ReadonlyArray<Step>
  /** The text contains a plan, even if it has no evidence. */
  readonly isFound: boolean
}

const planLine = /^[ \t*_>#-]*(?:\d{1,4}[.)][ \t*_]*)?plan(?:[ \t]*\d{1,4})?[ \t*_]*:[ \t*_]*(.*)/is
const assignment = /^[ \t_>-]*(?:\d{1,4}[.)][ \t]*)?[*`]*[#*]?[ \t]?E(\d{1,9})[*`]*[ \t]*[=:][ \t]*(.*)/is
const inline = /#E(\d{1,9})[ \t]*=[ \t]*(?=[^\s=])/i
const head = /^[*`]*([\p{L}_][^[\](){}\n]{0,127}?)[ \t*`]{0,16}([[(])/u
const question = /^[ \t*_>#]*question[ \t*_]*:/i

/**
 * The input of a call: up to the closing bracket if no other one follows on its line, else up to the last one.
 * `undefined` if none closes it.
 */
const enclosed = (text: string, open: string, close: ")" | "]"): string | undefined => {
  const quoted = /^\s*[{["']/.test(text) ? literal(text, close) : undefined
  if (quoted !== undefined) return quoted
  let depth = 1
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === open) depth++
    else if (char === close && --depth === 0) {
      const end = text.indexOf("\n", i)
      if (!text.slice(i + 1, end < 0 ? text.length : end).includes(close)) return text.slice(0, i)
      break
    }
  }
  const last = text.lastIndexOf(close)
  return last < 0 ? undefined : text.slice(0, last)
}

/** Brackets inside strings do not count if the input is a list of literals. */
const literal = (text: string, close: ")" | "]"): string | undefined => {
  const cursor: Cursor = { text, at: 0, ended: true }
  const read = runAll(callArguments(cursor, close))
  return read !== undefined && read !== NONE && /^[ \t]*(?:$|[\r\n#.;,])/.test(text.slice(cursor.at, cursor.at + 100))
    ? text.slice(0, cursor.at - 1)
    : undefined
}

interface Open {
  readonly variable: string
  readonly plan: string
  readonly lines: Array<string>
}

const finish = ({ lines, plan, variable }: Open): Step => {
  const step = { variable, plan, notation: "#E" as const, strict: true }
  const text = lines.join("\n")
  const found = head.exec(text.slice(0, 400))
  if (found === null) return { ...step, tool: "", input: "", problem: "it has no call like `Tool[input]`" }
  const [whole, tool, open] = found as unknown as [string, string, string]
  const input = enclosed(text.slice(whole.length), open, open === "[" ? "]" : ")")
  if (input === undefined) return { ...step, tool, input: "", problem: "its input has no closing bracket" }
  return input.length > maxChars
    ? { ...step, tool, input: "", problem: `its input is longer than ${maxChars} characters` }
    : { ...step, tool: tool.trim(), input: input.trim() }
}

const readLines = (text: string, max: number): Written => {
  const plans: Array<string> = []
  const steps: Array<Step> = []
  let plan = ""
  let open: Open | undefined
  const close = () => {
    if (open !== undefined) steps.push(finish(open))
    open = undefined
  }
  const begin = (number: string, rest: string) => {
    close()
    open = { variable: `#E${number}`, plan, lines: [rest] }
    plan = ""
  }
  for (const line of text.split("\n")) {
    // One more than allowed is enough to detect that there are too many.
    if (steps.length > max) break
    const given = assignment.exec(line)
    if (given !== null) {
      begin(given[1] as string, given[2] as string)
      continue
    }
    const said = planLine.exec(line)
    if (said !== null) {
      close()
      const inner = said[1] as string
      const at = inline.exec(inner)
      plan = (at === null ? inner : inner.slice(0, at.index)).trim()
      plans.push(plan)
      if (at !== null) begin(at[1] as string, inner.slice(at.index + at[0].length))
    } else if ((steps.length > 0 || open !== undefined) && question.test(line)) {
      // The model continues with a question of its own.
      break
    } else (open as Open | undefined)?.lines.push(line)
  }
  close()
  return { plans, steps, isFound: steps.length > 0 }
}

const field = /^[ \t*_>-]*(PLAN|SOLVER|TOOL|PARAMS|ARGS)[ \t*_]*:[ \t*_]*(.*)/is

const readBlocks = (text: string, max: number): Written => {
  const plans: Array<string> = []
  const steps: Array<Step> = []
  let block: Map<string, Array<string>> | undefined
  let plan: Array<string> | undefined
  let current: Array<string> | undefined
  let last = ""
  const textOf = (name: string): string => (block?.get(name) ?? []).join("\n").trim()
  const closePlan = () => {
    const said = plan?.join("\n").trim() ?? ""
    plan = undefined
    if (said !== "") plans.push(said)
    if (said !== "") last = said
  }
  const close = () => {
    closePlan()
    if (block === undefined) return
    const variable = textOf("SOLVER")
      .slice(0, 200)
      .replace(/^[{`"'*\s]+|(?<![}`"'*\s])[}`"'*\s]+$/g, "")
    const tool = textOf("TOOL")
      .slice(0, 200)
      .replace(/^[`"'*]+|(?<![`"'*])[`"'*]+$/g, "")
    const raw = withoutFence(textOf("PARAMS") || textOf("ARGS"))
    const step = { variable: variable.slice(0, 64), tool, plan: last, notation: "{}" as const, strict: true }
    const parsed = /^[{[]/.test(raw) && !/^\{\s*#?\w+\s*\}$/.test(raw) ? JsonRepair.parse(raw) : Either.right(raw)
    const input = Either.getOrUndefined(parsed)
    const problem = !/^#?\w{1,64}$/.test(variable)
      ? "a SOLVER is called by one word"
      : tool === ""
        ? "it has no TOOL"
        : input === undefined
          ? "its PARAMS are not valid JSON"
          : undefined
    steps.push({ ...step, input: input ?? "", problem })
    block = undefined
    last = ""
  }
  for (const line of text.split("\n")) {
    if (steps.length > max) break
    const found = field.exec(line)
    if (found === null) {
      current?.push(line)
      continue
    }
    const name = (found[1] as string).toUpperCase()
    current = [found[2] as string]
    if (name === "PLAN") {
      close()
      plan = current
    } else if (name === "SOLVER") {
      if (block !== undefined) close()
      closePlan()
      block = new Map([[name, current]])
    } else block?.set(name, current)
  }
  close()
  return { plans, steps, isFound: steps.length > 0 }
}

const first = (value: { readonly [key: string]: unknown }, ...names: ReadonlyArray<string>): unknown => {
  for (const name of names) if (Object.hasOwn(value, name) && value[name] !== null) return value[name]
  return undefined
}

const readJson = (text: string, max: number): Written | undefined => {
  const from = text.search(/[[{]/)
  const to = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"))
  const parsed = JsonRepair.parse(to > from ? text.slice(from, to + 1) : text.slice(from))
  if (Either.isLeft(parsed)) return undefined
  const value = parsed.right
  const list = Array.isArray(value)
    ? value
    : Predicate.isReadonlyRecord(value)
      ? first(value, "steps", "evidence", "plan")
      : undefined
  if (!Array.isArray(list) || (list.length > 0 && !list.some(Predicate.isReadonlyRecord))) return undefined
  const steps = list.slice(0, max + 1).map((item, index): Step => {
    const record = Predicate.isReadonlyRecord(item) ? item : {}
    const given = first(record, "variable", "var", "id", "solver", "name")
    const variable =
      typeof given === "string"
        ? given.trim().replace(/^\{|\}$/g, "")
        : `#E${typeof given === "number" ? given : index + 1}`
    const tool = first(record, "tool", "tool_name")
    const plan = first(record, "plan", "thought", "description")
    return {
      variable: variable.slice(0, 64),
      tool: typeof tool === "string" ? tool.trim() : "",
      input: first(record, "input", "params", "args", "arguments", "parameters") ?? "",
      plan: typeof plan === "string" ? plan.trim() : "",
      notation: "{}",
      strict: false,
      problem: !/^#?\w{1,64}$/.test(variable)
        ? "evidence is called `#E1`, `#E2` and so on"
        : typeof tool === "string" && tool.trim() !== ""
          ? undefined
          : "it names no tool"
    }
  })
  return { plans: steps.map(({ plan }) => plan).filter((plan) => plan !== ""), steps, isFound: true }
}

/** Reads a plan in any form; at most one step more than `max`. */
export const read = (text: string, max: number): Written => {
  if (/^[ \t*_>-]*SOLVER[ \t*_]*:/im.test(text)) return readBlocks(text, max)
  const lines = readLines(text, max)
  if (lines.isFound || !/[[{]/.test(text)) return lines
  return readJson(text, max) ?? lines
}
