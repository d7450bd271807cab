/**
 * Keeps a queue of runs in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { ownerOf, type QueuedRun } from "./QueuedRun.js"
import * as QueueFullError from "./QueueFullError.js"
import * as QueueStore from "./QueueStore.js"
import * as RunError from "./RunError.js"

interface Kept {
  run: QueuedRun
  readonly owner: string
  state: QueueStore.Place["state"]
  worker: string
  leaseUntil: number
}

/** The waiting runs of one owner and agent, by their rank. */
interface Lane {
  readonly owner: string
  readonly agent: string
  readonly waiting: Array<Kept>
}

const isBefore = (a: QueuedRun, b: QueuedRun): boolean => a.rank < b.rank || (a.rank === b.rank && a.runId < b.runId)

/** Where a run belongs in a lane: all before it have a lower rank. */
const placeOf = (waiting: ReadonlyArray<Kept>, run: QueuedRun): number => {
  let [low, high] = [0, waiting.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore((waiting[middle] as Kept).run, run)) low = middle + 1
    else high = middle
  }
  return low
}

const ofUser = (userId: string | undefined): string => (userId === undefined ? "nobody" : `user:${userId}`)

class Memory implements QueueStore.Service {
  private readonly runs = new Map<string, Kept>()
  private readonly delayed = new Set<Kept>()
  private readonly claimed = new Set<Kept>()
  private readonly lanes = new Map<string, Lane>()
  /** When each owner that waits had its last turn. */
  private readonly turns = new Map<string, number>()
  private turn = 0

  private laneOf({ owner, run }: Kept): Lane {
    const key = JSON.stringify([owner, run.agent])
    let lane = this.lanes.get(key)
    if (lane === undefined) {
      lane = { owner, agent: run.agent, waiting: [] }
      this.lanes.set(key, lane)
    }
    return lane
  }

  private wait(kept: Kept): void {
    const { waiting } = this.laneOf(kept)
    if (!this.turns.has(kept.owner)) this.turns.set(kept.owner, this.turn)
    waiting.splice(placeOf(waiting, kept.run), 0, kept)
    kept.state = "waiting"
  }

  /** Takes a run out of what waits. */
  private leave(kept: Kept): void {
    if (this.delayed.delete(kept)) return
    const lane = this.laneOf(kept)
    lane.waiting.splice(placeOf(lane.waiting, kept.run), 1)
    if (lane.waiting.length > 0) return
    this.lanes.delete(JSON.stringify([lane.owner, lane.agent]))
    if (!Array.from(this.lanes.values()).some(({ owner }) => owner === lane.owner)) this.turns.delete(lane.owner)
  }

  private take(kept: Kept, { leaseUntil, worker }: QueueStore.Worker): QueuedRun {
    if (kept.state !== "claimed") this.leave(kept)
    Object.assign(kept, { state: "claimed", worker, leaseUntil })
    this.claimed.add(kept)
    return kept.run
  }

  readonly add: QueueStore.Service["add"] = (run, { maxWaiting, now }) =>
    Effect.suspend((): ReturnType<QueueStore.Service["add"]> => {
      const owner = ownerOf(run)
      const known = this.runs.get(run.runId)
      if (known !== undefined) {
        return known.owner === owner && known.run.fingerprint === run.fingerprint
          ? Effect.succeed({ run: known.run, added: false })
          : RunError.conflict(run.runId)
      }
      if (this.runs.size - this.claimed.size >= maxWaiting) return QueueFullError.make(maxWaiting)
      const kept: Kept = { run, owner, state: "delayed", worker: "", leaseUntil: 0 }
      this.runs.set(run.runId, kept)
      if (run.notBefore > now) this.delayed.add(kept)
      else this.wait(kept)
      return Effect.succeed({ run, added: true })
    })

  readonly get: QueueStore.Service["get"] = (runId, access) =>
    Effect.map(SystemAccess.held, (held) => {
      const kept = this.runs.get(runId)
      if (kept === undefined || !SystemAccess.allows(held, access?.userId, kept.run.userId)) return Option.none()
      if (kept.run.system === true && !SystemAccess.isGrant(held)) return Option.none()
      const ahead = kept.state === "claimed" ? 0 : placeOf(this.laneOf(kept).waiting, kept.run)
      return Option.some({ run: kept.run, state: kept.state, ahead: Math.min(ahead, 1000) })
    })

