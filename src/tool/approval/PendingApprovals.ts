/**
 * Requests for approval that wait until they are answered from outside: on a page, in a chat, days later.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import { ApprovalError } from "./ApprovalError.js"
import * as ApprovalGate from "./ApprovalGate.js"
import * as ApprovalStore from "./ApprovalStore.js"
import * as RememberedApproval from "./RememberedApproval.js"
import * as WaitingRoom from "./WaitingRoom.js"

/**
 * A change of a request: it was asked, it was settled, or its run was interrupted and it needs no answer.
 *
 * @since 0.1.0
 * @category models
 */
export type Change =
  | { readonly _tag: "Requested"; readonly record: ApprovalStore.ApprovalRecord }
  | { readonly _tag: "Settled"; readonly record: ApprovalStore.ApprovalRecord }
  | { readonly _tag: "Withdrawn"; readonly record: ApprovalStore.ApprovalRecord }

/**
 * The caller. Without `userId` the caller reaches only requests without a user, unless it acts for the system
 * (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: string | undefined
}

/**
 * Selects waiting requests among those that the caller may see.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter extends Access, Omit<ApprovalStore.Filter, "userId"> {}

/**
 * Selects remembered decisions among those that the caller may see.
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
 * With a user, every method covers the requests of that user; without one, those without a user, or all of them for the
 * system (`SystemAccess.grant`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The waiting requests, the oldest first, at most 100 unless the filter says otherwise. */
  readonly list: (
    filter?: Filter | undefined
  ) => Effect.Effect<ReadonlyArray<ApprovalStore.ApprovalRecord>, ApprovalError>
  /** A request that waits or was recently settled. */
  readonly get: (
    id: string,
    access?: Access | undefined
  ) => Effect.Effect<Option.Option<ApprovalStore.ApprovalRecord>, ApprovalError>
  /**
   * Answers a request, and its run goes on. Fails with the reason `unknown`, `decided` or `expired` when it does not
   * wait, with `scope` when there is nothing to remember the decision for, or the caller may not (`tool`), and with
   * `answer` when `params` do not fit the question that it asks; it then decides nothing. `storage` after the decision
   * was stored means that it holds but is not remembered.
   */
  readonly decide: (
    id: string,
    decision: ApprovalGate.ApprovalDecision,
    options?: DecideOptions | undefined
  ) => Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError>
  /**
   * The waiting requests, then the changes in this process. A reader more than 1,024 changes late misses the oldest of
   * them.
   */
  readonly changes: (access?: Access | undefined) => Stream.Stream<Change, ApprovalError>
  /** Denies expired requests, including those whose run no longer waits; returns how many. */
  readonly expire: Effect.Effect<number, ApprovalError>
  /** The decisions that are remembered, the oldest first. */
  readonly remembered: (
    filter?: RememberedFilter | undefined
  ) => Effect.Effect<ReadonlyArray<ApprovalStore.Remembered>, ApprovalError>
  /** Forgets decisions: later requests are asked for again. Returns how many. */
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
   * How long a request waits before it is denied; default forever. A request with an earlier expiry keeps it.
   */
  readonly expiresAfter?: Duration.DurationInput | undefined
  /** How long a settled request is kept, so that its decision is known when it is asked for again; default 1 day. */
  readonly keepFor?: Duration.DurationInput | undefined
  /** How many requests may wait here at once; default 10,000. Further ones are denied. */
  readonly maxPending?: number | undefined
  /** How often to look for decisions that other processes wrote into the same store; default never. */
  readonly poll?: Duration.DurationInput | undefined
}

const unknown = (id: string): ApprovalError =>
  WaitingRoom.requestError(id, "unknown", "No request with this id is waiting: it may have been withdrawn")

const settledAlready = (id: string, settlement: ApprovalStore.Settlement): ApprovalError =>
  settlement.settledBy === "expiry"
    ? WaitingRoom.requestError(id, "expired", "The request expired undecided and is denied")
    : WaitingRoom.requestError(id, "decided", "The request is already decided")

const forEverybody = (id: string): ApprovalError =>
  new ApprovalError({
    reason: "scope",
    requestId: id.slice(0, 256),
    message: "Only the system can remember a decision for all callers of the tool",
    hint: 'Remember it for the "user", the "session" or the "run", or decide in SystemAccess.grant'
  })

/** The owner whose requests the caller sees; `undefined` sees those of every owner. */
const ownerFor = (userId: string | undefined): Effect.Effect<string | null | undefined> =>
  userId === undefined
    ? Effect.map(SystemAccess.isGranted, (granted) => (granted ? undefined : null))
    : Effect.succeed(userId)

/** The filter, narrowed to what the caller may see. */
const ownedBy = <F extends Access>(filter: F | undefined) =>
  Effect.map(ownerFor(filter?.userId), (userId) => ({ ...filter, userId }))

