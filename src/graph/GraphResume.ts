/**
 * Begins and resumes runs in a thread, and reads its history.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Requester } from "../domain/Requester.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as Checkpointer from "./Checkpointer.js"
import * as GraphCodec from "./GraphCodec.js"
import type { Tables } from "./GraphDefinition.js"
import type { CheckpointerError, GraphCheckpointError, Waiting } from "./GraphError.js"
import type { Breakpoints } from "./GraphOptions.js"
import * as GraphPosition from "./GraphPosition.js"
import type * as GraphRunner from "./GraphRunner.js"
import * as GraphTables from "./GraphTables.js"
import * as GraphThread from "./GraphThread.js"

type Run<A> = Effect.Effect<A, any, any>

type Answer = Checkpointer.Answer
type Service = Checkpointer.Service

interface Options extends GraphRunner.Options, Checkpointer.Access {
  readonly threadId: string
  readonly metadata?: { readonly [key: string]: Checkpointer.Json } | undefined
  readonly breakpoints?: Breakpoints<string> | undefined
}

interface ResumeOptions extends Options {
  readonly checkpointId?: string | undefined
  readonly value?: unknown
  readonly wait?: string | undefined
  readonly update?: { readonly [field: string]: unknown } | undefined
}

/**
 * Uses the checkpointer with the caller's access. Nodes and observers are code of the application: they get no access
 * of the caller.
 */
const using = <A>(access: Checkpointer.Access | undefined, use: (checkpointer: Service) => Run<A>): Run<A> =>
  Effect.gen(function* () {
    const checkpointer = yield* Checkpointer.Checkpointer
    const userId = access?.userId ?? (yield* Requester).userId
    const held = yield* SystemAccess.held
    return yield* SystemAccess.drop(use(Checkpointer.as(userId, held)(checkpointer)))
  })

const threadOf = (checkpointer: Service, options: Options): GraphPosition.Thread => ({
  checkpointer,
  threadId: options.threadId,
  namespace: "",
  metadata: options.metadata ?? {},
  options,
  breakpoints: options.breakpoints
})

const stateOf = (run: Run<GraphPosition.Position>): Run<any> => Effect.map(run, (position) => position.state)

export const invoke = (tables: Tables, initial: any, options: Options): Run<any> =>
  using(options, (checkpointer) => {
    const thread = threadOf(checkpointer, options)
    return stateOf(
      Effect.flatMap(checkpointer.get(options.threadId), (last) =>
        Effect.flatMap(
          GraphPosition.begin(tables, thread, initial, Option.isSome(last) ? last.value.checkpoint : undefined),
          (position) => GraphThread.drive(tables, thread, position)
        )
      )
    )
  })

/** Finds the wait of a value by its name or its full name. */
const answerOf = (
  tables: Tables,
  checkpoint: Checkpointer.Checkpoint,
  value: unknown,
  wait: string | undefined
): Effect.Effect<Answer, GraphCheckpointError> => {
  const fail = (reason: GraphCheckpointError["reason"], message: string, hint: string) =>
    GraphPosition.checkpointError(reason, tables.name, checkpoint.threadId, checkpoint.id, message, hint)
  const fullName = (one: Waiting): string => [...one.path, one.node, one.name].join("/")
  const names = checkpoint.waiting.map((one) => JSON.stringify(fullName(one))).join(", ")
  const found = checkpoint.waiting.filter((one) => wait === undefined || wait === one.name || wait === fullName(one))
  const [first, ...others] = found
  if (first === undefined) {
    return checkpoint.waiting.length === 0
      ? fail("not-waiting", `Graph "${tables.name}" has no such wait`, "Resume it without a value")
      : fail("not-waiting", `Graph "${tables.name}" does not wait for ${JSON.stringify(wait)}`, `It waits for ${names}`)
  }
  if (others.length > 0) {
    const message = `Graph "${tables.name}" waits for several values: ${names}`
    return fail("ambiguous", message, "Name the wait with `wait`")
  }
  return Effect.mapBoth(GraphCodec.json(value), {
    onSuccess: (json): Answer => ({ path: first.path, node: first.node, name: first.name, value: json }),
    onFailure: (problem) => fail("encoding", `The value cannot be saved: ${problem}`, "Give the encoded value, as JSON")
  })
}

