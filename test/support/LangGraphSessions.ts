/**
 * LangGraph's threads as sessions. A thread is a tree of sessions: the graph's own is the root, below it are those of
 * subgraphs, and below these those of task writes. Channel values and task writes are turns, each stored once; a
 * checkpoint is a checkpoint of its session, whose variables reference the values.
 */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import { SessionId, TurnId } from "../../src/domain/Ids.js"
import {
  CheckpointId,
  type NewTurn,
  type Session,
  type SessionCheckpoint,
  type SessionTurn,
  stateOf
} from "../../src/session/turn/Session.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import { type Kept, Saver, type Space, type Write } from "./LangGraphSaver.js"

/** Key for LangGraph ids of any content and length. */
const key = (...parts: ReadonlyArray<string | number>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const sessionOf = (space: Space): SessionId => SessionId.make(key("space", space.thread, space.namespace))
const rootOf = (thread: string): SessionId => sessionOf({ thread, namespace: "" })
const writesOf = (space: Space, id: string): SessionId =>
  SessionId.make(key("writes", space.thread, space.namespace, id))
const checkpointOf = (space: Space, id: string): CheckpointId =>
  CheckpointId.make(key("checkpoint", space.thread, space.namespace, id))

const pageSize = 50

/** Iterates over all pages, each starting after the last item of the previous one. */
const pages = async function* <A>(read: (last: A | undefined) => Promise<ReadonlyArray<A>>): AsyncGenerator<A> {
  let last: A | undefined
  for (;;) {
    const page = await read(last)
    yield* page
    last = page.at(-1)
    if (page.length < pageSize) return
  }
}

const open = Effect.fnUntraced(function* (space: Space, id: SessionId, kind: "space" | "writes") {
  const store = yield* SessionStore.SessionStore
  const now = yield* Clock.currentTimeMillis
  const root = rootOf(space.thread)
  yield* store.create({
    session: {
      id,
      status: "active",
      metadata: { kind, thread: space.thread, namespace: space.namespace },
      activeTools: [],
      activeSkills: [],
      variables: {},
      depth: 0,
      totalTokens: 0,
      totalCost: 0,
      cuts: [],
      createdAt: now,
      updatedAt: now,
      revision: 0,
      lineage: [],
      ...(id === root ? {} : { rootSessionId: root, parentSessionId: kind === "space" ? root : sessionOf(space) })
    }
  })
})

const turnOf = (id: string, content: string, metadata: NewTurn["metadata"], timestamp: number): NewTurn => ({
  id: TurnId.make(id),
  role: "tool",
  content,
  timestamp,
  toolCalls: [],
  skillResults: [],
  metadata,
  tokensUsed: 0,
  cost: 0
})

/** Appends the new turns after the head, with a checkpoint. Repeats everything if another writer interferes. */
const write = (
  id: SessionId,
  make: (session: Session, now: number) => ReadonlyArray<NewTurn>,
  checkpoint?: { readonly space: Space; readonly kept: Kept }
) =>
  Effect.gen(function* () {
    const store = yield* SessionStore.SessionStore
    const now = yield* Clock.currentTimeMillis
    const before = Option.getOrThrow(yield* store.load(id))
    const known = new Set<string>()
    for (;;) {
      const turns: Array<SessionTurn> = []
      for (const turn of make(before, now)) {
        if (known.has(turn.id)) continue
        const last = turns.at(-1)
        const parent = last === undefined ? before.head : { sessionId: id, turnId: last.id }
        const depth = before.depth + turns.length + 1
        turns.push({ ...turn, sessionId: id, depth, ...(parent === undefined ? {} : { parent }) })
      }
      const last = turns.at(-1)
      const session: Session = {
        ...before,
        ...(last === undefined ? {} : { head: { sessionId: id, turnId: last.id }, depth: last.depth }),
        updatedAt: now,
        revision: before.revision + 1
      }
      if (checkpoint === undefined) {
        if (turns.length === 0) return
        const there = yield* store.append({ session, turns })
        if (there.length === 0) return
        for (const turn of there) known.add(turn.id)
        continue
      }
      const { kept, space } = checkpoint
      const checkpointId = checkpointOf(space, kept.id)
      const change = {
        session: { ...session, checkpointId },
        checkpoint: {
          id: checkpointId,
          sessionId: id,
          kind: "manual" as const,
          state: {
            ...stateOf(session),
            variables: { id: kept.id, parent: kept.parent ?? null, checkpoint: kept.checkpoint, values: kept.values }
          },
          createdAt: now,
          revision: session.revision,
          metadata: kept.metadata,
          ...(kept.parent === undefined ? {} : { parentCheckpointId: checkpointOf(space, kept.parent) })
        }
      }
      if (turns.length === 0) return yield* store.save(change)
      const there = yield* store.append({ ...change, turns })
      if (there.length === 0) return
      for (const turn of there) known.add(turn.id)
    }
  }).pipe(Effect.retry({ while: (error) => error._tag === "SessionConflictError", times: 100 }))

interface Variables {
  readonly id: string
  readonly parent: string | null
  readonly checkpoint: string
  readonly values: Kept["values"]
}

const keptOf = ({ metadata, state }: SessionCheckpoint): Kept => {
  // Written above, and read unchanged.
  const { checkpoint, id, parent, values } = state.variables as unknown as Variables
  return { id, checkpoint, values, metadata: metadata as Kept["metadata"], ...(parent === null ? {} : { parent }) }
}

interface WriteMetadata extends Omit<Write, "value"> {}

/** The saver over the store of a runtime. */
export const make = (runtime: ManagedRuntime.ManagedRuntime<SessionStore.SessionStore, never>): Saver => {
  const run = <A, E>(
    use: (store: SessionStore.Service) => Effect.Effect<A, E, SessionStore.SessionStore>
  ): Promise<A> => runtime.runPromise(Effect.flatMap(SessionStore.SessionStore, use))
  return new Saver({
    ref: (channel, text) => key("value", channel, text),
    value: (space, ref) =>
      run((store) =>
        Effect.map(
          store.turn({ sessionId: sessionOf(space), turnId: TurnId.make(ref) }),
          (turn) => Option.getOrUndefined(turn)?.content
        )
      ),
    put: (space, kept, changed) =>
      run((store) =>
        Effect.gen(function* () {
          const id = sessionOf(space)
          yield* open({ ...space, namespace: "" }, rootOf(space.thread), "space")
          if (space.namespace !== "") yield* open(space, id, "space")
          yield* store.deleteCheckpoint(checkpointOf(space, kept.id))
          const turns = (_: Session, now: number) => changed.map(([ref, text]) => turnOf(ref, text, {}, now))
          yield* write(id, turns, { space, kept })
        })
      ),
    get: (space, id) =>
      run((store) =>
        Effect.map(
          id === undefined
            ? Effect.map(store.checkpoints(sessionOf(space), { limit: 1 }), (found) => found[0])
            : Effect.map(store.checkpoint(checkpointOf(space, id)), Option.getOrUndefined),
          (found) => (found === undefined ? undefined : keptOf(found))
        )
      ),
    checkpoints: async function* (space) {
      const found = pages<SessionCheckpoint>((last) =>
        run((store) => store.checkpoints(sessionOf(space), { limit: pageSize, before: last?.revision }))
      )
      for await (const checkpoint of found) yield keptOf(checkpoint)
    },
    spaces: async function* (thread) {
      const rootSessionId = thread === undefined ? undefined : rootOf(thread)
      const found = pages<Session>((last) =>
        run((store) =>
          store.list({
            rootSessionId,
            limit: pageSize,
            after: last === undefined ? undefined : { at: last.createdAt, id: last.id }
          })
        )
      )
      for await (const { metadata } of found) {
        if (metadata["kind"] === "space") yield metadata as unknown as Space
      }
    },
    putWrites: (space, id, writes) =>
      run(() =>
        Effect.gen(function* () {
          const session = writesOf(space, id)
          yield* open({ ...space, namespace: "" }, rootOf(space.thread), "space")
          if (space.namespace !== "") yield* open(space, sessionOf(space), "space")
          yield* open(space, session, "writes")
          yield* write(session, ({ depth }, now) =>
            writes.map(({ value, ...metadata }, at) => {
              // Of the writes with a negative index the last one counts: each is a separate turn.
              const again = metadata.index < 0 ? [depth + at] : []
              return turnOf(key("write", metadata.task, metadata.index, ...again), value, metadata, now)
            })
          )
        })
      ),
    writes: (space, id) =>
      run((store) =>
        Effect.gen(function* () {
          const session = Option.getOrUndefined(yield* store.load(writesOf(space, id)))
          if (session?.head === undefined) return []
          const found = new Map<string, Write>()
          for (const { content, metadata } of yield* store.turns(session.head, { limit: session.depth })) {
            const written = metadata as unknown as WriteMetadata
            found.set(JSON.stringify([written.task, written.index]), { ...written, value: content })
          }
          return [...found.values()]
        })
      ),
    deleteThread: (thread) =>
      run((store) =>
        Effect.gen(function* () {
          for (;;) {
            const found = yield* store.list({ rootSessionId: rootOf(thread), limit: pageSize })
            if (found.length === 0) return
            yield* Effect.forEach(found, ({ id }) => store.delete(id), { discard: true })
          }
        })
      )
  })
}
