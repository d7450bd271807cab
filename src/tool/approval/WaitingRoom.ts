/**
 * The waiting room of approvals: stores requests, wakes the runs that wait for them, and settles, expires and withdraws
 * them.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import { count } from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Step from "../../observability/Step.js"
import { ApprovalError, type ApprovalErrorReason } from "./ApprovalError.js"
import * as ApprovalGate from "./ApprovalGate.js"
import * as ApprovalStore from "./ApprovalStore.js"
import * as RememberedApproval from "./RememberedApproval.js"

/** A change of a request, as `PendingApprovals.changes` publishes it. */
export interface Change {
  readonly _tag: "Requested" | "Settled" | "Withdrawn"
  readonly record: ApprovalStore.ApprovalRecord
}

/** The runs that wait for one request. They are woken together. */
interface Waiter {
  readonly decision: Deferred.Deferred<ApprovalGate.ApprovalDecision>
  /** Done when the request is stored, or will not be. */
  readonly stored: Deferred.Deferred<void>
  /** Checks answers to a question by the tool's own schema. */
  readonly check: ApprovalGate.AnswerCheck | undefined
  runs: number
}

export interface Options {
  readonly expiresAfter?: Duration.DurationInput | undefined
  readonly keepFor?: Duration.DurationInput | undefined
  readonly maxPending?: number | undefined
}

/** The state of one waiting room. */
export interface WaitingRoom {
  readonly store: ApprovalStore.Service
  readonly pubsub: PubSub.PubSub<Change>
  readonly waiters: Map<string, Waiter>
  /** Milliseconds. */
  readonly expiresAfter: number
  /** Milliseconds. */
  readonly keepFor: number
  readonly maxPending: number
}

const CHANGES = 1024
const BATCH = 100
/** Milliseconds that the end of an interrupted run waits for its request to be withdrawn. */
const PATIENCE = 5000

export const make = (
  options: Options | undefined
): Effect.Effect<WaitingRoom, never, ApprovalStore.ApprovalStore | Scope.Scope> =>
  Effect.gen(function* () {
    return {
      store: yield* ApprovalStore.ApprovalStore,
      pubsub: yield* Effect.acquireRelease(PubSub.sliding<Change>(CHANGES), PubSub.shutdown),
      waiters: new Map(),
      expiresAfter: Duration.toMillis(options?.expiresAfter ?? Duration.infinity),
      keepFor: Duration.toMillis(options?.keepFor ?? Duration.days(1)),
      maxPending: count(options?.maxPending, 10_000, 0)
    }
  })

/** An error about one request. */
export const requestError = (id: string, reason: ApprovalErrorReason, message: string): ApprovalError =>
  new ApprovalError({ reason, requestId: id.slice(0, 256), message })

/** How a request is settled that nobody decided in time. */
export const expiry = (now: number): ApprovalStore.Settlement => ({
  decision: ApprovalGate.cancel({ reason: "The approval request expired undecided" }),
  settledBy: "expiry",
  at: now
})

const unreachable = ApprovalGate.cancel({ reason: "The approval could not be requested: its storage failed" })
const withdrawn = ApprovalGate.cancel({ reason: "The approval request was withdrawn" })
const otherCall = ApprovalGate.cancel({ reason: "An approval with this id was requested for another call" })

const logged = (what: string) => (error: ApprovalError) =>
  Effect.logError(what).pipe(
    Effect.annotateLogs({ module: "PendingApprovals", reason: error.reason, message: error.message })
  )

const publish = (
  { pubsub }: WaitingRoom,
  _tag: Change["_tag"],
  record: ApprovalStore.ApprovalRecord
): Effect.Effect<void> => Effect.asVoid(PubSub.publish(pubsub, { _tag, record }))

const wake = ({ waiters }: WaitingRoom, id: string, decision: ApprovalGate.ApprovalDecision): Effect.Effect<void> =>
  Effect.suspend(() => {
    const waiter = waiters.get(id)
    return waiter === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(waiter.decision, decision))
  })

const prune = ({ keepFor, store }: WaitingRoom, now: number): Effect.Effect<void> =>
  Number.isFinite(keepFor)
    ? Effect.catchAll(store.prune(now - keepFor), logged("Old approvals were not dropped"))
    : Effect.void

