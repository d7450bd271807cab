import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import type { Session, SessionTurn } from "../../../src/session/turn/Session.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as SessionStoreSuite from "../../../src/testing/session/SessionStoreSuite.js"

type Service = SessionStore.Service

const inMemory: Effect.Effect<Service> = Effect.scoped(
  Effect.provide(SessionStore.SessionStore, Layer.fresh(InMemorySessionStore.layer))
)

/** A store in memory, but for what is broken of it. */
const broken = (change: (store: Service) => Partial<Service>): Layer.Layer<SessionStore.SessionStore> =>
  Layer.effect(
    SessionStore.SessionStore,
    Effect.map(inMemory, (store) => ({ ...store, ...change(store) }))
  )

const refusal = new SessionStorageError({ message: "The disk is full" })

/** Writes that take what they are given for what follows on what is kept, whatever that is. */
const onto = <A extends { readonly session: Session }>(
  store: Service,
  change: A
): Effect.Effect<A, SessionStorageError> =>
  Effect.map(store.load(change.session.id), (found) => ({
    ...change,
    session: { ...change.session, revision: Option.isSome(found) ? found.value.revision + 1 : change.session.revision }
  }))

const sinceTheFork = (turns: ReadonlyArray<SessionTurn>): ReadonlyArray<SessionTurn> =>
  turns.slice(turns.findLastIndex((turn) => turn.sessionId !== turns[turns.length - 1]?.sessionId) + 1)

