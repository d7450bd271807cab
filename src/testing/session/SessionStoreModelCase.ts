/**
 * Cases: a store agrees with a simple model after each of many random operations.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import type { Session, SessionCheckpoint } from "../../session/turn/Session.js"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import { equal } from "../suite/SuiteAssert.js"
import {
  behind,
  branch,
  checkpoint,
  checkpointId,
  epoch,
  next,
  ref,
  refOf,
  session,
  sessionId,
  turnsOf,
  userId
} from "./SessionFixtures.js"
import { SessionModel } from "./SessionModel.js"
import { type Operation, operation } from "./SessionOperations.js"
import { type Case, idsOf, make } from "./SessionStoreCase.js"

const tag = <A>(effect: Effect.Effect<A, { readonly _tag: string }>): Effect.Effect<A | string> =>
  Effect.match(effect, { onFailure: (error) => error._tag, onSuccess: (value) => value })

/** Names that are unique to one scenario. */
interface Names {
  readonly session: (id: string) => string
  readonly user: (id: string | null) => string | undefined
}

/** A store, the model that it must agree with, and the names of one scenario. */
interface Subject {
  readonly store: SessionStore.Service
  readonly model: SessionModel
  readonly names: Names
  readonly prefix: string
  /** Numbers that are unique within the scenario. */
  readonly nextNumber: () => number
}

const makeSubject = (store: SessionStore.Service, prefix: string): Subject => {
  let counter = 0
  return {
    store,
    model: new SessionModel(),
    prefix,
    names: {
      session: (one) => `${prefix} ${one}`,
      user: (one) => (one === null ? undefined : `${prefix} ${one}`)
    },
    nextNumber: () => counter++
  }
}

const makeCheckpoint = (
  { names, nextNumber, prefix }: Subject,
  one: Session,
  kind: SessionCheckpoint["kind"] | null
): SessionCheckpoint | undefined =>
  kind === null
    ? undefined
    : checkpoint(`${prefix} c${nextNumber()}`, one, {
        kind,
        ...(kind === "merge"
          ? { merge: { sessionId: sessionId(names.session("b")), strategy: "s", state: checkpoint("x", one).state } }
          : undefined)
      })

/** The session, or one that does not exist. */
const findSession = ({ model, names }: Subject, id: string): Session =>
  model.session(names.session(id)) ?? session(names.session(id))

const moveRevision = (one: Session, keep: number): Session => ({
  ...one,
  revision: one.revision + (keep % 2 === 0 ? 1 : -1)
})

const create = Effect.fnUntraced(function* (
  { model, store }: Subject,
  one: Session,
  limits: SessionStore.Limits,
  what: string
) {
  equal(yield* tag(store.create({ session: one, limits })), model.create(one, limits), what)
})

const save = Effect.fnUntraced(function* ({ model, store }: Subject, change: SessionStore.Change, what: string) {
  equal(yield* tag(store.save(change)), model.save(change), what)
})

type Perform<What extends Operation["do"]> = (
  subject: Subject,
  one: Extract<Operation, { readonly do: What }>,
  what: string
) => Effect.Effect<void, SessionStorageError>

