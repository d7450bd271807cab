/**
 * Starts the servers of a test run on first request, and ends them when its standard input closes, however the run
 * ends. Tests talk to it over a port that it prints. Servers started for one test file end with that file's connection.
 */
import { randomBytes } from "node:crypto"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Lines from "./Lines.js"
import * as PostgresProcess from "./PostgresProcess.js"
import * as RedisProcess from "./RedisProcess.js"
import * as Spawned from "./Spawned.js"

const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-servers-"))
Fs.chmodSync(folder, 0o711)
const postgres = PostgresProcess.make(Path.join(folder, "postgres"), randomBytes(12).toString("hex"))
const redis = RedisProcess.make(Path.join(folder, "redis"))

/** Finalizers of running servers, and starts in progress. */
const started = new Set<() => Promise<unknown>>()
const starting = new Set<Promise<unknown>>()
let ending: Promise<void> | undefined

interface Removable {
  readonly remove: () => Promise<void>
}

const keepOne = <A extends Removable>(server: A): A => {
  const remove = () => server.remove()
  started.add(remove)
  return {
    ...server,
    remove: () => {
      started.delete(remove)
      return remove()
    }
  }
}

const kept = async <A extends Removable | ReadonlyArray<Removable>>(make: () => Promise<A>): Promise<A> => {
  if (ending !== undefined) throw new Error("the servers are being ended")
  const made = make().then((servers) =>
    Array.isArray(servers) ? servers.map(keepOne) : keepOne(servers as Removable)
  ) as unknown as Promise<A>
  starting.add(made)
  try {
    return await made
  } finally {
    starting.delete(made)
  }
}

const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => {
    made ??= make()
    return made
  }
}

const vector = async () => {
  const program = fileURLToPath(new URL("./PgliteProgram.mjs", import.meta.url))
  const child = Spawned.start(process.execPath, [program], { env: { PATH: process.env.PATH } })
  const remove = () => child.end("SIGKILL")
  let port: string | undefined
  try {
    port = (await child.says(/listening [\d.]+:(\d+)/, 60_000))[1]
  } catch (error) {
    await remove()
    throw error
  }
  return {
    remove,
    host: "127.0.0.1",
    port: Number(port),
    username: "postgres",
    password: "postgres",
    database: "postgres",
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`
  }
}

const sharedPostgres = once(() => kept(() => postgres({ durable: false, settings: {}, files: {} })))
const sharedRedis = once(() => kept(() => redis.single({ durable: false, settings: {} })))
const sharedVector = once(() => kept(vector))
const sharedCluster = once(() => kept(redis.cluster))

const postgresAddress = ({ database, host, password, port, url, username }: PostgresProcess.Address) => ({
  host,
  port,
  username,
  password,
  database,
  url
})
const redisAddress = (port: number, database = 0) => ({
  host: "127.0.0.1",
  port,
  database,
  url: `redis://127.0.0.1:${port}/${database}`
})

let databases = 0
/** PGlite has one session: one test file at a time. */
let vectorTurn: Promise<void> = Promise.resolve()

interface Startable extends Removable {
  readonly start: () => Promise<void>
  readonly stop: (mode: "kill" | "immediate" | "fast") => Promise<void>
}

const serve = (socket: Net.Socket): void => {
  const own = new Map<number, Startable>()
  const released: Array<() => void> = []
  let open = true
  let handles = 0
  const keep = async (server: Startable): Promise<number> => {
    const handle = handles++
    if (open) own.set(handle, server)
    else await server.remove()
    return handle
  }
  const startable = (handle: number): Startable => {
    const server = own.get(handle)
    if (server === undefined) throw new Error(`there is no server ${handle}`)
    return server
  }
  const answer = async (message: any): Promise<unknown> => {
    switch (message.operation) {
      case "postgres":
        return postgresAddress(await sharedPostgres())
      case "redis":
        return redisAddress((await sharedRedis()).port, databases++ % 1024)
      case "redisCluster":
        return (await sharedCluster()).map((node) => redisAddress(node.port))
      case "pgvector": {
        const before = vectorTurn
        const turn = new Promise<void>((resolve) => released.push(resolve))
        vectorTurn = before.then(() => turn)
        if (!open) for (const release of released) release()
        await before
        return postgresAddress(await sharedVector())
      }
      case "ownPostgres": {
        const server = await kept(() =>
          postgres({ durable: message.durable, settings: message.settings, files: message.files })
        )
        return { handle: await keep(server), ...postgresAddress(server) }
      }
      case "ownRedis": {
        const server = await kept(() => redis.single({ durable: message.durable, settings: message.settings }))
        return { handle: await keep(server), ...redisAddress(server.port) }
      }
      case "start":
        return startable(message.handle).start()
      case "stop":
        return startable(message.handle).stop(message.mode)
      case "remove": {
        const server = startable(message.handle)
        own.delete(message.handle)
        return server.remove()
      }
      default:
        throw new Error(`unknown: ${message.operation}`)
    }
  }
  Lines.receive(socket, (message) => {
    answer(message).then(
      (value) => Lines.send(socket, { id: message.id, value }),
      (error) => Lines.send(socket, { id: message.id, error: error instanceof Error ? error.message : String(error) })
    )
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    open = false
    for (const release of released) release()
    for (const server of own.values()) void server.remove()
    own.clear()
  })
}

const server = Net.createServer(serve)

const end = (): Promise<void> => {
  ending ??= (async () => {
    server.close()
    await Promise.allSettled(starting)
    await Promise.allSettled([...started].map((remove) => remove()))
    Fs.rmSync(folder, { recursive: true, force: true })
    process.exit(0)
  })()
  return ending
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => void end())
process.stdin.on("end", () => void end()).resume()
process.stdout.on("error", () => undefined)
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as Net.AddressInfo).port })}\n`)
})
