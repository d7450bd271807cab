/**
 * Reads plans that are not lines of calls: JSON, and blocks of fields.
 *
 * @since 0.1.0
 * @private
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as JsonRepair from "../internal/text/JsonRepair.js"
import { type Collector, idOf, type Written } from "./PlanCollector.js"
import { type Cursor, maxChars, next, type Reading } from "./PlanLiteral.js"

const listKeys: ReadonlySet<string> = new Set(["tasks", "nodes", "plan", "steps"])

/** Whether JSON begins at this character. */
export function* beginsJson(cursor: Cursor, char: string): Reading<boolean> {
  if (char === "{") return true
  if (char !== "[") return false
  const from = cursor.at++
  const inner = yield* next(cursor)
  cursor.at = from
  return inner === "{" || inner === "]"
}

const first = (value: { readonly [key: string]: unknown }, ...names: ReadonlyArray<string>): unknown => {
  for (const name of names) if (Object.hasOwn(value, name) && value[name] !== null) return value[name]
  return undefined
}

const idsOf = (value: unknown): ReadonlyArray<string> => {
  const list = Array.isArray(value) ? value : typeof value === "string" ? value.split(/[\s,;]+/) : [value]
  return list
    .filter((item) => typeof item === "string" || typeof item === "number")
    .map((item) => idOf(String(item).replace(/["'[\]]/g, "")))
    .filter((id) => id !== "" && !/^(?:none|null|n\/?a)$/i.test(id))
}

/** Arguments given as an object, a list, or a text that contains either. */
const argumentsOf = (value: unknown): Pick<Written, "args" | "named"> => {
  if (value === undefined || value === null) return { args: [], named: {} }
  if (Predicate.isReadonlyRecord(value)) return { args: [], named: value }
  if (Array.isArray(value)) return { args: value, named: {} }
  if (typeof value === "string" && value.trim().startsWith("{")) {
    const parsed = JsonRepair.parse(value)
    if (Either.isRight(parsed) && Predicate.isReadonlyRecord(parsed.right)) return { args: [], named: parsed.right }
  }
  return { args: [value], named: {} }
}

const acceptObject = (text: string, plan: Collector): void => {
  const parsed = JsonRepair.parse(text)
  if (Either.isLeft(parsed) || !Predicate.isReadonlyRecord(parsed.right))
    plan.refuse(undefined, "a task is not valid JSON")
  else acceptRecord(parsed.right, plan)
}

const acceptRecord = (value: { readonly [key: string]: unknown }, plan: Collector): void => {
  const id = first(value, "id", "idx", "node", "number")
  const tool = first(value, "tool", "name", "tool_name", "function")
  const given = first(value, "args", "arguments", "params", "parameters", "input", "tool_input")
  const thought = first(value, "thought", "reason")
  const name = typeof id === "string" || typeof id === "number" ? String(id) : undefined
  if (typeof tool !== "string" || tool.trim() === "") {
    plan.refuse(name, "it names no tool")
    return
  }
  plan.accept({
    id: name,
    tool: tool.trim(),
    ...argumentsOf(given),
    argsRaw: given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given),
    notation: name === undefined || /^\W*\d+\W*$/.test(name) ? "$" : "$#",
    thought: typeof thought === "string" ? thought.trim() : "",
    needs: idsOf(first(value, "depends_on", "dependsOn", "dependencies", "deps"))
  })
}

interface Open {
  readonly char: string
  readonly holdsTasks: boolean
}

/** Accepts each object of the list of tasks as soon as it is complete. */
export function* json(cursor: Cursor, plan: Collector): Reading<void> {
  const stack: Array<Open> = []
  let key = ""
  let quoteFrom = -1
  let task: { readonly from: number; readonly depth: number } | undefined
  for (; !plan.isOver; cursor.at++) {
    while (cursor.at >= cursor.text.length) {
      if (cursor.ended) {
        // The text ended before the list: the incomplete rest is lost.
        return plan.refuse(undefined, task === undefined ? "the JSON is cut off" : "the last task is cut off")
      }
      yield
    }
    const char = cursor.text[cursor.at] as string
    if (task !== undefined && cursor.at - task.from > maxChars) {
      plan.refuse(undefined, `a task is longer than ${maxChars} characters`)
      plan.isOver = true
      return
    }
    if (quoteFrom >= 0) {
      if (char === "\\") cursor.at++
      else if (char === cursor.text[quoteFrom]) {
        if (cursor.at - quoteFrom <= 64) key = cursor.text.slice(quoteFrom + 1, cursor.at).toLowerCase()
        quoteFrom = -1
      }
    } else if (char === '"' || char === "'") quoteFrom = cursor.at
    else if (char === "{" || char === "[") {
      const holdsTasks: boolean =
        task === undefined && char === "[" && (stack.length === 0 || listKeys.has(key)) && stack.length < 8
      if (holdsTasks) plan.isFound = true
      if (char === "{" && task === undefined && stack.at(-1)?.holdsTasks === true) {
        task = { from: cursor.at, depth: stack.length }
      }
      stack.push({ char, holdsTasks })
    } else if (char === "}" || char === "]") {
      stack.pop()
      if (task !== undefined && stack.length <= task.depth) {
        acceptObject(cursor.text.slice(task.from, cursor.at + 1), plan)
        task = undefined
        cursor.text = cursor.text.slice(cursor.at)
        cursor.at = 0
      }
      if (stack.length === 0) return
    }
  }
}

const nodeLine = /^[*\s>-]*NODE\*{0,4}\s{0,8}:?\*{0,4}\s{0,8}[#{]?([^\s*:}]{1,200})[\s*:}]*$/i
const fieldLine =
  /^[*\s>-]*(TOOL|ARGS|ARGUMENTS|PARAMS|DEPENDS[_ ]?ON|DEPENDENCIES|THOUGHT|REASON)[*]*\s*:[*]*[ \t]*(.*)/is

interface Block {
  readonly id: string
  readonly fields: Map<string, Array<string>>
  current: Array<string> | undefined
}

const kinds: ReadonlyMap<string, string> = new Map([
  ["tool", "tool"],
  ["args", "args"],
  ["arguments", "args"],
  ["params", "args"],
  ["thought", "thought"],
  ["reason", "thought"]
])

/** The text between the lines of a code fence. */
export const withoutFence = (given: string): string => {
  const text = given.trim()
  const inner = text.endsWith("```") ? text.slice(0, -3) : text
  return inner.replace(/^```[a-z]*/i, "").trim()
}

/** Reads blocks line by line. */
export const makeBlocks = (plan: Collector) => {
  let block: Block | undefined
  const field = (open: Block, name: string): string | undefined => open.fields.get(name)?.join("\n")
  const close = (): void => {
    const open = block
    block = undefined
    if (open !== undefined && open.fields.size > 0) accept(open)
  }
  const accept = (open: Block): void => {
    const tool = (field(open, "tool") ?? "")
      .trim()
      .slice(0, 200)
      .replace(/^[`"'*]+|(?<![`"'*])[`"'*]+$/g, "")
    const argsRaw = withoutFence(field(open, "args") ?? "")
    const given = /^[{[]/.test(argsRaw)
      ? JsonRepair.parse(argsRaw)
      : Either.right(argsRaw === "" || /^none$/i.test(argsRaw) ? undefined : argsRaw)
    if (tool === "") plan.refuse(open.id, "it names no tool")
    else if (Either.isLeft(given)) plan.refuse(open.id, "its ARGS are not valid JSON")
    else {
      plan.accept({
        id: open.id,
        tool,
        ...argumentsOf(given.right),
        argsRaw,
        notation: "$#",
        thought: (field(open, "thought") ?? "").trim(),
        needs: idsOf(field(open, "needs"))
      })
    }
  }
  return {
    isOpen: () => block !== undefined,
    close,
    /** Whether the line belongs to a block. */
    take: (line: string): boolean => {
      const node = line.length > 400 ? null : nodeLine.exec(line)
      if (node !== null) {
        close()
        block = { id: node[1] as string, fields: new Map(), current: undefined }
        return true
      }
      if (block === undefined) return false
      const found = fieldLine.exec(line)
      if (found !== null) {
        const name = kinds.get((found[1] as string).toLowerCase()) ?? "needs"
        block.current = [found[2] as string]
        block.fields.set(name, block.current)
        if (name === "needs" && block.fields.has("tool")) close()
        return true
      }
      if (block.current === undefined) return false
      block.current.push(line)
      return true
    }
  }
}
