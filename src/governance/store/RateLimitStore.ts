/**
 * The rate limit port: counts takes under a key within a sliding window. No interval of the window's length exceeds the
 * limit, across minute borders too.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { count } from "../../internal/Count.js"
import { GovernancePersistenceError } from "./GovernanceError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Take {
  readonly key: string
  /** Whole, 0 or more. */
  readonly amount: number
  /**
   * A take counts from its own millisecond, for this time. A window longer than a minute may keep it up to 1/3,600 of
   * the window longer, never shorter: the count is never less than the amount taken, so no limit is exceeded. All takes
   * of a key have the same window.
   */
  readonly windowMs: number
}

/**
 * `current` is the content of the window: with this take if allowed, without it otherwise. `at` is when the take
 * counts; it leaves the window `windowMs` later and is the take's name for `adjust`. `retryAfterMs` is when there will
 * be room if nothing else is taken; absent if the amount alone exceeds the limit.
 *
 * @since 0.1.0
 * @category models
 */
export type TakeResult =
  | { readonly allowed: true; readonly current: number; readonly at: number }
  | { readonly allowed: false; readonly current: number; readonly retryAfterMs?: number | undefined }

/**
 * An earlier take and its actual amount.
 *
 * @since 0.1.0
 * @category models
 */
export interface Adjustment {
  readonly key: string
  readonly at: number
  readonly windowMs: number
  /** The taken amount, or its last adjustment. */
  readonly from: number
  /** Whole, 0 or more. */
  readonly to: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Takes the amount if the window has room for it, atomically. Otherwise takes nothing. */
  readonly take: (request: Take & { readonly limit: number }) => Effect.Effect<TakeResult, GovernancePersistenceError>
  /**
   * Replaces the amount of a take, even past the limit. It counts at the time of the take: one that has left the window
   * changes nothing.
   */
  readonly adjust: (adjustment: Adjustment) => Effect.Effect<void, GovernancePersistenceError>
  /** The content of the window. */
  readonly peek: (options: {
    readonly key: string
    readonly windowMs: number
  }) => Effect.Effect<number, GovernancePersistenceError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RateLimitStore extends Context.Tag("effect-lexigram/governance/RateLimitStore")<
  RateLimitStore,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions {
  /**
   * Most keys; default 100,000. A key is kept while its window has content. None is evicted, because its limit would be
   * lost with it: a take under another key fails.
   */
  readonly capacity?: number | undefined
}

interface Slot {
  readonly at: number
  amount: number
}

/** Windows up to this length are exact to the millisecond. */
const EXACT_MS = 60_000
/** Slots of a longer window. */
const SLOTS = 3600

/**
 * Takes of one key, oldest first: one slot per millisecond with takes, or per 3,600th of a window longer than a minute.
 * So a month under load has at most 3,601 slots.
 */
class Window {
  private slots: Array<Slot> = []
  private head = 0
  total = 0

  private readonly slotMs: number

  constructor(readonly windowMs: number) {
    this.slotMs = windowMs <= EXACT_MS ? 1 : Math.ceil(windowMs / SLOTS)
  }

  /** End of the slot, so that nothing leaves early. The takes stay in order even if the clock is set back. */
  private latest(now: number): number {
    const end = Math.ceil(now / this.slotMs) * this.slotMs
    const last = this.slots[this.slots.length - 1]
    return last === undefined ? end : Math.max(end, last.at)
  }

  /** Removes takes that have left the window. True if none is left. */
  pass(now: number): boolean {
    for (; this.head < this.slots.length; this.head++) {
      const slot = this.slots[this.head] as Slot
      if (slot.at + this.windowMs > now) break
      this.total -= slot.amount
    }
    if (this.head === this.slots.length) {
      this.slots = []
      this.head = 0
    } else if (this.head > 64 && this.head * 2 > this.slots.length) {
      this.slots = this.slots.slice(this.head)
      this.head = 0
    }
    return this.slots.length === 0
  }

  add(now: number, amount: number): number {
    const at = this.latest(now)
    const last = this.slots[this.slots.length - 1]
    if (last !== undefined && last.at === at) last.amount += amount
    else this.slots.push({ at, amount })
    this.total += amount
    return at
  }

