/**
 * `npm run check:init`: makes a project of each template of `lexigram init` with the package as it is published, in an empty folder, and
 * runs every command of its README there: installation, type check, tests, runs, servers and the requests to them. Names of templates
 * narrow it, and `--built` takes `dist` as it is.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "./layout.js"

const templates = ["minimal", "web", "service"]

const limitMillis = 300_000

const folder = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-init-")))

/** Projects get no key and no setting of this machine, so that they behave the same everywhere. */
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:LEX_|LEXIGRAM_|SERVICE_TOKENS$|PORT$|npm_)|_API_KEY$/.test(name))
)

type Env = Readonly<Record<string, string | undefined>>

interface Ended {
  readonly code: number | NodeJS.Signals | null
  readonly output: string
}

/** A command in a process group of its own, which ends with it. */
const start = (command: string, cwd: string, env: Env) => {
  const child = spawn("bash", ["-c", command], { cwd, env: { ...clean, ...env }, detached: true })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      output += String(text)
    })
  }
  const ended = once(child, "close").then(([code, signal]) => ({ code: code ?? signal, output }) as Ended)
  return { child, ended, output: () => output }
}

const kill = ({ pid }: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended.
  }
}

const run = async (command: string, cwd: string, env: Env, input = ""): Promise<Ended> => {
  const { child, ended } = start(command, cwd, env)
  child.stdin.end(input)
  const timer = setTimeout(() => kill(child, "SIGKILL"), limitMillis)
  const result = await ended
  clearTimeout(timer)
  return result
}

const freePort = async (): Promise<number> => {
  const server = Net.createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as Net.AddressInfo
  server.close()
  await once(server, "close")
  return port
}

/** Whether the server answers. */
const isUp = async (port: number, until: number): Promise<boolean> => {
  while (performance.now() < until) {
    // A request before the routes are there is never answered.
    const signal = AbortSignal.timeout(2_000)
    const response = await fetch(`http://127.0.0.1:${port}/v1/health`, { signal }).catch(() => undefined)
    if (response?.ok) return true
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  return false
}

let failures = 0

const say = (isOk: boolean, what: string, output = ""): void => {
  if (!isOk) failures++
  console.log(`${isOk ? "ok  " : "FAIL"} ${what}`)
  if (!isOk) console.log(output.slice(-4_000).replace(/^/gm, "     "))
}

/** What the output of a command must have, by a part of the command. */
const expected: ReadonlyArray<readonly [string, RegExp]> = [
  ["lexigram run ", /on its way/],
  ["lexigram runs list", /completed[\s\S]*clerk/],
  ["/v1/agents", /clerk/],
  ["npm run chat", /on its way/]
]

/** The commands of the README, one a line. */
const commandsOf = (project: string): ReadonlyArray<string> =>
  Array.from(Fs.readFileSync(Path.join(project, "README.md"), "utf8").matchAll(/^```sh\n([\s\S]*?)^```$/gm)).flatMap(
    ([, block = ""]) => block.split("\n").filter((line) => line !== "")
  )

/** Installs the archive in the place of the release of the same version. */
const takeArchive = (project: string, archive: string): void => {
  const file = Path.join(project, "package.json")
  const manifest = JSON.parse(Fs.readFileSync(file, "utf8"))
  manifest.dependencies["effect-lexigram"] = `file:${archive}`
  Fs.writeFileSync(file, JSON.stringify(manifest, null, 2))
}

const checkCommands = async (template: string, project: string): Promise<void> => {
  const port = await freePort()
  const env: Record<string, string> = { PORT: String(port) }
  let server: ReturnType<typeof start> | undefined
  try {
    for (const line of commandsOf(project)) {
      const command = line.replaceAll("127.0.0.1:3000", `127.0.0.1:${port}`)
      const setting = /^export ([A-Z_]+)="([^"]*)"$/.exec(command)
      if (setting !== null) {
        env[setting[1] ?? ""] = setting[2] ?? ""
      } else if (command === "npm start") {
        server = start("exec npm start", project, env)
        say(await isUp(port, performance.now() + 60_000), `${template}: ${line}`, server.output())
      } else {
        const install = command === "npm install" ? `${command} --prefer-offline --no-audit --no-fund` : command
        const { code, output } = await run(
          install,
          project,
          env,
          command === "npm run chat" ? "Where is order 17?\n" : ""
        )
        const wanted = expected.find(([part]) => command.includes(part))?.[1]
        say(code === 0 && (wanted === undefined || wanted.test(output)), `${template}: ${line}`, `${code}\n${output}`)
        if (command === "npm install" && code !== 0) return
      }
    }
    if (server !== undefined) {
      kill(server.child, "SIGTERM")
      const timer = setTimeout(() => server !== undefined && kill(server.child, "SIGKILL"), 30_000)
      const { code, output } = await server.ended
      clearTimeout(timer)
      say(
        code !== "SIGKILL" && !/Error/.test(output),
        `${template}: the server ends with SIGTERM`,
        `${code}\n${output}`
      )
    }
  } finally {
    if (server !== undefined) kill(server.child, "SIGKILL")
  }
}

const main = async (): Promise<void> => {
  const given = process.argv.slice(2)
  const isBuilt = given.includes("--built")
  const chosen = given.filter((argument) => !argument.startsWith("--"))
  if (!isBuilt) {
    const { code, output } = await run("npm run --silent build", root, {})
    if (code !== 0) return say(false, "npm run build", output)
  }
  const packed = await run(`npm pack --silent --pack-destination ${folder}`, root, {})
  const archive = Fs.readdirSync(folder).find((name) => name.endsWith(".tgz"))
  if (packed.code !== 0 || archive === undefined) return say(false, "npm pack", packed.output)
  for (const template of chosen.length > 0 ? chosen : templates) {
    const project = Path.join(folder, `my-${template}`)
    const program = Path.join(root, "dist/cli/lexigram.mjs")
    const made = await run(`node ${program} init ${project} --template ${template}`, folder, {})
    say(made.code === 0, `${template}: lexigram init`, made.output)
    if (made.code !== 0) continue
    takeArchive(project, Path.join(folder, archive))
    await checkCommands(template, project)
    Fs.rmSync(project, { recursive: true, force: true })
  }
}

await main().finally(() => Fs.rmSync(folder, { recursive: true, force: true }))
process.exitCode = failures > 0 ? 1 : 0
