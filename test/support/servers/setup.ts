/**
 * The global setup of the tests: a port at which a test file learns where the keeper of the servers is. The keeper is started when the first one
 * asks, so a run without servers does not pay for them. At the end the backends that could not be had are told, with the reason.
 */
import * as ChildProcess from "node:child_process"
import { createRequire } from "node:module"
import * as Net from "node:net"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { TestProject } from "vitest/node"
import * as Lines from "./Lines.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly testServers: number
  }
}

const spawnKeeper = (): { readonly port: Promise<number>; readonly end: () => Promise<void> } => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href
  const program = fileURLToPath(new URL("./KeeperProgram.ts", import.meta.url))
  // In a process group of its own: an interrupt from the terminal is for the run, which ends it.
  const child = ChildProcess.spawn(process.execPath, ["--import", tsx, program], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true
  })
  child.unref()
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()).on("error", () => resolve()))
  const port = new Promise<number>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", () => reject(new Error("the keeper of the servers ended")))
    Lines.receive(child.stdout, (message) => resolve(message.port))
  })
  port.catch(() => undefined)
  return {
    port,
    end: async () => {
      child.stdin.end()
      await ended
    }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let keeper: ReturnType<typeof spawnKeeper> | undefined
  const missing = new Map<string, string>()
  const server = Net.createServer((socket) => {
    socket.on("error", () => undefined)
    Lines.receive(socket, (message) => {
      if (message.operation === "missing") {
        missing.set(message.name, message.reason)
        Lines.send(socket, {})
      } else {
        keeper ??= spawnKeeper()
        keeper.port.then(
          (port) => Lines.send(socket, { port }),
          (error) => Lines.send(socket, { error: String(error) })
        )
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  server.unref()
  project.provide("testServers", (server.address() as Net.AddressInfo).port)
  return async () => {
    server.close()
    await keeper?.end()
    for (const [name, reason] of missing) process.stderr.write(`skipped: the tests of ${name}: ${reason}\n`)
  }
}
