/**
 * Random operations on a store and on a simple model of it, which must agree after each.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import type { Session, SessionCheckpoint, SessionStatus } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal } from "../suite/SuiteAssert.js"
import { SessionModel } from "./SessionModel.js"
import {
  behind,
  branch,
  type Case,
  checkpoint,
  checkpointId,
  epoch,
  idsOf,
  make,
  next,
  ref,
  refOf,
  session,
  sessionId,
  turnsOf,
  userId
} from "./SessionStoreCase.js"

type Operation =
  | {
      readonly do: "create"
      readonly id: string
      readonly user: string | null
      readonly at: number
      readonly limit: number
    }
  | {
      readonly do: "fork"
      readonly id: string
      readonly from: string
      readonly back: number
      readonly at: number
      readonly limit: number
    }
  | {
      readonly do: "append"
      readonly id: string
      readonly turns: ReadonlyArray<string>
      readonly at: number
      readonly stale: boolean
      readonly checkpoint: SessionCheckpoint["kind"] | null
      readonly keep: number
    }
  | {
      readonly do: "save"
      readonly id: string
      readonly status: SessionStatus
      readonly at: number
      readonly stale: boolean
      readonly checkpoint: SessionCheckpoint["kind"] | null
      readonly keep: number
      readonly limit: number
    }
  | { readonly do: "restore"; readonly id: string; readonly nth: number }
  | { readonly do: "delete"; readonly id: string }
  | { readonly do: "deleteCheckpoint"; readonly id: string; readonly nth: number }
  | { readonly do: "expire"; readonly since: number; readonly limit: number }
  | {
      readonly do: "list"
      readonly user: string | null | undefined
      readonly statuses: ReadonlyArray<SessionStatus> | undefined
      readonly parent: string | undefined
      readonly root: string | undefined
      readonly order: "created" | "updated"
      readonly limit: number
      readonly skip: number
    }
  | { readonly do: "window"; readonly nth: number; readonly limit: number; readonly since: number | undefined }

const id = FastCheck.constantFrom("a", "A", "b", "c", "__proto__")
const turnId = FastCheck.constantFrom("t1", "t2", "t3", "t4", "T1")
const user = FastCheck.constantFrom("ann", "bob", null)
const status = FastCheck.constantFrom("active", "suspended", "closed", "expired")
const kind = FastCheck.constantFrom("manual", "auto", "merge", null)
const minute = FastCheck.integer({ min: 0, max: 5 })
const limit = FastCheck.integer({ min: 0, max: 3 })
const stale = FastCheck.integer({ min: 0, max: 9 }).map((one) => one === 0)
const nth = FastCheck.nat(20)

const weighted = <A>(weight: number, what: string, fields: { readonly [key: string]: FastCheck.Arbitrary<A> }) => ({
  weight,
  arbitrary: FastCheck.record({ do: FastCheck.constant(what), ...fields })
})

const operation = FastCheck.oneof(
  weighted<unknown>(6, "create", { id, user, at: minute, limit: FastCheck.constantFrom(0, 2, 9, 9) }),
  weighted<unknown>(9, "fork", { id, from: id, back: FastCheck.nat(2), at: minute, limit: FastCheck.constant(9) }),
  weighted<unknown>(9, "append", {
    id,
    turns: FastCheck.uniqueArray(turnId, { minLength: 1, maxLength: 3 }),
    at: minute,
    stale,
    checkpoint: kind,
    keep: limit
  }),
  weighted<unknown>(4, "save", { id, status, at: minute, stale, checkpoint: kind, keep: limit, limit }),
  weighted<unknown>(3, "restore", { id, nth }),
  weighted<unknown>(3, "delete", { id }),
  weighted<unknown>(1, "deleteCheckpoint", { id, nth }),
  weighted<unknown>(1, "expire", { since: minute, limit }),
  weighted<unknown>(3, "list", {
    user: FastCheck.option(user, { nil: undefined }),
    statuses: FastCheck.option(FastCheck.array(status, { maxLength: 2 }), { nil: undefined }),
    parent: FastCheck.option(id, { nil: undefined, freq: 2 }),
    root: FastCheck.option(id, { nil: undefined, freq: 2 }),
    order: FastCheck.constantFrom("created", "updated"),
    limit: FastCheck.integer({ min: 0, max: 5 }),
    skip: FastCheck.nat(3)
  }),
  weighted<unknown>(3, "window", { nth, limit: FastCheck.nat(6), since: FastCheck.option(nth, { nil: undefined }) })
) as FastCheck.Arbitrary<Operation>

const tag = <A>(effect: Effect.Effect<A, { readonly _tag: string }>): Effect.Effect<A | string> =>
  Effect.match(effect, { onFailure: (error) => error._tag, onSuccess: (value) => value })

/** Names that one scenario does not share with another. */
interface Names {
  readonly session: (id: string) => string
  readonly user: (id: string | null) => string | undefined
}

