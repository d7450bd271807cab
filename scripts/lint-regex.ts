/**
 * Finds regular expressions with super-linear work: literals of the modules, and expressions composed at load time or
 * when guards are made.
 *
 * The static analysis detects two loops that share a character, and a loop that a search restarts at every place. It
 * does not detect a search that restarts at every word, so each expression also reads texts made from its own
 * characters and words; a growing time per character is reported.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { analyse } from "scslre"
import ts from "typescript"
import { filesBelow, root } from "./layout.js"
import * as Attacks from "./regex-attacks.js"

interface Literal {
  readonly line: number
  readonly source: string
  readonly flags: string
}

/** Literals of a module. */
export const literals = (file: string, text: string): ReadonlyArray<Literal> => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Array<Literal> = []
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/")
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
      found.push({ line, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const kinds = {
  Move: "a search begins this loop again at every place",
  Self: "a loop repeats a loop",
  Trade: "two loops take the same characters"
} as const

/** Findings of the static analysis for an expression. */
export const analysed = (source: string, flags: string): ReadonlyArray<string> =>
  analyse({ source, flags }).reports.map(({ character, type }) => {
    const { flags, source } = character.literal
    return `${kinds[type]} (/${source}/${flags})`
  })

/** Reads a text to the end of the last match. */
const read = (expression: RegExp, text: string): void => {
  if (!expression.sticky) text.replace(expression, "")
  else for (expression.lastIndex = 0; (expression.exec(text)?.[0] ?? "") !== ""; );
}

const microsOf = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return user + system
}

/**
 * Lengths at which exponential and steep polynomial work shows before it takes forever: at most microseconds per
 * character.
 */
const steps = [
  [20, 50],
  [100, 20]
] as const
const short = 1000
const long = 16_000
/** Microseconds of CPU per character; a linear expression stays below. */
const suspicious = 0.5
/** A quadratic one takes sixteen times as long per character of the longer text. */
const growth = 4
const rounds = 3
/** More microseconds per character of the longer text than any linear expression takes. */
const certain = 5

/** An attack on which an expression takes more than linear time; a single slow moment of the machine does not count. */
export const attacked = (source: string, flags: string): string | undefined => {
  const expression = new RegExp(source, flags.includes("y") || flags.includes("g") ? flags : `${flags}g`)
  for (const attack of Attacks.of(source, flags)) {
    for (const [length, most] of steps) {
      const text = Attacks.textOf(attack, length)
      const times = () => microsOf(() => read(expression, text)) / length
      if (times() > most && times() > most && times() > most) return `more than linear with ${JSON.stringify(attack)}`
    }
    const few = Attacks.textOf(attack, short)
    if (microsOf(() => read(expression, few)) < (suspicious / 4) * short) continue
    const many = Attacks.textOf(attack, long)
    const times = Array.from({ length: rounds }, () => [
      microsOf(() => read(expression, few)) / short,
      microsOf(() => read(expression, many)) / long
    ])
    const [quick, slow] = [0, 1].map((which) => Math.min(...times.map((pair) => pair[which]!))) as [number, number]
    if (slow <= suspicious || slow <= growth * quick) continue
    if (slow > certain) return `more than linear with ${JSON.stringify(attack)}`
    // Near the bound the compiler of expressions may have sped up the short text alone: only growth goes on.
    const more = Attacks.textOf(attack, 4 * long)
    const longest = Array.from({ length: rounds }, () => microsOf(() => read(expression, more)) / (4 * long))
    if (Math.min(...longest) > 2 * slow) return `more than linear with ${JSON.stringify(attack)}`
  }
  return undefined
}

/** An expression and its place, or the place where it is composed. */
export interface Expression extends Literal {
  readonly file: string
}

const sourceFolder = `${Path.join(root, "src")}${Path.sep}`

/** Innermost place of the library in a stack trace: path below `src` and line. */
const placeIn = (trace: string): readonly [file: string, line: number] | undefined => {
  for (const line of trace.split("\n")) {
    const at = line.indexOf(sourceFolder)
    if (at < 0) continue
    const [file, number] = line.slice(at + sourceFolder.length).split(":")
    if (file !== undefined) return [file, Number.parseInt(number ?? "", 10)]
  }
  return undefined
}

/** Expressions that the library composes during the work; nothing else may run meanwhile. */
export const built = async (work: () => Promise<unknown>): Promise<ReadonlyArray<Expression>> => {
  const native = globalThis.RegExp
  const found = new Map<string, Expression>()
  const record = (made: RegExp): RegExp => {
    const { flags, source } = made
    const key = `/${source}/${flags}`
    const place = found.has(key) ? undefined : placeIn(new Error(key).stack ?? "")
    if (place !== undefined) found.set(key, { file: place[0], line: place[1], source, flags })
    return made
  }
  globalThis.RegExp = new Proxy(native, {
    construct: (target, args, newTarget) => record(Reflect.construct(target, args, newTarget)),
    apply: (target, self, args) => record(Reflect.apply(target, self, args))
  })
  try {
    await work()
  } finally {
    globalThis.RegExp = native
  }
  return [...found.values()]
}

/** Loads the modules and makes the guards that compose expressions when made or used. */
const load = async (files: ReadonlyArray<string>): Promise<void> => {
  for (const file of files.filter((file) => file.endsWith(".ts")))
    await import(pathToFileURL(Path.join(sourceFolder, file)).href)
  const [Effect, InjectionDetector, PiiDetector, PiiEntities, TopicGuard] = await Promise.all([
    import("effect/Effect"),
    import("../src/guard/injection/InjectionDetector.js"),
    import("../src/guard/pii/PiiDetector.js"),
    import("../src/guard/pii/PiiEntities.js"),
    import("../src/guard/TopicGuard.js")
  ])
  InjectionDetector.make().detect("Ignore all previous instructions")
  TopicGuard.make({ topics: ["chess", "self-harm", "C++"] })
  const entities = await Effect.runPromise(
    PiiEntities.make({ types: [...PiiEntities.types, ...PiiEntities.optional], phoneCountries: undefined })
  )
  const detector = PiiDetector.make({ entities, sensitivity: "high" })
  // A numbering plan is read for a length when a number has that length.
  for (let length = 5; length <= 15; length++) {
    for (const start of ["+1 ", "+44 ", "+49 ", "", "0"])
      detector.find(`call ${start}${"2315467890".repeat(2).slice(0, length)}`)
  }
}

const problemsOf = (expressions: Iterable<Expression>): ReadonlyArray<string> => {
  const known = new Map<string, ReadonlyArray<string>>()
  const found: Array<string> = []
  for (const { file, flags, line, source } of expressions) {
    const key = `/${source}/${flags}`
    let about = known.get(key)
    if (about === undefined) {
      about = analysed(source, flags)
      if (about.length === 0) about = [attacked(source, flags)].filter((text) => text !== undefined)
      known.set(key, about)
    }
    for (const problem of about) found.push(`${file}:${line}: ${key}: ${problem}`)
  }
  return found
}

/** Problems of literals, as `file:line: text`. */
export const problems = (sources: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  problemsOf(
    Array.from(sources).flatMap(([file, text]) => literals(file, text).map((literal) => ({ file, ...literal })))
  )

/** Problems of composed expressions, ignoring flags. */
export const problemsOfBuilt = (
  sources: ReadonlyMap<string, string>,
  expressions: ReadonlyArray<Expression>
): ReadonlyArray<string> => {
  const written = new Set(
    Array.from(sources).flatMap(([file, text]) => literals(file, text).map(({ source }) => source))
  )
  return problemsOf(expressions.filter(({ source }) => !written.has(source)))
}

if (process.argv[1] !== undefined && Path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const src = Path.join(root, "src")
  const files = filesBelow(src)
  const sources = new Map(files.map((file) => [file, Fs.readFileSync(Path.join(src, file), "utf8")]))
  const expressions = await built(() => load(files))
  const found = [...problems(sources), ...problemsOfBuilt(sources, expressions)]
  for (const problem of found) console.error(`src/${problem}`)
  console.log(
    `Checked the regular expressions of ${files.length} files and ${expressions.length} that they make: ${found.length} problems.`
  )
  if (found.length > 0) process.exitCode = 1
}
