/** Governance whose ledger and rates outlive processes, as those in a database do. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../src/agent/Agents.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as CutRuns from "./CutRuns.js"

/** A thousandth of a dollar for a token that is read, two for one that is written. */
export const prices = CostEstimator.layerPrices({ m: { input: 1000, output: 2000 } })

export interface Books {
  readonly ledger: CostLedger.Service
  readonly rates: RateLimitStore.Service
  /** The accounts of users and runs that were written. */
  readonly accounts: Set<string>
}

export const make = (world: CutRuns.World, options: InMemoryCostLedger.Options & { readonly cuts?: boolean } = {}) =>
  Effect.gen(function* () {
    const ledger = yield* InMemoryCostLedger.make(options)
    const accounts = new Set<string>()
    const seen = (names: ReadonlyArray<string>) => {
      for (const name of names) if (!name.startsWith("settled:")) accounts.add(name)
    }
    const operation: CutRuns.World["operation"] = options.cuts === true ? world.operation : (effect) => effect
    return {
      accounts,
      rates: yield* RateLimitStore.makeMemory(),
      ledger: {
        ...ledger,
        isPersistent: true,
        hold: (hold) => {
          seen(hold.accounts.map(({ account }) => account))
          return operation(ledger.hold(hold))
        },
        book: (names, amount) => {
          seen(names)
          return operation(ledger.book(names, amount))
        },
        settle: (id, amount) => operation(ledger.settle(id, amount)),
        release: (id) => operation(ledger.release(id)),
        close: (account) => operation(ledger.close(account))
      }
    } satisfies Books
  })

/** What the accounts and the rates of Ann have. */
const look = ({ accounts, ledger, rates }: Books) =>
  Effect.gen(function* () {
    const balances: Array<readonly [string, CostLedger.Balance]> = []
    for (const account of Array.from(accounts).toSorted()) {
      balances.push([account.replace(/^run:.*/, "run"), yield* ledger.read(account)])
    }
    return { balances, tokens: yield* rates.peek({ key: "tpm:ann", windowMs: 60_000 }) }
  }).pipe(Effect.orDie)

/** The parts of a scenario under a governance. */
export const parts = (config: GovernanceConfig.Options, options?: Parameters<typeof make>[1]) =>
  ({
    shared: (world) => make(world, options),
    executor: (ports, { ledger, rates }) =>
      Agents.layerWith({
        log: ports,
        steering: ports,
        approvals: ports,
        prices,
        governance: DefaultGovernance.layerWith({
          config,
          ledger: Layer.succeed(CostLedger.CostLedger, ledger),
          rates: Layer.succeed(RateLimitStore.RateLimitStore, rates)
        }) as never
      }),
    look
  }) satisfies Partial<CutRuns.Scenario<Books>>
