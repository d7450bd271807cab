/**
 * LangGraph's threads as threads of our graphs, one to one. The port cannot list threads, so one additional thread
 * keeps the list, with a checkpoint for each.
 */
import * as Effect from "effect/Effect"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import { type Kept, Saver, type Space, type Write } from "./LangGraphSaver.js"

const threadOf = (thread: string): string => `thread ${thread}`
const index = "index"

/** LangGraph's ids are unique per namespace, ours per thread. */
const idOf = (space: Space, id: string): string => JSON.stringify([space.namespace, id])

const row = (threadId: string, namespace: string, id: string): Checkpointer.Checkpoint => ({
  threadId,
  namespace,
  id,
  step: 0,
  state: null,
  next: [],
  reached: [],
  finished: [],
  waiting: [],
  answers: [],
  pins: [],
  at: 0,
  metadata: {}
})

interface State {
  readonly id: string
  readonly parent: string | null
  readonly checkpoint: string
  readonly values: Kept["values"]
}

const keptOf = ({ metadata, state }: Checkpointer.Checkpoint): Kept => {
  // Written below, and read unchanged.
  const { checkpoint, id, parent, values } = state as unknown as State
  return { id, checkpoint, values, metadata, ...(parent === null ? {} : { parent }) }
}

/** The saver over the checkpointer of a runtime. */
export const make = (runtime: ManagedRuntime.ManagedRuntime<Checkpointer.Checkpointer, never>): Saver => {
  const run = <A, E>(use: (checkpointer: Checkpointer.Service) => Effect.Effect<A, E>): Promise<A> =>
    runtime.runPromise(Effect.flatMap(Checkpointer.Checkpointer, use))
  return new Saver({
    ref: (_, text) => text,
    value: async (_, ref) => ref,
    put: (space, kept) =>
      run((checkpointer) =>
        Effect.zipRight(
          checkpointer.put(row(index, "", JSON.stringify([space.thread, space.namespace]))),
          checkpointer.put({
            ...row(threadOf(space.thread), space.namespace, idOf(space, kept.id)),
            ...(kept.parent === undefined ? {} : { parentId: idOf(space, kept.parent) }),
            state: { id: kept.id, parent: kept.parent ?? null, checkpoint: kept.checkpoint, values: kept.values },
            metadata: kept.metadata
          })
        )
      ),
    get: (space, id) =>
      run((checkpointer) =>
        Effect.map(
          checkpointer.get(threadOf(space.thread), {
            namespace: space.namespace,
            ...(id === undefined ? {} : { id: idOf(space, id) })
          }),
          (found) => (Option.isNone(found) ? undefined : keptOf(found.value.checkpoint))
        )
      ),
    checkpoints: async function* (space) {
      for (const found of await run((checkpointer) =>
        checkpointer.list(threadOf(space.thread), { namespace: space.namespace })
      )) {
        yield keptOf(found)
      }
    },
    spaces: async function* (wanted) {
      for (const { id } of await run((checkpointer) => checkpointer.list(index))) {
        const [thread, namespace] = JSON.parse(id) as [string, string]
        if (wanted === undefined || thread === wanted) yield { thread, namespace }
      }
    },
    putWrites: (space, id, writes) =>
      run((checkpointer) =>
        Effect.gen(function* () {
          const { namespace, thread } = space
          const found = yield* checkpointer.get(threadOf(thread), { namespace, id: idOf(space, id) })
          // Our port keeps the first writes of a node. LangGraph keeps the last ones with a negative index, so each of
          // those is a node of its own.
          const again = Option.isNone(found) ? 0 : found.value.writes.length
          yield* Effect.forEach(
            writes,
            ({ channel, index, path, task, value }, at) => {
              const node = JSON.stringify([task, index, path, index < 0 ? again + at : 0])
              return checkpointer.putWrites(threadOf(thread), idOf(space, id), node, [[channel, value]])
            },
            { discard: true }
          )
        })
      ),
    writes: (space, id) =>
      run((checkpointer) =>
        Effect.map(
          checkpointer.get(threadOf(space.thread), { namespace: space.namespace, id: idOf(space, id) }),
          (found) => {
            const last = new Map<string, Write>()
            for (const { node, writes } of Option.isNone(found) ? [] : found.value.writes) {
              const [task, index, path] = JSON.parse(node) as [string, number, string]
              for (const [channel, value] of writes) {
                last.set(JSON.stringify([task, index]), { task, index, path, channel, value: String(value) })
              }
            }
            return [...last.values()]
          }
        )
      ),
    deleteThread: (thread) => run((checkpointer) => checkpointer.deleteThread(threadOf(thread)))
  })
}