/** Settles a request and wakes its runs. `before` runs after the request is settled and before its runs wake. */
export const settle = (
  room: WaitingRoom,
  id: string,
  settlement: ApprovalStore.Settlement,
  before: Effect.Effect<void, ApprovalError> = Effect.void
) =>
  Effect.uninterruptible(
    Effect.flatMap(room.store.settle(id, settlement), (result) => {
      if (Option.isNone(result) || !result.value.settled) return Effect.succeed(result)
      const { record } = result.value
      return Effect.exit(before).pipe(
        Effect.tap(() => wake(room, id, settlement.decision)),
        Effect.tap(() => publish(room, "Settled", record)),
        Effect.tap(() => prune(room, settlement.at)),
        Effect.flatMap((exit) => Exit.as(exit, result))
      )
    })
  )

const settleExpired = (room: WaitingRoom, id: string): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const settlement = expiry(now)
    return settle(room, id, settlement).pipe(
      Effect.map(
        Option.match({
          onNone: () => settlement.decision,
          onSome: ({ record }) => record.settlement?.decision ?? settlement.decision
        })
      ),
      Effect.catchAll((error) => Effect.as(logged("An expired approval was not stored")(error), settlement.decision))
    )
  })

/** Settles every request whose time is up. Returns how many. */
export const expire = (room: WaitingRoom): Effect.Effect<number, ApprovalError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.gen(function* () {
      let total = 0
      while (true) {
        const batch = yield* room.store.overdue(now, BATCH)
        let done = 0
        for (const { request } of batch) {
          const result = yield* settle(room, request.id, expiry(now))
          if (Option.isSome(result) && result.value.settled) done++
        }
        total += done
        if (done === 0 || batch.length < BATCH) return total
      }
    })
  )

/** Waits until somebody decides, or the time is up. */
const awaitDecision = (
  room: WaitingRoom,
  { request }: ApprovalStore.ApprovalRecord,
  waiter: Waiter
): Effect.Effect<ApprovalGate.ApprovalDecision> => {
  const { expiresAt, id } = request
  if (expiresAt === undefined) return Deferred.await(waiter.decision)
  return Effect.flatMap(Clock.currentTimeMillis, (now) =>
    expiresAt <= now
      ? settleExpired(room, id)
      : Effect.catchAll(
          Deadline.run(() => Deferred.await(waiter.decision), {
            whole: expiresAt - now,
            onTimeout: () => "expired" as const
          }),
          () => settleExpired(room, id)
        )
  )
}

const withdraw = (room: WaitingRoom, id: string): Effect.Effect<void> =>
  Deadline.run(() => room.store.withdraw(id), {
    whole: PATIENCE,
    onTimeout: () => requestError(id, "storage", `The storage did not answer within ${PATIENCE} ms`)
  }).pipe(
    Effect.flatMap(Option.match({ onNone: () => Effect.void, onSome: (record) => publish(room, "Withdrawn", record) })),
    Effect.catchAll(logged("The approval of an interrupted run was not withdrawn"))
  )

const enter = (
  { waiters }: WaitingRoom,
  id: string,
  check: ApprovalGate.AnswerCheck | undefined
): Effect.Effect<Waiter> =>
  Effect.suspend(() => {
    const known = waiters.get(id)
    if (known !== undefined) {
      known.runs++
      return Effect.succeed(known)
    }
    return Effect.fiberIdWith((fiberId) => {
      const decision = Deferred.unsafeMake<ApprovalGate.ApprovalDecision>(fiberId)
      const waiter: Waiter = { decision, stored: Deferred.unsafeMake(fiberId), check, runs: 1 }
      waiters.set(id, waiter)
      return Effect.succeed(waiter)
    })
  })

const leave = (room: WaitingRoom, id: string, waiter: Waiter, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (--waiter.runs > 0) return Effect.void
    room.waiters.delete(id)
    if (!Exit.isInterrupted(exit)) return Effect.void
    // A suspended durable run asks again when it resumes.
    return Effect.flatMap(Step.Step, (step) => (step.isSuspended() ? Effect.void : withdraw(room, id)))
  })

