/**
 * Finds regular expressions whose work grows faster than the text that they read.
 *
 * The static analysis sees two loops that share a character, and a loop that a search begins again at every place. It does not see a
 * search that begins again at every word, so each expression also reads texts made from its own characters and words; what takes several
 * times as long for a character of a longer text is reported.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { analyse } from "scslre"
import ts from "typescript"
import { filesBelow, root } from "./layout.js"
import * as Attacks from "./regex-attacks.js"

interface Literal {
  readonly line: number
  readonly source: string
  readonly flags: string
}

/** The regular expressions of a module. Those that are put together from pieces are tested with what they are part of. */
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

/** What the static analysis says against an expression. */
export const analysed = (source: string, flags: string): ReadonlyArray<string> =>
  analyse({ source, flags }).reports.map(({ character, type }) => {
    const { flags, source } = character.literal
    return `${kinds[type]} (/${source}/${flags})`
  })

/** Reads a text as far as the expression gets. */
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

/** Lengths at which exponential and steep polynomial work shows before it takes for ever: microseconds for a character at most. */
const steps = [
  [20, 50],
  [100, 20]
] as const
const short = 1000
const long = 16_000
/** Microseconds of CPU for a character; a linear expression stays below. */
const suspicious = 0.5
/** A quadratic one takes sixteen times as long for a character of the longer text. */
const growth = 4
const rounds = 3

/** An attack under which an expression takes more than linear time; no single slow moment of the machine counts. */
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
    if (slow > suspicious && slow > growth * quick) return `more than linear with ${JSON.stringify(attack)}`
  }
  return undefined
}

/** Every problem, as `file:line: text`. */
export const problems = (sources: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const known = new Map<string, ReadonlyArray<string>>()
  const found: Array<string> = []
  for (const [file, text] of sources) {
    for (const { flags, line, source } of literals(file, text)) {
      const key = `/${source}/${flags}`
      let about = known.get(key)
      if (about === undefined) {
        about = analysed(source, flags)
        if (about.length === 0) about = [attacked(source, flags)].filter((text) => text !== undefined)
        known.set(key, about)
      }
      for (const problem of about) found.push(`${file}:${line}: ${key}: ${problem}`)
    }
  }
  return found
}

if (process.argv[1] !== undefined && Path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const src = Path.join(root, "src")
  const files = filesBelow(src)
  const found = problems(new Map(files.map((file) => [file, Fs.readFileSync(Path.join(src, file), "utf8")])))
  for (const problem of found) console.error(`src/${problem}`)
  console.log(`Checked the regular expressions of ${files.length} files: ${found.length} problems.`)
  if (found.length > 0) process.exitCode = 1
}
