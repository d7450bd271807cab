/**
 * Requests for approval that wait until somebody answers them from outside: a page, a chat, a colleague, days later.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Step from "../../observability/Step.js"
import { ApprovalError, type ApprovalErrorReason } from "./ApprovalError.js"
import * as ApprovalGate from "./ApprovalGate.js"
import * as ApprovalStore from "./ApprovalStore.js"
import * as RememberedApproval from "./RememberedApproval.js"

/**
 * What happened to a request: it came to wait, it was settled, or its run was interrupted and nobody need answer it any
 * more.
 *
 * @since 0.1.0
 * @category models
 */
export type Change =
  | { readonly _tag: "Requested"; readonly record: ApprovalStore.ApprovalRecord }
  | { readonly _tag: "Settled"; readonly record: ApprovalStore.ApprovalRecord }
  | { readonly _tag: "Withdrawn"; readonly record: ApprovalStore.ApprovalRecord }

/**
 * Who asks. Without `userId` only what belongs to nobody is found, unless the caller acts for the system
 * (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: string | undefined
}

/**
 * Which waiting requests of those that the caller may see.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter extends Access, Omit<ApprovalStore.Filter, "userId"> {}

/**
 * Which remembered decisions of those that the caller may see.
 *
 * @since 0.1.0
 * @category models
 */
export interface RememberedFilter extends Access, Omit<ApprovalStore.RememberedFilter, "userId"> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface DecideOptions extends Access {
  /**
   * Answers later requests of the same agent for the same tool with equal arguments as well: those of the run at the
   * top, of the session, of the user, or all (`tool`: for the system alone). Requests that wait already are not
   * touched.
   */
  readonly remember?: ApprovalStore.Scope | undefined
  /**
   * With `remember`: `"any"` answers later requests whatever their arguments; default `"same"`, those with equal
   * arguments. An approval that changes the arguments is always remembered for the same ones.
   */
  readonly arguments?: "same" | "any" | undefined
  /** Who decides; kept with the decision. */
  readonly by?: string | undefined
}

/**
 * With a user, everything here is about requests of that user; without one, about those of nobody, or of anybody for
 * the system (`SystemAccess.grant`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The requests that wait, the oldest first, at most 100 unless the filter says otherwise. */
  readonly list: (
    filter?: Filter | undefined
  ) => Effect.Effect<ReadonlyArray<ApprovalStore.ApprovalRecord>, ApprovalError>
  /** A request that waits, or was settled lately. */
  readonly get: (
    id: string,
    access?: Access | undefined
  ) => Effect.Effect<Option.Option<ApprovalStore.ApprovalRecord>, ApprovalError>
  /**
   * Answers a request, and its run goes on. Fails with the reason `unknown`, `decided` or `expired` when it does not
   * wait (any more), with `scope` when there is nothing to remember the decision for, or the caller may not (`tool`),
   * and decides nothing then. With `storage` after the decision itself was stored, it holds and is not remembered.
   */
  readonly decide: (
    id: string,
    decision: ApprovalGate.ApprovalDecision,
    options?: DecideOptions | undefined
  ) => Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError>
  /**
   * What waits already, then what happens here. A reader who is more than 1,024 changes behind misses the oldest of
   * them.
   */
  readonly changes: (access?: Access | undefined) => Stream.Stream<Change, ApprovalError>
  /** Denies what was to be decided by now, also what no run waits for any more; gives how many. */
  readonly expire: Effect.Effect<number, ApprovalError>
  /** The decisions that are remembered, the oldest first. */
  readonly remembered: (
    filter?: RememberedFilter | undefined
  ) => Effect.Effect<ReadonlyArray<ApprovalStore.Remembered>, ApprovalError>
  /** Forgets decisions: later requests are asked for again. Gives how many. */
  readonly forget: (filter?: RememberedFilter | undefined) => Effect.Effect<number, ApprovalError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PendingApprovals extends Context.Tag("effect-lexigram/tool/PendingApprovals")<
  PendingApprovals,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long a request waits before it is denied; default for ever. A request that says itself until when it waits does
   * no longer.
   */
  readonly expiresAfter?: Duration.DurationInput | undefined
  /** How long a settled request is kept, so that it is known when it is asked for again; default 1 day. */
  readonly keepFor?: Duration.DurationInput | undefined
  /** How many requests may wait here at once; default 10,000. One more is denied. */
  readonly maxPending?: number | undefined
  /** How often to look for decisions that other processes wrote into the same store; default never. */
  readonly poll?: Duration.DurationInput | undefined
}

