/**
 * Transport over a process's standard input and output: one message per line.
 *
 * @private
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { McpError } from "../skill/mcp/McpClient.js"
import * as McpProcess from "./McpProcess.js"
import type { Events, Failure, Link } from "./McpSession.js"

/** The message on a line; `undefined` if it is not one. */
const read = (line: string): object | undefined => {
  try {
    const message: unknown = JSON.parse(line)
    return Predicate.isReadonlyRecord(message) && Object.hasOwn(message, "jsonrpc") ? message : undefined
  } catch {
    return undefined
  }
}

const failureOf = (error: unknown): Failure =>
  error instanceof TypeError
    ? { reason: "Protocol", message: "the request cannot be written as JSON" }
    : { reason: "Closed", message: "its process accepts no messages" }

export const make = (options: McpProcess.Options, events: Events): Effect.Effect<Link, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    let isNoisy = false
    const transport: Link["transport"] = { start: async () => {}, close: async () => {}, send: async () => {} }
    const { write } = yield* McpProcess.make(options, {
      onEnd: (ending) => events.lost(ending),
      onLine: (line) => {
        const message = read(line)
        if (message !== undefined) return transport.onmessage?.(message as never)
        if (isNoisy) return
        isNoisy = true
        Runtime.runFork(runtime)(
          Effect.logWarning(`The MCP server "${options.server}" writes text other than messages to its standard output`)
        )
      }
    })
    transport.send = async (message) => write(JSON.stringify(message))
    return { transport, failureOf }
  })
