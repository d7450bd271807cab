/**
 * The background work of `FactExtraction`.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import * as Recurrence from "../../internal/fiber/Recurrence.js"
import * as ReadFacts from "../consolidation/ReadFacts.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryError, MemorySystemError } from "../entry/MemoryError.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as SemanticMemory from "../semantic/SemanticMemory.js"
import * as LeftTurns from "./LeftTurns.js"
import * as PendingTurns from "./PendingTurns.js"
import type { Service } from "./WorkingMemory.js"

/**
 * @category models
 */
export interface Options {
  /** Extracts when a session has had no turn for so long: a burst of turns is one extraction. Default 30 seconds. */
  readonly quiet?: Duration.DurationInput | undefined
  /** Extracts at the latest so long after the first turn, however busy the session is. Default 10 minutes. */
  readonly maxWait?: Duration.DurationInput | undefined
  /**
   * Sessions that wait at most. Beyond it the oldest are extracted at once. Default 1,000, at least 1.
   */
  readonly maxSessions?: number | undefined
  /** Turns of a session at which they are extracted at once. Default 200, at least 1. */
  readonly maxTurns?: number | undefined
  /** Sessions that are extracted at the same time. Default 4, at least 1. */
  readonly concurrency?: number | undefined
  /** How often an extraction is tried, with waits of 1 minute, 2, 4 and so on between. Default 5, at least 1. */
  readonly maxAttempts?: number | undefined
  /** Timeout of one extraction. Default 2 minutes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How long the end of the scope waits for what is pending. Default 5 seconds. */
  readonly shutdown?: Duration.DurationInput | undefined
}

/** Milliseconds before the second attempt; each further one waits twice as long. */
const BACKOFF = 60_000
const LONGEST_BACKOFF = 3_600_000
/** Milliseconds in which what is left at the end is noted. */
const NOTING = 2_000
/** Attempts to mark entries that others change at the same time. */
const MARKING = 3

const warn = (message: string, about: Readonly<Record<string, unknown>> = {}): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "FactExtraction", ...about })

const tooLong = (): MemorySystemError => new MemorySystemError({ message: "The facts of a session took too long" })

const makeReader = (store: MemoryStore.Service, semantic: SemanticMemory.Service, timeout: Duration.DurationInput) => {
  const unread = (ownerId: string, ids: ReadonlyArray<EntryId>) =>
    Effect.map(store.getMany(ownerId, ids), (entries) =>
      ReadFacts.unread(entries).toSorted((a, b) => a.timestamp - b.timestamp)
    )

  /** An entry that keeps changing is left without its mark: to read it twice is better than to fail. */
  const mark = Effect.fnUntraced(function* (ownerId: string, read: ReadonlyArray<MemoryEntry>) {
    const texts = new Map(read.map(({ content, id }) => [id, content]))
    for (let attempt = 0; attempt < MARKING; attempt++) {
      const now = (yield* unread(ownerId, [...texts.keys()])).filter(({ content, id }) => texts.get(id) === content)
      if (now.length === 0) return
      if (Option.isSome(yield* store.applyIf(ownerId, now, { store: now.map(ReadFacts.mark) }))) return
    }
  })

  /** Extracts the facts of turns that are still there and that nobody has read. */
  return ({ ids, ownerId }: PendingTurns.Conversation): Effect.Effect<void, MemoryError> =>
    Effect.gen(function* () {
      const entries = yield* unread(ownerId, [...ids])
      if (entries.length === 0) return
      yield* semantic.ingest(entries)
      yield* mark(ownerId, entries)
    }).pipe((work) => Deadline.run(() => work, { whole: Duration.toMillis(timeout), onTimeout: tooLong }))
}

interface Loop {
  readonly add: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void>
  /** Reads one conversation now. */
  readonly now: (key: string) => Effect.Effect<void, MemoryError>
}

