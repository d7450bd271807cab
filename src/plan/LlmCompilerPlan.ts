/**
 * Reads plans of LLMCompiler, whole or while the model writes them. It recognizes three forms:
 *
 * - lines as in Kim et al. 2023: `1. tool("a", $1)`, `Thought: …` before the task it belongs to, `2.
 *   join()<END_OF_PLAN>` at the end;
 * - blocks of `NODE`, `TOOL`, `ARGS` (JSON) and `DEPENDS_ON`;
 * - JSON: a list of tasks, at the top or under `tasks`, `nodes`, `plan` or `steps`.
 *
 * A task refers to the result of another by `$1` or `${1}` anywhere in its arguments; if tasks have names, and in
 * blocks, also by `#name` or `${name}`. Inside a longer text, a `$n` above the numbers of all tasks is text: a price.
 * Nothing of a plan is evaluated, and reading takes time linear in the text.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { LlmCompilerPlan, Options, PlanTask, Reading } from "./LlmCompilerTask.js"
import * as PlanArguments from "./PlanArguments.js"
import * as PlanCollector from "./PlanCollector.js"
import type { PlanError, PlanIssue } from "./PlanError.js"
import { type Cursor, callArguments, maxChars, NONE, type Reading as Step, skipSpace } from "./PlanLiteral.js"
import * as PlanStructure from "./PlanStructure.js"

export { type LlmCompilerPlan, type Options, PlanTask, type Reading } from "./LlmCompilerTask.js"

/**
 * Reads one plan piece by piece. It has no effect outside its own state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parser {
  /** Takes the next piece of the text and returns the tasks it completed. A task in lines is complete with its line. */
  readonly push: (text: string) => ReadonlyArray<PlanTask>
  /** The issues known so far. References to later tasks are checked at the end. */
  readonly issues: () => ReadonlyArray<PlanIssue>
  /** Whether the plan continues earlier ones; known with its first task. */
  readonly continues: () => boolean
  /** The whole plan, once the text is complete. It includes tasks that were not returned yet. */
  readonly end: () => Reading
}

