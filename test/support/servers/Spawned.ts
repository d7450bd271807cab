/** A child process of the keeper: starts it, waits until it is ready and ends it, always by its own process id. */
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"

export interface Spawned {
  readonly pid: number
  readonly alive: () => boolean
  /** End of its output, used as the reason of a failed start. */
  readonly output: () => string
  /** Resolves when it has ended. Never rejects. */
  readonly ended: Promise<void>
  /** First match in its output; rejects if it ends first. */
  readonly says: (pattern: RegExp, withinMillis: number) => Promise<RegExpExecArray>
  /** Sends the signal and waits; kills it after `withinMillis`. */
  readonly end: (signal: NodeJS.Signals, withinMillis?: number) => Promise<void>
}

export const start = (command: string, args: ReadonlyArray<string>, options: ChildProcess.SpawnOptions): Spawned => {
  const child = ChildProcess.spawn(command, args, { ...options, stdio: ["pipe", "pipe", "pipe"] })
  let text = ""
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of [...listeners]) listener()
  }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8")
    stream?.on("data", (chunk: string) => {
      text = (text + chunk).slice(-20_000)
      tell()
    })
  }
  child.stdin?.on("error", () => undefined)
  let running = true
  const ended = new Promise<void>((resolve) => {
    const stop = () => {
      running = false
      tell()
      resolve()
    }
    child.on("error", (error) => {
      text += `\n${error.message}`
      stop()
    })
    child.on("close", stop)
  })
  return {
    pid: child.pid ?? -1,
    alive: () => running,
    output: () => text.trim().split("\n").slice(-8).join("\n"),
    ended,
    says: (pattern, withinMillis) =>
      new Promise((resolve, reject) => {
        const done = () => {
          clearTimeout(timer)
          listeners.delete(look)
        }
        const look = () => {
          const found = pattern.exec(text)
          if (found) {
            done()
            resolve(found)
          } else if (!running) {
            done()
            reject(new Error(`${command} ended:\n${text.slice(-2000)}`))
          }
        }
        const timer = setTimeout(() => {
          done()
          reject(new Error(`${command} did not start within ${withinMillis} ms:\n${text.slice(-2000)}`))
        }, withinMillis)
        listeners.add(look)
        look()
      }),
    end: async (signal, withinMillis = 10_000) => {
      if (!running) return
      child.kill(signal)
      const timer = setTimeout(() => child.kill("SIGKILL"), withinMillis)
      await ended
      clearTimeout(timer)
    }
  }
}

/** A port that was free a moment ago. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = Net.createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as Net.AddressInfo
      server.close(() => resolve(port))
    })
  })

/** Another process may take the port in the meantime. */
export const onFreePort = async <A>(attempt: (port: number) => Promise<A>): Promise<A> => {
  for (let left = 4; ; left--) {
    try {
      return await attempt(await freePort())
    } catch (error) {
      if (left === 0 || !/address already in use|could not bind|EADDRINUSE/i.test(String(error))) throw error
    }
  }
}

/** Child processes of a process, if the system can list them. */
export const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return Fs.readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const stat = Fs.readFileSync(`/proc/${name}/stat`, "latin1")
          const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
          return parent === pid ? [Number(name)] : []
        } catch {
          return []
        }
      })
  } catch {
    return []
  }
}
