/**
 * Checks rules of `src` beyond the compiler: imports between modules, names and sizes of modules, and access to time,
 * randomness, the console and the environment only through services. Run as a program it prints the map of `src`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import ts from "typescript"
import { entryOf, filesBelow, floorOf, floors, folderOf, isIndex, programs, root } from "./layout.js"

/** Paths relative to `src`, with `/`, and their text. */
export type Sources = ReadonlyMap<string, string>

/** Upper bounds in lines, except `folder` and `port` (modules) and `column`. */
export const bars = { function: 80, make: 150, module: 400, folder: 20, column: 120, port: 10 }

const barrels = /^(effect|@effect\/[^/]+|effect-lexigram(\/.*)?)$/

const globals = new Set(["setTimeout", "setInterval", "setImmediate", "console"])

/**
 * Modules that may use timers: they wait for a turn of the event loop, or must not keep the process alive as a sleep
 * does.
 */
const timersAllowedIn: ReadonlySet<string> = new Set([
  "internal/fiber/EventSink.ts",
  "internal/fiber/NextTurn.ts",
  "persistence/sqlite/SqliteLeftovers.ts"
])

/**
 * Modules with a tag that load more than a port may, and why. A tag that a second implementation can serve does not
 * belong here: its module is light, and what implements it is a module of its own.
 */
const heavyTags: Readonly<Record<string, string>> = {
  "memory/Memory.ts": "the memory subsystem as one service, made of its ports",
  "memory/conversation/ConversationMemoryStore.ts": "a wrapper of the port of memory stores, with a tag of its own",
  "persistence/Lexigram.ts": "a preset: the whole system on one backend",
  "persistence/postgres/PostgresClient.ts": "the client of one database, which nothing else implements",
  "persistence/redis/RedisClient.ts": "the client of one database, which nothing else implements",
  "persistence/sqlite/SqliteClient.ts": "the client of one database, which nothing else implements",
  "session/manager/SessionWriter.ts":
    "writes of sessions under their locks and their bound in time, which nothing else implements",
  "session/Sessions.ts": "a preset: the session subsystem as one layer",
  "skill/Skills.ts": "a preset: the skill subsystem as one layer",
  "strategy/definition/StrategyRegistry.ts":
    "loads the definition of strategies, which its entries are checked against",
  "testing/FaultyModel.ts": "a model with faults, whose tag shows a test what was done",
  "testing/TestModel.ts": "a scripted model, whose tag shows a test its calls",
  "tool/approval/PendingApprovals.ts": "the waiting room of approvals, over the ports of the gate and the store"
}

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
    if (text.includes(".") && Object.hasOwn(instead, text)) return text
  }
  return undefined
}

const recordCheck = /^typeof ([\w.]+) === "object" && \1 !== null && !Array\.isArray\(\1\)$/

/** A check that repeats `Predicate.isReadonlyRecord`. */
const isRecordCheck = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken &&
  node.end - node.pos < 200 &&
  recordCheck.test(node.getText().replace(/\s+/g, " "))

const instead: Readonly<Record<string, string>> = {
  "Date.now": "Clock",
  Date: "Clock and DateTime",
  "Math.random": "Random",
  "process.env": "Config",
  "Effect.makeSemaphore": "Permits",
  "Effect.unsafeMakeSemaphore": "Permits",
  console: "Effect.log",
  setTimeout: "Effect.sleep",
  setInterval: "Schedule",
  setImmediate: "Effect.yieldNow"
}

const targetOf = (file: string, specifier: string): string =>
  Path.posix.join(Path.posix.dirname(file), specifier).replace(/\.js$/, ".ts")

