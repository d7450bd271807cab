/** Typical operations of stores, by number. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type * as AgentEvent from "../src/domain/AgentEvent.js"
import { EntryId, RunId, SessionId, TurnId, UserId } from "../src/domain/Ids.js"
import type * as Checkpointer from "../src/graph/Checkpointer.js"
import * as MemoryEntry from "../src/memory/entry/MemoryEntry.js"
import * as SqlCostLedger from "../src/persistence/governance/SqlCostLedger.js"
import * as SqlMemoryStore from "../src/persistence/memory/SqlMemoryStore.js"
import * as SqlCheckpointer from "../src/persistence/run/SqlCheckpointer.js"
import * as SqlRunLog from "../src/persistence/run/SqlRunLog.js"
import * as SqlSessionStore from "../src/persistence/session/SqlSessionStore.js"
import * as Session from "../src/session/turn/Session.js"
import type * as SessionStore from "../src/session/turn/SessionStore.js"

export interface Operation<R = SqlClient.SqlClient> {
  readonly name: string
  /** Repetitions in a round. */
  readonly times: number
  /** True if each operation waits for the disk. */
  readonly durable: boolean
  /** Table it writes to, if any. */
  readonly table: string | undefined
  /** Makes the store and the operation; preparations are not measured. */
  readonly make: Effect.Effect<(n: number) => Effect.Effect<unknown, unknown>, unknown, R>
}

/** Recent: old data may be dropped. */
const from = Date.now() - 3_600_000
const userId = UserId.make("ada")
const content = "What was it that we said about the contract of the garden, and who was to call? ".repeat(3)

const refOf = (id: SessionId, n: number): Session.TurnRef => ({
  sessionId: id,
  turnId: TurnId.make(`turn-${String(n).padStart(9, "0")}`)
})

const turnOf = (id: SessionId, n: number): Session.SessionTurn => ({
  id: refOf(id, n).turnId,
  sessionId: id,
  role: n % 2 === 1 ? "user" : "assistant",
  content,
  timestamp: from + n,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 60,
  cost: 0.0001,
  depth: n,
  ...(n === 1 ? undefined : { parent: refOf(id, n - 1) })
})

const begun = (id: SessionId): Session.Session => ({
  ...Session.begin(id, { at: from, userId }),
  variables: { topic: "garden", stage: 2 },
  systemPrompt: "You help with the garden."
})

/** A session with this many turns, written in this many calls. */
export const sessionAt = (id: SessionId, turns: number, revision: number): Session.Session => ({
  ...begun(id),
  head: refOf(id, turns),
  depth: turns,
  totalTokens: 60 * turns,
  totalCost: turns / 10_000,
  updatedAt: from + turns,
  revision
})

const additionOf = (id: SessionId, first: number, last: number, revision: number): SessionStore.Addition => ({
  session: sessionAt(id, last, revision),
  turns: Array.from({ length: last - first + 1 }, (_, at) => turnOf(id, first + at))
})

/** Fills a session with this many turns in as few calls as possible. */
export const filledSession = (store: SessionStore.Service, id: SessionId, turns: number) =>
  Effect.gen(function* () {
    yield* store.create({ session: begun(id) })
    let revision = 0
    for (let first = 1; first <= turns; first += 100) {
      yield* store.append(additionOf(id, first, Math.min(turns, first + 99), ++revision))
    }
    return sessionAt(id, turns, revision)
  })

