import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as KeyValueSessionStore from "../../src/session/keyvalue/KeyValueSessionStore.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionWriter from "../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import type { NewTurn } from "../../src/session/turn/Session.js"
import type * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as CountingSessionStore from "../support/CountingSessionStore.js"

const userId = UserId.make("ada")
const short = 10
const long = 1000

/** Of the same size, whatever the number. */
const turnOf = (n: number): NewTurn => ({
  id: TurnId.make(`turn-${String(n).padStart(9, "0")}`),
  role: "user",
  content: "What was it that we said?",
  timestamp: 1_700_000_000_000 + n,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 7,
  cost: 0.5
})

const services = (store: Layer.Layer<SessionStore.SessionStore>) =>
  Layer.merge(
    DefaultSessionManager.layer({ maxTurnsPerSession: 2 * long, maxSessionsPerUser: 1000 }),
    DefaultBranchManager.layer({ maxBranchesPerSession: 1000, maxSessionsPerUser: 1000 })
  ).pipe(
    Layer.provideMerge(SessionWriter.layer),
    Layer.provideMerge(CountingSessionStore.layer(store)),
    Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
  )

/** A session of so many turns and of the same small state; its id is of the same size too. */
const talk = (size: number) =>
  Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    const id = SessionId.make(`talk-${String(size).padStart(9, "0")}`)
    yield* manager.create({ id, userId, variables: { topic: "garden" }, systemPrompt: "Be brief." })
    for (let n = 0; n < size; n++) yield* manager.addTurn(id, turnOf(n), { userId })
    return id
  })

/** What the operations ask of the store and give it to write, one after the other. */
const costs = (size: number) =>
  Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    const branches = yield* BranchManager.BranchManager
    const { take } = yield* CountingSessionStore.CountingSessionStore
    const id = yield* talk(size)
    yield* take
    const cost = <E, R>(operation: Effect.Effect<unknown, E, R>) => Effect.zipRight(operation, take)
    const add = (to: SessionId, n: number) => Effect.suspend(() => manager.addTurn(to, turnOf(n), { userId }))
    // Ten turns, with which a checkpoint comes once.
    const turns = yield* cost(Effect.forEach([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (n) => add(id, size + n)))
    const again = yield* cost(add(id, 5))
    const checkpoint = yield* manager.checkpoint(id, { userId })
    yield* take
    const branchId = SessionId.make("branch-of-it")
    return {
      turns,
      again,
      window: yield* cost(manager.turns(id, { last: 10, userId })),
      checkpoint: yield* cost(manager.checkpoint(id, { userId })),
      fork: yield* cost(branches.fork(id, { id: branchId, userId })),
      forkOfCheckpoint: yield* cost(branches.fork(id, { fromCheckpoint: checkpoint.id, userId })),
      turnOfBranch: yield* cost(add(branchId, size + 100)),
      windowOfBranch: yield* cost(manager.turns(branchId, { last: 5, userId })),
      update: yield* cost(manager.update(id, { variables: { topic: "kitchen" }, userId })),
      restore: yield* cost(manager.restore(checkpoint.id, { userId })),
      suspend: yield* cost(manager.suspend(id, { userId })),
      resume: yield* cost(manager.resume(id, { userId })),
      close: yield* cost(manager.close(id, { userId }))
    }
  })

const backends = {
  "in memory": InMemorySessionStore.layer,
  "by key and value": Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory)
}

describe("costs of session operations", () => {
  for (const [name, store] of Object.entries(backends)) {
    it.effect(
      `${name}: makes the same calls and writes at a thousand turns as at ten`,
      () =>
        Effect.gen(function* () {
          const few = yield* Effect.provide(costs(short), services(store))
          const many = yield* Effect.provide(costs(long), services(store))
          assert.deepStrictEqual(many, few)
          assert.deepStrictEqual(few.turns.calls, { load: 10, append: 10 })
          assert.isAbove(few.turns.written, 0)
          assert.isAbove(few.fork.written, 0)
        }),
      300_000
    )
  }
})
