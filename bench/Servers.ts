/**
 * Servers of the benchmark: those named by `TEST_PG_URL` and `TEST_REDIS_URL`, otherwise started here and stopped at
 * the end.
 */
import * as Net from "node:net"
import * as Path from "node:path"
import * as Keeper from "../test/support/servers/Keeper.js"
import * as Lines from "../test/support/servers/Lines.js"

export interface Servers {
  /** URL of a server, or the reason why there is none. */
  readonly url: (
    name: "postgres" | "pgvector" | "redis"
  ) => Promise<{ readonly url: string } | { readonly missing: string }>
  readonly end: () => Promise<void>
}

const variables = { postgres: "TEST_PG_URL", pgvector: "TEST_PGVECTOR_URL", redis: "TEST_REDIS_URL" } as const

export const make = (): Servers => {
  let keeper: Keeper.Keeper | undefined
  const ask = async (operation: string): Promise<string> => {
    // The bundle is elsewhere; it runs in the folder of the package.
    keeper ??= Keeper.start(process.env, Path.resolve("test/support/servers/KeeperProgram.ts"))
    const port = await keeper.port
    const socket = Net.connect(port, "127.0.0.1")
    // Open until the end: a turn at pgvector lasts as long as its connection.
    socket.unref()
    return new Promise((resolve, reject) => {
      socket.ref()
      socket.on("error", reject)
      Lines.receive(socket, ({ error, value }) => {
        socket.unref()
        if (error === undefined) resolve(value.url)
        else reject(new Error(error))
      })
      Lines.send(socket, { operation, id: 0 })
    })
  }
  return {
    url: async (name) => {
      const given = process.env[variables[name]]
      if (given) return { url: given }
      try {
        return { url: await ask(name) }
      } catch (error) {
        return { missing: error instanceof Error ? error.message : String(error) }
      }
    },
    end: async () => keeper?.end()
  }
}
