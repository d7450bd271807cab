/** Stores over a failing database, their data, and how their failures print. */
import { inspect } from "node:util"
import type * as SqlClient from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { EntryId, RunId, SessionId, TurnId } from "../../src/domain/Ids.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as SqlCostLedger from "../../src/persistence/governance/SqlCostLedger.js"
import * as SqlMemoryStore from "../../src/persistence/memory/SqlMemoryStore.js"
import * as SqlCheckpointer from "../../src/persistence/run/SqlCheckpointer.js"
import * as SqlRunLog from "../../src/persistence/run/SqlRunLog.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../src/session/turn/Session.js"

const manager = DefaultSessionManager.layer({ autoCheckpointInterval: null }).pipe(
  Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
)

/** The stores and their client. The tables must exist. */
export const over = <E, Out extends SqlClient.SqlClient>(client: Layer.Layer<Out, E>) =>
  Layer.mergeAll(
    Layer.provideMerge(manager, SqlSessionStore.layer),
    SqlMemoryStore.layer(),
    SqlCostLedger.layer(),
    SqlCheckpointer.layer,
    SqlRunLog.layer()
  ).pipe(Layer.provideMerge(client))

export type Services =
  | SessionManager.SessionManager
  | MemoryStore.MemoryStore
  | CostLedger.CostLedger
  | Checkpointer.Checkpointer
  | RunLog.RunLog

/** Part of everything that is written; it must appear nowhere else. */
export const secret = "hunter2 drinks 北京 tea"

export const session = SessionId.make("kept")
export const account = "account"
const owner = "owner"
const run = RunId.make("run")

const body = (name: string): string => `${name}: ${secret}`
/** Too large for its row. */
const heavy = (name: string): string => body(name).repeat(600)

export const addTurn = (name: string) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    sessions.addTurn(
      session,
      NewTurn.make({ id: TurnId.make(name), role: "user", content: heavy(name), timestamp: 0, tokensUsed: 1 })
    )
  )

const remember = (name: string) =>
  Effect.flatMap(MemoryStore.MemoryStore, (memory) =>
    memory.apply(owner, {
      store: [0, 1].map((part) =>
        MemoryEntry.make({
          id: EntryId.make(`${name}-${part}`),
          ownerId: owner,
          content: part === 0 ? body(name) : heavy(name),
          role: "user",
          timestamp: 0
        })
      )
    })
  )

const amount = { nanoUsd: 5, tokens: 5 }

export const hold = (name: string) =>
  Effect.flatMap(CostLedger.CostLedger, (ledger) => ledger.hold({ id: name, amount, accounts: [{ account }] }))

export const settle = (name: string) => Effect.flatMap(CostLedger.CostLedger, (ledger) => ledger.settle(name, amount))

const save = (name: string) =>
  Effect.flatMap(Checkpointer.Checkpointer, (checkpointer) =>
    checkpointer.put({
      threadId: "thread",
      namespace: "",
      id: name,
      step: 0,
      state: { body: body(name), heavy: heavy(name) },
      next: [],
      reached: [],
      finished: [],
      waiting: [],
      answers: [],
      pins: [],
      at: 0,
      metadata: {}
    })
  )

const tell = (name: string) =>
  Effect.flatMap(RunLog.RunLog, (log) =>
    log.append(
      [0, 1].map((seq) => ({
        _tag: "TextDelta" as const,
        runId: RunId.make(`${run} ${name}`),
        agent: "agent",
        seq,
        at: Date.now(),
        text: seq === 0 ? body(name) : heavy(name)
      }))
    )
  )

/** A write of each store, by the tag of its error. */
export const writes = {
  SessionStorageError: addTurn,
  StorageError: remember,
  GovernancePersistenceError: hold,
  CheckpointerError: save,
  RunLogError: tell
} satisfies { readonly [tag: string]: (name: string) => Effect.Effect<unknown, { readonly _tag: string }, any> }

