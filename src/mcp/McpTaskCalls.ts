/**
 * Calls of tools as tasks of the server: started, polled, fetched, and cancelled when the caller gives up.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { CallOptions, McpError, ToolResult } from "../skill/mcp/McpClient.js"
import type { Asking } from "./McpFlights.js"
import { type Failure, toError } from "./McpSession.js"
import * as McpWire from "./McpWire.js"

/** Makes a request and reads its answer. */
export type Ask = <A>(
  method: string,
  params: Readonly<Record<string, unknown>>,
  read: (answer: unknown) => A | undefined,
  options: {
    readonly call: CallOptions | undefined
    readonly asking: Asking | undefined
    readonly toolName: string
  }
) => Effect.Effect<A, McpError>

export interface Call {
  readonly server: string
  readonly ask: Ask
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly call: CallOptions | undefined
  readonly asking: Asking
}

/** Milliseconds between polls: what the server asks for, within bounds. */
const pause = ({ pollInterval = 1_000 }: McpWire.Task): number => Math.min(Math.max(pollInterval, 100), 60_000)

/** Time for the server to take a cancellation. */
const CANCEL = "5 seconds"

/** Tasks outlive connections, so reading them may be repeated. */
const again = { times: 3, while: ({ reason }: McpError) => reason === "Closed" || reason === "Connection" }

const isTask = (answer: McpWire.Task | ToolResult): answer is McpWire.Task => "taskId" in answer

/** The result of a started task. */
const follow = (
  { ask, asking, call, name, server }: Call,
  started: McpWire.Task
): Effect.Effect<ToolResult, McpError> => {
  const { taskId } = started
  // Limits of the whole call are those of the task.
  const each = { call: { timeout: call?.timeout, maxTotal: undefined }, toolName: name }
  const get = Effect.retry(ask("tasks/get", { taskId }, McpWire.task, { ...each, asking: undefined }), again)
  // Waits for the end, with questions of the server meanwhile; a person has no limit of time.
  const result = Effect.retry(ask("tasks/result", { taskId }, McpWire.toolResult, { ...each, asking }), again)
  let message: string | undefined
  const tell = ({ statusMessage }: McpWire.Task, progress: number): Effect.Effect<void> => {
    if (statusMessage === undefined || statusMessage === message) return Effect.void
    message = statusMessage
    return call?.onProgress?.({ progress, message }) ?? Effect.void
  }
  const poll = Effect.gen(function* () {
    let task = started
    yield* tell(task, 0)
    for (let polls = 1; task.status === "working"; polls++) {
      yield* Effect.sleep(pause(task))
      task = yield* get
      yield* tell(task, polls)
    }
    if (task.status !== "cancelled") return yield* result
    const failure: Failure = { reason: "Protocol", message: "the task of the call was cancelled there" }
    return yield* Effect.fail(toError(server, failure, name))
  })
  const cancel = ask("tasks/cancel", { taskId }, () => true, { ...each, asking: undefined })
  return Effect.onInterrupt(poll, () => Effect.ignore(Effect.timeout(cancel, CANCEL)))
}

/** A server may also answer at once. */
export const run = (options: Call): Effect.Effect<ToolResult, McpError> => {
  const { args, ask, asking, call, name, server } = options
  const whole = call?.maxTotal === undefined ? undefined : Duration.toMillis(call.maxTotal)
  const params = { name, arguments: args, task: whole === undefined ? {} : { ttl: whole } }
  const task = Effect.flatMap(
    ask("tools/call", params, (answer) => McpWire.createdTask(answer) ?? McpWire.toolResult(answer), {
      call: { ...call, maxTotal: undefined },
      asking,
      toolName: name
    }),
    (answer) => (isTask(answer) ? follow(options, answer) : Effect.succeed(answer))
  )
  if (whole === undefined) return task
  const failure: Failure = { reason: "Timeout", message: `it did not end the task within ${whole} ms` }
  return Effect.timeoutFail(task, { duration: whole, onTimeout: () => toError(server, failure, name) })
}
