/**
 * How many skills are executed at a time: in all, and of one kind. Whoever waits longest and may begin, begins.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SkillDefinition } from "../definition/SkillDefinition.js"

/**
 * What one attempt needs: a place among all, or inside the place of the execution it is part of, and one among those of
 * its kind. All is taken in one step, so that nobody keeps one place while he waits for another that is open to
 * everybody.
 *
 * @category models
 */
export class Place {
  /** What is held or, before that, waited for. */
  state: "waiting" | "held" | "given back" | "refused" = "waiting"
  /** False once the attempt has ended. */
  open = true
  /** An execution inside this place runs or is about to: one at a time. */
  busy = false
  /** Executions that wait to run inside this place. */
  inside: Set<Place> | undefined
  /** Those of its name that are counted; unset until it is its turn inside the other place. */
  kind: Kind | undefined
  ticket = 0
  wake: (() => void) | undefined

  constructor(
    readonly limits: Limits,
    /** The place it runs inside; it then takes none of all. */
    readonly within: Place | undefined,
    /** The nearest one that it keeps from being given back while it waits. */
    readonly holder: Place | undefined,
    readonly name: string,
    /** How many of its kind there may be, itself included. */
    readonly most: number,
    /** False for what only executes others. */
    readonly isLeaf: boolean
  ) {}

  /** Whether others have to wait for it. */
  get isHolding(): boolean {
    return this.open && this.state === "held" && (this.isLeaf || this.kind !== undefined)
  }
}

/** Those of one name that run or wait. */
class Kind {
  held = 0
  readonly waiting = new Set<Place>()
  /**
   * Those inside another place, which need no other one. Apart, or they would wait for those who wait for what their
   * parents hold.
   */
  readonly nested = new Set<Place>()

  constructor(readonly name: string) {}
}

const firstOf = (places: Set<Place>): Place | undefined => {
  for (const place of places) return place
  return undefined
}

/**
 * @category constructors
 */
export class Limits {
  private held = 0
  private tickets = 0
  private readonly kinds = new Map<string, Kind>()
  /** Those without a limit of their own. */
  private readonly common = new Kind("")
  /** Kinds that somebody waits for. */
  private readonly wanted = new Set<Kind>()
  /** Who waits and keeps others waiting. */
  private readonly holding = new Set<Place>()

  constructor(
    private readonly max: number,
    private readonly onWaiting: (change: 1 | -1) => void
  ) {}