/** Runs that wait for one request, woken together. */
interface Waiter {
  readonly decision: Deferred.Deferred<ApprovalGate.ApprovalDecision>
  /** Done when the request is in the store, or will not be. */
  readonly stored: Deferred.Deferred<void>
  runs: number
}

const CHANGES = 1024
const BATCH = 100
/** How long the end of an interrupted run waits for its request to be taken back. */
const PATIENCE = 5000

const lacks = (id: string, reason: ApprovalErrorReason, message: string): ApprovalError =>
  new ApprovalError({ reason, requestId: id.slice(0, 256), message })

const unknown = (id: string): ApprovalError =>
  lacks(id, "unknown", "No request of this id waits: it may have been withdrawn")

const settledAlready = (id: string, settlement: ApprovalStore.Settlement): ApprovalError =>
  settlement.settledBy === "expiry"
    ? lacks(id, "expired", "The request was not decided in time and is denied")
    : lacks(id, "decided", "The request is decided already")

const forEverybody = (id: string): ApprovalError =>
  new ApprovalError({
    reason: "scope",
    requestId: id.slice(0, 256),
    message: "Only the system remembers a decision for everybody who calls the tool",
    hint: 'Remember it for the "user", the "session" or the "run", or decide in SystemAccess.grant'
  })

/** Whose: `undefined` is anybody. */
const ownerFor = (userId: string | undefined): Effect.Effect<string | null | undefined> =>
  userId === undefined
    ? Effect.map(SystemAccess.isGranted, (granted) => (granted ? undefined : null))
    : Effect.succeed(userId)

const isOverdue = ({ request }: ApprovalStore.ApprovalRecord, now: number): boolean =>
  request.expiresAt !== undefined && request.expiresAt <= now

const expiry = (now: number): ApprovalStore.Settlement => ({
  decision: ApprovalGate.deny({ reason: "Nobody decided in time: the request for approval expired" }),
  settledBy: "expiry",
  at: now
})

const unreachable = ApprovalGate.deny({ reason: "The approval could not be asked for: its storage failed" })
const withdrawn = ApprovalGate.deny({ reason: "The request for approval was withdrawn" })
const otherCall = ApprovalGate.deny({ reason: "An approval of this id was asked for another call" })

const logged = (what: string) => (error: ApprovalError) =>
  Effect.logError(what).pipe(
    Effect.annotateLogs({ module: "PendingApprovals", reason: error.reason, message: error.message })
  )

