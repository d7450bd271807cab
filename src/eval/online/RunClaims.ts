/**
 * Who scores which run: what the entries of an experiment say when several processes add to it.
 *
 * @private
 * @since 0.1.0
 */
import { type Entry, keyOf, type Trial } from "../record/ExperimentRecord.js"

interface Claim {
  readonly by: string | undefined
  readonly at: number
  readonly isAllowed: boolean
}

export interface Options {
  /** Milliseconds after which a claim without a result no longer holds: its process is gone. */
  readonly lease: number
  /** Claims that hold within an hour. */
  readonly maxPerHour: number
}

const HOUR = 3_600_000

/**
 * Takes all entries in their order. Every process that reads them comes to the same claims: of several on one trial
 * the first holds, and those beyond the limit of an hour hold for nobody.
 */
export class RunClaims {
  private readonly claims = new Map<string, Claim>()
  private readonly ended = new Set<string>()
  /** Times of the claims that held within the last hour, from `first` on. */
  private readonly times: Array<number> = []
  private first = 0
  /** US dollars that scoring took. */
  costUsd = 0

  constructor(private readonly options: Options) {}

  readonly push = (entry: Entry): void => {
    if (entry._tag === "Labelled") return
    const key = keyOf(entry.trial)
    if (this.ended.has(key)) return
    if (entry._tag === "Began") {
      this.claim(key, entry.by, entry.at)
      return
    }
    this.ended.add(key)
    this.costUsd += entry.result.scoring?.costUsd ?? 0
  }

  private claim(key: string, by: string | undefined, at: number): void {
    const before = this.claims.get(key)
    if (before !== undefined && !(before.isAllowed && at - before.at > this.options.lease)) return
    while (this.first < this.times.length && (this.times[this.first] ?? 0) <= at - HOUR) this.first++
    const isAllowed = this.times.length - this.first < this.options.maxPerHour
    if (isAllowed) this.times.push(at)
    this.claims.set(key, { by, at, isAllowed })
  }

  readonly isEnded = (trial: Trial): boolean => this.ended.has(keyOf(trial))

  /** Whether a process is to score a trial. */
  readonly isOf = (trial: Trial, by: string): boolean => {
    const claim = this.claims.get(keyOf(trial))
    return claim?.isAllowed === true && claim.by === by && !this.isEnded(trial)
  }
}
