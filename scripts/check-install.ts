/**
 * `npm run check:install`: installs the package as it is published, and nothing else, into an empty folder with npm and pnpm. Every entry must
 * load there, and what needs a package that is not there must fail in the error channel, with the command that installs it. `dist` must be built.
 */
import { execFileSync, spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "./layout.js"

interface PackageJson {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}
const { exports, name } = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as PackageJson
const entries = Object.keys(exports)
  .filter((path) => !path.includes("*") && !/\.m?js(on)?$/.test(path))
  .map((path) => name + path.slice(1))

/** All types of this entry are those of its package. */
const needs: Readonly<Record<string, string>> = { [`${name}/cluster`]: "@effect/cluster" }

/** Programs of which each needs an optional package, and the command that their errors name. */
const programs: ReadonlyArray<{ readonly code: string; readonly install: string }> = [
  {
    install: "npm install jose",
    code: `import { SessionToken } from "${name}/http"
      import * as Redacted from "effect/Redacted"
      export const program = SessionToken.make({ secret: Redacted.make("x".repeat(64)), algorithms: ["HS256"] })`
  },
  {
    install: "npm install decimal.js",
    code: `import { MathSkill } from "${name}/builtin"
      const { decode, handle } = MathSkill.skill.erased
      export const program = Effect.flatMap(decode({ expression: "1 + 1" }), (params) =>
        handle(params, { id: "call-1", skillName: "math_calculate", attempt: 1 }))`
  },
  {
    install: "npm install ioredis",
    code: `import { RedisClient } from "${name}/persistence"
      import * as Redacted from "effect/Redacted"
      export const program = Effect.scoped(Layer.build(RedisClient.layer({ url: Redacted.make("redis://127.0.0.1:1") })))`
  },
  {
    install: "npm install pg",
    code: `import { Lexigram } from "${name}/persistence"
      import * as Redacted from "effect/Redacted"
      export const program = Effect.scoped(Layer.build(Lexigram.layerPostgres({ url: Redacted.make("postgres://127.0.0.1:1/a") })))`
  },
  {
    install: "npm install libsql",
    code: `import { Lexigram } from "${name}/persistence"
      export const program = Effect.scoped(Layer.build(Lexigram.layerSqlite({ file: "a.db", driver: "libsql" })))`
  },
  {
    install: "npm install @modelcontextprotocol/sdk",
    code: `import { McpClientSdk } from "${name}/mcp/client"
      export const program = Effect.scoped(McpClientSdk.makeStdio({ name: "files", command: "true" }))`
  },
  {
    install: "npm install @effect/ai-openai",
    code: `import { OpenAi } from "${name}/provider/openai"
      import * as Redacted from "effect/Redacted"
      import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
      export const program = Effect.scoped(Effect.provide(
        Layer.build(OpenAi.layer({ apiKey: Redacted.make("x"), model: "gpt-4.1-mini" })), FetchHttpClient.layer))`
  },
  {
    install: "npm install unpdf",
    code: `import { DocumentReader } from "${name}/document"
      export const program = DocumentReader.read({ name: "a.pdf", content: new TextEncoder().encode("%PDF-1.7") })`
  }
]

const folder = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-install-")))
let failed = 0
const expect = (what: string, problem: string | undefined): void => {
  if (problem !== undefined) failed++
  console.log(`${problem === undefined ? "ok  " : "FAIL"} ${what}${problem === undefined ? "" : `: ${problem}`}`)
}

const clean = Object.fromEntries(Object.entries(process.env).filter(([variable]) => !variable.startsWith("npm_")))

const node = (cwd: string, code: string): string => {
  const { stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd,
    env: clean,
    encoding: "utf8",
    timeout: 60_000
  })
  return stdout + stderr
}

const checkEntries = (manager: string, cwd: string): void => {
  const code = `for (const entry of ${JSON.stringify(entries)}) {
    const error = await import(entry).then(() => undefined, (error) => error)
    console.log(JSON.stringify([entry, error && String(error)]))
  }`
  for (const line of node(cwd, code).trim().split("\n")) {
    const [entry, error] = JSON.parse(line) as readonly [string, string | undefined]
    const missing = needs[entry]
    const isRight =
      missing === undefined ? error === undefined || error === null : String(error).includes(`'${missing}'`)
    expect(`${manager}: ${entry}${missing === undefined ? " loads" : ` names ${missing}`}`, isRight ? undefined : error)
  }
}

const checkPrograms = (cwd: string): void => {
  for (const { code, install } of programs) {
    const output = node(
      cwd,
      `import * as Effect from "effect/Effect"
      import * as Layer from "effect/Layer"
      ${code.replace("export const program", "const program")}
      const exit = await Effect.runPromise(Effect.either(program))
      console.log(exit._tag, exit.left?._tag, exit.left?.hint)`
    )
    expect(
      `${install}: said by a typed error`,
      output.startsWith("Left") && output.includes(install) ? undefined : output
    )
  }
}

const install = (manager: string, command: string, args: ReadonlyArray<string>, cwd: string): boolean => {
  Fs.mkdirSync(cwd)
  Fs.writeFileSync(Path.join(cwd, "package.json"), `{ "private": true, "type": "module" }\n`)
  const { status, stderr, stdout } = spawnSync(command, args, { cwd, env: clean, encoding: "utf8" })
  expect(`${manager}: installs ${name} alone`, status === 0 ? undefined : (stdout + stderr).slice(-2000))
  return status === 0
}

try {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024
    })
  ) as ReadonlyArray<{ readonly filename: string }>
  const tarball = Path.join(folder, packed?.filename ?? "")
  const withNpm = Path.join(folder, "npm")
  if (install("npm", "npm", ["install", "--ignore-scripts", "--prefer-offline", tarball], withNpm)) {
    checkEntries("npm", withNpm)
    checkPrograms(withNpm)
  }
  const tools = Path.join(folder, "tools")
  if (install("npm (for pnpm)", "npm", ["install", "--ignore-scripts", "--prefer-offline", "pnpm@10"], tools)) {
    const withPnpm = Path.join(folder, "pnpm")
    const pnpm = Path.join(tools, "node_modules", ".bin", "pnpm")
    if (
      install("pnpm", pnpm, ["add", "--ignore-scripts", "--store-dir", Path.join(folder, "store"), tarball], withPnpm)
    ) {
      checkEntries("pnpm", withPnpm)
    }
  }
} finally {
  Fs.rmSync(folder, { recursive: true, force: true })
}
console.log(`${failed} problems.`)
if (failed > 0) process.exitCode = 1
