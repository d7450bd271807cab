/** The application: agents, durable runs, memory, sessions, guards and budgets on one SQLite file, and the shop. */
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ApprovalGate } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { GuardPresets } from "effect-lexigram/guard"
import { Lexigram } from "effect-lexigram/persistence"
import { DefaultSkillCatalog, ScriptRunner, SkillFileReader, SkillFolders, SkillTrust } from "effect-lexigram/skill"
import * as DeskAgents from "./DeskAgents.js"
import * as Models from "./Models.js"
import * as SqliteOrders from "./SqliteOrders.js"

export interface Options {
  /** The folder of both databases. */
  readonly folder: string
  readonly policy?: DeskAgents.Policy | undefined
  /** US dollars a customer may spend in a month. */
  readonly monthlyBudget?: number | undefined
  /** US dollars that one answer may cost. */
  readonly maxRequestCost?: number | undefined
}

const skills = fileURLToPath(new URL("skills", import.meta.url))

const catalog = Layer.unwrapEffect(
  Effect.map(SkillFolders.scan({ paths: [skills] }), (found) =>
    DefaultSkillCatalog.layer(found.skills, { reload: ({ directory }) => SkillFileReader.load(directory) })
  )
).pipe(Layer.provide([ScriptRunner.layerNoop, SkillTrust.layerNoop]), Layer.provide(NodeContext.layer))

/**
 * Messages, answers and tool results pass: injections are withheld, personal data and keys are redacted before a model,
 * a log or a session has them.
 */
const guards = GuardPresets.layer({ maxInputChars: 4000 })

/** What both kinds of the application have in common. */
const settings = ({ maxRequestCost = 0.1, monthlyBudget = 2 }: Omit<Options, "folder">) => ({
  guards,
  catalog,
  prices: Models.prices,
  governance: { maxRequestCost, monthlyBudget, rpmLimit: 60 }
})

/** The agents that callers reach. */
export const agents = (policy: DeskAgents.Policy = DeskAgents.policy) => [DeskAgents.make(policy)] as const

/** Runs survive the process: one that waits for an approval goes on in the next one. */
export const layer = (options: Options) =>
  Application.layerSqlite(agents(options.policy), {
    file: Path.join(options.folder, "agents.db"),
    ...settings(options)
  }).pipe(Layer.provideMerge(SqliteOrders.layer(Path.join(options.folder, "shop.db"))))

/** The executor in memory, without a shop: evals give each case its own. Nobody is there to approve. */
export const layerEvals = () => Lexigram.layerMemory({ ...settings({}), approvals: ApprovalGate.layerDeny })
