/**
 * Checks what a release is made of: the files of the package, the licenses of what it installs, and what package.json
 * says of the project. With `--release` the project must have an address. `dist` must be built.
 */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { root } from "./layout.js"
import { metadata, project } from "./project.js"

const problems: Array<string> = []
const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as Record<string, unknown>

/** Every file of the package is of one of these kinds. */
const kinds: Readonly<Record<string, RegExp>> = {
  manifest: /^package\.json$/,
  page: /^(README|CHANGELOG)\.md$/,
  license: /^LICENSE$/,
  module: /^dist\/[\w./-]+\.js$/,
  lines: /^dist\/[\w./-]+\.js\.map$/,
  types: /^dist\/[\w./-]+\.d\.ts$/,
  program: /^dist\/[\w./-]+\.mjs$/,
  studio: /^dist\/studio\/page\/[\w.-]+\.(js|css|html|txt|svg)$/
}

interface Packed {
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const [packed] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024
  })
) as ReadonlyArray<Packed>
const counts = new Map<string, number>()
for (const { path } of packed?.files ?? []) {
  const kind = Object.entries(kinds).find(([, form]) => form.test(path))?.[0]
  if (kind === undefined) problems.push(`The package has a file of no known kind: ${path}`)
  else counts.set(kind, (counts.get(kind) ?? 0) + 1)
}
for (const kind of ["manifest", "page", "license", "module", "types", "program", "studio"]) {
  if (!counts.has(kind)) problems.push(`The package has no file of this kind: ${kind}`)
}

/** Licenses that let everybody use, change and pass on what the package installs or contains. */
const permissive = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "0BSD",
  "BlueOak-1.0.0",
  "Unlicense",
  "CC0-1.0",
  "Python-2.0"
])

interface Locked {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly license?: string
        readonly dev?: boolean
        readonly peer?: boolean
        readonly dependencies?: Readonly<Record<string, string>>
      }
    >
  >
}
const { packages } = JSON.parse(Fs.readFileSync(Path.join(root, "package-lock.json"), "utf8")) as Locked

const isPermissive = (license: string): boolean =>
  license
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((one) => permissive.has(one.trim())))

/** The packages that one needs, as far as the lock knows them. */
const needed = (names: ReadonlyArray<string>): ReadonlySet<string> => {
  const found = new Set(names)
  // A set includes entries added during iteration.
  for (const name of found)
    for (const next of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {})) found.add(next)
  return found
}

const checked = needed([
  ...Object.keys((manifest.dependencies as Record<string, string> | undefined) ?? {}),
  ...Object.keys((manifest.peerDependencies as Record<string, string> | undefined) ?? {})
])
for (const name of checked) {
  const locked = packages[`node_modules/${name}`]
  // An optional peer that nothing here needs.
  if (locked === undefined) continue
  const { license } = locked
  if (license === undefined) problems.push(`${name} has no license in package-lock.json`)
  else if (!isPermissive(license)) problems.push(`${name} has the license ${license}`)
}

const { bugs, homepage, repository } = manifest
const said = JSON.stringify({ bugs, homepage, repository })
const { bugs: itsBugs, homepage: itsHomepage, repository: itsRepository } = metadata(project)
if (said !== JSON.stringify({ bugs: itsBugs, homepage: itsHomepage, repository: itsRepository })) {
  problems.push("package.json names another project than scripts/project.ts: run npm run codegen")
}
if (process.argv.includes("--release") && project === undefined) {
  problems.push("The project has no address: set it in scripts/project.ts, run npm run codegen, then release")
}

for (const problem of problems) console.error(problem)
const files = [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ")
console.log(`Files: ${files}. Licenses of ${checked.size} packages. ${problems.length} problems.`)
if (problems.length > 0) process.exitCode = 1
