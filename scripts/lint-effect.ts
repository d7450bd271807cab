/**
 * Diagnostics of the Effect language service with the severities of tsconfig.json; fails on errors and warnings.
 *
 * The native compiler also reports type errors; they are ignored here, since `npm run check` reports them. Under
 * NodeNext, Effect's declarations count as CommonJS; the service then does not recognize `Effect.gen`, and
 * `missingReturnYieldStar` never reports.
 */
import { spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import * as Path from "node:path"
import { root } from "./layout.js"

const require = createRequire(import.meta.url)

const compiler = Path.join(
  Path.dirname(require.resolve(`@effect/tsgo-${process.platform}-${process.arch}/package.json`)),
  "lib",
  process.platform === "win32" ? "tsc.exe" : "tsc"
)

const canary = "scripts/effect-canary.ts"
const canaryRules = ["floatingEffect", "missingReturnYieldStar", "leakingRequirements"]

const { error, stderr, stdout } = spawnSync(compiler, ["-p", "scripts/tsconfig.effect.json", "--pretty", "false"], {
  cwd: root,
  encoding: "utf8",
  maxBuffer: 1 << 28
})
if (error !== undefined) throw error
if (stderr !== "") console.error(stderr)

interface Diagnostic {
  readonly file: string
  readonly rule: string
  readonly text: string
}

// A diagnostic starts with its place; its other lines are indented or separate paragraphs.
const found = stdout
  .split(/^(?=\S[^\n]*\(\d+,\d+\): (?:error|warning|suggestion|message) TS\d+: )/m)
  .flatMap((text): ReadonlyArray<Diagnostic> => {
    const head = /^(.+?)\(\d+,\d+\): (?:error|warning) /.exec(text)
    const rule = /effect\((\w+)\)\s*$/.exec(text)
    return head === null || rule === null ? [] : [{ file: head[1] as string, rule: rule[1] as string, text }]
  })

const silent = canaryRules.filter((rule) => !found.some((one) => one.file === canary && one.rule === rule))
for (const rule of silent) console.error(`${rule} does not report where it must`)

const problems = found.filter(({ file }) => file !== canary)
for (const { text } of problems) process.stdout.write(text)

console.log(`Effect diagnostics: ${problems.length} found.`)
if (problems.length + silent.length > 0) process.exitCode = 1