const makeLoop = Effect.fnUntraced(function* (options: Options) {
  const store = yield* MemoryStore.MemoryStore
  const semantic = yield* SemanticMemory.SemanticMemory
  const concurrency = Count.count(options.concurrency, 4, 1)
  const maxAttempts = Count.count(options.maxAttempts, 5, 1)
  const pending = PendingTurns.make({
    quiet: Duration.toMillis(options.quiet ?? "30 seconds"),
    maxWait: Duration.toMillis(options.maxWait ?? "10 minutes"),
    maxConversations: Count.count(options.maxSessions, 1_000, 1),
    maxTurns: Count.count(options.maxTurns, 200, 1)
  })
  const read = makeReader(store, semantic, options.timeout ?? "2 minutes")
  const wake = Effect.unsafeMakeLatch(false)
  let sleepsUntil = Number.POSITIVE_INFINITY

  const putBack = (one: PendingTurns.Conversation, wait: number): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (now) => pending.putBack(one, { now, at: now + wait }))

  /** Repeats later what failed, up to a bound; what is interrupted is pending again. */
  const failed = (one: PendingTurns.Conversation, cause: Cause.Cause<MemoryError>): Effect.Effect<void> => {
    if (Cause.isInterrupted(cause)) return putBack(one, 0)
    const attempts = one.attempts + 1
    const error = Option.match(Cause.failureOption(cause), { onNone: () => "defect", onSome: ({ _tag }) => _tag })
    if (attempts >= maxAttempts) {
      return warn("The facts of a session could not be extracted; consolidation will read it", { error, attempts })
    }
    return Effect.zipRight(
      putBack({ ...one, attempts }, Math.min(LONGEST_BACKOFF, BACKOFF * 2 ** one.attempts)),
      warn("The facts of a session could not be extracted yet", { error, attempts })
    )
  }

  /** No interruption comes between taking a conversation and its end or return. */
  const readOne = (key: string): Effect.Effect<void> =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const one = pending.takeOf(key)
        return one === undefined
          ? Effect.void
          : Effect.matchCauseEffect(Effect.interruptible(read(one)), {
              onSuccess: () => Effect.void,
              onFailure: (cause) => failed(one, cause)
            })
      })
    )

  const add: Loop["add"] = (entries) =>
    Effect.clockWith((clock) => {
      const { dropped, dueAt } = pending.add(entries, clock.unsafeCurrentTimeMillis())
      if (dueAt < sleepsUntil) wake.unsafeOpen()
      return dropped === 0
        ? Effect.void
        : warn("Too many turns wait for their facts; consolidation will read the others", { turns: dropped })
    })

  const forever = Effect.gen(function* () {
    while (true) {
      const due = pending.due(yield* Clock.currentTimeMillis, concurrency)
      if (due.length > 0) {
        yield* Parallel.forEach(due, readOne, concurrency)
        continue
      }
      const at = yield* Effect.sync(() => {
        wake.unsafeClose()
        sleepsUntil = pending.next() ?? Number.POSITIVE_INFINITY
        return sleepsUntil
      })
      yield* Number.isFinite(at) ? Effect.raceFirst(Recurrence.sleepUntil(at), wake.await) : wake.await
      sleepsUntil = Number.NEGATIVE_INFINITY
    }
  })

  /** Takes up what other processes left. */
  const resume = LeftTurns.takeAll(store, (ownerId, ids) =>
    putBack({ key: PendingTurns.keyOf({ ownerId }), ownerId, ids: new Set(ids), attempts: 0 }, 0)
  ).pipe(Effect.catchAll((error) => warn("Turns of the last process could not be taken up", { error: error._tag })))

  const finish = Effect.gen(function* () {
    const shutdown = Duration.toMillis(options.shutdown ?? "5 seconds")
    // What fails here is pending again, and noted.
    const all = Parallel.forEach(pending.keys(), readOne, concurrency)
    yield* Effect.ignore(Deadline.run(() => all, { whole: shutdown, onTimeout: tooLong }))
    const left = pending.keys().flatMap((key) => pending.takeOf(key) ?? [])
    if (left.length === 0) return
    yield* Deadline.run(() => LeftTurns.note(store, left), { whole: NOTING, onTimeout: tooLong }).pipe(
      Effect.matchEffect({
        onSuccess: () => warn("The facts of sessions are left to the next start", { sessions: left.length }),
        onFailure: ({ _tag: error }) =>
          warn("The facts of sessions are left to consolidation", { sessions: left.length, error })
      })
    )
  })

  yield* Effect.addFinalizer(() => finish)
  yield* Effect.forkScoped(Effect.zipRight(resume, forever))
  const now: Loop["now"] = (key) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const one = pending.takeOf(key)
        return one === undefined ? Effect.void : Effect.onError(restore(read(one)), () => putBack(one, 0))
      })
    )
  return { add, now } satisfies Loop
})

/**
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  inner: Service,
  options: Options
): Effect.fn.Return<Service, never, MemoryStore.MemoryStore | SemanticMemory.SemanticMemory | Scope.Scope> {
  const store = yield* MemoryStore.MemoryStore
  const loop = yield* makeLoop(options)
  /** Held entries were read if they have their mark. */
  const isDone: (scope: Parameters<Service["flush"]>[0]) => Effect.Effect<boolean, MemoryError> = Effect.fnUntraced(
    function* (scope) {
      const held = yield* inner.getContextEntries(scope)
      const found = yield* store.getMany(
        scope.ownerId,
        held.map(({ id }) => id)
      )
      return ReadFacts.unread(found).length === 0
    }
  )
  return {
    ...inner,
    add: (entry) => Effect.zipRight(inner.add(entry), loop.add([entry])),
    addAll: (entries) => Effect.zipRight(inner.addAll(entries), loop.add(entries)),
    flush: (scope) =>
      Effect.zipRight(
        loop.now(PendingTurns.keyOf(scope)),
        Effect.flatMap(isDone(scope), (done) => (done ? Effect.void : inner.flush(scope)))
      )
  }
})
