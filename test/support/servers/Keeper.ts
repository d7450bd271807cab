/** Starts the keeper of the servers as a separate process. */
import * as ChildProcess from "node:child_process"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Lines from "./Lines.js"

export interface Keeper {
  readonly pid: number
  readonly port: Promise<number>
  /** Resolves when it has ended in any way. */
  readonly ended: Promise<void>
  /** Ends its servers and the process. */
  readonly end: () => Promise<void>
}

export const start = (
  env: NodeJS.ProcessEnv = process.env,
  program: string = fileURLToPath(new URL("./KeeperProgram.ts", import.meta.url))
): Keeper => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href
  // In its own process group: a terminal interrupt goes to the run, which ends it.
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
      // Keeps this process alive while something waits for the end.
      child.ref()
      child.stdin.end()
      await ended
    }
  }
}
