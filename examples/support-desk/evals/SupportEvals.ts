/** How good the desk is: questions of customers, what it must say, and what it may pay. A gate keeps it so. */
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AgentExecutor } from "effect-lexigram"
import {
  Dataset,
  EvalReport,
  Experiment,
  Gate,
  InMemoryExperimentStore,
  Scorer,
  Task,
  TextScorer
} from "effect-lexigram/eval"
import type { MemoryStore } from "effect-lexigram/memory"
import * as DeskAgents from "../DeskAgents.js"
import * as Orders from "../Orders.js"
import * as SqliteOrders from "../SqliteOrders.js"

const Question = Schema.Struct({ customer: Schema.String, message: Schema.String })
type Question = typeof Question.Type

const Expected = Schema.Struct({ says: Schema.Array(Schema.String), paidBack: Schema.Int })
type Expected = typeof Expected.Type

interface Answer {
  readonly message: string
  /** By the shop, in cents, for whatever reason. */
  readonly paidBack: number
}

type Subject = Scorer.Subject<Question, Answer, Expected>

const dataset = Dataset.fromFile(fileURLToPath(new URL("cases.jsonl", import.meta.url)), {
  name: "support desk",
  input: Question,
  expected: Expected
}).pipe(Effect.provide(NodeContext.layer))

/** The desk by a policy. Each case has a shop of its own, in memory. */
const task = (
  name: string,
  policy: DeskAgents.Policy
): Task.Task<Question, Answer, AgentExecutor.AgentExecutor | MemoryStore.MemoryStore> => {
  const desk = Task.agent(DeskAgents.make(policy), {
    name,
    version: `approval above ${policy.approvalAbove}`,
    request: ({ customer, message }: Question) => ({ input: message, userId: customer })
  })
  return {
    ...desk,
    run: (question) =>
      Effect.gen(function* () {
        const outcome = yield* desk.run(question)
        const orders = yield* Orders.Orders
        const paidBack = yield* orders.paidBack
        return outcome._tag === "Failed" ? outcome : { ...outcome, output: { message: outcome.output, paidBack } }
      }).pipe(
        Effect.provide(SqliteOrders.layer(":memory:")),
        // Without its shop there is no trial.
        Effect.orDie
      )
  }
}

const says = Scorer.mapSubject(Scorer.named(TextScorer.containsAll(), "says"), (subject: Subject) => ({
  ...subject,
  output: subject.output.message,
  expected: subject.expected.says
}))

const money = Scorer.make("money", ({ expected, output }: Subject) => output.paidBack === expected.paidBack)

/** Runs the cases with the desk in this process, by a policy. */
export const run = Effect.fnUntraced(function* (policy: DeskAgents.Policy = DeskAgents.policy) {
  const experiment = yield* Experiment.make("support desk", {
    dataset: yield* dataset,
    variants: [task("desk", policy)],
    scorers: [says, money]
  })
  return yield* Experiment.run(experiment, { id: "now", concurrency: 2 })
}, Effect.provide(InMemoryExperimentStore.layer))

type Results = Effect.Effect.Success<ReturnType<typeof run>>

/** As Markdown, without what the desk said. */
export const report = (results: Results) => Effect.map(EvalReport.make(results), (made) => EvalReport.toMarkdown(made))

/** Fails with a `GateError`. Answers may differ in words. Money must be right in every case. */
export const check = (results: Results) => Gate.check(results, { min: { says: 0.9, money: 1 }, maxCostUsd: 0.5 })
