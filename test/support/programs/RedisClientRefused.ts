/** Connects to ports without Redis, and reports errors and remaining sockets. */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly ports: ReadonlyArray<number>
}

export type Said = ReadonlyArray<{ readonly tag: string; readonly sockets: number }>

const sockets = (port: number): number =>
  (process as unknown as { _getActiveHandles: () => ReadonlyArray<unknown> })
    ._getActiveHandles()
    .filter((handle) => handle instanceof Net.Socket && handle.remotePort === port).length

Programs.main<Input>(({ input: { ports }, say }) =>
  Effect.flatMap(
    Effect.forEach(
      ports.flatMap((port) => [false, true].map((cluster) => ({ port, cluster }))),
      ({ cluster, port }) => {
        const url = Redacted.make(`redis://127.0.0.1:${port}/`)
        const client = RedisClient.make({ url, cluster, connectTimeout: 300, commandTimeout: 200 })
        return Effect.map(Effect.flip(Effect.scoped(client)), ({ _tag }) => ({ tag: _tag, sockets: sockets(port) }))
      }
    ),
    (said) => say(said satisfies Said)
  )
)
