/**
 * Open exchanges in memory, by session and by owner, and the leases of their owners.
 *
 * @private
 * @since 0.1.0
 */
import type { RunId, SessionId } from "../../domain/Ids.js"
import type { Exchange } from "./Session.js"

interface Owner {
  until: number
  readonly held: Set<Exchange>
}

/**
 * @category models
 */
export class HeldExchanges {
  private readonly bySession = new Map<SessionId, Map<RunId, Exchange>>()
  private readonly owners = new Map<string, Owner>()

  get(sessionId: SessionId, runId: RunId): Exchange | undefined {
    return this.bySession.get(sessionId)?.get(runId)
  }

  open(exchange: Exchange): void {
    this.withdraw(exchange.sessionId, exchange.runId)
    const held = this.bySession.get(exchange.sessionId) ?? new Map<RunId, Exchange>()
    held.set(exchange.runId, exchange)
    this.bySession.set(exchange.sessionId, held)
    if (exchange.owner !== undefined) this.ownerOf(exchange.owner).held.add(exchange)
  }

  withdraw(sessionId: SessionId, runId: RunId): boolean {
    const of = this.bySession.get(sessionId)
    const exchange = of?.get(runId)
    if (of === undefined || exchange === undefined) return false
    of.delete(runId)
    if (of.size === 0) this.bySession.delete(sessionId)
    if (exchange.owner !== undefined) this.owners.get(exchange.owner)?.held.delete(exchange)
    return true
  }

  delete(sessionId: SessionId): void {
    for (const runId of Array.from(this.bySession.get(sessionId)?.keys() ?? [])) this.withdraw(sessionId, runId)
  }

  lease(owner: string, until: number): void {
    this.ownerOf(owner).until = until
  }

  orphans(at: number, limit: number): ReadonlyArray<Exchange> {
    const found: Array<Exchange> = []
    const ended = Array.from(this.owners).filter(([, { until }]) => until <= at)
    for (const [owner, { held }] of ended.sort(([, a], [, b]) => a.until - b.until)) {
      if (held.size === 0) this.owners.delete(owner)
      for (const exchange of held) {
        if (found.length >= limit) return found
        found.push(exchange)
      }
    }
    return found
  }

  /** An owner that never had a lease has no valid one. */
  private ownerOf(name: string): Owner {
    let owner = this.owners.get(name)
    if (owner === undefined) {
      owner = { until: Number.NEGATIVE_INFINITY, held: new Set() }
      this.owners.set(name, owner)
    }
    return owner
  }
}
