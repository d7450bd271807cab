/**
 * Writers that report acknowledged writes, and a reader that verifies the database. The data follows from its name, so
 * the reader can verify every byte.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as AgentEvent from "../../../src/domain/AgentEvent.js"
import { EntryId, RunId, SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import * as Checkpointer from "../../../src/graph/Checkpointer.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { CheckpointId, NewTurn, type SessionTurn } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"

export type Services =
  | SessionManager.SessionManager
  | SessionStore.SessionStore
  | MemoryStore.MemoryStore
  | CostLedger.CostLedger
  | Checkpointer.Checkpointer
  | RunLog.RunLog

/** An acknowledged write, as a line of a writer: a kind and the words that name it. */
export type Acknowledge = (...words: ReadonlyArray<string | number>) => void

const owner = "owner"
const accountOf = (writer: string): string => `account of ${writer}`
const COST = 3
const HELD = 10

/** Every fifth text is large enough to be stored apart from its row. */
const contentOf = (name: string): string =>
  `${name} ${Number.parseInt(name.replace(/\D/g, "") || "0", 10) % 5 === 0 ? name.repeat(3_000) : "small"}`

const sessionOf = (writer: string): SessionId => SessionId.make(`session-${writer}`)

const turns = (writer: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    const id = sessionOf(writer)
    yield* manager.create({ id })
    for (let n = 0; ; n++) {
      const turn = TurnId.make(`${writer}-${n}`)
      yield* manager.addTurn(id, NewTurn.make({ id: turn, role: "user", content: contentOf(turn), timestamp: n }))
      ack("turn", writer, turn)
      if (n % 3 === 2) {
        yield* manager.update(id, { variables: { n, text: contentOf(`variable${n}`) } })
        const checkpoint = yield* manager.checkpoint(id, { metadata: { n } })
        ack("checkpoint", checkpoint.id, n)
      }
    }
  })

/** Both write to the same session. */
const rivals = (rival: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    const id = sessionOf("shared")
    yield* manager.create({ id })
    for (let n = 0; ; n++) {
      const turn = TurnId.make(`${rival}-${n}`)
      yield* manager.addTurn(id, NewTurn.make({ id: turn, role: "user", content: contentOf(turn), timestamp: n }))
      ack("turn", "shared", turn)
    }
  })

const entries = (writer: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    for (let n = 0; ; n++) {
      const made = [0, 1, 2].map((part) => {
        const id = EntryId.make(`${writer}-${n}-${part}`)
        return MemoryEntry.make({ id, ownerId: owner, content: contentOf(id), role: "user", timestamp: n })
      })
      yield* store.apply(owner, { store: made })
      ack("entries", writer, n)
    }
  })

const money = (writer: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const ledger = yield* CostLedger.CostLedger
    for (let n = 0; ; n++) {
      const id = `${writer}-${n}`
      yield* ledger.hold({ id, amount: { nanoUsd: HELD, tokens: HELD }, accounts: [{ account: accountOf(writer) }] })
      yield* ledger.settle(id, { nanoUsd: COST, tokens: COST })
      ack("settled", writer, n)
    }
  })

const threads = (writer: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const checkpointer = yield* Checkpointer.Checkpointer
    for (let n = 0; ; n++) {
      const id = `${writer}-${n}`
      yield* checkpointer.put({
        threadId: writer,
        namespace: "",
        id,
        ...(n === 0 ? {} : { parentId: `${writer}-${n - 1}` }),
        step: n,
        state: { n, large: contentOf(`${writer}-0`), text: contentOf(id) },
        next: ["node"],
        reached: [],
        finished: [],
        waiting: [],
        answers: [],
        pins: [],
        at: n,
        metadata: { n }
      })
      yield* checkpointer.putWrites(writer, id, "node", [["text", contentOf(id)]])
      ack("thread", writer, n)
    }
  })

const event = (runId: RunId, seq: number): AgentEvent.AgentEvent =>
  ({
    _tag: "TextDelta",
    runId,
    agent: "agent",
    seq,
    // Current time: a log drops old entries.
    at: Date.now(),
    text: contentOf(`event${seq}`)
  }) as AgentEvent.AgentEvent

const runs = (writer: string, ack: Acknowledge) =>
  Effect.gen(function* () {
    const log = yield* RunLog.RunLog
    const runId = RunId.make(writer)
    for (let n = 0; ; n += 4) {
      yield* log.append([0, 1, 2, 3].map((i) => event(runId, n + i)))
      ack("run", writer, n + 3)
    }
  })

/** Writes until killed. `round` distinguishes the names of several lives. */
export const write = (round: string, ack: Acknowledge): Effect.Effect<never, unknown, Services> =>
  Effect.all(
    [
      turns(`a${round}x`, ack),
      rivals(`b${round}x`, ack),
      rivals(`c${round}x`, ack),
      entries(`d${round}x`, ack),
      money(`e${round}x`, ack),
      threads(`f${round}x`, ack),
      runs(`g${round}x`, ack)
    ],
    { concurrency: "unbounded", discard: true }
  ).pipe(Effect.zipRight(Effect.never))

const claim = (holds: boolean, what: string): Effect.Effect<void, string> => (holds ? Effect.void : Effect.fail(what))

const PAGE = 500