const performers: { readonly [What in Operation["do"]]: Perform<What> } = {
  create: (subject, one, what) =>
    Effect.gen(function* () {
      const { names, nextNumber } = subject
      const at = epoch + one.at
      const given = { userId: names.user(one.user), createdAt: at, updatedAt: at, metadata: { n: nextNumber() } }
      return yield* create(subject, session(names.session(one.id), given), { perUser: one.limit }, what)
    }),
  fork: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, names } = subject
      const parent = model.session(names.session(one.from))
      const way = parent?.head === undefined ? [] : model.way(parent.head)
      const turn = way[way.length - 1 - one.back]
      if (parent === undefined || turn === undefined) return
      const at = epoch + one.at
      const fork = branch(names.session(one.id), parent, turn, { createdAt: at, updatedAt: at })
      return yield* create(subject, fork, { perParent: one.limit }, what)
    }),
  append: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, nextNumber, store } = subject
      const found = findSession(subject, one.id)
      const turns = turnsOf(found, one.turns).map((turn) => ({ ...turn, content: `${nextNumber()}` }))
      const after = { ...behind(found, turns), updatedAt: epoch + one.at }
      const moved = one.stale ? moveRevision(after, one.keep) : after
      const kept = makeCheckpoint(subject, moved, one.checkpoint)
      const addition = { session: moved, turns, checkpoint: kept, keepCheckpoints: one.keep }
      return equal(yield* tag(store.append(addition)), model.append(addition), what)
    }),
  save: (subject, one, what) =>
    Effect.gen(function* () {
      const { nextNumber } = subject
      const found = findSession(subject, one.id)
      const after = next(found, { status: one.status, updatedAt: epoch + one.at, variables: { n: nextNumber() } })
      const changed = one.stale ? moveRevision(after, one.keep) : after
      return yield* save(
        subject,
        {
          session: changed,
          checkpoint: makeCheckpoint(subject, changed, one.checkpoint),
          keepCheckpoints: one.keep,
          limits: { perUser: one.limit, perParent: one.limit }
        },
        what
      )
    }),
  restore: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, names } = subject
      const found = model.session(names.session(one.id))
      const all = found === undefined ? [] : model.checkpoints(found.id)
      const target = all[one.nth % Math.max(1, all.length)]
      if (found === undefined || target === undefined) return
      const { status: _, head, ...state } = target.state
      return yield* save(subject, { session: next(found, { ...state, head, checkpointId: target.id }) }, what)
    }),
  delete: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, names, store } = subject
      const given = sessionId(names.session(one.id))
      return equal(yield* store.delete(given), model.delete(given), what)
    }),
  deleteCheckpoint: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, names, store } = subject
      const all = model.checkpoints(names.session(one.id))
      const given = all[one.nth % Math.max(1, all.length)]?.id ?? checkpointId("nothing")
      return equal(yield* store.deleteCheckpoint(given), model.deleteCheckpoint(given), what)
    }),
  expire: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, prefix, store } = subject
      // The store may have idle sessions of other scenarios.
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
    }),
  list: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, names, store } = subject
      const parentSessionId = one.parent === undefined ? undefined : sessionId(names.session(one.parent))
      const named = one.user === null ? "ann" : one.user
      const query = {
        // Sessions without a user belong to all scenarios.
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
        last === undefined ? undefined : { at: one.order === "created" ? last.createdAt : last.updatedAt, id: last.id }
      const page = last === undefined ? all : all.slice(one.skip)
      return equal(yield* store.list({ ...query, limit: one.limit, after }), page.slice(0, one.limit), what)
    }),
  window: (subject, one, what) =>
    Effect.gen(function* () {
      const { model, store } = subject
      const all = model.turns()
      const head = all[one.nth % Math.max(1, all.length)]
      const since = one.since === undefined ? undefined : all[one.since % Math.max(1, all.length)]
      if (head === undefined) return
      const options = { limit: one.limit, since: since === undefined ? undefined : refOf(since) }
      return equal(yield* store.turns(refOf(head), options), model.window(refOf(head), options), what)
    })
}

const perform = (subject: Subject, one: Operation, what: string): Effect.Effect<void, SessionStorageError> =>
  (performers[one.do] as Perform<Operation["do"]>)(subject, one, what)

const scenario = Effect.fnUntraced(function* (
  store: SessionStore.Service,
  prefix: string,
  operations: ReadonlyArray<Operation>
) {
  const subject = makeSubject(store, prefix)
  const { model, names } = subject
  for (const [at, one] of [...beginning, ...operations].entries()) {
    const what = `operation ${at} (${one.do})`
    yield* perform(subject, one, what)
    yield* agrees(subject, namesToCheck(one, at), what)
  }
  // Deletes the first sessions first, so that only branches remain.
  yield* agrees(subject, sessionNames, "before the deletions at the end")
  for (const one of sessionNames) {
    const given = sessionId(names.session(one))
    equal(yield* store.delete(given), model.delete(given), `deletion of ${one} at the end`)
    yield* agrees(subject, sessionNames, `after the deletion of ${one}`)
  }
})

/** Two sessions to fork. */
const beginning: ReadonlyArray<Operation> = ["a", "b"].flatMap(
  (one): ReadonlyArray<Operation> => [
    { do: "create", id: one, user: "ann", at: 0, limit: 9 },
    { do: "append", id: one, turns: ["t1", "t2", "t3"], at: 0, stale: false, checkpoint: null, keep: 0 }
  ]
)

const sessionNames = ["a", "A", "b", "c", "__proto__"]
const turnIds = ["t1", "t2", "t3", "t4", "T1"]

/**
 * The sessions to read after an operation: all after one that may change several, none after one that reads. After any
 * other, its own and one more in rotation: damage to the remaining ones is found in their turn or at the end.
 */
const namesToCheck = (one: Operation, at: number): ReadonlyArray<string> => {
  if (one.do === "list" || one.do === "window") return []
  if (one.do === "delete" || one.do === "expire") return sessionNames
  return [...new Set([one.id, sessionNames[at % sessionNames.length] as string])]
}

const agrees = Effect.fnUntraced(function* (
  { model, names, store }: Subject,
  checked: ReadonlyArray<string>,
  what: string
) {
  // Concurrently: nothing is written, and a store on a server answers several requests as fast as one.
  yield* Effect.forEach(
    checked.map(names.session),
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
  make("agrees with a simple model after any sequence of operations", function* (store) {
    const runtime = yield* Effect.runtime<never>()
    const seed = yield* Random.nextIntBetween(0, 2 ** 31 - 1)
    let scenarios = 0
    // A failure names the seed and the shortest failing sequence of operations.
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
