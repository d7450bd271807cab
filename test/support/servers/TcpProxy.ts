/**
 * A loopback proxy to a server that can cut, stall and refuse connections, to simulate network failures. The scope
 * closes it.
 */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface TcpProxy {
  readonly host: string
  readonly port: number
  /** Open connections. */
  readonly open: () => number
  /** Resets every connection; new ones are accepted. */
  readonly cut: Effect.Effect<void>
  /** Stops all traffic in both directions until `resume`, without notice. */
  readonly stall: Effect.Effect<void>
  /** From the next answer on, drops the answer and its connection: the server has done the work. */
  readonly cutAnswers: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Refuses new connections until `accept`; open ones remain. */
  readonly refuse: Effect.Effect<void>
  readonly accept: Effect.Effect<void>
}

export const make = (target: {
  readonly host: string
  readonly port: number
}): Effect.Effect<TcpProxy, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const pairs = new Set<readonly [Net.Socket, Net.Socket]>()
      let mode: "open" | "stalled" | "answers" = "open"
      const pass = (from: Net.Socket, to: Net.Socket, answers: boolean) =>
        from.on("data", (chunk) => {
          if (answers && mode === "answers") {
            from.resetAndDestroy()
            to.resetAndDestroy()
          } else if (!to.destroyed && !to.write(chunk)) {
            from.pause()
          }
        })
      const serve = (client: Net.Socket) => {
        const server = Net.connect(target.port, target.host)
        const pair = [client, server] as const
        pairs.add(pair)
        client.setNoDelay(true)
        server.setNoDelay(true)
        const flow = () => {
          for (const socket of pair) if (mode !== "stalled") socket.resume()
        }
        pass(client, server, false)
        pass(server, client, true)
        for (const socket of pair) {
          const other = socket === client ? server : client
          socket.on("error", () => undefined)
          socket.on("drain", flow)
          socket.on("end", () => {
            if (mode !== "stalled") other.end()
          })
          socket.on("close", () => {
            pairs.delete(pair)
            if (mode !== "stalled") other.destroy()
          })
          if (mode === "stalled") socket.pause()
        }
      }
      let listener: Net.Server | undefined
      const listen = (port: number) =>
        new Promise<number>((resolve, reject) => {
          const server = Net.createServer(serve)
          listener = server
          server.on("error", reject)
          server.listen(port, "127.0.0.1", () => resolve((server.address() as Net.AddressInfo).port))
        })
      const port = await listen(0)
      const refuse = Effect.sync(() => {
        listener?.close()
        listener = undefined
      })
      const cut = Effect.sync(() => {
        for (const pair of [...pairs]) for (const socket of pair) socket.resetAndDestroy()
        pairs.clear()
      })
      const to = (next: typeof mode) =>
        Effect.sync(() => {
          mode = next
          for (const pair of pairs) {
            for (const socket of pair) {
              if (next === "stalled") socket.pause()
              else socket.resume()
            }
          }
        })
      return {
        host: "127.0.0.1",
        port,
        open: () => pairs.size,
        cut,
        stall: to("stalled"),
        cutAnswers: to("answers"),
        resume: to("open"),
        refuse,
        accept: Effect.promise(async () => {
          if (listener === undefined) await listen(port)
        })
      } satisfies TcpProxy
    }),
    (proxy) => Effect.zipRight(proxy.refuse, proxy.cut)
  )