/**
 * Both sides of the waiting room: `gate` is where runs ask, `pending` where the answers come from.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options
): Effect.Effect<
  { readonly gate: ApprovalGate.Service; readonly pending: Service },
  never,
  ApprovalStore.ApprovalStore | Scope.Scope
> =>
  Effect.gen(function* () {
    const store = yield* ApprovalStore.ApprovalStore
    const pubsub = yield* Effect.acquireRelease(PubSub.sliding<Change>(CHANGES), PubSub.shutdown)
    const expiresAfter = Duration.toMillis(options?.expiresAfter ?? Duration.infinity)
    const keepFor = Duration.toMillis(options?.keepFor ?? Duration.days(1))
    const maxPending = count(options?.maxPending, 10_000, 0)
    const waiters = new Map<string, Waiter>()

    const tell = (_tag: Change["_tag"], record: ApprovalStore.ApprovalRecord): Effect.Effect<void> =>
      Effect.asVoid(PubSub.publish(pubsub, { _tag, record }))

    const wake = (id: string, decision: ApprovalGate.ApprovalDecision): Effect.Effect<void> =>
      Effect.suspend(() => {
        const waiter = waiters.get(id)
        return waiter === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(waiter.decision, decision))
      })

    const tidy = (now: number): Effect.Effect<void> =>
      Number.isFinite(keepFor)
        ? Effect.catchAll(store.prune(now - keepFor), logged("Old approvals were not dropped"))
        : Effect.void

    /** Settles a request and lets its runs go on. `before` runs once it is settled, and while they still wait. */
    const settle = (
      id: string,
      settlement: ApprovalStore.Settlement,
      before: Effect.Effect<void, ApprovalError> = Effect.void
    ) =>
      Effect.uninterruptible(
        Effect.flatMap(store.settle(id, settlement), (result) => {
          if (Option.isNone(result) || !result.value.settled) return Effect.succeed(result)
          const { record } = result.value
          return Effect.exit(before).pipe(
            Effect.tap(() => wake(id, settlement.decision)),
            Effect.tap(() => tell("Settled", record)),
            Effect.tap(() => tidy(settlement.at)),
            Effect.flatMap((exit) => Exit.as(exit, result))
          )
        })
      )

    const expired = (id: string): Effect.Effect<ApprovalGate.ApprovalDecision> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const settlement = expiry(now)
        return settle(id, settlement).pipe(
          Effect.map(
            Option.match({
              onNone: () => settlement.decision,
              onSome: ({ record }) => record.settlement?.decision ?? settlement.decision
            })
          ),
          Effect.catchAll((error) =>
            Effect.as(logged("An expired approval was not stored")(error), settlement.decision)
          )
        )
      })

    const expire = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.gen(function* () {
        let total = 0
        while (true) {
          const batch = yield* store.overdue(now, BATCH)
          let done = 0
          for (const { request } of batch) {
            const result = yield* settle(request.id, expiry(now))
            if (Option.isSome(result) && result.value.settled) done++
          }
          total += done
          if (done === 0 || batch.length < BATCH) return total
        }
      })
    )

    /** Until somebody decides, or time is up. */
    const awaited = (
      { request }: ApprovalStore.ApprovalRecord,
      waiter: Waiter
    ): Effect.Effect<ApprovalGate.ApprovalDecision> => {
      const { expiresAt, id } = request
      if (expiresAt === undefined) return Deferred.await(waiter.decision)
      return Effect.flatMap(Clock.currentTimeMillis, (now) =>
        expiresAt <= now
          ? expired(id)
          : Effect.catchAll(
              Deadline.run(() => Deferred.await(waiter.decision), {
                whole: expiresAt - now,
                onTimeout: () => "expired" as const
              }),
              () => expired(id)
            )
      )
    }

    const withdraw = (id: string): Effect.Effect<void> =>
      Deadline.run(() => store.withdraw(id), {
        whole: PATIENCE,
        onTimeout: () => lacks(id, "storage", `The storage did not answer within ${PATIENCE} ms`)
      }).pipe(
        Effect.flatMap(Option.match({ onNone: () => Effect.void, onSome: (record) => tell("Withdrawn", record) })),
        Effect.catchAll(logged("The approval of an interrupted run was not withdrawn"))
      )

    const enter = (id: string): Effect.Effect<Waiter> =>
      Effect.suspend(() => {
        const known = waiters.get(id)
        if (known !== undefined) {
          known.runs++
          return Effect.succeed(known)
        }
        return Effect.fiberIdWith((fiberId) => {
          const waiter: Waiter = {
            decision: Deferred.unsafeMake(fiberId),
            stored: Deferred.unsafeMake(fiberId),
            runs: 1
          }
          waiters.set(id, waiter)
          return Effect.succeed(waiter)
        })
      })

    const leave = (id: string, waiter: Waiter, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (--waiter.runs > 0) return Effect.void
        waiters.delete(id)
        if (!Exit.isInterrupted(exit)) return Effect.void
        // A durable run that sleeps asks again when it wakes up.
        return Effect.flatMap(Step.Step, (step) => (step.isSuspended() ? Effect.void : withdraw(id)))
      })

    const stamped = (request: ApprovalGate.ApprovalRequest, now: number): ApprovalGate.ApprovalRequest => {
      const until = Math.min(now + expiresAfter, request.expiresAt ?? Number.POSITIVE_INFINITY)
      return Number.isFinite(until) ? { ...request, expiresAt: until } : request
    }

    /** The request as it stands in the store, with the decision that is remembered for it, if one is. */
    const stored = (request: ApprovalGate.ApprovalRequest) =>
      Effect.gen(function* () {
        const known = yield* store.get(request.id)
        if (Option.isSome(known)) return { record: known.value, added: false }
        const now = yield* Clock.currentTimeMillis
        const recalled = yield* store.recall(RememberedApproval.keys(request))
        const record: ApprovalStore.ApprovalRecord = {
          request: stamped(request, now),
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
          yield* tell(record.settlement === undefined ? "Requested" : "Settled", record)
          if (record.settlement !== undefined) yield* tidy(now)
        }
        return result
      })

    const request: ApprovalGate.Service["request"] = (asked) =>
      Effect.suspend(() => {
        if (waiters.size >= maxPending && !waiters.has(asked.id)) {
          return Effect.succeed(
            ApprovalGate.deny({ reason: `More than ${maxPending} requests for approval wait already` })
          )
        }
        return Effect.acquireUseRelease(
          enter(asked.id),
          (waiter) =>
            Effect.matchEffect(Effect.ensuring(stored(asked), Deferred.succeed(waiter.stored, undefined)), {
              onFailure: (error) => Effect.as(logged("An approval was not asked for")(error), unreachable),
              onSuccess: ({ added, record }) => {
                if (!added && !RememberedApproval.isSameCall(record.request, asked)) return Effect.succeed(otherCall)
                return record.settlement === undefined
                  ? awaited(record, waiter)
                  : Effect.succeed(record.settlement.decision)
              }
            }),
          (waiter, exit) => leave(asked.id, waiter, exit)
        )
      })

    const decide: Service["decide"] = (id, decision, decideOptions) =>
      Effect.gen(function* () {
        // Whoever hears of a request before it is stored may answer it all the same.
        const waiter = waiters.get(id)
        if (waiter !== undefined) yield* Deferred.await(waiter.stored)
        const now = yield* Clock.currentTimeMillis
        const found = yield* store.get(id)
        if (Option.isNone(found)) return yield* unknown(id)
        const record = found.value
        const { by, remember, userId } = decideOptions ?? {}
        // Whether there is one of somebody else is nobody's business.
        if (!(yield* SystemAccess.permits(userId, record.request.userId))) return yield* unknown(id)
        if (record.settlement !== undefined) return yield* settledAlready(id, record.settlement)
        if (isOverdue(record, now)) {
          const settlement = expiry(now)
          yield* settle(id, settlement)
          return yield* settledAlready(id, settlement)
        }
        if (remember === "tool" && (userId !== undefined || !(yield* SystemAccess.isGranted))) {
          return yield* forEverybody(id)
        }
        const who = by === undefined ? {} : { by }
        const kept =
          remember === undefined
            ? undefined
            : RememberedApproval.make(record.request, decision, {
                scope: remember,
                exact: decideOptions?.arguments !== "any",
                at: now,
                ...who
              })
        if (kept === null)
          return yield* lacks(id, "scope", `The request has no ${remember} to remember the decision for`)
        const result = yield* settle(
          id,
          { decision, settledBy: "decision", at: now, ...who },
          kept === undefined ? Effect.void : store.remember(kept)
        )
        if (Option.isNone(result)) return yield* unknown(id)
        const settled = result.value
        if (!settled.settled && settled.record.settlement !== undefined) {
          return yield* settledAlready(id, settled.record.settlement)
        }
        return settled.record
      })

    const changes: Service["changes"] = (access) =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          const owner = yield* ownerFor(access?.userId)
          const queue = yield* PubSub.subscribe(pubsub)
          yield* expire
          const waiting = yield* store.pending({ userId: owner, limit: Number.POSITIVE_INFINITY })
          const shown = new Set(waiting.map(({ request }) => request.id))
          const before = waiting.map((record): Change => ({ _tag: "Requested", record }))
          const live = Stream.filter(
            Stream.fromQueue(queue),
            ({ _tag, record }) =>
              ApprovalStore.accepts({ userId: owner }, record.request) &&
              !(shown.delete(record.request.id) && _tag === "Requested")
          )
          return Stream.concat(Stream.fromIterable(before), live)
        })
      )

    /** The filter, for what the caller may see. */
    const owned = <F extends Access>(filter: F | undefined) =>
      Effect.map(ownerFor(filter?.userId), (userId) => ({ ...filter, userId }))

    if (options?.poll !== undefined) {
      const look = (id: string) =>
        Effect.flatMap(
          store.get(id),
          Option.match({
            onNone: () => wake(id, withdrawn),
            onSome: ({ settlement }) => (settlement === undefined ? Effect.void : wake(id, settlement.decision))
          })
        )
      yield* Effect.suspend(() => Effect.forEach(Array.from(waiters.keys()), look, { discard: true })).pipe(
        Effect.catchAll(logged("Decisions of other processes were not read")),
        Effect.schedule(Schedule.spaced(options.poll)),
        Effect.forkScoped
      )
    }

    return {
      gate: { request },
      pending: {
        list: (filter) => Effect.zipRight(expire, Effect.flatMap(owned(filter), store.pending)),
        get: (id, access) =>
          Effect.flatMap(store.get(id), (found) =>
            Option.isNone(found)
              ? Effect.succeed(found)
              : Effect.map(SystemAccess.permits(access?.userId, found.value.request.userId), (mayUse) =>
                  mayUse ? found : Option.none()
                )
          ),
        decide,
        changes,
        expire,
        remembered: (filter) => Effect.flatMap(owned(filter), store.remembered),
        forget: (filter) => Effect.flatMap(owned(filter), store.forget)
      }
    }
  })