/** What is broken, and cases that are there to notice it. */
const layers: ReadonlyArray<readonly [string, Layer.Layer<SessionStore.SessionStore>, ReadonlyArray<string>]> = [
  [
    "a save that passes over another",
    broken((store) => ({ save: (change) => Effect.flatMap(onto(store, change), store.save) })),
    [
      "rejects a save based on another revision and writes nothing",
      "concurrent saves each win one revision",
      "rejects a write based on a session before it expired"
    ]
  ],
  [
    "turns that pass over others",
    broken((store) => ({ append: (addition) => Effect.flatMap(onto(store, addition), store.append) })),
    [
      "rejects turns based on another revision and writes nothing",
      "keeps the turns of all concurrent writers in sequence",
      "checks the revision before the turns"
    ]
  ],
  [
    "sessions of everybody in the list of a user",
    broken((store) => ({ list: ({ userId: _, ...options }) => store.list(options) })),
    [
      "never lists sessions of another user",
      "lists the sessions that match all filters",
      "keeps similar ids of sessions, users, turns and checkpoints apart"
    ]
  ],
  [
    "users whose case makes no difference",
    broken((store) => ({
      list: ({ limit, userId, ...options }) =>
        typeof userId !== "string"
          ? store.list({ ...options, userId, limit })
          : Effect.map(store.list({ ...options, limit: 1000 }), (all) =>
              all.filter((one) => one.userId?.toLowerCase() === userId.toLowerCase()).slice(0, limit)
            )
    })),
    ["never lists sessions of another user"]
  ],
  [
    "turns newest first",
    broken((store) => ({
      turns: (head, options) => Effect.map(store.turns(head, options), (turns) => [...turns].reverse())
    })),
    ["a window contains the newest turns, oldest first", "reads ten thousand turns by windows"]
  ],
  [
    "turns in the order of their ids",
    broken((store) => ({
      turns: (head, options) =>
        Effect.map(store.turns(head, options), (turns) => [...turns].sort((a, b) => (a.id < b.id ? -1 : 1)))
    })),
    ["a window contains the newest turns, oldest first"]
  ],
  [
    "windows that end where a branch began",
    broken((store) => ({
      turns: (head, options) => Effect.map(store.turns(head, options), sinceTheFork)
    })),
    ["a branch begins with the turns of its parent", "a window continues across branch points"]
  ],
  [
    "windows that begin with the turn they were to begin behind",
    broken((store) => ({
      turns: (head, { limit, since }) =>
        Effect.flatMap(store.turns(head, { limit: 1000 }), (turns) => {
          const at = turns.findIndex((turn) => turn.id === since?.turnId && turn.sessionId === since.sessionId)
          return Effect.succeed(limit === 0 ? [] : turns.slice(Math.max(0, at)).slice(-limit))
        })
    })),
    ["a window begins after a turn of the lineage"]
  ],
  [
    "idle sessions of any time",
    broken((store) => ({
      idle: (options) => store.idle({ ...options, since: Number.MAX_SAFE_INTEGER }),
      expire: (options) => store.expire({ ...options, since: Number.MAX_SAFE_INTEGER })
    })),
    [
      "idle sessions are live and unchanged since, longest first",
      "expires idle sessions, longest first, and returns them as expired"
    ]
  ],
  [
    "sessions that expire for everybody who asks",
    broken((store) => ({
      expire: ({ at, limit, since }) =>
        Effect.flatMap(store.idle({ since, limit }), (idle) =>
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.forEach(idle, (one) => {
              const expired: Session = { ...one, status: "expired", updatedAt: at, revision: one.revision + 1 }
              return Effect.as(Effect.ignore(store.save({ session: expired })), expired)
            })
          )
        )
    })),
    ["concurrent expirations return each session once"]
  ],
  [
    "checkpoints that are lost when the session is saved",
    broken((store) => ({ save: ({ checkpoint: _, ...change }) => store.save(change) })),
    ["returns a checkpoint unchanged", "checkpoints come newest first"]
  ],
  [
    "checkpoints that are lost when turns are appended",
    broken((store) => ({ append: ({ checkpoint: _, ...addition }) => store.append(addition) })),
    ["writes turns and their checkpoint atomically"]
  ],
  [
    "a checkpoint that is kept before the session is refused",
    broken((store) => ({
      create: (creation) =>
        creation.checkpoint === undefined || creation.limits?.perUser !== 0
          ? store.create(creation)
          : Effect.zipRight(
              store.create({ session: creation.session, checkpoint: creation.checkpoint }),
              Effect.zipRight(store.delete(creation.session.id), store.create(creation))
            ),
      save: (change) =>
        Effect.tapError(store.save(change), () => Effect.ignore(store.save({ ...change, limits: undefined })))
    })),
    ["limits a session that becomes live again but not a live one"]
  ],
  [
    "all checkpoints stay",
    broken((store) => ({ save: ({ keepCheckpoints: _, ...change }) => store.save(change) })),
    ["keeps the newest manual and automatic checkpoints, and all of forks and merges", "limits checkpoints per session"]
  ],
  [
    "forks and merges that make room",
    broken((store) => ({
      save: (change) =>
        Effect.tap(store.save(change), () =>
          change.checkpoint === undefined || change.keepCheckpoints === undefined
            ? Effect.void
            : Effect.flatMap(store.checkpoints(change.session.id, { limit: 1000 }), (all) =>
                Effect.forEach(all.slice(change.keepCheckpoints), (one) => store.deleteCheckpoint(one.id))
              )
        )
    })),
    ["keeps the newest manual and automatic checkpoints, and all of forks and merges"]
  ],
  [
    "the last merge of any session",
    broken((store) => ({
      lastMerge: (into) =>
        Effect.map(store.checkpoints(into, { limit: 1, kinds: ["merge"] }), (all) => Option.fromNullable(all[0]))
    })),
    ["the last merge is the newest of those two sessions"]
  ],
  [
    "deletions that leave turns and checkpoints",
    Layer.effect(
      SessionStore.SessionStore,
      Effect.map(inMemory, (store) => {
        const gone = new Set<string>()
        const isThere = (session: Session) => !gone.has(session.id)
        return {
          ...store,
          delete: (id) =>
            Effect.map(store.load(id), (found) => {
              const was = Option.isSome(found) && !gone.has(id)
              gone.add(id)
              return was
            }),
          load: (id) => Effect.map(store.load(id), Option.filter(isThere)),
          list: (options) => Effect.map(store.list(options), (all) => all.filter(isThere))
        }
      })
    ),
    ["deletes a session with its turns and checkpoints", "turns that a branch needs stay until it is deleted"]
  ],
  [
    "lists that still have what is deleted",
    Layer.effect(
      SessionStore.SessionStore,
      Effect.map(inMemory, (store) => {
        const gone: Array<Session> = []
        return {
          ...store,
          delete: (id) =>
            Effect.zipRight(
              Effect.map(store.load(id), (found) => gone.push(...Option.toArray(found))),
              store.delete(id)
            ),
          list: (options) => Effect.map(store.list(options), (all) => [...all, ...gone].slice(0, options.limit))
        }
      })
    ),
    ["deletes a session with its turns and checkpoints"]
  ],
  [
    "deletions of turns that branches need",
    Layer.effect(
      SessionStore.SessionStore,
      Effect.map(inMemory, (store) => {
        const gone = new Set<string>()
        return {
          ...store,
          delete: (id) =>
            Effect.tap(store.delete(id), () =>
              Effect.sync(() => {
                gone.add(id)
              })
            ),
          turn: (ref) => (gone.has(ref.sessionId) ? Effect.succeedNone : store.turn(ref)),
          turns: (head, options) =>
            Effect.map(store.turns(head, options), (turns) => turns.filter((turn) => !gone.has(turn.sessionId)))
        }
      })
    ),
    [
      "turns that a branch needs stay until it is deleted",
      "keeps what a branch of a branch needs through all generations",
      "agrees with a simple model after any sequence of operations"
    ]
  ],
  [
    "ids that are free while branches need their turns",
    broken((store) => ({
      create: (creation) =>
        Effect.catchTag(store.create(creation), "SessionConflictError", () =>
          Effect.succeed({ session: creation.session, isNew: true })
        )
    })),
    ["the id of a deleted session stays taken while its turns are needed"]
  ],
  [
    "no limits",
    broken((store) => ({
      create: ({ limits: _, ...creation }) => store.create(creation),
      save: ({ limits: _, ...change }) => store.save(change)
    })),
    [
      "limits the live sessions of a user and counts no others",
      "limits the live branches of a session and counts no others",
      "concurrent creations do not exceed the limit"
    ]
  ],
  [
    "limits that are looked at before the write",
    broken((store) => ({
      create: ({ limits, ...creation }) =>
        Effect.zipRight(
          limits?.perUser === undefined
            ? Effect.void
            : Effect.flatMap(
                store.list({
                  userId: creation.session.userId ?? null,
                  statuses: ["active", "suspended"],
                  limit: limits.perUser
                }),
                (live) =>
                  live.length >= (limits.perUser ?? 0) && creation.session.userId !== undefined
                    ? store.create({ ...creation, limits })
                    : Effect.yieldNow()
              ),
          store.create(creation)
        )
    })),
    ["concurrent creations do not exceed the limit"]
  ],
  [
    "limits that count closed sessions",
    broken((store) => ({
      create: (creation) =>
        Effect.flatMap(store.list({ userId: creation.session.userId ?? null, limit: 1000 }), (all) =>
          store.create(
            all.length >= (creation.limits?.perUser ?? 1000) ? { ...creation, limits: { perUser: 0 } } : creation
          )
        )
    })),
    ["limits the live sessions of a user and counts no others"]
  ],
  [
    "known turns that are written again",
    broken((store) => {
      const fresh = new Map<string, SessionTurn>()
      const keyOf = (one: SessionTurn) => JSON.stringify([one.sessionId, one.id])
      return {
        append: (addition) =>
          Effect.tap(store.append(addition), (known) =>
            Effect.sync(() => {
              if (known.length === 0) return
              for (const turn of addition.turns) fresh.set(keyOf(turn), turn)
            })
          ),
        turns: (head, options) =>
          Effect.map(store.turns(head, options), (turns) => turns.map((turn) => fresh.get(keyOf(turn)) ?? turn))
      }
    }),
    ["returns a known turn as stored and writes nothing"]
  ],
  [
    "pages that overlap",
    broken((store) => ({
      list: ({ after, ...options }) =>
        store.list({ ...options, after: after === undefined ? undefined : { ...after, at: after.at + 1 } })
    })),
    ["pages together contain everything once"]
  ],
  [
    "lists in the order of creation only",
    broken((store) => ({ list: (options) => store.list({ ...options, order: "created" }) })),
    ["lists reflect every write", "lists the sessions that match all filters"]
  ],
  [
    "texts that lose what is no character",
    broken((store) => ({
      turns: (head, options) =>
        Effect.map(store.turns(head, options), (turns) =>
          turns.map((turn) => ({ ...turn, content: Buffer.from(turn.content).toString() }))
        )
    })),
    ["texts of every kind of character are kept exactly"]
  ],
  [
    "data that loses __proto__",
    broken((store) => ({
      load: (id) =>
        Effect.map(
          store.load(id),
          Option.map((one) => {
            const variables: Record<string, unknown> = {}
            for (const [key, value] of Object.entries(one.variables)) variables[key] = value
            return { ...one, variables }
          })
        )
    })),
    ["stores names of built-in properties like other keys"]
  ],
  [
    "what the caller holds is what is kept",
    broken((store) => {
      const given = new Map<string, Session>()
      return {
        create: (creation) =>
          Effect.tap(store.create(creation), () => Effect.sync(() => given.set(creation.session.id, creation.session))),
        load: (id) =>
          Effect.map(
            store.load(id),
            Option.map((one) => (one.revision === 0 ? (given.get(id) ?? one) : one))
          )
      }
    }),
    ["mutations by callers do not change stored data"]
  ],
  ["no health", broken(() => ({ health: Effect.fail(refusal) })), ["reports health"]]
]