const scenario = Effect.fnUntraced(function* (
  store: SessionStore.Service,
  prefix: string,
  operations: ReadonlyArray<Operation>
) {
  const model = new SessionModel()
  const names: Names = {
    session: (one) => `${prefix} ${one}`,
    user: (one) => (one === null ? undefined : `${prefix} ${one}`)
  }
  let counter = 0
  const withCheckpoint = (one: Session, kind: SessionCheckpoint["kind"] | null): SessionCheckpoint | undefined =>
    kind === null
      ? undefined
      : checkpoint(`${prefix} c${counter++}`, one, {
          kind,
          ...(kind === "merge"
            ? { merge: { sessionId: sessionId(names.session("b")), strategy: "s", state: checkpoint("x", one).state } }
            : undefined)
        })
  const create = Effect.fnUntraced(function* (one: Session, limits: SessionStore.Limits, what: string) {
    equal(yield* tag(store.create({ session: one, limits })), model.create(one, limits), what)
  })
  const save = Effect.fnUntraced(function* (change: SessionStore.Change, what: string) {
    equal(yield* tag(store.save(change)), model.save(change), what)
  })
  const perform = Effect.fnUntraced(function* (one: Operation, what: string) {
    switch (one.do) {
      case "create": {
        const at = epoch + one.at
        const given = { userId: names.user(one.user), createdAt: at, updatedAt: at, metadata: { n: counter++ } }
        return yield* create(session(names.session(one.id), given), { perUser: one.limit }, what)
      }
      case "fork": {
        const parent = model.session(names.session(one.from))
        const way = parent?.head === undefined ? [] : model.way(parent.head)
        const turn = way[way.length - 1 - one.back]
        if (parent === undefined || turn === undefined) return
        const at = epoch + one.at
        const fork = branch(names.session(one.id), parent, turn, { createdAt: at, updatedAt: at })
        return yield* create(fork, { perParent: one.limit }, what)
      }
      case "append": {
        const found = model.session(names.session(one.id)) ?? session(names.session(one.id))
        const turns = turnsOf(found, one.turns).map((turn) => ({ ...turn, content: `${counter++}` }))
        const after = { ...behind(found, turns), updatedAt: epoch + one.at }
        const moved = one.stale ? { ...after, revision: after.revision + (one.keep % 2 === 0 ? 1 : -1) } : after
        const kept = withCheckpoint(moved, one.checkpoint)
        const addition = { session: moved, turns, checkpoint: kept, keepCheckpoints: one.keep }
        return equal(yield* tag(store.append(addition)), model.append(addition), what)
      }
      case "save": {
        const found = model.session(names.session(one.id)) ?? session(names.session(one.id))
        const after = next(found, { status: one.status, updatedAt: epoch + one.at, variables: { n: counter++ } })
        const changed = one.stale ? { ...after, revision: after.revision + (one.keep % 2 === 0 ? 1 : -1) } : after
        return yield* save(
          {
            session: changed,
            checkpoint: withCheckpoint(changed, one.checkpoint),
            keepCheckpoints: one.keep,
            limits: { perUser: one.limit, perParent: one.limit }
          },
          what
        )
      }
      case "restore": {
        const found = model.session(names.session(one.id))
        const all = found === undefined ? [] : model.checkpoints(found.id)
        const target = all[one.nth % Math.max(1, all.length)]
        if (found === undefined || target === undefined) return
        const { status: _, head, ...state } = target.state
        return yield* save({ session: next(found, { ...state, head, checkpointId: target.id }) }, what)
      }
      case "delete": {
        const given = sessionId(names.session(one.id))
        return equal(yield* store.delete(given), model.delete(given), what)
      }
      case "deleteCheckpoint": {
        const all = model.checkpoints(names.session(one.id))
        const given = all[one.nth % Math.max(1, all.length)]?.id ?? checkpointId("nothing")
        return equal(yield* store.deleteCheckpoint(given), model.deleteCheckpoint(given), what)
      }
      case "expire": {
        // A store of several scenarios has sessions of others that are idle.
        const idle = model.idle(epoch + one.since)
        const others = yield* store.idle({ since: epoch + one.since, limit: 1000 })
        equal(
          others.filter((each) => each.id.startsWith(`${prefix} `)),
          idle,
          `${what}: idle`
        )
        if (others.length > idle.length) return
        const options = { since: epoch + one.since, at: epoch + 9, limit: one.limit }
        return equal(yield* store.expire(options), model.expire(options), what)
      }
      case "list": {
        const parentSessionId = one.parent === undefined ? undefined : sessionId(names.session(one.parent))
        const named = one.user === null ? "ann" : one.user
        const query = {
          // Those of nobody are of all scenarios.
          userId: named === undefined ? undefined : userId(names.user(named) ?? ""),
          statuses: one.statuses,
          parentSessionId,
          rootSessionId: one.root === undefined ? undefined : sessionId(names.session(one.root)),
          order: one.order
        }
        if (query.userId === undefined && parentSessionId === undefined && query.rootSessionId === undefined) return
        const all = model.list(query)
        const last = all[one.skip - 1]
        const after =
          last === undefined
            ? undefined
            : { at: one.order === "created" ? last.createdAt : last.updatedAt, id: last.id }
        const page = last === undefined ? all : all.slice(one.skip)
        return equal(yield* store.list({ ...query, limit: one.limit, after }), page.slice(0, one.limit), what)
      }
      case "window": {
        const all = model.turns()
        const head = all[one.nth % Math.max(1, all.length)]
        const since = one.since === undefined ? undefined : all[one.since % Math.max(1, all.length)]
        if (head === undefined) return
        const options = { limit: one.limit, since: since === undefined ? undefined : refOf(since) }
        return equal(yield* store.turns(refOf(head), options), model.window(refOf(head), options), what)
      }
    }
  })
  for (const [at, one] of [...beginning, ...operations].entries()) {
    const what = `operation ${at} (${one.do})`
    yield* perform(one, what)
    yield* agrees(store, model, names, what)
  }
  // The first sessions first, so that branches are what is left.
  for (const one of ["a", "A", "b", "c", "__proto__"]) {
    const given = sessionId(names.session(one))
    equal(yield* store.delete(given), model.delete(given), `deletion of ${one} at the end`)
    yield* agrees(store, model, names, `after the deletion of ${one}`)
  }
})

