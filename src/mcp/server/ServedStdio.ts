/**
 * Serves one client on standard input and output.
 *
 * @private
 * @since 0.1.0
 */
import type { Readable, Writable } from "node:stream"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { Identity } from "../../http/api/Authentication.js"
import { count } from "../../internal/Count.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { Options as ServerOptions } from "../offer/McpDefinition.js"
import type { McpServerError } from "../offer/McpServerError.js"
import * as Served from "./Served.js"
import * as ServedSession from "./ServedSession.js"

/**
 * @category models
 */
export interface Options {
  /** For whom the client works: who starts the program knows it. Default: nobody, who reaches what has no owner. */
  readonly identity?: Identity | undefined
  /** Default: that of the process. */
  readonly input?: Readable | undefined
  /** Default: that of the process. */
  readonly output?: Writable | undefined
  /** A longer message ends the session; default 16 MiB. */
  readonly maxMessageBytes?: number | undefined
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

const CLOSED = ["end", "close", "error"] as const

/** Succeeds when either stream has ended. */
const ended = (input: Readable, output: Writable): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const closed = yield* Deferred.make<void>()
    const close = () => Deferred.unsafeDone(closed, Effect.void)
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        for (const event of CLOSED) input.on(event, close)
        for (const event of CLOSED.slice(1)) output.on(event, close)
      }),
      () =>
        Effect.sync(() => {
          for (const event of CLOSED) input.off(event, close)
          for (const event of CLOSED.slice(1)) output.off(event, close)
        })
    )
    return yield* Deferred.await(closed)
  })

type Services = Runs.Runs | PendingApprovals.PendingApprovals | AgentExecutor.AgentExecutor

/**
 * Connects, and returns an effect that waits for the end of the client.
 *
 * @category constructors
 */
export const start = (
  options: ServerOptions,
  { identity = {}, input = process.stdin, maxMessageBytes, output = process.stdout }: Options = {}
): Effect.Effect<Effect.Effect<void>, McpServerError, any> =>
  Effect.gen(function* () {
    // The client started the program: its runs end with it.
    const served = yield* Served.make(options, () => false)
    const server = yield* ServedSession.make(served, identity)
    const left = yield* Effect.forkScoped(ended(input, output))
    const transport = new served.sdk.StdioServerTransport(input, output, {
      maxBufferSize: count(maxMessageBytes, MAX_MESSAGE_BYTES, 1)
    })
    const closed = yield* Deferred.make<void>()
    server.onclose = () => Deferred.unsafeDone(closed, Effect.void)
    yield* Effect.promise(() => server.connect(transport))
    return Effect.raceFirst(left.await, Deferred.await(closed)).pipe(Effect.asVoid)
  })

/**
 * @category running
 */
export const run = (options: ServerOptions, given?: Options): Effect.Effect<void, McpServerError, Services> =>
  Effect.scoped(Effect.flatten(start(options, given)))