const withExpiry = (
  { expiresAfter }: WaitingRoom,
  request: ApprovalGate.ApprovalRequest,
  now: number
): ApprovalGate.ApprovalRequest => {
  const until = Math.min(now + expiresAfter, request.expiresAt ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(until) ? { ...request, expiresAt: until } : request
}

/** Stores the request, with the decision that is remembered for it, unless the store already has it. */
const storeRequest = (room: WaitingRoom, request: ApprovalGate.ApprovalRequest) =>
  Effect.gen(function* () {
    const { store } = room
    const known = yield* store.get(request.id)
    if (Option.isSome(known)) return { record: known.value, added: false }
    const now = yield* Clock.currentTimeMillis
    // A decision about calls of the tool is no answer to its question.
    const recalled =
      request.question === undefined ? yield* store.recall(RememberedApproval.keys(request)) : Option.none()
    const record: ApprovalStore.ApprovalRecord = {
      request: withExpiry(room, request, now),
      requestedAt: now,
      ...Option.match(recalled, {
        onNone: () => ({}),
        onSome: ({ by, decision }) => ({
          settlement: { decision, settledBy: "remembered" as const, at: now, ...(by === undefined ? {} : { by }) }
        })
      })
    }
    const result = yield* store.add(record)
    if (result.added) {
      yield* publish(room, record.settlement === undefined ? "Requested" : "Settled", record)
      if (record.settlement !== undefined) yield* prune(room, now)
    }
    return result
  })

const decisionOf = (
  room: WaitingRoom,
  asked: ApprovalGate.ApprovalRequest,
  waiter: Waiter
): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.matchEffect(Effect.ensuring(storeRequest(room, asked), Deferred.succeed(waiter.stored, undefined)), {
    onFailure: (error) => Effect.as(logged("An approval could not be requested")(error), unreachable),
    onSuccess: ({ added, record }) => {
      if (!added && !RememberedApproval.isSameCall(record.request, asked)) return Effect.succeed(otherCall)
      return record.settlement === undefined
        ? awaitDecision(room, record, waiter)
        : Effect.succeed(record.settlement.decision)
    }
  })

/** Asks for approval, or a question whose answers are checked, and waits for the decision. */
export const request = (
  room: WaitingRoom,
  asked: ApprovalGate.ApprovalRequest,
  check?: ApprovalGate.AnswerCheck
): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.suspend(() =>
    room.waiters.size >= room.maxPending && !room.waiters.has(asked.id)
      ? Effect.succeed(ApprovalGate.cancel({ reason: `More than ${room.maxPending} approval requests are waiting` }))
      : Effect.acquireUseRelease(
          enter(room, asked.id, check),
          (waiter) => decisionOf(room, asked, waiter),
          (waiter, exit) => leave(room, asked.id, waiter, exit)
        )
  )

/**
 * Keeps a request and returns its decision, if it has one. A storage that fails is asked again when the request is: the
 * run sleeps meanwhile.
 */
export const pending = (
  room: WaitingRoom,
  asked: ApprovalGate.ApprovalRequest
): Effect.Effect<Option.Option<ApprovalGate.ApprovalDecision>> =>
  Effect.matchEffect(storeRequest(room, asked), {
    onFailure: (error) => Effect.as(logged("An approval could not be requested")(error), Option.none()),
    onSuccess: ({ added, record }) => {
      if (!added && !RememberedApproval.isSameCall(record.request, asked)) return Effect.succeedSome(otherCall)
      if (record.settlement !== undefined) return Effect.succeedSome(record.settlement.decision)
      const { expiresAt } = record.request
      return Effect.flatMap(Clock.currentTimeMillis, (now) =>
        expiresAt !== undefined && expiresAt <= now
          ? Effect.asSome(settleExpired(room, record.request.id))
          : Effect.succeedNone
      )
    }
  })

/** The side of the room where runs ask. */
export const gate = (room: WaitingRoom): ApprovalGate.Service => ({
  request: (asked) => request(room, asked),
  elicit: (asked, check) => request(room, asked, check),
  pending: (asked) => pending(room, asked)
})

/** Waits until a request that is being asked for here is stored. */
export const awaitStored = ({ waiters }: WaitingRoom, id: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const waiter = waiters.get(id)
    return waiter === undefined ? Effect.void : Deferred.await(waiter.stored)
  })

/** Wakes the runs whose requests were settled or withdrawn in the store by another process. */
export const pollStore = (room: WaitingRoom): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      Array.from(room.waiters.keys()),
      (id) =>
        Effect.flatMap(
          room.store.get(id),
          Option.match({
            onNone: () => wake(room, id, withdrawn),
            onSome: ({ settlement }) => (settlement === undefined ? Effect.void : wake(room, id, settlement.decision))
          })
        ),
      { discard: true }
    )
  ).pipe(Effect.catchAll(logged("Decisions of other processes were not read")))