/** Lineage of a session's head, oldest first. */
const wayOf = (store: SessionStore.Service, id: SessionId) =>
  Effect.gen(function* () {
    const session = Option.getOrThrow(yield* store.load(id))
    const way: Array<SessionTurn> = []
    let head = session.head
    while (head !== undefined) {
      const page: ReadonlyArray<SessionTurn> = yield* store.turns(head, { limit: PAGE })
      way.unshift(...page)
      head = page[0]?.parent
    }
    return { session, way }
  })

const checkSession = (store: SessionStore.Service, id: SessionId) =>
  Effect.gen(function* () {
    const { session, way } = yield* wayOf(store, id)
    yield* claim(way.length === session.depth, `${id} says ${session.depth} turns and has ${way.length}`)
    yield* Effect.forEach(way, (turn, i) =>
      claim(turn.depth === i + 1 && turn.content === contentOf(turn.id), `turn ${turn.id} of ${id} is not whole`)
    )
    yield* claim(new Set(way.map(({ id }) => id)).size === way.length, `${id} has a turn twice`)
    return new Set<string>(way.map(({ id }) => id))
  })

/** Verifies the database against the lines of one or several lives. Returns the number of checks. */
export const verify = (lines: ReadonlyArray<string>): Effect.Effect<number, unknown, Services> =>
  Effect.gen(function* () {
    const store = yield* SessionStore.SessionStore
    const memory = yield* MemoryStore.MemoryStore
    const ledger = yield* CostLedger.CostLedger
    const checkpointer = yield* Checkpointer.Checkpointer
    const log = yield* RunLog.RunLog
    const sessions = new Map<string, ReadonlySet<string>>()
    const newest = new Map<string, number>()
    const settled = new Map<string, number>()
    for (const line of lines) {
      const [kind = "", first = "", second = ""] = line.split(" ")
      if (kind === "turn") {
        let known = sessions.get(first)
        if (known === undefined) {
          known = yield* checkSession(store, sessionOf(first))
          sessions.set(first, known)
        }
        yield* claim(known.has(second), `turn ${second} of ${first} was acknowledged and is not there`)
      }
      if (kind === "checkpoint") {
        const found = yield* store.checkpoint(CheckpointId.make(first))
        yield* claim(Option.isSome(found), `checkpoint ${first} was acknowledged and is not there`)
        const { state } = Option.getOrThrow(found)
        const variables = state.variables as { readonly n: number; readonly text: string }
        yield* claim(
          variables.n === Number(second) && variables.text === contentOf(`variable${second}`),
          `checkpoint ${first} is torn`
        )
        if (state.head !== undefined) {
          yield* claim(Option.isSome(yield* store.turn(state.head)), `checkpoint ${first} has a head that is not there`)
        }
      }
      if (kind === "settled") settled.set(first, (settled.get(first) ?? 0) + 1)
      if (kind === "entries" || kind === "thread" || kind === "run") {
        newest.set(`${kind} ${first}`, Math.max(newest.get(`${kind} ${first}`) ?? -1, Number(second)))
      }
    }
    for (const [key, last] of newest) {
      const [kind, writer = ""] = key.split(" ")
      if (kind === "entries") {
        const ids = Array.from({ length: (last + 1) * 3 }, (_, i) =>
          EntryId.make(`${writer}-${Math.floor(i / 3)}-${i % 3}`)
        )
        const found = yield* memory.getMany(owner, ids)
        yield* claim(found.length === ids.length, `${ids.length - found.length} entries of ${writer} are lost`)
        yield* Effect.forEach(found, (entry) =>
          claim(entry.content === contentOf(entry.id), `entry ${entry.id} is not whole`)
        )
      }
      if (kind === "thread") {
        const kept = yield* checkpointer.list(writer)
        yield* claim(kept.length > last, `${writer} has ${kept.length} checkpoints, and ${last + 1} were acknowledged`)
        yield* Effect.forEach(kept, ({ id, state, step }) => {
          const { large, n, text } = state as { readonly n: number; readonly large: string; readonly text: string }
          return claim(
            n === step && text === contentOf(id) && large === contentOf(`${writer}-0`),
            `checkpoint ${id} is torn`
          )
        })
        const saved = Option.getOrThrow(yield* checkpointer.get(writer, { id: `${writer}-${last}` }))
        yield* claim(saved.writes[0]?.writes[0]?.[1] === contentOf(`${writer}-${last}`), `writes of ${writer} are lost`)
      }
      if (kind === "run") {
        const events = yield* log.read(RunId.make(writer))
        yield* claim(
          events.length > last && events.length % 4 === 0,
          `${writer} has ${events.length} events of ${last + 1}`
        )
        yield* Effect.forEach(events, (one, i) => claim(one.seq === i, `${writer} has a gap before ${one.seq}`))
      }
    }
    for (const [writer, times] of settled) {
      const { reserved, spent } = yield* ledger.read(accountOf(writer))
      const done = spent.nanoUsd / COST
      // The last writes may exist without acknowledgment, or still be held.
      yield* claim(
        (done === times || done === times + 1) && (reserved.nanoUsd === 0 || reserved.nanoUsd === HELD),
        `${writer} was told of ${times} settlements; ${done} were booked, and ${reserved.nanoUsd} are held`
      )
    }
    // Every entry is found by its words, including unacknowledged ones.
    const some = yield* memory.getRecent({ ownerId: owner, n: 3 })
    for (const entry of some) {
      const results = yield* memory.retrieve({ ownerId: owner, query: entry.id, topK: 5 })
      yield* claim(
        results.some((result) => result.entry.id === entry.id),
        `entry ${entry.id} is not found by its words`
      )
    }
    return lines.length
  })