const taskHead =
  /^(?:[-*>]\s+)?[*_`]{0,3}(?:task\s+)?[$#]?(\d{1,64})\s*(?:[.):=]|-\s)\s*(?:[*_`]{1,3}\s*)?([\p{L}_][\p{L}\p{N}_.-]{0,127})[*_`]{0,3}\s*(\(?)/iu
const joinHead = /^(?:[-*>]\s+)?[*_`]{0,3}(join)\s*(\()/i
const thoughtHead = /^(?:[-*>#]+\s+)?[*_]{0,3}thought(?:\s*\d+)?[*_]{0,3}\s*:[*_]{0,3}[ \t]*/i
const endOfPlan = /^<END_OF_PLAN>/i
/** What may follow a call on its line: nothing, the end of the plan, a comment, a mark. */
const tail = /^\s*(?:$|[#<;,.`*]|\/\/)/

function* lineEnd(cursor: Cursor): Step<number> {
  let from = cursor.at
  for (;;) {
    const index = cursor.text.indexOf("\n", from)
    if (index >= 0) return index
    if (cursor.ended) return cursor.text.length
    from = cursor.text.length
    yield
  }
}

/** Arguments that are not literals are one text: up to the closing parenthesis, else up to the last one on the line. */
const bareArguments = (line: string): string | undefined => {
  let depth = 1
  for (let i = 0; i < line.length; i++) {
    const char = line[i]
    if (char === "(") depth++
    else if (char === ")" && --depth === 0) {
      if (tail.test(line.slice(i + 1, i + 200))) return line.slice(0, i)
      break
    }
  }
  const last = line.lastIndexOf(")")
  return last < 0 ? undefined : line.slice(0, last)
}

/** Reads a call. The cursor is after its opening parenthesis, and afterwards at the end of its line. */
function* call(cursor: Cursor, plan: PlanCollector.Collector, id: string | undefined, tool: string): Step<void> {
  const from = cursor.at
  const read = yield* callArguments(cursor)
  if (read !== NONE) {
    const close = cursor.at
    const end = yield* lineEnd(cursor)
    if (tail.test(cursor.text.slice(close, Math.min(end, close + 200)))) {
      const argsRaw = cursor.text.slice(from, close - 1)
      cursor.at = end
      plan.accept({ id, tool, ...read, argsRaw, notation: "$" })
      return
    }
  }
  cursor.at = from
  const end = yield* lineEnd(cursor)
  const line = cursor.text.slice(from, end)
  cursor.at = end
  const argsRaw = bareArguments(line)
  if (argsRaw === undefined) plan.refuse(id, `the call of ${PlanCollector.quote(tool)} has no closing parenthesis`)
  else if (argsRaw.length > maxChars) plan.refuse(id, `its arguments are longer than ${maxChars} characters`)
  else {
    const text = argsRaw.trim()
    plan.accept({ id, tool, args: text === "" ? [] : [text], named: {}, argsRaw, notation: "$" })
  }
}

const KEEP = 8192

/**
 * The first character of the next non-empty line. Empty lines are not kept, because each further piece would be joined
 * to all of them.
 */
function* begin(cursor: Cursor): Step<string> {
  for (;;) {
    skipSpace(cursor)
    if (cursor.at < cursor.text.length) return cursor.text[cursor.at] as string
    if (cursor.ended) return ""
    cursor.text = ""
    cursor.at = 0
    yield
  }
}

function* read(cursor: Cursor, plan: PlanCollector.Collector): Step<void> {
  const blocks = PlanStructure.makeBlocks(plan)
  while (!plan.isOver) {
    if (cursor.at > KEEP) {
      cursor.text = cursor.text.slice(cursor.at)
      cursor.at = 0
    }
    const char = yield* begin(cursor)
    if (char === "") break
    if (plan.written === 0 && !blocks.isOpen() && (yield* PlanStructure.beginsJson(cursor, char))) {
      return yield* PlanStructure.json(cursor, plan)
    }
    const from = cursor.at
    const end = yield* lineEnd(cursor)
    const line = cursor.text.slice(from, end)
    const head = line.slice(0, 512)
    cursor.at = end
    if (endOfPlan.test(head)) break
    if (blocks.take(line)) continue
    const task = taskHead.exec(head)
    if (task !== null) {
      const [whole, id, tool, open] = task as unknown as [string, string, string, string]
      if (open === "(") {
        cursor.at = from + whole.length
        yield* call(cursor, plan, id, tool)
      } else if (tool.toLowerCase() === "join") {
        plan.accept({ id, tool, args: [], named: {}, argsRaw: "", notation: "$" })
      } else if (plan.hasTool(tool)) plan.refuse(id, `the call of ${PlanCollector.quote(tool)} has no parentheses`)
      continue
    }
    const join = joinHead.exec(head)
    if (join !== null) {
      cursor.at = from + join[0].length
      yield* call(cursor, plan, undefined, "join")
      continue
    }
    const thought = thoughtHead.exec(head)
    if (thought !== null) plan.think(line.slice(thought[0].length))
  }
  blocks.close()
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const makeParser = (options: Options = {}): Parser => {
  const plan = new PlanCollector.Collector(options)
  const cursor: Cursor = { text: "", at: 0, ended: false }
  const reading = read(cursor, plan)
  let isDone = false
  let pending: Array<string> = []
  let waiting = 0
  let isDue = false
  const advance = () => {
    cursor.text += pending.join("")
    pending = []
    waiting = 0
    isDue = false
    isDone = reading.next().done === true
  }
  return {
    push: (text) => {
      if (isDone) return []
      pending.push(text)
      waiting += text.length
      // Small pieces are joined only when they may complete something, and to a long text only when they are a relevant
      // part of it.
      isDue ||= /[\n}]/.test(text)
      if (!isDue || (cursor.text.length > 2 * KEEP && waiting < cursor.text.length / 16)) return []
      advance()
      return plan.takeFresh()
    },
    issues: () => plan.issues,
    continues: () => plan.continues(),
    end: () => {
      cursor.ended = true
      if (!isDone) advance()
      return plan.finish()
    }
  }
}

/**
 * Reads a plan together with its issues. Never fails.
 *
 * @since 0.1.0
 * @category conversions
 */
export const readPlan = (text: string, options?: Options | undefined): Reading => {
  const parser = makeParser(options)
  parser.push(text)
  return parser.end()
}

/**
 * Turns the issues of a plan into an error.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toError = (issues: readonly [PlanIssue, ...ReadonlyArray<PlanIssue>]): PlanError =>
  PlanCollector.error("llm-compiler", issues)

/**
 * Reads a valid plan, or fails with all its issues: duplicate ids, references to nothing or to the task itself, cycles,
 * unknown tools, unreadable calls, too many tasks, no plan at all.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { LlmCompilerPlan } from "effect-lexigram/plan"
 *
 * const plan = LlmCompilerPlan.parse(`1. search("height of Mount Everest")
 * 2. math("$1 / 2")
 * Thought: I can answer now.
 * 3. join()<END_OF_PLAN>`)
 * ```
 */
export const parse = (text: string, options?: Options | undefined): Either.Either<LlmCompilerPlan, PlanError> => {
  const { issues, plan } = readPlan(text, options)
  const [first, ...others] = issues
  return first === undefined ? Either.right(plan) : Either.left(toError([first, ...others]))
}

/**
 * The arguments of a task with results in place of references: a reference that is a whole string becomes the value
 * itself, one inside a string becomes text. Results are data and are not searched for references. A reference without a
 * result is a `PlanError`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const resolve = (
  task: Pick<PlanTask, "id" | "args" | "named" | "dependencies" | "notation">,
  results: ReadonlyMap<string, unknown>
): Either.Either<{ readonly args: ReadonlyArray<unknown>; readonly named: PlanTask["named"] }, PlanError> => {
  const needed = new Set(task.dependencies)
  const sure = PlanCollector.sureReferences({ args: task.args, named: task.named })
  const { missing, value } = PlanArguments.substitute(
    { args: task.args, named: task.named },
    PlanCollector.grammars[task.notation],
    (id) =>
      needed.has(id) && results.has(id)
        ? { _tag: "value", value: results.get(id) }
        : { _tag: needed.has(id) || sure.has(id) ? "missing" : "text" }
  )
  const issues = missing.map(
    (id): PlanIssue => ({
      reason: "missing-reference",
      task: task.id,
      message: `${PlanCollector.referenceOf(task.id)} refers to ${PlanCollector.referenceOf(id)}, which has no result`
    })
  )
  const [first, ...others] = issues
  return first === undefined
    ? Either.right(value as { readonly args: ReadonlyArray<unknown>; readonly named: PlanTask["named"] })
    : Either.left(toError([first, ...others]))
}
