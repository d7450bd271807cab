/**
 * Generates files from the modules of `src`: the index of each entry, the root index, the `exports` of package.json,
 * the version constant and the map in ARCHITECTURE.md. With `--check` it writes nothing and fails if something is out
 * of date.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { examplePage, exampleProblems } from "./example-index.js"
import { entryOf, filesBelow, flatEntries, folderOf, programs, root, rootModules, smallEntries } from "./layout.js"
import { withMap } from "./pages.js"
import { metadata, project } from "./project.js"

interface Module {
  readonly entry: string
  /** Relative to the folder of the entry, without `.ts`. */
  readonly path: string
  readonly name: string
  readonly doc: string
  readonly isInternal: boolean
}

interface PackageJson {
  readonly version: string
  readonly homepage?: unknown
  readonly repository?: unknown
  readonly bugs?: unknown
  readonly exports?: Record<string, unknown>
  readonly bin?: Readonly<Record<string, string>>
}

const check = process.argv.includes("--check")
const problems: Array<string> = []

/** The first paragraph of a module's header and its `@since`, as a comment for the export line. */
const moduleDoc = (file: string, source: string): string => {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(source)?.[1]
  const lines = (comment ?? "").split("\n").map((line) => line.replace(/^\s*(?:\* ?)?/, "").trimEnd())
  const since = lines.find((line) => line.startsWith("@since "))
  const first = lines.findIndex((line) => line !== "")
  const paragraph: Array<string> = []
  for (const line of first === -1 ? [] : lines.slice(first)) {
    if (line === "" || line.startsWith("@")) break
    paragraph.push(line)
  }
  if (paragraph.length === 0 || since === undefined) {
    problems.push(`${file}: a module opens with a doc comment: what it is, and @since`)
  }
  return ["/**", ...[...paragraph, "", since ?? "@since"].map((line) => ` * ${line}`.trimEnd()), " */"].join("\n")
}

const index = (modules: ReadonlyArray<Module>, specifier: (module: Module) => string, isFlat = false): string =>
  modules
    .map((module) => `${module.doc}\nexport *${isFlat ? "" : ` as ${module.name}`} from "${specifier(module)}"\n`)
    .join("\n")

const emit = (path: string, content: string): void => {
  const file = Path.join(root, path)
  if (Fs.existsSync(file) && Fs.readFileSync(file, "utf8") === content) return
  if (check) problems.push(`${path} is out of date: run npm run codegen`)
  else {
    Fs.writeFileSync(file, content)
    console.log(`wrote ${path}`)
  }
}

const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as PackageJson

// Written before the modules are listed: it is one of them.
emit(
  "src/domain/Version.ts",
  `/**
 * The version of this package.
 *
 * @since 0.1.0
 */

/**
 * Equals \`version\` in package.json.
 *
 * @since 0.1.0
 * @category constants
 */
export const version = ${JSON.stringify(manifest.version)}

/**
 * The address of the documentation. None until the package is published.
 *
 * @since 0.1.0
 * @category constants
 */
export const documentation: string | undefined = ${JSON.stringify(project?.documentation) ?? "undefined"}
`
)

const modules: Array<Module> = []
for (const file of filesBelow(Path.join(root, "src"))) {
  const match = /^[a-z0-9]+\/(?:[a-z0-9]+\/)?([A-Z][A-Za-z0-9]*)\.ts$/.exec(file)
  const entry = entryOf(folderOf(file))
  if (match === null || entry === "internal") continue
  const source = Fs.readFileSync(Path.join(root, "src", file), "utf8")
  if (/^\/\*\*(?:(?!\*\/)[\s\S])*@internal/.test(source)) {
    problems.push(`src/${file}: a module header says @private; with @internal, stripInternal drops the first import`)
  }
  modules.push({
    entry,
    path: file.slice(entry.length + 1).replace(/\.ts$/, ""),
    name: match[1]!,
    doc: moduleDoc(`src/${file}`, source),
    // Part of another module: `@private` in its header keeps it out of every index.
    isInternal: /^\/\*\*(?:(?!\*\/)[\s\S])*@private/.test(source)
  })
}
modules.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
for (const [i, module] of modules.entries()) {
  const previous = modules[i - 1]
  if (previous?.name === module.name) {
    problems.push(`${previous.entry}/${previous.path} and ${module.entry}/${module.path}: one name, two modules`)
  }
}

const entries = [...new Set(modules.map((module) => module.entry))].sort()
const published = modules.filter((module) => !module.isInternal)
const inRoot = published.filter((module) => rootModules[module.entry]?.includes(module.name))
for (const [entry, names] of Object.entries(rootModules)) {
  for (const name of names) {
    if (!inRoot.some((module) => module.entry === entry && module.name === name)) {
      problems.push(
        `scripts/layout.ts: the root entry is to export ${name} of ${entry}, which has no such public module`
      )
    }
  }
}

problems.push(...exampleProblems())

const entry = (path: string) => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` })
const exports = {
  ".": entry("index"),
  ...Object.fromEntries(entries.map((name) => [`./${name}`, entry(`${name}/index`)])),
  ...Object.fromEntries(Object.keys(smallEntries).map((name) => [`./${name}`, entry(`${name}/index`)])),
  // Separate programs, which a bundle finds by these names. Those that a user starts are no modules.
  ...Object.fromEntries(
    Object.values(programs)
      .filter((file) => !Object.values(manifest.bin ?? {}).includes(`dist/${file}`))
      .map((file) => [`./${file}`, `./dist/${file}`])
  ),
  "./internal/*": null,
  "./package.json": "./package.json"
}

if (problems.length === 0) {
  for (const name of entries) {
    emit(
      `src/${name}/index.ts`,
      index(
        published.filter((module) => module.entry === name),
        (module) => `./${module.path}.js`,
        flatEntries.has(name)
      )
    )
  }
  for (const [name, names] of Object.entries(smallEntries)) {
    const depth = name.split("/").length - 1
    emit(
      `src/${name}/index.ts`,
      index(
        published.filter((module) => module.entry === entryOf(name) && names.includes(module.name)),
        (module) => `${"../".repeat(depth)}${module.path}.js`
      )
    )
  }
  emit(
    "src/index.ts",
    index(inRoot, (module) => `./${module.entry}/${module.path}.js`)
  )
  emit("examples/README.md", examplePage())
  emit("ARCHITECTURE.md", withMap(Fs.readFileSync(Path.join(root, "ARCHITECTURE.md"), "utf8")))
  const { bugs: _bugs, homepage: _homepage, repository: _repository, ...rest } = manifest
  emit("package.json", `${JSON.stringify({ ...rest, exports, ...metadata(project) }, null, 2)}\n`)
}

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
