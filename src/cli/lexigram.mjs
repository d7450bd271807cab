#!/usr/bin/env node
/**
 * The program `lexigram`. Before it loads anything it checks the packages that the command line needs, so that what is
 * missing, or of another line, has a message that says what to install.
 */
import * as Fs from "node:fs"
import * as NodeModule from "node:module"
import * as Path from "node:path"
import * as Url from "node:url"

const here = Path.dirname(Url.fileURLToPath(import.meta.url))

/** @type {{ name: string; version: string; engines: { node: string }; peerDependencies: Record<string, string> }} */
const manifest = JSON.parse(Fs.readFileSync(Path.join(here, "../../package.json"), "utf8"))

const needed = [
  "effect",
  "@effect/platform",
  "@effect/platform-node",
  "@effect/cli",
  "@effect/printer",
  "@effect/printer-ansi"
]

/**
 * The three numbers of a version, or of the one in a range such as `^3.22.4`.
 *
 * @param {string} text
 */
const partsOf = (text) => {
  const parts = text
    .replace(/^\D/, "")
    .split(".")
    .map((part) => Number.parseInt(part, 10) || 0)
  return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0]
}

/**
 * Whether a version is in a range such as `^3.22.4` or `^0.77.2`: the first number that is not 0 is the same.
 *
 * @param {string} version
 * @param {string} range
 */
const isIn = (version, range) => {
  const [found, least] = [partsOf(version), partsOf(range)]
  const fixed = least.findIndex((part) => part > 0)
  for (let i = 0; i < 3; i++) {
    if (found[i] !== least[i]) return i > fixed && found[i] > least[i]
  }
  return true
}

/**
 * The version of an installed package, found as the modules of this one find it.
 *
 * @param {string} name
 */
const versionOf = (name) => {
  for (const folder of NodeModule.createRequire(import.meta.url).resolve.paths(name) ?? []) {
    try {
      return JSON.parse(Fs.readFileSync(Path.join(folder, name, "package.json"), "utf8")).version
    } catch {
      // It is not there.
    }
  }
  return undefined
}

/** @type {Array<string>} */
const problems = []
/** @type {Array<string>} */
const wanted = []

const leastNode = Number(/\d+/.exec(manifest.engines.node)?.[0])
if (Number(process.versions.node.split(".")[0]) < leastNode) {
  problems.push(`Node ${leastNode} or newer is needed, and this is ${process.versions.node}.`)
}
for (const name of needed) {
  const range = manifest.peerDependencies[name] ?? "*"
  const found = versionOf(name)
  if (found !== undefined && isIn(found, range)) continue
  problems.push(
    found === undefined ? `${name} is not installed.` : `${name} ${range} is needed, and ${found} is installed.`
  )
  wanted.push(`"${name}@${range}"`)
}

if (problems.length > 0) {
  process.stderr.write(`lexigram cannot start:\n${problems.map((problem) => `  ${problem}\n`).join("")}`)
  if (wanted.length > 0) process.stderr.write(`Install what fits: npm install ${wanted.join(" ")}\n`)
  process.exitCode = 3
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
  process.stdout.write(`${manifest.version}\n`)
} else {
  const { Cli } = await import(new URL("./index.js", import.meta.url).href)
  Cli.main(process.argv)
}
