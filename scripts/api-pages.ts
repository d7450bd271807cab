/** Writes the pages of the API into `docs/api`, which the repository does not have: the site is built of them. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { filesBelow, root } from "./layout.js"
import { project } from "./project.js"
import { abouts } from "./reference/ApiEntries.js"
import * as ApiPages from "./reference/ApiPages.js"
import * as Declarations from "./reference/Declarations.js"
import * as Formatted from "./reference/Formatted.js"
import * as PublicApi from "./reference/PublicApi.js"
import { subjects } from "./site/Subjects.js"

const packages = ["effect", ...Fs.readdirSync(Path.join(root, "node_modules/@effect")).map((name) => `@effect/${name}`)]

/** Names of modules of Effect. */
const foreign = new Set(
  packages
    .map((name) => Path.join(root, "node_modules", name, "dist/dts"))
    .filter((folder) => Fs.existsSync(folder))
    .flatMap((folder) => Fs.readdirSync(folder))
    .map((file) => file.replace(/\.d\.ts$/, ""))
)

const titles = new Map(subjects.flatMap(({ entries }) => entries.map(({ page, title }) => [page, title] as const)))

const program = PublicApi.programOf(PublicApi.entries().map(([, file]) => file))
const entries = PublicApi.read(program, { signatures: false })
const members = [
  ...new Map(
    entries.flatMap(({ modules }) =>
      modules.flatMap((module) => module.members.map((member) => [member.declarations[0], member] as const))
    )
  )
]
const texts = Formatted.all(members.map(([, member]) => Declarations.textOf(program.getTypeChecker(), member)))
const textOf = new Map(members.map(([declaration], i) => [declaration, Declarations.shown(texts[i] ?? "")]))

const pages = ApiPages.make(entries, {
  textOf: ({ declarations }) => textOf.get(declarations[0]) ?? "",
  abouts,
  foreign,
  guideOf: (page) => titles.get(page) ?? page,
  addressOf: (file, line) => project && `${project.repository}/blob/main/${file}#L${line}`
})

const folder = Path.join(root, "docs", "api")
for (const file of Fs.existsSync(folder) ? filesBelow(folder) : []) {
  if (!pages.has(file)) Fs.rmSync(Path.join(folder, file))
}
for (const [file, text] of pages) {
  const path = Path.join(folder, file)
  if (Fs.existsSync(path) && Fs.readFileSync(path, "utf8") === text) continue
  Fs.mkdirSync(Path.dirname(path), { recursive: true })
  Fs.writeFileSync(path, text)
}
console.log(`${pages.size} pages of the API.`)