const importProblem = (sources: Sources, file: string, specifier: string): string | undefined => {
  if (barrels.test(specifier)) return `imports the barrel "${specifier}"`
  if (!specifier.startsWith(".")) return undefined
  if (!specifier.endsWith(".js")) return `imports "${specifier}" without .js`
  const target = targetOf(file, specifier)
  if (Path.posix.basename(target) === "index.ts") return `imports the barrel "${specifier}"`
  if (!sources.has(target)) return `imports "${specifier}", which is no module of src`
  const [from, to] = [folderOf(file), folderOf(target)]
  const [fromFloor, toFloor] = [floorOf.get(from), floorOf.get(to)]
  if (from === to || fromFloor === undefined || toFloor === undefined || toFloor < fromFloor) return undefined
  return `${from} (floor ${fromFloor}) imports ${to} (floor ${toFloor}): "${specifier}"`
}

const entries: ReadonlySet<string> = new Set([...floorOf.keys()].map(entryOf))

const placeProblem = (file: string): string | undefined => {
  const folder = folderOf(file)
  if (folder === "") return "a module belongs into a folder of src"
  if (!floorOf.has(folder)) return `the folder ${folder} has no floor`
  return /^[A-Z][A-Za-z0-9]*\.ts$/.test(Path.posix.basename(file))
    ? undefined
    : "a module name is PascalCase, its file ends in .ts"
}

const lineOf = (source: ts.SourceFile, position: number): number =>
  source.getLineAndCharacterOfPosition(position).line + 1

const functionName = (node: ts.Node): string => {
  const named = node as ts.Node & { readonly name?: ts.Node | undefined }
  if (named.name !== undefined) return named.name.getText()
  for (let up: ts.Node = node; up !== undefined && !ts.isSourceFile(up); up = up.parent) {
    if ((ts.isVariableDeclaration(up) || ts.isPropertyAssignment(up) || ts.isMethodDeclaration(up)) && up.name) {
      return up.name.getText()
    }
  }
  return "(anonymous)"
}

interface Measured {
  readonly lines: number
  readonly functions: ReadonlyArray<{ readonly name: string; readonly line: number; readonly lines: number }>
  readonly imports: ReadonlyArray<string>
  /** Modules of `src` and Node that load with the module: neither types nor dynamic imports. */
  readonly loads: ReadonlyArray<string>
  /** Comment lines wider than the bar. */
  readonly wide: number
  /** Declares a `Context.Tag`. */
  readonly hasTag: boolean
}

/** True if an import or export loads its module at run time, as the compiler emits it. */
const isLoaded = (node: ts.Node): boolean => {
  if (ts.isImportDeclaration(node)) {
    const clause = node.importClause
    if (clause === undefined) return true
    if (clause.isTypeOnly) return false
    const named = clause.namedBindings
    if (clause.name !== undefined || named === undefined || ts.isNamespaceImport(named)) return true
    return named.elements.some((element) => !element.isTypeOnly)
  }
  if (!ts.isExportDeclaration(node) || node.isTypeOnly) return false
  const named = node.exportClause
  return named === undefined || ts.isNamespaceExport(named) || named.elements.some((element) => !element.isTypeOnly)
}

const tagBase = /^extends Context\.Tag\(/

const baseOf = (node: ts.ClassDeclaration): string => node.heritageClauses?.[0]?.getText() ?? ""

/** Measures a module: its size, its functions above the smaller bar, the modules it imports. */
const measure = (sources: Sources, file: string, source: ts.SourceFile): Measured => {
  const functions: Array<{ name: string; line: number; lines: number }> = []
  const imports = new Set<string>()
  const loads = new Set<string>()
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node)
    if (specifier !== undefined && ts.isStringLiteralLike(specifier)) {
      const target = specifier.text.startsWith(".") ? targetOf(file, specifier.text) : specifier.text
      if (sources.has(target)) imports.add(target)
      if (isLoaded(node) && (sources.has(target) || target.startsWith("node:"))) loads.add(target)
    }
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const [line, last] = [lineOf(source, node.getStart()), lineOf(source, node.end)]
      functions.push({ name: functionName(node), line, lines: last - line + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  const hasTag = source.statements.some((one) => ts.isClassDeclaration(one) && tagBase.test(baseOf(one)))
  const lines = source.text.split("\n")
  const wide = lines.filter((line) => line.length > bars.column && /^\s*(\/?\*|\/\/)/.test(line)).length
  return { lines: lines.length - 1, functions, imports: [...imports], loads: [...loads], wide, hasTag }
}

const isMake = (name: string): boolean => /^make([A-Z]|$)/.test(name)

/** Longest function of each name in a module. Short functions inside a long one do not count. */
const longFunctions = (measured: Measured): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const { lines, name } of measured.functions) {
    if (lines > (isMake(name) ? bars.make : bars.function)) found.set(name, Math.max(lines, found.get(name) ?? 0))
  }
  return found
}

