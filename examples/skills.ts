/**
 * Skills: a custom one and a built-in one, chained, executed by name for authorized users, cached the second time, and
 * given to an agent as tools.
 */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, ApprovalGate, Ids } from "effect-lexigram"
import { BuiltinSkills, TextSummarizeSkill } from "effect-lexigram/builtin"
import {
  DefaultSkillExecutor,
  DefaultSkillRegistry,
  PermissionChecker,
  Skill,
  SkillChain,
  SkillExecutor,
  SkillResultMemory
} from "effect-lexigram/skill"
import { TestModel } from "effect-lexigram/testing"

class UnknownReport extends Schema.TaggedError<UnknownReport>()("UnknownReport", { month: Schema.String }) {
  override readonly message = `There is no report of ${this.month}`
}

/** An existing service of the application. */
class Archive extends Context.Tag("Archive")<
  Archive,
  { readonly read: (month: string) => Effect.Effect<string, UnknownReport> }
>() {
  static readonly layer = Layer.succeed(Archive, {
    read: (month) =>
      month === "may"
        ? Effect.succeed(
            "Sales of kettles rose by a third in May. The weather was mild. Most of the kettles were sold in Lyon. Staff moved desks."
          )
        : new UnknownReport({ month })
  })
}

// Skill<{ month: string; words: number }, { text: string; max_words: number }, UnknownReport, Archive>
const readReport = Skill.make("read_report", {
  description: "Reads the report of a month",
  permissions: ["reports.read"],
  parameters: {
    month: Schema.String.annotations({ description: "Name of the month, in lower case" }),
    words: Schema.Int.pipe(Schema.between(5, 50)).annotations({ description: "Words that are wanted of it at most" })
  },
  returns: Schema.Struct({ text: Schema.String, max_words: Schema.Int }),
  handler: ({ month, words }) =>
    Effect.flatMap(Archive, (archive) => Effect.map(archive.read(month), (text) => ({ text, max_words: words })))
})

// The result of one skill is the input of the next: the compiler checks it. Each part runs for the same user with its
// own permissions.
const digest = SkillChain.make(
  "digest_report",
  { description: "Gives the main point of the report of a month", cacheable: true },
  readReport,
  TextSummarizeSkill.skill
)

const ada = Ids.UserId.make("ada")
const request = { name: "digest_report", params: { month: "may", words: 9 } }

const byName = Effect.gen(function* () {
  const skills = yield* SkillExecutor.SkillExecutor
  const { output } = yield* skills.execute({ name: "math_calculate", params: { expression: "(2 ** 10 - 24) / 8" } })
  yield* Console.log("math_calculate:", output)

  const first = yield* skills.execute({ ...request, userId: ada })
  const second = yield* skills.execute({ ...request, userId: ada })
  yield* Console.log(
    "digest_report:",
    first.output,
    first.cached ? "(cached)" : "(new)",
    second.cached ? "then cached" : ""
  )

  const refused = yield* Effect.flip(skills.execute({ ...request, userId: Ids.UserId.make("bob") }))
  yield* Console.log("for bob:", refused._tag)

  // Called by the skill instead of its name, failures keep their types.
  const month = yield* Effect.flip(skills.run(readReport, { month: "june", words: 9 }, { userId: ada }))
  yield* Console.log("of june:", month.message)
})

const analyst = Agent.make("analyst", { system: "You answer from the reports." })

const byAgent = Effect.gen(function* () {
  // Every skill of the registry is a tool of the agent, executed for the user of the run.
  const response = yield* AgentExecutor.run(analyst, { input: "What was May like?", userId: ada })
  for (const { name, observation } of response.toolCalls) yield* Console.log("agent used", name, "->", observation)
  yield* Console.log(response.message)
})

const model = TestModel.layer([
  { calls: [{ name: "digest_report", params: request.params }] },
  "Sales of kettles rose in May."
])

const skills = DefaultSkillExecutor.layer().pipe(
  Layer.provideMerge(DefaultSkillRegistry.layer(readReport, digest, ...BuiltinSkills.make())),
  Layer.provide(SkillResultMemory.layer()),
  Layer.provide(ApprovalGate.layerDeny),
  Layer.provide(PermissionChecker.layerStatic({ ada: ["reports.*"] }))
)

const layer = Layer.merge(skills, Agents.layerWith({ skills }).pipe(Layer.provide(model))).pipe(
  Layer.provideMerge(Archive.layer)
)

await Effect.runPromise(Effect.provide(Effect.zipRight(byName, byAgent), layer))
