/**
 * Decides which faults a call has, by a seed: the same seed gives the same faults to the same calls.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { PCGRandom } from "effect/Utils"

/** The seed, how likely each fault is, from 0 to 1, and the longest delay: 1 second by default. */
export type Options<Fault extends string> = {
  readonly [K in Fault]?: number | undefined
} & { readonly seed: number; readonly maxDelay?: Duration.DurationInput | undefined }

/** The faults of one call. Numbers of calls begin with 1. */
export class FaultDice<Fault extends string> {
  private readonly random: PCGRandom

  constructor(
    private readonly options: Options<Fault>,
    call: number,
    private readonly note: (fault: Fault) => void
  ) {
    this.random = new PCGRandom(options.seed, call)
  }

  /** Whether a fault happens now. */
  happens(fault: Fault): boolean {
    const chance = this.options[fault] ?? 0
    if (this.random.number() >= chance) return false
    this.note(fault)
    return true
  }

  below(count: number): number {
    return this.random.integer(Math.max(1, count))
  }

  pick<A>(items: readonly [A, ...ReadonlyArray<A>]): A {
    return items[this.below(items.length)] as A
  }

  /** Waits at most the longest delay, if the fault happens. */
  delay(fault: Fault): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.happens(fault)
        ? Effect.sleep(Duration.times(Duration.decode(this.options.maxDelay ?? "1 second"), this.random.number()))
        : Effect.void
    )
  }
}

const GARBAGE = ["", "\u0000", "\ud800", "```", "</answer>", '{"', "\n\n", "\u202e", "<|im_end|>"] as const

/** The text with a few characters replaced. */
export const damagedText = (text: string, dice: FaultDice<never>): string => {
  const from = dice.below(text.length + 1)
  const to = Math.min(text.length, from + dice.below(8))
  return `${text.slice(0, from)}${dice.pick(GARBAGE)}${text.slice(to)}`
}

/** Throws a `TypeError` for a chance beyond 0 to 1: faults are constants. */
export const check = <Fault extends string>(
  module: string,
  options: Options<Fault>,
  faults: ReadonlyArray<Fault>
): void => {
  for (const fault of faults) {
    const chance: number = options[fault] ?? 0
    if (!(chance >= 0 && chance <= 1)) throw new TypeError(`${module}: ${fault} is ${chance}, not from 0 to 1`)
  }
}
