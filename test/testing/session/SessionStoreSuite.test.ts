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
      "a session saved from another revision than the kept one is refused, and nothing is written",
      "of many that save at once each wins one revision",
      "who has read a session before it expired cannot write to it"
    ]
  ],
  [
    "turns that pass over others",
    broken((store) => ({ append: (addition) => Effect.flatMap(onto(store, addition), store.append) })),
    [
      "turns appended from another revision than the kept one are refused, and nothing is written",
      "of many that add turns at once all are kept, one behind the other",
      "the revision is looked at before the turns"
    ]
  ],
  [
    "sessions of everybody in the list of a user",
    broken((store) => ({ list: ({ userId: _, ...options }) => store.list(options) })),
    [
      "sessions of a user are never among those of another",
      "a list holds what fits all that is given",
      "ids that look alike are sessions, users, turns and checkpoints of their own"
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
    ["sessions of a user are never among those of another"]
  ],
  [
    "turns newest first",
    broken((store) => ({
      turns: (head, options) => Effect.map(store.turns(head, options), (turns) => [...turns].reverse())
    })),
    ["a window is the newest turns, oldest first", "ten thousand turns are read by windows"]
  ],
  [
    "turns in the order of their ids",
    broken((store) => ({
      turns: (head, options) =>
        Effect.map(store.turns(head, options), (turns) => [...turns].sort((a, b) => (a.id < b.id ? -1 : 1)))
    })),
    ["a window is the newest turns, oldest first"]
  ],
  [
    "windows that end where a branch began",
    broken((store) => ({
      turns: (head, options) => Effect.map(store.turns(head, options), sinceTheFork)
    })),
    [
      "a branch begins with the turns of the session it comes from",
      "a window goes on across the places where branches began"
    ]
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
    ["a window begins behind a turn that is on the way"]
  ],
  [
    "idle sessions of any time",
    broken((store) => ({
      idle: (options) => store.idle({ ...options, since: Number.MAX_SAFE_INTEGER }),
      expire: (options) => store.expire({ ...options, since: Number.MAX_SAFE_INTEGER })
    })),
    [
      "idle are live sessions that were not changed since, longest first",
      "what is idle expires, the longest idle first, and is given as it is then"
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
    ["of many that let sessions expire at once each session is given to one"]
  ],
  [
    "checkpoints that are lost when the session is saved",
    broken((store) => ({ save: ({ checkpoint: _, ...change }) => store.save(change) })),
    ["a checkpoint comes out as it went in", "checkpoints come newest first"]
  ],
  [
    "checkpoints that are lost when turns are appended",
    broken((store) => ({ append: ({ checkpoint: _, ...addition }) => store.append(addition) })),
    ["turns and their checkpoint are kept in one step"]
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
    ["a session that becomes live again is limited, one that is live is not"]
  ],
  [
    "all checkpoints stay",
    broken((store) => ({ save: ({ keepCheckpoints: _, ...change }) => store.save(change) })),
    [
      "of manual and automatic checkpoints the newest stay, and all of forks and merges",
      "a bound of checkpoints is kept for each session alone"
    ]
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
    ["of manual and automatic checkpoints the newest stay, and all of forks and merges"]
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
    ["what is deleted is gone, with its turns and checkpoints", "turns that a branch needs stay, and go with it"]
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
    ["what is deleted is gone, with its turns and checkpoints"]
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
      "turns that a branch needs stay, and go with it",
      "what a branch of a branch needs stays through all generations",
      "whatever is done to it, it is what a simple model is"
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
    ["the id of a deleted session whose turns are needed is not free"]
  ],
  [
    "no limits",
    broken((store) => ({
      create: ({ limits: _, ...creation }) => store.create(creation),
      save: ({ limits: _, ...change }) => store.save(change)
    })),
    [
      "live sessions of a user are limited, and no others count",
      "live branches of a session are limited, and no others count",
      "of many that are created at once no more than allowed are"
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
    ["of many that are created at once no more than allowed are"]
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
    ["live sessions of a user are limited, and no others count"]
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
    ["a turn that is known is given as it is kept, and nothing is written"]
  ],
  [
    "pages that overlap",
    broken((store) => ({
      list: ({ after, ...options }) =>
        store.list({ ...options, after: after === undefined ? undefined : { ...after, at: after.at + 1 } })
    })),
    ["pages join to the whole without a repetition"]
  ],
  [
    "lists in the order of creation only",
    broken((store) => ({ list: (options) => store.list({ ...options, order: "created" }) })),
    ["a list follows what is written", "a list holds what fits all that is given"]
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
    ["keys that every object has are data like others"]
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
    ["what callers do with what they gave or were given changes nothing that is kept"]
  ],
  ["no health", broken(() => ({ health: Effect.fail(refusal) })), ["it answers when it is asked whether it is well"]]
]

/** None of these breaks it: a store that fails at everything shows nothing. */
const unconcerned = "what is created is what is loaded"

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
    "a store that keeps its promises passes every case",
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

  it.effect("a store that cannot be built fails every case with the reason", () =>
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
