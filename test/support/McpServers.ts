/**
 * MCP servers for tests: the program beside this module, and the reference servers from npm.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

const require = createRequire(import.meta.url)

/** Path of a reference server. */
export const reference = (name: "everything" | "filesystem" | "memory"): string => {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return Path.join(Path.dirname(manifest), "dist", "index.js")
}

export const program: string = fileURLToPath(new URL("./McpServerProgram.mjs", import.meta.url))

/** Command of a server on standard input and output. */
export const stdio = (script: string, ...args: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [script, ...args]
})

export interface Started {
  readonly child: ChildProcess
  readonly url: string
  /** Its output so far. */
  readonly printed: () => string
}

/** Starts an HTTP server and waits for its address in the output. The scope kills it. */
const startHttp = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Started>((resume) => {
      const child = spawn(process.execPath, [...args], {
        env: { ...(process.env["PATH"] === undefined ? {} : { PATH: process.env["PATH"] }), ...env },
        stdio: ["pipe", "pipe", "pipe"]
      })
      let text = ""
      const listen = (chunk: Buffer) => {
        text += chunk.toString()
        const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(text)?.[0]
        if (url !== undefined) resume(Effect.succeed({ child, url, printed: () => text }))
      }
      child.stdout.on("data", listen)
      child.stderr.on("data", listen)
      child.once("exit", () => resume(Effect.die(new Error(`The server ended: ${text}`))))
    }),
    ({ child }) =>
      Effect.async<void>((resume) => {
        if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
  )

export const http = (env: Readonly<Record<string, string>> = {}): Effect.Effect<Started, never, Scope.Scope> =>
  startHttp([program, "http"], env)

/** The server prints only its configured port, 0; a module loaded before it prints the actual address. */
const tellAddress = `data:text/javascript,${encodeURIComponent(`
  import { Server } from "node:net"
  const listen = Server.prototype.listen
  Server.prototype.listen = function (port, ...rest) {
    this.once("listening", () => console.error("http://127.0.0.1:" + this.address().port + "/mcp"))
    return listen.call(this, Number(port), "127.0.0.1", ...rest)
  }
`)}`

export const everythingHttp: Effect.Effect<Started, never, Scope.Scope> = startHttp(
  ["--import", tellAddress, reference("everything"), "streamableHttp"],
  { PORT: "0" }
)

/** A folder removed by the scope. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "mcp-")))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

/** True if a process exists, including one that ended without being waited for. */
export const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits some seconds at most until a condition holds. */
export const eventually = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (holds() ? Effect.void : Effect.fail("not yet"))).pipe(
    Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(500)))),
    Effect.orDieWith(() => new Error("It did not happen in time"))
  )
