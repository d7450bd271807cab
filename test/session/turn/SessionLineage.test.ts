import { assert, describe } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as EntryGroups from "../../../src/memory/entry/EntryGroups.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import * as Selection from "../../../src/memory/entry/Selection.js"
import * as MemorySummary from "../../../src/memory/episodic/MemorySummary.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionMemory from "../../../src/session/manager/SessionMemory.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import * as Session from "../../../src/session/turn/Session.js"
import * as SetClock from "../../support/SetClock.js"
import * as SystemTest from "../../support/SystemTest.js"

const userId = UserId.make("ada")

/** Real sessions; memory is a list. */
const layer = (fed: Array<MemoryEntry>) =>
  Layer.mergeAll(
    SystemTest.layer,
    Layer.provide(
      DefaultSessionManager.layer({ autoCheckpointInterval: null, consolidateOnClose: false }),
      Layer.merge(
        Layer.succeed(WorkingMemory.WorkingMemory, {
          ...WorkingMemory.noop,
          add: (entry) => Effect.sync(() => void fed.push(entry))
        }),
        MemoryConsolidator.layerNoop
      )
    ),
    Layer.provide(
      DefaultBranchManager.layer({ maxBranchesPerSession: 100, maxSessionsPerUser: 1000 }),
      Layer.succeed(WorkingMemory.WorkingMemory, {
        ...WorkingMemory.noop,
        add: (entry) => Effect.sync(() => void fed.push(entry)),
        addAll: (entries) => Effect.sync(() => void fed.push(...entries))
      })
    )
  ).pipe(Layer.provide(InMemorySessionStore.layer))

const pick = FastCheck.nat(1000)
const operation = FastCheck.oneof(
  { weight: 8, arbitrary: FastCheck.record({ do: FastCheck.constant("say"), at: pick }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("checkpoint"), at: pick }) },
  { weight: 3, arbitrary: FastCheck.record({ do: FastCheck.constant("restore"), at: pick }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("fork"), at: pick }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("fork back"), at: pick }) },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("merge"), at: pick }) },
  { weight: 1, arbitrary: FastCheck.record({ do: FastCheck.constant("begin"), at: pick }) }
)
type Operation = typeof operation extends FastCheck.Arbitrary<infer A> ? A : never

const played = Effect.fnUntraced(function* (operations: ReadonlyArray<Operation>, clock: SetClock.SetClock) {
  const sessions = yield* SessionManager.SessionManager
  const branches = yield* BranchManager.BranchManager
  const ids: Array<SessionId> = []
  let count = 0
  const begin = Effect.gen(function* () {
    const { id } = yield* sessions.create({ id: SessionId.make(`s${ids.length}`), userId })
    ids.push(id)
  })
  yield* begin
  for (const { at, do: what } of operations) {
    // Copies that a merge makes have times of their own, a millisecond apart.
    clock.set(clock.now() + 100)
    const id = ids[at % ids.length] as SessionId
    const kept = yield* sessions.checkpoints(id)
    const checkpoint = kept[at % Math.max(1, kept.length)]
    switch (what) {
      case "say": {
        const text = `t${++count}`
        yield* sessions.addTurn(
          id,
          Session.NewTurn.make({ id: TurnId.make(text), role: "user", content: text, timestamp: clock.now() })
        )
        break
      }
      case "checkpoint":
        yield* sessions.checkpoint(id)
        break
      case "restore":
        if (checkpoint !== undefined) yield* sessions.restore(checkpoint.id)
        break
      case "fork":
      case "fork back": {
        const fromCheckpoint = what === "fork" ? undefined : checkpoint?.id
        const branch = SessionId.make(`s${ids.length}`)
        yield* branches.fork(id, { id: branch, ...(fromCheckpoint === undefined ? {} : { fromCheckpoint }) })
        ids.push(branch)
        break
      }
      case "merge": {
        const { parentSessionId: parent } = Option.getOrThrow(yield* sessions.get(id))
        if (parent === undefined) break
        const [into, from] = at % 2 === 0 ? [id, parent] : [parent, id]
        yield* branches.merge(into, from)
        break
      }
      case "begin":
        yield* begin
    }
  }
  return yield* Effect.forEach(ids, (id) =>
    Effect.gen(function* () {
      const session = Option.getOrThrow(yield* sessions.get(id))
      const turns = yield* sessions.turns(id, { last: 10_000 })
      return { session, path: new Set<string>(turns.map((turn) => SessionMemory.entryOf(turn, session).id)) }
    })
  )
})

const treeOf = (entry: MemoryEntry) => entry.metadata[Selection.treeKey]

const selecting = (session: Session.Session) => Selection.predicate(SessionMemory.lineageOf(session)) ?? (() => true)

const property = (
  check: (
    fed: ReadonlyArray<MemoryEntry>,
    sessions: ReadonlyArray<{ readonly session: Session.Session; readonly path: ReadonlySet<string> }>
  ) => void
) =>
  Effect.promise(() =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.array(operation, { minLength: 1, maxLength: 40, size: "max" }),
        (operations) => {
          const fed: Array<MemoryEntry> = []
          const clock = SetClock.make(1000)
          return Effect.runPromise(
            played(operations, clock).pipe(
              Effect.map((sessions) => check(fed, sessions)),
              Effect.provide(layer(fed)),
              Effect.withClock(clock.clock)
            )
          )
        }
      ),
      { numRuns: 25 }
    )
  )

describe("lineages of real sessions", () => {
  SystemTest.effect("recall exactly the turns on the path to the head, and everything of other trees", () =>
    property((fed, sessions) => {
      for (const { path, session } of sessions) {
        const tree = SessionMemory.treeOf(session)
        const expected = fed.filter((entry) => treeOf(entry) !== tree || path.has(entry.id))
        assert.deepStrictEqual(fed.filter(selecting(session)), expected)
      }
    })
  )

  SystemTest.effect("recall summaries that lie completely on their path, and no others", () =>
    property((fed, sessions) => {
      const summaries = (nameOf: (entry: MemoryEntry) => string) =>
        Array.from(EntryGroups.groupBy(fed, nameOf).values()).flatMap((group) =>
          [2, 3, group.length].flatMap((size) =>
            Arr.chunksOf(group, size).map((entries) => ({
              entries,
              summary: MemorySummary.make({ entries, content: "" })
            }))
          )
        )
      const ofWays = summaries((entry) => JSON.stringify(EntryGroups.way(entry)))
      const ofSessions = summaries((entry) => String(entry.sessionId))
      for (const { path, session } of sessions) {
        const selects = selecting(session)
        const tree = SessionMemory.treeOf(session)
        const isTold = ({ id, metadata }: MemoryEntry) => metadata[Selection.treeKey] !== tree || path.has(id)
        for (const { entries, summary } of ofWays) assert.strictEqual(selects(summary), entries.every(isTold))
        for (const { entries, summary } of ofSessions) if (selects(summary)) assert.isTrue(entries.every(isTold))
      }
    })
  )
})