/** Groups of modules that import each other, types included, each sorted. */
const cyclesOf = (imports: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: Array<string> = []
  const open = new Set<string>()
  const cycles: Array<ReadonlyArray<string>> = []
  const visit = (file: string): void => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    stack.push(file)
    open.add(file)
    for (const next of imports.get(file) ?? []) {
      if (!index.has(next)) visit(next)
      if (open.has(next)) low.set(file, Math.min(low.get(file)!, low.get(next)!))
    }
    if (low.get(file) !== index.get(file)) return
    const group = stack.splice(stack.lastIndexOf(file))
    for (const one of group) open.delete(one)
    if (group.length > 1) cycles.push(group.sort())
  }
  for (const file of [...imports.keys()].sort()) if (!index.has(file)) visit(file)
  return cycles.sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}

/** Measurements of all modules. */
export interface Sizes {
  readonly modules: ReadonlyMap<string, Measured>
  readonly cycles: ReadonlyArray<ReadonlyArray<string>>
  readonly folders: ReadonlyMap<string, number>
}

/** Measures every module. Indexes and programs do not count. */
export const sizesOf = (sources: Sources): Sizes => {
  const modules = new Map<string, Measured>()
  const folders = new Map<string, number>()
  for (const [file, text] of sources) {
    if (isIndex(file) || Object.hasOwn(programs, file)) continue
    modules.set(file, measure(sources, file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)))
    folders.set(folderOf(file), (folders.get(folderOf(file)) ?? 0) + 1)
  }
  return { modules, folders, cycles: cyclesOf(new Map([...modules].map(([file, { imports }]) => [file, imports]))) }
}

/** Modules that bundle for the browser: they load no Node module, directly or through other modules. */
const portable = /^(agent|domain|graph|guard|llm|plan|prompt|provider|strategy|tool)\/([a-z]+\/)?[A-Z]\w*\.ts$/

/** Two generated constants, which every error loads: no implementation of anything. */
const constants = "domain/Version.ts"

/** The modules of `src` that load with a module, itself included. */
const loadedWith = ({ modules }: Sizes, from: string): ReadonlySet<string> => {
  const loaded = new Set([from])
  // A set includes entries added during iteration.
  for (const file of loaded) for (const next of modules.get(file)?.loads ?? []) if (modules.has(next)) loaded.add(next)
  return loaded
}

const portProblems = (sizes: Sizes): ReadonlyArray<string> =>
  [...sizes.modules].flatMap(([file, { hasTag }]) => {
    if (!hasTag) return []
    const loaded = [...loadedWith(sizes, file)].filter((one) => one !== constants).length
    const isListed = Object.hasOwn(heavyTags, file)
    if (loaded > bars.port && !isListed) {
      return [`${file}: a tag loads ${loaded} modules, at most ${bars.port}: move what implements it to another module`]
    }
    return isListed && loaded <= bars.port ? [`${file}: a light tag is listed as a heavy one`] : []
  })