export const sessionOperations = <R>(
  store: Effect.Effect<SessionStore.Service, unknown, R>,
  table: string | undefined
): ReadonlyArray<Operation<R>> => [
  {
    name: "session: append a turn",
    times: 40,
    durable: false,
    table,
    make: Effect.gen(function* () {
      const sessions = yield* store
      const id = SessionId.make("that grows")
      yield* sessions.create({ session: begun(id) })
      return (n) => sessions.append(additionOf(id, n + 1, n + 1, n + 1))
    })
  },
  {
    name: "session: load",
    times: 100,
    durable: false,
    table: undefined,
    make: Effect.gen(function* () {
      const sessions = yield* store
      const { id } = yield* filledSession(sessions, SessionId.make("that is loaded"), 100)
      return () => sessions.load(id)
    })
  },
  {
    name: "session: window of 20 turns",
    times: 40,
    durable: false,
    table: undefined,
    make: Effect.gen(function* () {
      const sessions = yield* store
      const { head } = yield* filledSession(sessions, SessionId.make("that is read"), 1_000)
      return () => sessions.turns(head as Session.TurnRef, { limit: 20 })
    })
  }
]

const checkpointOf = (n: number): Checkpointer.Checkpoint => ({
  threadId: "thread",
  namespace: "",
  id: `checkpoint-${String(n).padStart(6, "0")}`,
  ...(n === 0 ? undefined : { parentId: `checkpoint-${String(n - 1).padStart(6, "0")}` }),
  step: n,
  state: { question: content.slice(0, 80), answer: content, count: n, notes: ["one", "two", "three"] },
  next: ["think"],
  reached: [],
  finished: [],
  waiting: [],
  answers: [],
  pins: [],
  at: from + n,
  metadata: { source: "loop", graph: "bench" }
})

/** Like `checkpointOf`, with a state of one megabyte in which `count` changes. */
export const largeCheckpoint = (n: number, large: Checkpointer.Json): Checkpointer.Checkpoint => ({
  ...checkpointOf(n),
  state: { large, count: n }
})

const eventOf = (runId: RunId, seq: number): AgentEvent.AgentEvent => ({
  _tag: "TextDelta",
  text: "a piece of the answer, some words long",
  runId,
  agent: "bench",
  seq,
  at: from + seq
})

const logOf = (events: number): Operation => ({
  name: `run log: append ${events === 1 ? "an event" : `${events} events`}`,
  times: events === 1 ? 40 : 10,
  durable: false,
  table: "lex_run_events",
  make: Effect.map(SqlRunLog.make(), (log) => {
    const runId = RunId.make(`run of ${events}`)
    return (n) => log.append(Array.from({ length: events }, (_, at) => eventOf(runId, n * events + at)))
  })
})

const words =
  "the quick brown fox jumps over lazy dogs while seventeen engineers discuss retrieval and memory of an agent library that runs in typescript with layers for everything and no model at all".split(
    " "
  )

const entryOf = (n: number): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(`entry-${n}`),
    ownerId: "ada",
    content: Array.from({ length: 20 }, (_, i) => words[(n * 7 + i * (1 + (n % 5))) % words.length]).join(" "),
    role: "user",
    timestamp: from + n
  })

export const sqlOperations: ReadonlyArray<Operation> = [
  ...sessionOperations(SqlSessionStore.make, "lex_session_turns"),
  {
    name: "checkpointer: put",
    times: 20,
    durable: true,
    table: "lex_checkpoints",
    make: Effect.map(SqlCheckpointer.make, (checkpointer) => (n) => checkpointer.put(checkpointOf(n)))
  },
  logOf(1),
  logOf(50),
  {
    name: "memory: store an entry",
    times: 20,
    durable: false,
    table: "lex_memories",
    make: Effect.map(SqlMemoryStore.make(), (store) => (n) => store.store(entryOf(n)))
  },
  {
    name: "ledger: hold and settle",
    times: 20,
    durable: false,
    table: "lex_ledger_accounts",
    make: Effect.map(SqlCostLedger.make(), (ledger) => (n) => {
      const amount = { nanoUsd: 2_000, tokens: 100 }
      const limit = { nanoUsd: Number.MAX_SAFE_INTEGER }
      const accounts = ["user ada", "everybody"].map((account) => ({ account, limit }))
      const id = `hold-${n}`
      return Effect.zipRight(ledger.hold({ id, amount, accounts }), ledger.settle(id, { nanoUsd: 1_500, tokens: 80 }))
    })
  }
]
