/**
 * LangGraph's validation of checkpoint savers, started by its own command in a process of its own.
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

export interface Outcome {
  /** With which the process ended. */
  readonly code: number | null
  /** The last of what it has printed. */
  readonly printed: string
  readonly passed: ReadonlyArray<string>
  /** Skipped, failed, or whatever else is not passed. */
  readonly others: ReadonlyArray<{ readonly fullName: string; readonly status: string }>
}

const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "langgraph-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const name = "@langchain/langgraph-checkpoint-validation"

/**
 * In 1.1.1, as published, two modules of the package lack what the file that the command runs imports from them: here they get it back,
 * as long as they lack it.
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

/** So much of what is printed is kept. */
const tail = 20_000

/** Ends with the process; interrupted, it ends the process and all that this has started. */
const node = (
  args: ReadonlyArray<string>,
  cwd: string,
  variables: { readonly [name: string]: string }
): Effect.Effect<Pick<Outcome, "code" | "printed">> =>
  Effect.async((resume) => {
    // Nothing of the process that runs the tests: its variables tell vitest that it is within vitest.
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
      // The group: the workers of vitest go with it.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, "SIGKILL")
      return ended
    })
  })

/** The outcome for one of the initializers, by its name; `variables` are added to the environment of its process. */
export const validate = (
  initializer: keyof typeof LangGraphInitializers,
  variables: { readonly [name: string]: string } = {}
): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const cwd = yield* folder
    const report = Path.join(cwd, "report.json")
    const entry = Path.join(cwd, "initializer.mjs")
    const savers = fileURLToPath(new URL("./LangGraphInitializers.ts", import.meta.url))
    Fs.writeFileSync(Path.join(cwd, "vitest.config.mjs"), config(report))
    const home = Path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    // The history of channels is in none of the suites that the command runs.
    Fs.writeFileSync(
      entry,
      `import { deltaChannelHistoryTests } from ${JSON.stringify(Path.join(home, "dist", "index.js"))}
      import { ${initializer} as initializer } from ${JSON.stringify(savers)}
      deltaChannelHistoryTests(initializer)
      export default initializer`
    )
    const cli = Path.join(home, "bin", "cli.js")
    const { code, printed } = yield* node(["--experimental-vm-modules", cli, entry], cwd, variables)
    if (!Fs.existsSync(report)) return yield* Effect.dieMessage(`The validation made no report: ${printed}`)
    const { testResults } = yield* Effect.orDie(Schema.decode(Report)(Fs.readFileSync(report, "utf8")))
    const results = testResults.flatMap(({ assertionResults }) => assertionResults)
    return {
      code,
      printed,
      passed: results.flatMap(({ fullName, status }) => (status === "passed" ? [fullName] : [])),
      others: results.filter(({ status }) => status !== "passed")
    }
  }).pipe(Effect.scoped)
