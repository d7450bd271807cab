/**
 * What the compiler does not check about `src`: which module may import which, how modules are named, and that time, randomness,
 * the console and the environment are reached through services alone.
 */
import * as Path from "node:path"
import ts from "typescript"
import { ranks } from "./layout.js"

/** Paths relative to `src`, with `/`, and their text. */
export type Sources = ReadonlyMap<string, string>

const barrels = /^(effect|@effect\/[^/]+|effect-lexigram(\/.*)?)$/

const globals = new Set(["setTimeout", "setInterval", "setImmediate", "console"])

/**
 * They may use timers: two wait for a turn of the event loop, which no Effect scheduler does, one must not keep the process alive, as a sleep
 * does.
 */
const timersAllowedIn: ReadonlySet<string> = new Set([
  "internal/EventSink.ts",
  "internal/NextTurn.ts",
  "persistence/SqliteLeftovers.ts"
])

/** Programs of processes of their own: they are no modules, and stand alone. */
const programs: ReadonlySet<string> = new Set(["builtin/SqliteProcess.mjs"])

const folderOf = (file: string): string => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "")

const specifierOf = (node: ts.Node): ts.Node | undefined => {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0]
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument
  if (ts.isExternalModuleReference(node)) return node.expression
  return undefined
}

const isName = (node: ts.Identifier): boolean => {
  const parent = node.parent as ts.Node & { readonly name?: ts.Node | undefined }
  if (ts.isShorthandPropertyAssignment(parent)) return false
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return parent.expression.getText() !== "globalThis"
  return parent.name === node || ts.isTypeNode(parent)
}

const forbidden = (node: ts.Node): string | undefined => {
  if (ts.isIdentifier(node) && globals.has(node.text) && !isName(node)) return node.text
  if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "Date") return "Date"
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText().replace(/^globalThis\./, "")
    if (text === "Date.now" || text === "Math.random" || text === "process.env") return text
  }
  return undefined
}

const instead: Readonly<Record<string, string>> = {
  "Date.now": "Clock",
  Date: "Clock and DateTime",
  "Math.random": "Random",
  "process.env": "Config",
  console: "Effect.log",
  setTimeout: "Effect.sleep",
  setInterval: "Schedule",
  setImmediate: "Effect.yieldNow"
}

const importProblem = (sources: Sources, file: string, specifier: string): string | undefined => {
  if (barrels.test(specifier)) return `imports the barrel "${specifier}"`
  if (!specifier.startsWith(".")) return undefined
  if (!specifier.endsWith(".js")) return `imports "${specifier}" without .js`
  const target = Path.posix.join(Path.posix.dirname(file), specifier).replace(/\.js$/, ".ts")
  if (Path.posix.basename(target) === "index.ts") return `imports the barrel "${specifier}"`
  if (!sources.has(target)) return `imports "${specifier}", which is no module of src`
  const [from, to] = [folderOf(file), folderOf(target)]
  const [fromRank, toRank] = [ranks.get(from), ranks.get(to)]
  if (from === to || fromRank === undefined || toRank === undefined || toRank < fromRank) return undefined
  return `${from} (rank ${fromRank}) imports ${to} (rank ${toRank}): "${specifier}"`
}

const placeProblem = (file: string): string | undefined => {
  const [folder, ...rest] = file.split("/")
  if (rest.length === 0) return "a module stands in a folder of src"
  if (!ranks.has(folder!)) return `the folder ${folder} has no rank`
  if (rest.length > 1) return "folders are flat"
  return /^[A-Z][A-Za-z0-9]*\.ts$/.test(rest[0]!) ? undefined : "a module name is PascalCase, its file ends in .ts"
}

const isIndex = (file: string): boolean => /^([a-z]+\/)?index\.ts$/.test(file)

/** Every problem, as `file: text` or `file:line: text`; none for sources that keep the rules. */
export const problems = (sources: Sources): ReadonlyArray<string> => {
  const found: Array<string> = []
  const byName = new Map<string, string>()
  for (const [file, text] of sources) {
    if (isIndex(file)) {
      const folder = folderOf(file)
      if (folder !== "" && !ranks.has(folder)) found.push(`${file}: the folder ${folder} has no rank`)
      continue
    }
    const isProgram = programs.has(file)
    const place = isProgram ? undefined : placeProblem(file)
    if (place !== undefined) found.push(`${file}: ${place}`)
    const name = Path.posix.basename(file)
    const twin = byName.get(name)
    if (twin !== undefined) found.push(`${file}: ${twin} has the same name`)
    byName.set(name, file)

    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const report = (node: ts.Node, problem: string): void => {
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${problem}`)
    }
    const visit = (node: ts.Node): void => {
      const specifier = specifierOf(node)
      if (specifier !== undefined && ts.isStringLiteralLike(specifier)) {
        const problem =
          isProgram && !specifier.text.startsWith("node:")
            ? `imports "${specifier.text}", but a program stands alone`
            : importProblem(sources, file, specifier.text)
        if (problem !== undefined) report(node, problem)
      }
      const use = forbidden(node)
      if (use !== undefined && !((isProgram || timersAllowedIn.has(file)) && use.startsWith("set"))) {
        report(node, `uses ${use} instead of ${instead[use]}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}
