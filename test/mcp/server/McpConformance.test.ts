import { execFile } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as AgentServers from "../../support/AgentServers.js"
import { definition } from "../../support/McpConformance.js"

const cli = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url)
)

const root = fileURLToPath(new URL("../../..", import.meta.url))

const program = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`

/** The suite imports a function of `node:fs` that Node 20 lacks, for a command that is not used here. */
const fs = program(`export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => []`)
const hooks = program(
  `export const resolve = (specifier, context, next) => specifier === "fs" && context.parentURL?.includes("/conformance/")
     ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(specifier, context)`
)
const preload = program(`import { register } from "node:module"; register(${JSON.stringify(hooks)})`)

interface Check {
  readonly id: string
  readonly status: string
}

/** Runs a command of the suite, and returns the checks of each scenario. */
const run = (command: string, ...args: ReadonlyArray<string>) =>
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
    const checks = Fs.readdirSync(folder).map((name) => {
      const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "")
      return [scenario, JSON.parse(Fs.readFileSync(Path.join(folder, name, "checks.json"), "utf8"))] as [
        string,
        ReadonlyArray<Check>
      ]
    })
    return { checks, printed }
  })

describe("the conformance suite of MCP", () => {
  it.scopedLive("passes in all its scenarios for servers", () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({
        agents: [Agent.make("helper")],
        authentication: Authentication.layerAnonymous,
        limits: { requestsPerMinute: 100_000 },
        edges: [McpEdge.make(definition)]
      })
      const { checks, printed } = yield* run("server", "--url", `${url}/mcp`, "--suite", "all")
      const ending = (status: string) =>
        checks.flatMap(([scenario, all]) =>
          all.filter((one) => one.status === status).map(({ id }) => `${scenario}: ${id}`)
        )
      assert.strictEqual(checks.length, 32, printed.slice(-4_000))
      assert.deepStrictEqual(ending("FAILURE"), [], printed.slice(-4_000))
      // The scenario speaks the version 2025-03-26, whose clients cannot take up streams.
      assert.deepStrictEqual(ending("WARNING"), [
        "server-sse-polling: server-sse-priming-event",
        "server-sse-polling: server-sse-retry-field"
      ])
    })
  )

  for (const scenario of ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"]) {
    it.scopedLive(`passes in its scenario ${scenario} for clients`, () =>
      Effect.gen(function* () {
        const talker = `${process.execPath} --import tsx test/support/programs/McpTalker.ts`
        const { checks, printed } = yield* run("client", "--command", talker, "--scenario", scenario)
        const all = checks.flatMap(([, found]) => found)
        assert.isTrue(
          all.some(({ status }) => status === "SUCCESS"),
          printed.slice(-4_000)
        )
        // How soon the client comes again depends on the load of the machine.
        const failed = all.filter(({ id, status }) => status === "FAILURE" && id !== "client-sse-retry-timing")
        assert.deepStrictEqual(failed, [], printed.slice(-4_000))
      })
    )
  }
})