/** How much of the data written under a name can be read: each store has all or nothing of it. */
export const found = (name: string) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const memory = yield* MemoryStore.MemoryStore
    const checkpointer = yield* Checkpointer.Checkpointer
    const log = yield* RunLog.RunLog
    const turns = yield* sessions.turns(session, { last: 1_000 })
    const { depth, totalTokens } = Option.getOrThrow(yield* sessions.get(session))
    assert.deepStrictEqual({ depth, totalTokens }, { depth: turns.length, totalTokens: turns.length })
    const mine = turns.filter(({ id }) => id === name)
    for (const turn of mine) assert.strictEqual(turn.content, heavy(name))
    const entries = yield* memory.getMany(owner, [EntryId.make(`${name}-0`), EntryId.make(`${name}-1`)])
    assert.include([0, 2], entries.length)
    for (const { content, id } of entries) assert.strictEqual(content, id.endsWith("0") ? body(name) : heavy(name))
    const saved = yield* checkpointer.get("thread", { id: name })
    if (Option.isSome(saved)) {
      assert.deepStrictEqual(saved.value.checkpoint.state, { body: body(name), heavy: heavy(name) })
    }
    const events = yield* log.read(RunId.make(`${run} ${name}`))
    assert.include([0, 2], events.length)
    return {
      turns: mine.length,
      entries: entries.length,
      checkpoints: Option.isSome(saved) ? 1 : 0,
      events: events.length
    }
  })

export const readTurns = Effect.flatMap(SessionManager.SessionManager, (sessions) =>
  sessions.turns(session, { last: 9 })
)
export const readEntries = Effect.flatMap(MemoryStore.MemoryStore, (memory) => memory.get(owner, EntryId.make("a-0")))
/** Adds writes if the checkpoint exists. */
export const saveWrites = (name: string) =>
  Effect.flatMap(Checkpointer.Checkpointer, (checkpointer) =>
    checkpointer.putWrites("thread", name, "node", [["text", body(name)]])
  )
export const listCheckpoints = (filter?: { readonly n: number }) =>
  Effect.flatMap(Checkpointer.Checkpointer, (checkpointer) => checkpointer.list("thread", { filter }))
export const readCheckpoint = Effect.flatMap(Checkpointer.Checkpointer, (checkpointer) => checkpointer.get("thread"))
export const readEvents = Effect.flatMap(RunLog.RunLog, (log) => log.read(RunId.make(`${run} a`)))

export const nothing = { turns: 0, entries: 0, checkpoints: 0, events: 0 }
export const everything = { turns: 1, entries: 2, checkpoints: 1, events: 2 }

export const balance = Effect.map(
  Effect.flatMap(CostLedger.CostLedger, (ledger) => ledger.read(account)),
  ({ reserved, spent }) => ({ reserved: reserved.nanoUsd, spent: spent.nanoUsd })
)

export const begin = Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.create({ id: session }))

export const writeAll = (name: string) =>
  Effect.forEach(Object.values(writes), (write): Effect.Effect<unknown, unknown, any> => write(name), { discard: true })

export interface Shown {
  readonly _tag: string
  readonly message: string
}

/** Checks that no rendering of a failure contains stored data or connection details. */
export const saysNothing = <E extends Shown>(error: E, more: ReadonlyArray<string> = []): E => {
  const shown = [
    error.message,
    String(error),
    JSON.stringify(error),
    inspect(error, { depth: 20, showHidden: true }),
    Cause.pretty(Cause.fail(error), { renderErrorCause: true }),
    inspect((error as { readonly cause?: unknown }).cause, { depth: 20, showHidden: true })
  ].join("\n")
  for (const word of ["hunter2", "drinks", "北京", ...more]) assert.notInclude(shown, word)
  assert.notMatch(shown, /postgres:\/\/|INSERT INTO|UPDATE lex_/)
  return error
}

/** Checks that each write fails with the error of its port, starting with these words. */
export const allFail = (name: string, words: RegExp, more: ReadonlyArray<string> = []) =>
  Effect.forEach(
    Object.entries(writes),
    ([tag, write]: readonly [string, (name: string) => Effect.Effect<unknown, any, any>]) =>
      Effect.map(Effect.flip(write(name)), (error) => {
        assert.strictEqual(error._tag, tag)
        assert.match(saysNothing(error, more).message, words)
      }),
    { discard: true }
  )
