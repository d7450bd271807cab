/** Redis servers on loopback, from the `redis-server` on the PATH. */
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Path from "node:path"
import * as Spawned from "./Spawned.js"

export interface Server {
  readonly port: number
  readonly start: () => Promise<void>
  readonly stop: (mode: "kill" | "immediate" | "fast") => Promise<void>
  readonly remove: () => Promise<void>
}

const onPath = (program: string): string => {
  for (const folder of (process.env.PATH ?? "").split(Path.delimiter)) {
    const file = Path.join(folder, program)
    try {
      Fs.accessSync(file, Fs.constants.X_OK)
      return file
    } catch {
      // Tries the next one.
    }
  }
  throw new Error(`there is no ${program} on the PATH`)
}

/** Response to one inline command. */
const ask = (port: number, command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(`${command}\r\nQUIT\r\n`))
    let text = ""
    socket.setEncoding("utf8")
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer to ${command}`)))
    socket.on("data", (chunk) => {
      text += chunk
    })
    socket.on("error", reject)
    socket.on("close", () => resolve(text))
  })

const told = async (port: number, command: string): Promise<void> => {
  const answer = await ask(port, command)
  if (!answer.startsWith("+OK")) throw new Error(`${command}: ${answer}`)
}

export const make = (folder: string) => {
  Fs.mkdirSync(folder)
  let servers = 0

  const single = async (settings: {
    readonly durable: boolean
    readonly settings: Readonly<Record<string, string>>
  }): Promise<Server> => {
    const program = onPath("redis-server")
    const data = Path.join(folder, `data${servers++}`)
    Fs.mkdirSync(data)
    let running: Spawned.Spawned | undefined
    const startOn = async (port: number): Promise<void> => {
      const all = {
        port: String(port),
        bind: "127.0.0.1",
        dir: data,
        save: "",
        databases: "1024",
        appendonly: settings.durable ? "yes" : "no",
        appendfsync: "always",
        ...settings.settings
      }
      const child = Spawned.start(
        program,
        Object.entries(all).flatMap(([key, value]) => [`--${key}`, value]),
        { cwd: data, env: { PATH: process.env.PATH, TZ: "UTC" } }
      )
      try {
        await child.says(/Ready to accept connections/, 20_000)
      } catch (error) {
        await child.end("SIGKILL")
        throw error
      }
      running = child
    }
    const stop: Server["stop"] = async (mode) => {
      const child = running
      running = undefined
      await child?.end(mode === "fast" ? "SIGTERM" : "SIGKILL")
    }
    const port = await Spawned.onFreePort(async (port) => {
      await startOn(port)
      return port
    })
    return {
      port,
      start: async () => {
        if (running === undefined) await startOn(port)
      },
      stop,
      remove: async () => {
        await stop("kill")
        Fs.rmSync(data, { recursive: true, force: true })
      }
    }
  }

  /** Three masters that share the slots. */
  const cluster = async (): Promise<ReadonlyArray<Server>> => {
    const nodes: Array<Server & { readonly bus: number }> = []
    try {
      for (let node = 0; node < 3; node++) {
        const bus = await Spawned.freePort()
        const settings = {
          databases: "1",
          "cluster-enabled": "yes",
          "cluster-config-file": "nodes.conf",
          "cluster-node-timeout": "5000",
          "cluster-port": String(bus)
        }
        nodes.push({ ...(await single({ durable: false, settings })), bus })
      }
      const slots = [0, 5461, 10923, 16384]
      for (const [index, node] of nodes.entries()) {
        await told(node.port, `CLUSTER ADDSLOTSRANGE ${slots[index]} ${(slots[index + 1] as number) - 1}`)
        await told(node.port, `CLUSTER SET-CONFIG-EPOCH ${index + 1}`)
      }
      const [first, ...others] = nodes
      for (const node of others) await told(first?.port ?? 0, `CLUSTER MEET 127.0.0.1 ${node.port} ${node.bus}`)
      for (let left = 200; left > 0; left--) {
        const states = await Promise.all(nodes.map((node) => ask(node.port, "CLUSTER INFO")))
        const whole = /cluster_state:ok.*cluster_slots_ok:16384.*cluster_known_nodes:3/s
        if (states.every((state) => whole.test(state))) return nodes
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      throw new Error("the nodes did not become a cluster")
    } catch (error) {
      await Promise.all(nodes.map((node) => node.remove()))
      throw error
    }
  }

  return { single, cluster }
}
