/**
 * `npm run bench:cold`: a process until its first run has finished, beside one that imports exactly the modules of `effect` which that
 * run loads. The processes alternate; figures are medians. `dist` must be built. `--runs=9` takes more processes.
 */
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import { loadedBy } from "../../scripts/build/LoadedModules.js"
import { root } from "../../scripts/layout.js"

interface Used {
  readonly cpu: number
  readonly wall: number
  readonly rss: number
}

const runs = Number(process.argv.find((given) => given.startsWith("--runs="))?.slice(7) ?? 5)
const agent = Path.join(root, "bench/cold/agent.mjs")
const urls = loadedBy(agent)
const modules = urls.filter((url) => /\/node_modules\/effect\/dist\/esm\/[A-Za-z]+\.js$/.test(url)).sort()

const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-cold-"))
const floor = Path.join(folder, "effect.mjs")
const end = `await import(${JSON.stringify(pathToFileURL(Path.join(root, "bench/cold/used.mjs")).href)})\n`
Fs.writeFileSync(floor, `${modules.map((url) => `import ${JSON.stringify(url)}\n`).join("")}${end}`)

const used = (program: string): Used =>
  JSON.parse(execFileSync(process.execPath, [program], { cwd: root, encoding: "utf8" })) as Used

const median = (values: ReadonlyArray<Used>, of: keyof Used): number =>
  values.map((value) => value[of]).sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const ours: Array<Used> = []
const effect: Array<Used> = []
used(agent)
used(floor)
for (let i = 0; i < runs; i++) {
  ours.push(used(agent))
  effect.push(used(floor))
}
Fs.rmSync(folder, { recursive: true })

const own = urls.filter((url) => url.includes("/dist/") && !url.includes("/node_modules/"))
console.log(`modules: ${urls.length} loaded, ${own.length} of ours, ${modules.length} public ones of effect`)
for (const [of, unit] of [
  ["cpu", "ms"],
  ["wall", "ms"],
  ["rss", "MB"]
] as const) {
  const [a, b] = [median(ours, of), median(effect, of)]
  console.log(`${of}: ${a.toFixed(0)} ${unit}, effect alone ${b.toFixed(0)} ${unit}, ratio ${(a / b).toFixed(2)}`)
}
