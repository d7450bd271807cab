/** Runs the conformance suite of MCP. */
import { execFile } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"

const cli = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url)
)

const root = fileURLToPath(new URL("../..", import.meta.url))

const program = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`

/** The suite imports a function of `node:fs` that Node 20 lacks, for a command that is not used here. */
const fs = program(`export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => []`)
const hooks = program(
  `export const resolve = (specifier, context, next) => specifier === "fs" && context.parentURL?.includes("/conformance/")
     ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(specifier, context)`
)
const preload = program(`import { register } from "node:module"; register(${JSON.stringify(hooks)})`)

export interface Check {
  readonly id: string
  readonly status: string
}

/** Runs a command of the suite, and returns the checks of each scenario. */
export const run = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "conformance-"))),
      (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
    )
    const all = ["--import", preload, cli, command, ...args, "--output-dir", folder]
    const printed = yield* Effect.async<string>((resume) => {
      const child = execFile(process.execPath, all, { cwd: root, maxBuffer: 1e8 }, (_error, stdout, stderr) => {
        resume(Effect.succeed(stdout + stderr))
      })
      return Effect.sync(() => child.kill("SIGKILL"))
    })
    const files = Fs.readdirSync(folder, { recursive: true }).map(String)
    const checks = files
      .filter((file) => Path.basename(file) === "checks.json")
      .map((file): [string, ReadonlyArray<Check>] => {
        const scenario = Path.dirname(file)
          .replace(/^server-/, "")
          .replace(/-\d{4}-\d\d-\d\dT.*$/, "")
        return [scenario, JSON.parse(Fs.readFileSync(Path.join(folder, file), "utf8"))]
      })
    return { checks, printed }
  })
