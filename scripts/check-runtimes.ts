/**
 * `npm run check:runtimes`: installs the package as it is published with Bun and with Deno, each in an empty folder, and runs programs
 * there: every entry, the first programs of README and quickstart, a conversation over two processes, servers, skills that start processes.
 * Names of runtimes narrow it. `dist` must be built. A runtime that npm cannot install here is skipped.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "./layout.js"
import * as LoopbackRegistry from "./runtimes/LoopbackRegistry.js"

interface Runtime {
  readonly name: string
  readonly version: string
  readonly add: ReadonlyArray<string>
  /** How the command of `add` names a package of npm. */
  readonly prefix: string
  readonly run: ReadonlyArray<string>
}
const runtimes: ReadonlyArray<Runtime> = [
  { name: "bun", version: "1.4.5", add: ["add"], prefix: "", run: ["run"] },
  { name: "deno", version: "2.9.6", add: ["add", "--quiet"], prefix: "npm:", run: ["run", "--quiet", "--allow-all"] }
]

const limitMillis = 120_000

interface PackageJson {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies: Readonly<Record<string, string>>
}
const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as PackageJson

/** With what the programs import beside the package. */
const packages = ["effect", "@effect/platform", "@effect/platform-node", "@effect/sql", "quickjs-emscripten"].map(
  (name) => `${name}@${manifest.peerDependencies[name]}`
)

const everyEntry = Object.keys(manifest.exports)
  .filter((path) => !path.includes("*") && !/\.m?js(on)?$/.test(path))
  .map((path, i) => `import * as Entry${i} from "${manifest.name}${path.slice(1)}"\nconsole.log(typeof Entry${i})`)
  .join("\n")

const firstProgram = (page: string): string =>
  /^```ts run\n(.*?)^```$/ms.exec(Fs.readFileSync(Path.join(root, page), "utf8"))?.[1] ?? ""

const programs = Path.join(root, "scripts/runtimes/programs")

/** What is run, and what it prints. */
const checks: ReadonlyArray<readonly [what: string, args: ReadonlyArray<string>, printed: RegExp]> = [
  ["every entry loads", ["Entries.ts"], /^(object\n)+$/],
  ["the program of README.md", ["Readme.ts"], /21.*tokens/],
  ["the program of docs/quickstart.md", ["Quickstart.ts"], /21/],
  ["a conversation in a SQLite file", ["Conversation.ts"], /^turn 1\n$/],
  ["goes on in the next process", ["Conversation.ts"], /^turn 2\n$/],
  ["agents on the server of the runtime", ["Server.ts"], /It is done/],
  ["agents on a server of node:http", ["Server.ts", "node:http"], /It is done/],
  ["skills in processes and threads", ["Skills.ts"], /\b7\b[\s\S]*\b42\b/]
]

const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:LEX_|LEXIGRAM_|npm_)|_API_KEY$/.test(name))
)

const run = async (
  command: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string>>
) => {
  const child = spawn(command, args, {
    cwd,
    env: { ...clean, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let printed = ""
  let errors = ""
  child.stdout.on("data", (text) => {
    printed += text
  })
  child.stderr.on("data", (text) => {
    errors += text
  })
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMillis)
  const [code] = (await once(child, "close")) as [number | null]
  clearTimeout(timer)
  return { isOk: code === 0, printed, output: printed + errors }
}

const checkRuntime = async (
  folder: string,
  registry: string,
  { add, name, prefix, run: execute, version }: Runtime
) => {
  const lines: Array<string> = []
  const say = (isOk: boolean, what: string, output: string): boolean => {
    if (!isOk) process.exitCode = 1
    lines.push(`${isOk ? "ok   " : "fails"} ${name} ${version}: ${what}${isOk ? "" : `\n${output.slice(-4_000)}`}`)
    return isOk
  }
  const tool = Path.join(folder, `${name}-tool`)
  const project = Path.join(folder, name)
  for (const made of [tool, project]) {
    Fs.mkdirSync(made)
    Fs.writeFileSync(Path.join(made, "package.json"), `{ "private": true, "type": "module" }\n`)
  }
  // Its binary comes in a package, which a script puts into its place.
  const install = [
    "install",
    "--ignore-scripts=false",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    `${name}@${version}`
  ]
  const installed = await run("npm", install, tool, {})
  const binary = Path.join(tool, "node_modules", ".bin", name)
  if (!installed.isOk || !(await run(binary, ["--version"], tool, {})).isOk) {
    return [`skipped: ${name} ${version} is not installable here`]
  }
  Fs.cpSync(programs, project, { recursive: true })
  Fs.writeFileSync(Path.join(project, "Entries.ts"), everyEntry)
  Fs.writeFileSync(Path.join(project, "Readme.ts"), firstProgram("README.md"))
  Fs.writeFileSync(Path.join(project, "Quickstart.ts"), firstProgram("docs/quickstart.md"))
  // Caches of their own: the version of the package stays the same when its bytes change.
  const cache = Path.join(folder, `${name}-cache`)
  const env = { NPM_CONFIG_REGISTRY: registry, BUN_INSTALL_CACHE_DIR: cache, DENO_DIR: cache }
  const wanted = [manifest.name, ...packages].map((spec) => prefix + spec)
  const added = await run(binary, [...add, ...wanted], project, env)
  if (say(added.isOk, `installs ${manifest.name}`, added.output)) {
    for (const [what, args, expected] of checks) {
      const { isOk, output, printed } = await run(binary, [...execute, ...args], project, env)
      say(isOk && expected.test(printed), what, output)
    }
  }
  return lines
}

const named = process.argv.slice(2)
const folder = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-runtimes-")))
const registry = await LoopbackRegistry.start(folder)
try {
  const chosen = runtimes.filter(({ name }) => named.length === 0 || named.includes(name))
  const reports = await Promise.all(chosen.map((runtime) => checkRuntime(folder, registry.url, runtime)))
  console.log(reports.flat().join("\n"))
} finally {
  registry.close()
  Fs.rmSync(folder, { recursive: true, force: true })
}
