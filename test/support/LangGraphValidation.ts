/**
 * LangGraph's checkpoint saver validation, started by its own command in its own process.
 */
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as LangGraphInitializers from "./LangGraphInitializers.js"

const Report = Schema.parseJson(
  Schema.Struct({
    testResults: Schema.Array(
      Schema.Struct({
        assertionResults: Schema.Array(Schema.Struct({ fullName: Schema.String, status: Schema.String }))
      })
    )
  })
)

/** Results of the tests of one saver. */
export interface Verdict {
  readonly passed: ReadonlyArray<string>
  /** Tests that did not pass: skipped, failed or otherwise. */
  readonly others: ReadonlyArray<{ readonly fullName: string; readonly status: string }>
}

export interface Outcome {
  /** Exit code of the process. */
  readonly code: number | null
  /** End of its output. */
  readonly printed: string
  /** One per initializer, in the given order. */
  readonly verdicts: ReadonlyArray<Verdict>
}

const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "langgraph-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const name = "@langchain/langgraph-checkpoint-validation"

/**
 * In the published 1.1.1, two modules of the package lack exports that the command imports: they are added here while
 * missing.
 */
const config = (report: string): string => `
const lacking = {
  types: ["checkpointerTestInitializerSchema", "export const checkpointerTestInitializerSchema = { parse: (value) => value }"],
  import_utils: ["findPackageRoot", "export { findPackageRoot }"]
}
const restore = (code, id) => {
  const [, module] = /langgraph-checkpoint-validation\\/dist\\/(types|import_utils)\\.js$/.exec(id) ?? []
  if (module === undefined) return
  const [name, statement] = lacking[module]
  return new RegExp("export .*" + name).test(code) ? undefined : code + "\\n" + statement
}
export default {
  cacheDir: "cache",
  plugins: [{ name: "restore", transform: restore }],
  test: {
    server: { deps: { inline: [/langgraph-checkpoint-validation/] } },
    reporters: [["json", { outputFile: ${JSON.stringify(report)} }]]
  }
}
`

/** Characters of output kept. */
const tail = 20_000

/** Ends with the process; interruption ends the process and its children. */
const node = (
  args: ReadonlyArray<string>,
  cwd: string,
  variables: { readonly [name: string]: string }
): Effect.Effect<Pick<Outcome, "code" | "printed">> =>
  Effect.async((resume) => {
    // Without the test environment: its variables mark a process as part of vitest.
    const child = spawn(process.execPath, args, {
      cwd,
      env: { PATH: process.env["PATH"] ?? "", TMPDIR: cwd, HOME: cwd, CI: "1", NO_COLOR: "1", ...variables },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let printed = ""
    const keep = (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-tail)
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
    child.once("error", (error) => resume(Effect.die(error)))
    child.once("close", (code) => resume(Effect.succeed({ code, printed })))
    return Effect.promise(() => {
      // The process group includes the vitest workers.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, "SIGKILL")
      return ended
    })
  })

/**
 * Entry of the validation. The command runs its suites for the default export alone, and no suite for the history of
 * channels. The report names the other savers by their initializers. The first saver keeps its own name, by which the
 * suites know which case LangGraph's saver skips.
 */
const entryOf = (home: string, savers: string, names: ReadonlyArray<keyof typeof LangGraphInitializers>): string => `
import { deltaChannelHistoryTests, specTest } from ${JSON.stringify(Path.join(home, "dist", "index.js"))}
import * as initializers from ${JSON.stringify(savers)}
const [first, ...names] = ${JSON.stringify(names)}
const others = names.map((checkpointerName) => ({ ...initializers[checkpointerName], checkpointerName }))
for (const each of [initializers[first], ...others]) deltaChannelHistoryTests(each)
for (const each of others) specTest(each)
export default initializers[first]
`

/** Results for initializers, by name, in one process; `variables` are added to its environment. */
export const validate = (
  initializers: ReadonlyArray<keyof typeof LangGraphInitializers>,
  variables: { readonly [name: string]: string } = {}
): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const report = Path.join(cwd, "report.json")
    const entry = Path.join(cwd, "initializer.mjs")
    const savers = fileURLToPath(new URL("./LangGraphInitializers.ts", import.meta.url))
    Fs.writeFileSync(Path.join(cwd, "vitest.config.mjs"), config(report))
    const home = Path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    Fs.writeFileSync(entry, entryOf(home, savers, initializers))
    const cli = Path.join(home, "bin", "cli.js")
    const { code, printed } = yield* node(["--experimental-vm-modules", cli, entry], cwd, variables)
    if (!Fs.existsSync(report)) return yield* Effect.dieMessage(`The validation made no report: ${printed}`)
    const { testResults } = yield* Effect.orDie(Schema.decode(Report)(Fs.readFileSync(report, "utf8")))
    const results = testResults.flatMap(({ assertionResults }) => assertionResults)
    const [first, ...others] = initializers
    const nameOf = (fullName: string) => others.find((other) => fullName.includes(other)) ?? first
    const verdicts = initializers.map((initializer): Verdict => {
      const own = results.filter(({ fullName }) => nameOf(fullName) === initializer)
      return {
        passed: own.flatMap(({ fullName, status }) => (status === "passed" ? [fullName] : [])),
        others: own.filter(({ status }) => status !== "passed")
      }
    })
    return { code, printed, verdicts }
  }).pipe(Effect.scoped)
