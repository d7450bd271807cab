/**
 * Limits concurrent executions, overall and per skill. Of those that can start, the one that waited longest starts
 * first.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SkillDefinition } from "../definition/SkillDefinition.js"

/**
 * What one attempt needs: a slot among all or inside its parent's slot, and a slot among those of its kind. Both are
 * taken in one step, so that an attempt never holds one slot while it waits for another that is open to all.
 *
 * @category models
 */
export class Place {
  /** State of the slot. */
  state: "waiting" | "held" | "given back" | "refused" = "waiting"
  /** False once the attempt has ended. */
  open = true
  /** Whether an execution inside this slot runs or is about to: one at a time. */
  busy = false
  /** Executions that wait to run inside this slot. */
  inside: Set<Place> | undefined
  /** The counted slots of its name; unset until it is its turn inside the parent's slot. */
  kind: Kind | undefined
  ticket = 0
  wake: (() => void) | undefined

  constructor(
    readonly limits: Limits,
    /** The parent's slot, inside which it runs without taking a slot among all. */
    readonly within: Place | undefined,
    /** The nearest enclosing slot that cannot be released while this one waits. */
    readonly holder: Place | undefined,
    readonly name: string,
    /** Limit of its kind, including itself. */
    readonly most: number,
    /** False for a composite, which only executes other skills. */
    readonly isLeaf: boolean
  ) {}

  /** Whether others wait for it. */
  get isHolding(): boolean {
    return this.open && this.state === "held" && (this.isLeaf || this.kind !== undefined)
  }
}

/** Running and waiting slots of one name. */
class Kind {
  held = 0
  readonly waiting = new Set<Place>()
  /**
   * Slots inside another slot. Kept separate: otherwise they would wait for those that wait for their parents.
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
  /** Slots without a limit of their own. */
  private readonly common = new Kind("")
  /** Kinds with waiting slots. */
  private readonly wanted = new Set<Kind>()
  /** Waiting slots that others wait for. */
  private readonly holding = new Set<Place>()

  constructor(
    private readonly max: number,
    private readonly onWaiting: (change: 1 | -1) => void
  ) {}

  /**
   * Takes a slot or queues for one; `state` says which. `within` is the slot of the enclosing execution; `limited` is
   * false inside an execution of the same skill, which already holds the slot of its kind. A slot that could only be
   * granted after its own end is refused.
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
   * Whether it would wait forever: all holders of what it needs wait themselves for what they hold. An execution counts
   * as waiting while one inside it waits, even if it also does something else.
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

  /** Ends when the slot is granted. Interruption changes nothing: `leave` releases what is held. */
  readonly granted = (place: Place): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      if (place.state === "held") return resume(Effect.void)
      place.wake = () => resume(Effect.void)
    })

  /** Releases the slot, or leaves the queue. */
  leave(place: Place): void {
    place.open = false
    if (place.state === "held") {
      // Executions that outlive their attempt still count.
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

  /** Whether it takes one of the overall slots. */
  private static isCounted(place: Place): boolean {
    return place.isLeaf && place.within === undefined
  }

  private fits(place: Place): boolean {
    return (
      (place.kind === undefined || place.kind.held < place.most) && (!Limits.isCounted(place) || this.held < this.max)
    )
  }

  /** Keeps the order: everything that could start was started when the last slot was released. */
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

  /** Grants the slot to the next execution that waits to run inside it. */
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
