/** Starts the program that keeps the servers, as a process of its own. */
import * as ChildProcess from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Lines from "./Lines.js"

export interface Keeper {
  readonly pid: number
  readonly port: Promise<number>
  /** Resolves when it has ended, however it does. */
  readonly ended: Promise<void>
  /** Has it end its servers and itself. */
  readonly end: () => Promise<void>
}

export const start = (
  env: NodeJS.ProcessEnv = process.env,
  program: string = fileURLToPath(new URL("./KeeperProgram.ts", import.meta.url))
): Keeper => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href
  // In a process group of its own: an interrupt from the terminal is for the run, which ends it.
  const child = ChildProcess.spawn(process.execPath, ["--import", tsx, program], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
    env
  })
  child.unref()
  child.stdin.on("error", () => undefined)
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()).on("error", () => resolve()))
  const port = new Promise<number>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", () => reject(new Error("the keeper of the servers ended")))
    Lines.receive(child.stdout, (message) => resolve(message.port))
  })
  port.catch(() => undefined)
  return {
    pid: child.pid ?? -1,
    port,
    ended,
    end: async () => {
      // Whoever waits for its end stays until then.
      child.ref()
      child.stdin.end()
      await ended
    }
  }
}
