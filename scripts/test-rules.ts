/**
 * Rules of tests: no test compares a clock of the machine with a number, or reads or changes the process it shares with
 * other test files. Growth is measured by `test/support/Growth.ts`; tests of process state are programs of
 * `test/support/programs`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"
import type { Sources } from "./layering.js"
import { filesBelow, root } from "./layout.js"

/** Paths relative to `test`: the module that measures growth, and programs, which have their own process. */
const allowed = /^support\/(Growth\.ts$|programs\/|servers\/|crash\/|[A-Za-z]+\.mjs$)/

const growth = "measure growth with test/support/Growth.ts"

const program = "use a program of test/support/programs, which has a process of its own"

const env = "set variables in vitest.config.ts, or give them to the child"

const ofProcess: ReadonlyMap<string, string> = new Map([
  ...["cpuUsage", "threadCpuUsage", "resourceUsage", "memoryUsage", "hrtime"].map((name) => [name, growth] as const),
  ...[
    "_getActiveHandles",
    "_getActiveRequests",
    "getActiveResourcesInfo",
    "on",
    "once",
    "off",
    "addListener",
    "prependListener",
    "removeListener",
    "removeAllListeners",
    "listeners",
    "listenerCount",
    "chdir"
  ].map((name) => [name, program] as const)
])

/** `process` in `process.on`, `globalThis.process.on` and `(process as Some).on`. */
const isProcess = (node: ts.Expression): boolean => {
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return isProcess(node.expression)
  return /^(globalThis\.)?process$/.test(node.getText())
}

const nameOf = (node: ts.Node): string | undefined => {
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  return ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)
    ? node.argumentExpression.text
    : undefined
}

const isEnv = (node: ts.Node): boolean =>
  (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) &&
  nameOf(node) === "env" &&
  isProcess(node.expression)

const isVariable = (node: ts.Node): boolean =>
  (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) && isEnv(node.expression)

const comparing: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.MinusToken,
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken
])

const isAssignment = (kind: ts.SyntaxKind): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment

const forbidden = (node: ts.Node, isLive: boolean): readonly [what: string, instead: string] | undefined => {
  if (ts.isDeleteExpression(node) && isVariable(node.expression)) return ["a variable of the process", env]
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken
    if (isAssignment(kind) && (isEnv(node.left) || isVariable(node.left))) return ["a variable of the process", env]
    const isNow = [node.left, node.right].some((side) => side.getText() === "Date.now()")
    return isNow && comparing.has(kind) ? ["a difference of Date.now()", growth] : undefined
  }
  if (ts.isCallExpression(node)) {
    const [first] = node.arguments
    if (node.expression.getText() === "Object.assign" && first !== undefined && isEnv(first)) {
      return ["a variable of the process", env]
    }
    return node.expression.getText() === "vi.stubEnv" ? ["vi.stubEnv", env] : undefined
  }
  const name = nameOf(node)
  if (name === undefined) return undefined
  const { expression } = node as ts.PropertyAccessExpression | ts.ElementAccessExpression
  if (name === "now" && /^(globalThis\.)?performance$/.test(expression.getText())) return ["performance.now", growth]
  if (name === "timed" && expression.getText() === "Effect" && isLive) return ["Effect.timed on the live clock", growth]
  const instead = isProcess(expression) ? ofProcess.get(name) : undefined
  return instead === undefined ? undefined : [`process.${name}`, instead]
}

const clockRead = /\b(unsafeC|c)urrentTime(Millis|Nanos)\b/

/** Names of variables that hold a machine time or a value computed from one. */
const timesOf = (source: ts.SourceFile): ReadonlySet<string> => {
  const assigned: Array<readonly [name: string, value: ts.Expression]> = []
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      if (!ts.isFunctionLike(node.initializer)) assigned.push([node.name.text, node.initializer])
    } else if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind) && ts.isIdentifier(node.left)) {
      assigned.push([node.left.text, node.right])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  const times = new Set<string>()
  for (let size = -1; size !== times.size; ) {
    size = times.size
    for (const [name, value] of assigned) if (isTime(value, times)) times.add(name)
  }
  return times
}

/** True if the value is arithmetic on machine times. */
const isTime = (node: ts.Expression, times: ReadonlySet<string>): boolean => {
  if (ts.isIdentifier(node)) return times.has(node.text)
  if (ts.isParenthesizedExpression(node)) return isTime(node.expression, times)
  if (ts.isYieldExpression(node)) return node.expression !== undefined && isTime(node.expression, times)
  if (ts.isBinaryExpression(node)) return isTime(node.left, times) || isTime(node.right, times)
  if (ts.isPropertyAccessExpression(node)) return clockRead.test(node.name.text)
  if (!ts.isCallExpression(node)) return false
  const isMath = /^(Math\.(max|min|abs|round)|Effect\.withClock)$/.test(node.expression.getText())
  return isMath ? node.arguments.some((argument) => isTime(argument, times)) : isTime(node.expression, times)
}

/** An upper bound on a machine time. Tests on virtual time have none: they state exactly how much time has passed. */
const isBoundedTime = (node: ts.Node, times: ReadonlySet<string>): boolean =>
  ts.isCallExpression(node) &&
  /^assert\.(isBelow|isAtMost)$/.test(node.expression.getText()) &&
  node.arguments[0] !== undefined &&
  isTime(node.arguments[0], times)

/** Returns every problem as `file:line: text`. Paths are relative to `test`. */
export const problems = (sources: Sources): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const [file, text] of sources) {
    if (allowed.test(file)) continue
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const isLive = /\bscopedLive\b|\bit\.live\b/.test(text)
    const times = /\bTestClock\b/.test(text) ? undefined : timesOf(source)
    const visit = (node: ts.Node): void => {
      const use =
        times !== undefined && isBoundedTime(node, times)
          ? (["an upper bound of a time of the machine", growth] as const)
          : forbidden(node, isLive)
      if (use !== undefined) {
        const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
        found.push(`${file}:${line}: ${use[0]}: ${use[1]}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

if (process.argv[1] !== undefined && Path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const tests = Path.join(root, "test")
  const files = filesBelow(tests)
  const found = problems(new Map(files.map((file) => [file, Fs.readFileSync(Path.join(tests, file), "utf8")])))
  for (const problem of found) console.error(`test/${problem}`)
  console.log(`Checked what ${files.length} files of tests look at: ${found.length} problems.`)
  if (found.length > 0) process.exitCode = 1
}