interface Found {
  readonly saved: Checkpointer.Saved
  /** Resuming from any other checkpoint than the last begins a new line. */
  readonly isLast: boolean
}

/** Finds the checkpoint to resume from. */
const find = (
  tables: Tables,
  checkpointer: Service,
  threadId: string,
  checkpointId: string | undefined
): Effect.Effect<Found, GraphCheckpointError | CheckpointerError> =>
  Effect.gen(function* () {
    const last = yield* checkpointer.get(threadId)
    if (Option.isNone(last)) {
      const message = `There is no thread ${JSON.stringify(threadId.slice(0, 100))}`
      const hint = "Begin it with invokeThread, with a Checkpointer that keeps it"
      return yield* GraphPosition.checkpointError("unknown-thread", tables.name, threadId, undefined, message, hint)
    }
    if (checkpointId === undefined || checkpointId === last.value.checkpoint.id) {
      return { saved: last.value, isLast: true }
    }
    const one = yield* checkpointer.get(threadId, { id: checkpointId })
    if (Option.isNone(one)) {
      const message = `The thread has no checkpoint ${JSON.stringify(checkpointId.slice(0, 100))}`
      const hint = "StateGraph.history lists those it has"
      return yield* GraphPosition.checkpointError(
        "unknown-checkpoint",
        tables.name,
        threadId,
        checkpointId,
        message,
        hint
      )
    }
    // Nodes that finished later belong to the line that continued from there.
    return { saved: { ...one.value, writes: [] }, isLast: false }
  })

export const resume = (tables: Tables, options: ResumeOptions): Run<any> =>
  using(
    options,
    Effect.fnUntraced(function* (checkpointer) {
      const thread = threadOf(checkpointer, options)
      const { isLast, saved } = yield* find(tables, checkpointer, options.threadId, options.checkpointId)
      let position = yield* GraphPosition.restore(tables, saved)
      const given =
        options.value === undefined ? [] : [yield* answerOf(tables, saved.checkpoint, options.value, options.wait)]
      if (given.length > 0) position = yield* GraphPosition.answer(tables, thread, position, given)
      if (options.update !== undefined) {
        const state = GraphTables.replace(tables, position.state, options.update)
        position = yield* GraphPosition.update(tables, thread, position, state)
      } else if (!isLast && given.length === 0) position = yield* GraphPosition.fork(tables, thread, position)
      const begun = GraphPosition.isWithinStep(saved.checkpoint) || position.finished.size > 0
      return yield* stateOf(GraphThread.drive(tables, thread, position, begun))
    })
  )

interface HistoryOptions extends Checkpointer.Access {
  readonly limit?: number | undefined
  readonly before?: string | undefined
}

export const history = (
  tables: Tables,
  threadId: string,
  options: HistoryOptions | undefined
): Run<ReadonlyArray<any>> =>
  using(
    options,
    Effect.fnUntraced(function* (checkpointer) {
      const checkpoints = yield* checkpointer.list(threadId, { limit: options?.limit, before: options?.before })
      return yield* Effect.forEach(checkpoints, (checkpoint) =>
        Effect.map(GraphPosition.restore(tables, { checkpoint, writes: [] }), ({ next, state }) => ({
          id: checkpoint.id,
          ...(checkpoint.parentId === undefined ? {} : { parentId: checkpoint.parentId }),
          step: checkpoint.step,
          state,
          next: next.map(({ name }) => name),
          waiting: checkpoint.waiting,
          at: checkpoint.at,
          metadata: checkpoint.metadata
        }))
      )
    })
  )