  readonly counts: QueueStore.Service["counts"] = (access) =>
    Effect.map(SystemAccess.isGranted, (isGranted) => {
      const owner = access?.userId === undefined && isGranted ? undefined : ofUser(access?.userId)
      const isOwn = (kept: Kept) => owner === undefined || kept.owner === owner
      const running = Array.from(this.claimed).filter(isOwn).length
      return { waiting: Array.from(this.runs.values()).filter(isOwn).length - running, running }
    })

  /** The next run to claim, by the turns of the owners. */
  private next({ agents, perAgent, perOwner }: QueueStore.ClaimOptions): Kept | undefined {
    const owners = new Map<string, number>()
    const byAgent = new Map<string, number>()
    for (const { owner, run } of this.claimed) {
      owners.set(owner, (owners.get(owner) ?? 0) + 1)
      byAgent.set(run.agent, (byAgent.get(run.agent) ?? 0) + 1)
    }
    let best: Kept | undefined
    const turnOf = ({ owner }: Kept) => this.turns.get(owner) ?? 0
    for (const { agent, owner, waiting } of this.lanes.values()) {
      const [first] = waiting
      if (first === undefined || !agents.includes(agent)) continue
      if ((owners.get(owner) ?? 0) >= perOwner || (byAgent.get(agent) ?? 0) >= perAgent) continue
      if (best === undefined || turnOf(first) < turnOf(best)) best = first
      else if (turnOf(first) === turnOf(best) && isBefore(first.run, best.run)) best = first
    }
    return best
  }

  readonly claim: QueueStore.Service["claim"] = (options) =>
    Effect.sync(() => {
      for (const kept of this.delayed) {
        if (kept.run.notBefore > options.now) continue
        this.delayed.delete(kept)
        this.wait(kept)
      }
      const found: Array<QueuedRun> = []
      while (found.length < QueueStore.MAX_CLAIM && this.claimed.size < options.concurrency) {
        const kept = this.next(options)
        if (kept === undefined) break
        this.turns.set(kept.owner, ++this.turn)
        found.push(this.take(kept, options))
      }
      return found
    })

  readonly takeOver: QueueStore.Service["takeOver"] = (options) =>
    Effect.sync(() =>
      Array.from(this.claimed)
        .filter(({ leaseUntil, run }) => leaseUntil <= options.now && options.agents.includes(run.agent))
        .slice(0, QueueStore.MAX_CLAIM)
        .map((kept) => this.take(kept, options))
    )

  readonly renew: QueueStore.Service["renew"] = ({ leaseUntil, worker }) =>
    Effect.sync(() => {
      const own = Array.from(this.claimed).filter((kept) => kept.worker === worker)
      for (const kept of own) kept.leaseUntil = leaseUntil
      return own.map(({ run }) => run.runId)
    })

  readonly cancel: QueueStore.Service["cancel"] = (runId, worker) =>
    Effect.sync(() => {
      const kept = this.runs.get(runId)
      if (kept === undefined || kept.state === "claimed") return false
      this.take(kept, worker)
      kept.run = { ...kept.run, cancelled: true }
      return true
    })

  readonly remove: QueueStore.Service["remove"] = (runId) =>
    Effect.sync(() => {
      const kept = this.runs.get(runId)
      if (kept?.state !== "claimed") return
      this.claimed.delete(kept)
      this.runs.delete(runId)
    })
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (): QueueStore.Service => new Memory()

/**
 * A queue in memory: it ends with the process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { InMemoryQueueStore, QueueRunner } from "effect-lexigram/agent"
 * import * as Layer from "effect/Layer"
 *
 * const queue = QueueRunner.layer({ agents: ["clerk"] }).pipe(Layer.provide(InMemoryQueueStore.layer))
 * ```
 */
export const layer: Layer.Layer<QueueStore.QueueStore> = Layer.sync(QueueStore.QueueStore, make)
