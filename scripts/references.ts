/**
 * Writes what is made of the public API: the reference pages and the report of every public name. With `--check` it
 * writes nothing, and fails if one of them is out of date: a change of the public API is a change of the report.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { root } from "./layout.js"
import * as PublicApi from "./reference/PublicApi.js"
import * as ReferencePages from "./reference/ReferencePages.js"

const program = PublicApi.programOf(PublicApi.entries().map(([, file]) => file))
const entries = PublicApi.read(program)

const made: Readonly<Record<string, string>> = {
  "docs/api-report.txt": PublicApi.report(entries),
  "docs/reference-errors.md": ReferencePages.errorsPage(entries),
  "docs/reference-events.md": ReferencePages.eventsPage(program),
  "docs/reference-config.md": ReferencePages.configPage()
}

/** The first lines that differ. */
const difference = (before: string, after: string): string => {
  const [old, now] = [new Set(before.split("\n")), new Set(after.split("\n"))]
  const gone = [...old].filter((line) => !now.has(line)).map((line) => `- ${line}`)
  const come = [...now].filter((line) => !old.has(line)).map((line) => `+ ${line}`)
  return [...gone.slice(0, 10), ...come.slice(0, 10)].join("\n")
}

const stale = Object.entries(made).filter(([file, text]) => {
  const path = Path.join(root, file)
  const before = Fs.existsSync(path) ? Fs.readFileSync(path, "utf8") : ""
  if (before === text) return false
  if (process.argv.includes("--check"))
    console.error(`${file} is out of date: run npm run references\n${difference(before, text)}`)
  else Fs.writeFileSync(path, text)
  return true
})
console.log(
  `${Object.keys(made).length} references, ${stale.length} ${process.argv.includes("--check") ? "out of date" : "written"}.`
)
if (process.argv.includes("--check") && stale.length > 0) process.exitCode = 1