/**
 * Answers a request that waits: the call may run, with other arguments where some are given. The tool's schema checks
 * those.
 *
 * @since 0.1.0
 * @category accessors
 */
export const approve = (
  id: string,
  options?: (DecideOptions & { readonly params?: unknown }) | undefined
): Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError, PendingApprovals> =>
  Effect.flatMap(PendingApprovals, (pending) =>
    pending.decide(id, ApprovalGate.approve({ params: options?.params }), options)
  )

/**
 * Answers a request that waits: the call must not run. The model is told the reason.
 *
 * @since 0.1.0
 * @category accessors
 */
export const deny = (
  id: string,
  options?: (DecideOptions & { readonly reason?: string | undefined }) | undefined
): Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError, PendingApprovals> =>
  Effect.flatMap(PendingApprovals, (pending) =>
    pending.decide(id, ApprovalGate.deny({ reason: options?.reason }), options)
  )

/**
 * Over the store in context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options
): Layer.Layer<PendingApprovals | ApprovalGate.ApprovalGate, never, ApprovalStore.ApprovalStore> =>
  Layer.scopedContext(
    Effect.map(make(options), ({ gate, pending }) =>
      Context.make(PendingApprovals, pending).pipe(Context.add(ApprovalGate.ApprovalGate, gate))
    )
  )

/**
 * In the memory of the process. Give the same layer to the executor and to those who answer: it is built once.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { PendingApprovals } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * const approvals = PendingApprovals.layerMemory({ expiresAfter: "2 days" })
 * const layer = Layer.merge(Agents.layerWith({ approvals }), approvals)
 * ```
 */
export const layerMemory = (
  options?: Options & {
    /** Settled requests that are kept; default 1,000. */
    readonly maxSettled?: number | undefined
    /** Decisions that are remembered; default 1,000. */
    readonly maxRemembered?: number | undefined
  }
): Layer.Layer<PendingApprovals | ApprovalGate.ApprovalGate> =>
  Layer.provide(layer(options), ApprovalStore.layerMemory(options))
