/** A memory ledger that is checked after every booking. */
import * as Effect from "effect/Effect"
import type * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"

export interface Watched {
  readonly service: CostLedger.Service
  /** Number of open holds. */
  readonly open: () => number
  /** Number of holds ever made. */
  readonly held: () => number
  /** Number of refused holds. */
  readonly refused: () => number
  /** Sum of settled amounts. */
  readonly settled: () => CostLedger.Amount
  /** Largest spent and reserved total of any run. */
  readonly most: () => CostLedger.Amount
  /** Violations found. */
  readonly problems: Array<string>
}

export const make: Effect.Effect<Watched> = Effect.map(InMemoryCostLedger.make(), (ledger) => {
  const accounts = new Map<string, string>()
  const closings = new Map<string, number>()
  const problems: Array<string> = []
  let refused = 0
  let settled: CostLedger.Amount = { nanoUsd: 0, tokens: 0 }
  let most: CostLedger.Amount = { nanoUsd: 0, tokens: 0 }

  const look = (account: string) =>
    Effect.map(ledger.read(account), ({ reserved, spent }) => {
      const used = { nanoUsd: spent.nanoUsd + reserved.nanoUsd, tokens: spent.tokens + reserved.tokens }
      if (Math.min(reserved.nanoUsd, reserved.tokens) < 0) problems.push(`less than nothing is reserved in ${account}`)
      most = { nanoUsd: Math.max(most.nanoUsd, used.nanoUsd), tokens: Math.max(most.tokens, used.tokens) }
    })

  /** Records any second settlement or refund of a hold, even one without effect. */
  const closing = (id: string, what: string) => {
    if (!accounts.has(id)) problems.push(`${what} of ${id}, which was never held`)
    const count = (closings.get(id) ?? 0) + 1
    closings.set(id, count)
    if (count > 1) problems.push(`${what} of ${id}, which was closed before`)
  }

  return {
    problems,
    open: () => accounts.size - closings.size,
    held: () => accounts.size,
    refused: () => refused,
    settled: () => settled,
    most: () => most,
    service: {
      ...ledger,
      hold: (hold) =>
        Effect.tap(ledger.hold(hold), (result) => {
          const run = hold.accounts[0]?.account ?? ""
          if (result._tag === "Refused") refused++
          else accounts.set(hold.id, run)
          return look(run)
        }),
      settle: (id, amount) =>
        Effect.tap(ledger.settle(id, amount), () => {
          closing(id, "settlement")
          settled = { nanoUsd: settled.nanoUsd + amount.nanoUsd, tokens: settled.tokens + amount.tokens }
          return look(accounts.get(id) ?? "")
        }),
      release: (id) =>
        Effect.tap(ledger.release(id), () => {
          closing(id, "refund")
          return look(accounts.get(id) ?? "")
        })
    }
  }
})