  /**
   * Takes a place, or a number in the queue: `state` says which. `within` is the place of the execution it is part of;
   * `limited` is false for one that is part of an execution of the same skill, which has taken the place among its
   * kind. Refused is one that would wait for what is only given back when it is done itself.
   */
  enter(definition: SkillDefinition, options: EnterOptions): Place {
    const most = options.limited ? (definition.maxConcurrent ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    const { within } = options
    const place = new Place(this, within, options.holder, definition.name, most, options.isLeaf)
    if (place.isLeaf && within?.busy === true) {
      within.inside ??= new Set()
      within.inside.add(place)
      this.waits(place)
    } else {
      if (place.isLeaf && within !== undefined) within.busy = true
      this.advance(place, false)
    }
    if (place.state === "waiting" && this.isStuck(place)) {
      this.leave(place)
      place.state = "refused"
    }
    return place
  }

  private waits(place: Place): void {
    this.onWaiting(1)
    if (place.holder !== undefined) this.holding.add(place)
  }

  private waitsNoMore(place: Place): void {
    this.onWaiting(-1)
    this.holding.delete(place)
  }

  /**
   * Whether it would wait for ever: what it needs is held by executions that all wait themselves, for what they hold.
   * An execution counts as waiting as long as one inside it does, although it may do something else meanwhile.
   */
  private isStuck(place: Place): boolean {
    if (place.holder === undefined) return false
    const left = new Set(this.holding)
    for (let before = -1; before !== left.size; ) {
      before = left.size
      const blocked = new Set<Place>()
      for (const waiting of left) {
        for (let held = waiting.holder; held !== undefined && !blocked.has(held); held = held.holder) blocked.add(held)
      }
      const all = [...blocked]
      for (const waiting of left) {
        const isFull =
          all.filter((held) => held.kind !== undefined && held.name === waiting.name).length >= waiting.most
        const isCrowded = Limits.isCounted(waiting)
          ? all.filter(Limits.isCounted).length >= this.max
          : waiting.isLeaf && all.some((held) => held.isLeaf && held.within === waiting.within)
        if (!isFull && !isCrowded) left.delete(waiting)
      }
      if (!left.has(place)) return false
    }
    return true
  }

  /** Ends when the place is held. Interrupting it changes nothing: `leave` gives back what there is. */
  readonly granted = (place: Place): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      if (place.state === "held") return resume(Effect.void)
      place.wake = () => resume(Effect.void)
    })

  /** Gives back the place, or the number in the queue. */
  leave(place: Place): void {
    place.open = false
    if (place.state === "held") {
      // What goes on inside it behind the back of its attempt still counts.
      if (!place.busy) this.free(place)
      return
    }
    if (place.state !== "waiting") return
    place.state = "given back"
    this.waitsNoMore(place)
    if (place.within?.inside?.delete(place) === true) return
    const kind = place.kind ?? this.common
    kind.waiting.delete(place)
    kind.nested.delete(place)
    this.tidy(kind)
    if (place.isLeaf && place.within !== undefined) this.next(place.within)
    this.admit()
  }

  private kindOf(name: string): Kind {
    let kind = this.kinds.get(name)
    if (kind === undefined) {
      kind = new Kind(name)
      this.kinds.set(name, kind)
    }
    return kind
  }

  /** Whether it takes one of the places of all. */
  private static isCounted(place: Place): boolean {
    return place.isLeaf && place.within === undefined
  }

  private fits(place: Place): boolean {
    return (
      (place.kind === undefined || place.kind.held < place.most) && (!Limits.isCounted(place) || this.held < this.max)
    )
  }

  /** Nobody is overtaken: whoever waits and could begin has begun when the last place was given back. */
  private advance(place: Place, hasWaited: boolean): void {
    if (place.most !== Number.POSITIVE_INFINITY) place.kind = this.kindOf(place.name)
    if (this.fits(place)) {
      this.take(place)
      if (hasWaited) this.waitsNoMore(place)
      return
    }
    if (!hasWaited) this.waits(place)
    const kind = place.kind ?? this.common
    place.ticket = this.tickets++
    if (Limits.isCounted(place)) kind.waiting.add(place)
    else kind.nested.add(place)
    this.wanted.add(kind)
  }

  private take(place: Place): void {
    place.state = "held"
    if (place.kind !== undefined) place.kind.held++
    if (Limits.isCounted(place)) this.held++
  }

  private free(place: Place): void {
    place.state = "given back"
    const { kind, within } = place
    if (kind !== undefined) {
      kind.held--
      this.tidy(kind)
    }
    if (place.isLeaf) {
      if (within === undefined) this.held--
      else this.next(within)
    }
    this.admit()
  }

  /** Whoever waits to run inside the place is next. */
  private next(place: Place): void {
    const inner = place.inside === undefined ? undefined : firstOf(place.inside)
    if (inner !== undefined) {
      place.inside?.delete(inner)
      this.advance(inner, true)
      if (inner.state === "held") inner.wake?.()
      return
    }
    place.busy = false
    if (!place.open && place.state === "held") this.free(place)
  }

  private admit(): void {
    for (let place = this.oldest(); place !== undefined; place = this.oldest()) {
      const kind = place.kind ?? this.common
      kind.waiting.delete(place)
      kind.nested.delete(place)
      this.take(place)
      this.tidy(kind)
      this.waitsNoMore(place)
      place.wake?.()
    }
  }

  private oldest(): Place | undefined {
    let oldest: Place | undefined
    const consider = (place: Place | undefined): void => {
      if (place !== undefined && this.fits(place) && (oldest === undefined || place.ticket < oldest.ticket)) {
        oldest = place
      }
    }
    for (const kind of this.wanted) {
      consider(firstOf(kind.nested))
      if (this.held < this.max) consider(firstOf(kind.waiting))
    }
    return oldest
  }

  private tidy(kind: Kind): void {
    if (kind.waiting.size > 0 || kind.nested.size > 0) return
    this.wanted.delete(kind)
    if (kind.held === 0) this.kinds.delete(kind.name)
  }
}

/**
 * @category models
 */
export interface EnterOptions {
  readonly within: Place | undefined
  readonly holder: Place | undefined
  readonly limited: boolean
  readonly isLeaf: boolean
}