/** Two sessions to fork. */
const beginning: ReadonlyArray<Operation> = ["a", "b"].flatMap(
  (one): ReadonlyArray<Operation> => [
    { do: "create", id: one, user: "ann", at: 0, limit: 9 },
    { do: "append", id: one, turns: ["t1", "t2", "t3"], at: 0, stale: false, checkpoint: null, keep: 0 }
  ]
)

const turnIds = ["t1", "t2", "t3", "t4", "T1"]

const agrees = Effect.fnUntraced(function* (
  store: SessionStore.Service,
  model: SessionModel,
  names: Names,
  what: string
) {
  // All at once: nobody writes, and a store behind a socket answers several as soon as one.
  yield* Effect.forEach(
    ["a", "A", "b", "c", "__proto__"].map(names.session),
    Effect.fnUntraced(function* (name) {
      const [found, turns, checkpoints, merge] = yield* Effect.all(
        [
          store.load(sessionId(name)),
          Effect.forEach(turnIds, (turn) => store.turn(ref(name, turn)), { concurrency: "unbounded" }),
          store.checkpoints(sessionId(name), { limit: 100 }),
          store.lastMerge(sessionId(name), sessionId(names.session("b")))
        ],
        { concurrency: "unbounded" }
      )
      equal(Option.getOrUndefined(found), model.session(name), `${what}: the session ${name}`)
      const expected = model.turns().filter((turn) => turn.sessionId === name)
      equal(
        turns.flatMap(Option.toArray),
        turnIds.flatMap((turn) => expected.filter((each) => each.id === turn)),
        `${what}: turns of ${name}`
      )
      equal(idsOf(checkpoints), idsOf(model.checkpoints(name)), `${what}: checkpoints of ${name}`)
      equal(
        Option.getOrUndefined(merge),
        model.checkpoints(name).find((each) => each.kind === "merge"),
        `${what}: the last merge of ${name}`
      )
    }),
    { concurrency: "unbounded", discard: true }
  )
})

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("whatever is done to it, it is what a simple model is", function* (store) {
    const runtime = yield* Effect.runtime<never>()
    const seed = yield* Random.nextIntBetween(0, 2 ** 31 - 1)
    let scenarios = 0
    // Its failure says the seed and the shortest sequence of operations that fails.
    yield* Effect.promise((signal) =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(operation, { minLength: 20, maxLength: 50, size: "max" }),
          (operations) =>
            Runtime.runPromise(runtime)(scenario(store, `scenario ${scenarios++}`, operations), { signal })
        ),
        { seed, numRuns: 12 }
      )
    )
  })
]