/** Shortest path from a portable module to a Node module. */
const wayToNode = ({ modules }: Sizes, from: string): ReadonlyArray<string> | undefined => {
  const ways = new Map<string, ReadonlyArray<string>>([[from, [from]]])
  // A map includes entries added during iteration.
  for (const [file, way] of ways) {
    if (file.startsWith("node:")) return way
    for (const next of modules.get(file)?.loads ?? []) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return undefined
}

const platformProblems = (sizes: Sizes): ReadonlyArray<string> =>
  [...sizes.modules.keys()]
    .filter((file) => portable.test(file))
    .flatMap((file) => {
      const way = wayToNode(sizes, file)
      return way === undefined ? [] : [`${file}: must bundle for the browser, but loads ${way.slice(1).join(" > ")}`]
    })

const sizeProblems = ({ cycles, folders, modules }: Sizes): ReadonlyArray<string> => [
  ...[...folders].filter(([, count]) => count > bars.folder).map(([folder, count]) => `${folder}: ${count} modules`),
  ...[...modules].flatMap(([file, measured]) => [
    ...Array.from(
      longFunctions(measured),
      ([name, lines]) => `${file} ${name}: a function above ${bars.function} lines (make: ${bars.make}): ${lines}`
    ),
    ...(measured.lines > bars.module ? [`${file}: a module above ${bars.module} lines: ${measured.lines}`] : []),
    ...(measured.wide > 0 ? [`${file}: comment lines above ${bars.column} columns: ${measured.wide}`] : [])
  ]),
  ...cycles.map((cycle) => `a cycle: ${cycle.join(" ")}`)
]

/** Returns every problem as `file: text` or `file:line: text`. */
export const problems = (sources: Sources): ReadonlyArray<string> => {
  const found: Array<string> = []
  const byName = new Map<string, string>()
  for (const [file, text] of sources) {
    if (isIndex(file)) {
      const folder = folderOf(file)
      if (folder !== "" && !entries.has(entryOf(folder))) found.push(`${file}: the folder ${folder} has no floor`)
      continue
    }
    const isProgram = Object.hasOwn(programs, file)
    const place = isProgram ? undefined : placeProblem(file)
    if (place !== undefined) found.push(`${file}: ${place}`)
    const name = Path.posix.basename(file)
    const twin = byName.get(name)
    if (twin !== undefined) found.push(`${file}: ${twin} has the same name`)
    byName.set(name, file)

    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const report = (node: ts.Node, problem: string): void => {
      found.push(`${file}:${lineOf(source, node.getStart())}: ${problem}`)
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
      if (!isProgram && isRecordCheck(node)) report(node, "repeats Predicate.isReadonlyRecord")
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  const sizes = sizesOf(sources)
  return [...found, ...platformProblems(sizes), ...portProblems(sizes), ...sizeProblems(sizes)]
}

/** The sources of this repository. */
export const repositorySources = (): Sources => {
  const src = Path.join(root, "src")
  return new Map(
    filesBelow(src)
      .filter((file) => /\.(ts|mjs)$/.test(file))
      .map((file) => [file, Fs.readFileSync(Path.join(src, file), "utf8")])
  )
}

const largest = (entries: Iterable<readonly [string, number]>): string => {
  const [name, size] = [...entries].sort((a, b) => b[1] - a[1])[0] ?? ["none", 0]
  return `${name} (${size})`
}

const print = (sizes: Sizes): void => {
  for (const [floor, folders] of floors.entries()) {
    for (const [folder, meaning] of Object.entries(folders)) {
      const count = sizes.folders.get(folder) ?? 0
      console.log(`${String(floor).padStart(2)}  ${folder.padEnd(24)} ${String(count).padStart(3)}  ${meaning}`)
    }
  }
  const lines = [...sizes.modules.values()].reduce((sum, module) => sum + module.lines, 0)
  console.log(`\nfolders: ${sizes.folders.size}; modules: ${sizes.modules.size}; lines: ${lines}`)
  console.log(`cycles of folders: 0; cycles of modules, types included: ${sizes.cycles.length}`)
  console.log(`largest folder: ${largest(sizes.folders)}`)
  console.log(`largest module: ${largest([...sizes.modules].map(([file, { lines }]) => [file, lines] as const))}`)
  const functions = [...sizes.modules].flatMap(([file, module]) =>
    module.functions.map(({ lines, name }) => [`${file} ${name}`, lines] as const)
  )
  console.log(`largest function: ${largest(functions)}`)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const sources = repositorySources()
  const sizes = sizesOf(sources)
  const found = problems(sources)
  print(sizes)
  for (const problem of found) console.error(problem)
  if (found.length > 0) process.exitCode = 1
}
