/** Real servers of Redis on the loopback interface, for tests: started from the PATH, stopped by who started them. */
import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { afterAll, beforeAll } from "vitest"

export interface Server {
  readonly port: number
  readonly pid: number | undefined
  readonly url: Redacted.Redacted<string>
  /** Starts it again on its port. */
  readonly start: Effect.Effect<void>
  /** Kills it, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
  /** Stops and goes on: a server that is there and says nothing. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
}

const freePort: Effect.Effect<number> = Effect.async((resume) => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as Net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const answers = (port: number): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const socket = Net.connect(port, "127.0.0.1")
    const end = (is: boolean) => {
      socket.destroy()
      resume(Effect.succeed(is))
    }
    socket.on("error", () => end(false))
    socket.on("connect", () => socket.write("PING\r\n"))
    socket.on("data", () => end(true))
  })

/** By the clock of the machine. */
export const eventually = <E, R>(
  check: Effect.Effect<boolean, E, R>,
  withinMillis = 10_000
): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    while (!(yield* check)) {
      if ((yield* Clock.currentTimeMillis) - from > withinMillis) return yield* Effect.dieMessage("Not in time")
      yield* Effect.sleep(10)
    }
  }).pipe(Effect.withClock(Clock.make()))

/** A server that the scope stops. */
export const make = (args: ReadonlyArray<string> = []): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* freePort
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "redis-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    )
    let child: ReturnType<typeof spawn> | undefined
    const start = Effect.suspend(() => {
      const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
      child = spawn("redis-server", [...options, "--dir", directory, ...args], { stdio: "ignore" })
      return eventually(answers(port))
    })
    const kill = Effect.async<void>((resume) => {
      const running = child
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) return resume(Effect.void)
      running.once("exit", () => resume(Effect.void))
      running.kill("SIGKILL")
    })
    const signal = (name: NodeJS.Signals) => Effect.sync(() => void child?.kill(name))
    yield* Effect.acquireRelease(start, () => kill)
    return {
      port,
      get pid() {
        return child?.pid
      },
      url: Redacted.make(`redis://127.0.0.1:${port}/0`),
      start,
      kill,
      freeze: signal("SIGSTOP"),
      thaw: signal("SIGCONT")
    }
  })

const said = (port: number, command: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    const socket = Net.connect(port, "127.0.0.1")
    socket.on("error", (error) => resume(Effect.die(error)))
    socket.on("connect", () => socket.write(`${command}\r\n`))
    socket.on("data", (data) => {
      socket.destroy()
      resume(Effect.succeed(data.toString()))
    })
  })

/** Three masters that share the slots. */
export const makeCluster: Effect.Effect<ReadonlyArray<Server>, never, Scope.Scope> = Effect.gen(function* () {
  const nodes: Array<Server> = []
  const buses: Array<number> = []
  for (let node = 0; node < 3; node++) {
    const bus = yield* freePort
    buses.push(bus)
    nodes.push(yield* make(["--cluster-enabled", "yes", "--cluster-port", String(bus)]))
  }
  const slots = ["0 5460", "5461 10922", "10923 16383"]
  for (const [index, { port }] of nodes.entries()) {
    yield* said(port, `CLUSTER ADDSLOTSRANGE ${slots[index]}`)
    if (index > 0) yield* said(port, `CLUSTER MEET 127.0.0.1 ${nodes[0]?.port} ${buses[0]}`)
  }
  yield* eventually(
    Effect.map(
      Effect.forEach(nodes, ({ port }) => said(port, "CLUSTER INFO")),
      (infos) => infos.every((info) => info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:3"))
    )
  )
  return nodes
})

/** One server for all tests of a file. */
export const forFile = (args: ReadonlyArray<string> = []): (() => Server) => once(make(args))

/** A cluster for all tests of a file. */
export const clusterForFile = (): (() => ReadonlyArray<Server>) => once(makeCluster)

const once = <A>(make: Effect.Effect<A, never, Scope.Scope>): (() => A) => {
  let server: A | undefined
  let stop: () => void = () => undefined
  let stopped: Promise<void> = Promise.resolve()
  beforeAll(async () => {
    await new Promise<void>((started, failed) => {
      const released = new Promise<void>((resume) => {
        stop = resume
      })
      stopped = Effect.runPromise(
        Effect.scoped(
          Effect.flatMap(make, (made) => {
            server = made
            started()
            return Effect.promise(() => released)
          })
        )
      ).catch(failed)
    })
  })
  afterAll(async () => {
    stop()
    await stopped
  })
  return () => {
    if (server === undefined) throw new Error("The server is not started yet")
    return server
  }
}