/** The request that the caller may decide now. */
const decidable = (
  room: WaitingRoom.WaitingRoom,
  id: string,
  userId: string | undefined,
  now: number
): Effect.Effect<ApprovalGate.ApprovalRequest, ApprovalError> =>
  Effect.gen(function* () {
    const found = yield* room.store.get(id)
    if (Option.isNone(found)) return yield* unknown(id)
    const { request, settlement } = found.value
    // A request of another user looks like one that does not exist.
    if (!(yield* SystemAccess.permits(userId, request.userId))) return yield* unknown(id)
    if (settlement !== undefined) return yield* settledAlready(id, settlement)
    if (request.expiresAt !== undefined && request.expiresAt <= now) {
      const expired = WaitingRoom.expiry(now)
      yield* WaitingRoom.settle(room, id, expired)
      return yield* settledAlready(id, expired)
    }
    return request
  })

/** The decision to remember, if any. */
const rememberedFor = (
  request: ApprovalGate.ApprovalRequest,
  decision: ApprovalGate.ApprovalDecision,
  options: DecideOptions | undefined,
  now: number
): Effect.Effect<ApprovalStore.Remembered | undefined, ApprovalError> =>
  Effect.gen(function* () {
    const { by, remember, userId } = options ?? {}
    if (remember === undefined) return undefined
    if (remember === "tool" && (userId !== undefined || !(yield* SystemAccess.isGranted))) {
      return yield* forEverybody(request.id)
    }
    const kept = RememberedApproval.make(request, decision, {
      scope: remember,
      exact: options?.arguments !== "any",
      at: now,
      ...(by === undefined ? {} : { by })
    })
    const message =
      request.question === undefined
        ? `The request has no ${remember} to remember the decision for`
        : "The answer to a question is not remembered"
    const mayKeep = request.question === undefined ? kept : null
    return mayKeep ?? (yield* WaitingRoom.requestError(request.id, "scope", message))
  })

/** Only processes in which questions are answered need it. */
const answers = OnDemand.make(() => import("./QuestionForm.js"))

/** The decision, if it fits what the request asks. */
const fitting = (
  room: WaitingRoom.WaitingRoom,
  { id, question }: ApprovalGate.ApprovalRequest,
  decision: ApprovalGate.ApprovalDecision
): Effect.Effect<ApprovalGate.ApprovalDecision, ApprovalError> =>
  question === undefined || decision._tag === "Denied"
    ? Effect.succeed(decision)
    : Effect.flatMap(answers, ({ answer }) => answer(id, question, decision, room.waiters.get(id)?.check))

const decide = (
  room: WaitingRoom.WaitingRoom,
  id: string,
  decision: ApprovalGate.ApprovalDecision,
  options: DecideOptions | undefined
): Effect.Effect<ApprovalStore.ApprovalRecord, ApprovalError> =>
  Effect.gen(function* () {
    // An answer may come before the request is stored.
    yield* WaitingRoom.awaitStored(room, id)
    const now = yield* Clock.currentTimeMillis
    const request = yield* decidable(room, id, options?.userId, now)
    const fits = yield* fitting(room, request, decision)
    const kept = yield* rememberedFor(request, fits, options, now)
    const who = options?.by === undefined ? {} : { by: options.by }
    const result = yield* WaitingRoom.settle(
      room,
      id,
      { decision: fits, settledBy: "decision", at: now, ...who },
      kept === undefined ? Effect.void : room.store.remember(kept)
    )
    if (Option.isNone(result)) return yield* unknown(id)
    const { record, settled } = result.value
    return !settled && record.settlement !== undefined ? yield* settledAlready(id, record.settlement) : record
  })

const changes = (room: WaitingRoom.WaitingRoom, access: Access | undefined): Stream.Stream<Change, ApprovalError> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const owner = yield* ownerFor(access?.userId)
      const queue = yield* PubSub.subscribe(room.pubsub)
      yield* WaitingRoom.expire(room)
      const waiting = yield* room.store.pending({ userId: owner, limit: Number.POSITIVE_INFINITY })
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

const get = (
  { store }: WaitingRoom.WaitingRoom,
  id: string,
  access: Access | undefined
): Effect.Effect<Option.Option<ApprovalStore.ApprovalRecord>, ApprovalError> =>
  Effect.flatMap(store.get(id), (found) =>
    Option.isNone(found)
      ? Effect.succeed(found)
      : Effect.map(SystemAccess.permits(access?.userId, found.value.request.userId), (mayUse) =>
          mayUse ? found : Option.none()
        )
  )

/**
 * Both sides of the waiting room: runs ask at `gate`, and answers come through `pending`.
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
    const room = yield* WaitingRoom.make(options)
    const { store } = room
    if (options?.poll !== undefined) {
      yield* WaitingRoom.pollStore(room).pipe(Effect.schedule(Schedule.spaced(options.poll)), Effect.forkScoped)
    }
    const expire = WaitingRoom.expire(room)
    return {
      gate: WaitingRoom.gate(room),
      pending: {
        list: (filter) => Effect.zipRight(expire, Effect.flatMap(ownedBy(filter), store.pending)),
        get: (id, access) => get(room, id, access),
        decide: (id, decision, decideOptions) => decide(room, id, decision, decideOptions),
        changes: (access) => changes(room, access),
        expire,
        remembered: (filter) => Effect.flatMap(ownedBy(filter), store.remembered),
        forget: (filter) => Effect.flatMap(ownedBy(filter), store.forget)
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
 * Answers a request that waits: the call must not run. The model reads the reason.
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
 * Pending approvals on the store in context.
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
 * Pending approvals in memory. Give the same layer to the executor and to those who answer: it is built once.
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