/** None of these breaks it: a store that fails at everything shows nothing. */
const unconcerned = "loads a session as it was created"

const failures = (layer: Layer.Layer<SessionStore.SessionStore>, only: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(
      SessionStoreSuite.cases.filter((one) => only.includes(one.name)),
      (one) =>
        // How long it takes to find the shortest sequence that fails, and whether one is found at all, is not left to chance.
        Effect.map(Effect.exit(Effect.withRandom(SessionStoreSuite.check(one, layer), Random.make("b"))), (exit) =>
          exit._tag === "Failure" ? [one.name] : []
        )
    ),
    (names) => names.flat()
  )

describe("SessionStoreSuite", () => {
  it("names each case once", () => {
    const names = SessionStoreSuite.cases.map((one) => one.name)
    assert.deepStrictEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      []
    )
    for (const [, , expected] of layers) assert.includeMembers(names, [...expected, unconcerned])
  })

  // All cases in one test, on a machine that may be busy.
  it.effect(
    "passes every case for a correct store",
    () =>
      Effect.map(SessionStoreSuite.run(InMemorySessionStore.layer), (outcomes) => {
        assert.lengthOf(outcomes, SessionStoreSuite.cases.length)
        assert.deepStrictEqual(
          outcomes.flatMap((one) => (one.failure === undefined ? [] : [`${one.name}: ${Cause.pretty(one.failure)}`])),
          []
        )
      }),
    300_000
  )

  it.effect("fails every case with the reason when a store cannot be built", () =>
    Effect.map(SessionStoreSuite.run(Layer.fail(refusal)), (outcomes) => {
      assert.lengthOf(outcomes, SessionStoreSuite.cases.length)
      for (const one of outcomes) assert.deepStrictEqual(one.failure, Cause.fail(refusal))
    })
  )

  for (const [what, layer, expected] of layers) {
    it.effect(
      `telemetry ${what}`,
      () =>
        Effect.map(failures(layer, [...expected, unconcerned]), (names) =>
          assert.sameMembers([...names], [...expected])
        ),
      300_000
    )
  }
})
