/**
 * Checks recorded cases against the library: `npm run check:fixtures -- <folder> [--verbose]`. Reads the
 * `<family>__<name>.jsonl` files of a folder, prints `name passed/total` and the failures, and exits with 1 if a family
 * is below its bar.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import type { Case, Family, Row } from "./fixtures/check.js"
import { holds, passed } from "./fixtures/check.js"
import { families } from "./fixtures/registry.js"

interface File {
  readonly name: string
  readonly family: Family | undefined
  readonly cases: ReadonlyArray<Case>
  /** Lines that are not JSON. */
  readonly broken: ReadonlyArray<number>
}

const readFile = (folder: string, file: string): File => {
  const name = Path.basename(file, ".jsonl")
  const cases: Array<Case> = []
  const broken: Array<number> = []
  Fs.readFileSync(Path.join(folder, file), "utf8")
    .split("\n")
    .forEach((line, index) => {
      if (line.trim() === "") return
      try {
        const value = JSON.parse(line)
        cases.push({ id: typeof value?.id === "string" ? value.id : `line ${index + 1}`, value })
      } catch {
        broken.push(index + 1)
      }
    })
  return { name, family: families.find((family) => `${name}_`.startsWith(`${family.prefix}_`)), cases, broken }
}

const report = (row: Row, verbose: boolean): ReadonlyArray<string> => {
  const bar = row.bar < 1 ? ` (bar ${Math.round(row.bar * 100)} %)` : ""
  const head = `${row.name} ${passed(row)}/${row.total}${bar}${holds(row) ? "" : " FAILED"}`
  if (row.failures.length === 0) return [head]
  return verbose
    ? [head, ...row.failures.map(({ detail, id }) => `  ${id}: ${detail.replaceAll("\n", "\n    ")}`)]
    : [head, `  failed: ${row.failures.map(({ id }) => id).join(", ")}`]
}

/** Returns the exit code; every line of the report goes to `print`. */
export const main = (args: ReadonlyArray<string>, print: (line: string) => void): Effect.Effect<number> =>
  Effect.gen(function* () {
    const verbose = args.includes("--verbose")
    const folder = args.find((argument) => !argument.startsWith("--"))
    if (folder === undefined || !Fs.existsSync(folder) || !Fs.statSync(folder).isDirectory()) {
      print("usage: npm run check:fixtures -- <folder> [--verbose]")
      return 1
    }
    const files = Fs.readdirSync(folder)
      .filter((file) => file.endsWith(".jsonl"))
      .sort()
      .map((file) => readFile(folder, file))
    let checked = 0
    let isGood = true
    for (const file of files) {
      if (file.family === undefined) continue
      checked++
      if (file.broken.length > 0) {
        isGood = false
        print(`${file.name}: lines ${file.broken.join(", ")} are not JSON FAILED`)
      }
      for (const row of yield* file.family.check(file.name, file.cases)) {
        if (!holds(row)) isGood = false
        for (const line of report(row, verbose)) print(line)
      }
    }
    const uncovered = files.filter((file) => file.family === undefined).map((file) => file.name)
    if (uncovered.length > 0) print(`not covered: ${uncovered.join(", ")}`)
    if (checked === 0) print(`no file of ${folder} belongs to a known family`)
    return isGood && checked > 0 ? 0 : 1
  })

if (process.argv[1] !== undefined && Path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await Effect.runPromise(main(process.argv.slice(2), (line) => console.log(line)))
}