  /** Milliseconds until this amount has left. */
  wait(now: number, amount: number): number {
    let left = amount
    for (let index = this.head; index < this.slots.length; index++) {
      const slot = this.slots[index] as Slot
      left -= slot.amount
      if (left <= 0) return slot.at + this.windowMs - now
    }
    return 0
  }

  change(at: number, by: number): void {
    let low = this.head
    let high = this.slots.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.slots[middle] as Slot).at < at) low = middle + 1
      else high = middle
    }
    const slot = this.slots[low]
    if (slot === undefined || slot.at !== at) return
    const amount = Math.max(0, slot.amount + by)
    this.total += amount - slot.amount
    slot.amount = amount
  }
}

/** Each method is one synchronous step, so no other fiber sees a partial state. */
class Windows {
  private readonly windows = new Map<string, Window>()

  constructor(private readonly capacity: number) {}

  /** Checks the least recently checked keys, two per take: as many leave as arrive, whatever their windows. */
  private sweep(now: number, most: number): void {
    for (let looks = 0; looks < most; looks++) {
      const first = this.windows.entries().next().value
      if (first === undefined) return
      const [key, window] = first
      this.windows.delete(key)
      if (!window.pass(now)) this.windows.set(key, window)
    }
  }

  private hasRoom(now: number): boolean {
    if (this.windows.size < this.capacity) return true
    this.sweep(now, 64)
    return this.windows.size < this.capacity
  }

  take(request: Take & { readonly limit: number }, now: number): TakeResult | undefined {
    const { amount, key, limit, windowMs } = request
    this.sweep(now, 2)
    const known = this.windows.get(key)
    known?.pass(now)
    const current = known?.total ?? 0
    if (current + amount > limit) {
      return amount > limit
        ? { allowed: false, current }
        : { allowed: false, current, retryAfterMs: known?.wait(now, current + amount - limit) ?? 0 }
    }
    if (known === undefined && !this.hasRoom(now)) return undefined
    const window = known ?? new Window(windowMs)
    if (known === undefined) this.windows.set(key, window)
    return { allowed: true, current: current + amount, at: window.add(now, amount) }
  }

  adjust({ at, from, key, to }: Adjustment, now: number): void {
    const window = this.windows.get(key)
    if (window === undefined || window.pass(now)) return
    window.change(at, to - from)
  }

  peek(key: string, now: number): number {
    const window = this.windows.get(key)
    window?.pass(now)
    return window?.total ?? 0
  }
}

/**
 * Counts in this process. The cost of an allowed take does not depend on the number of takes; a refused one visits
 * those that must leave first. Windows of up to a minute are exact to the millisecond; a longer one has at most 3,601
 * slots and keeps each take up to 1/3,600 of the window too long: 1 second of an hour, 24 of a day.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: MemoryOptions | undefined): Effect.Effect<Service> =>
  Effect.sync(() => {
    const capacity = count(options?.capacity, 100_000, 1)
    const windows = new Windows(capacity)
    return {
      take: (request) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const taken = windows.take(request, now)
          return taken !== undefined
            ? Effect.succeed(taken)
            : Effect.fail(
                new GovernancePersistenceError({
                  message: `The rate limit store in memory is full: it holds ${capacity} keys`,
                  hint: "Raise its capacity, or use a store outside of the process"
                })
              )
        }),
      adjust: (adjustment) => Effect.map(Clock.currentTimeMillis, (now) => windows.adjust(adjustment, now)),
      peek: ({ key }) => Effect.map(Clock.currentTimeMillis, (now) => windows.peek(key, now))
    }
  })

/**
 * Counts in this process; lost when it ends.
 *
 * @example
 * ```ts
 * import { RateLimitStore } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const mayLogIn = Effect.gen(function* () {
 *   const store = yield* RateLimitStore.RateLimitStore
 *   const taken = yield* store.take({ key: "login:ada", amount: 1, limit: 5, windowMs: 60_000 })
 *   return taken.allowed
 * }).pipe(Effect.provide(RateLimitStore.layerMemory()))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: MemoryOptions | undefined): Layer.Layer<RateLimitStore> =>
  Layer.effect(RateLimitStore, makeMemory(options))
