import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as EffectModule from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { expectTypeOf, test } from "vitest"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Remembering from "../../../src/agent/definition/Remembering.js"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import type { AgentResponse } from "../../../src/domain/AgentResponse.js"
import type { ReaderTimeoutError } from "../../../src/domain/ReaderTimeout.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import type { CostEstimator } from "../../../src/llm/model/CostEstimator.js"
import type { MemoryStore } from "../../../src/memory/search/MemoryStore.js"
import * as MemoryBlock from "../../../src/memory/tools/MemoryBlock.js"
import * as MemoryNamespaces from "../../../src/memory/tools/MemoryNamespaces.js"
import * as MemoryTools from "../../../src/memory/tools/MemoryTools.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import type { OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import type { ToolRegistry } from "../../../src/tool/ToolRegistry.js"
import * as ToolSource from "../../../src/tool/ToolSource.js"

class Db extends Context.Tag("Db")<Db, { readonly get: Effect.Effect<string, DbDown> }>() {}
class Mail extends Context.Tag("Mail")<Mail, { readonly send: Effect.Effect<void> }>() {}
class Rules extends Context.Tag("Rules")<Rules, { readonly all: ReadonlyArray<string> }>() {}
class DbDown extends Data.TaggedError("DbDown")<{}> {}
class NoPlan extends Data.TaggedError("NoPlan")<{}> {}
class NoRules extends Data.TaggedError("NoRules")<{}> {}
class Order extends Schema.Class<Order>("Order")({ id: Schema.NumberFromString }) {}

const get = Tool.make("get", { description: "d", handler: () => EffectModule.flatMap(Db, (db) => db.get) })
const fatal = Tool.make("fatal", {
  description: "d",
  handler: () => EffectModule.flatMap(Db, (db) => db.get),
  fatal: true
})
const send = Tool.make("send", { description: "d", handler: () => EffectModule.flatMap(Mail, (mail) => mail.send) })
const planned = Strategy.make("planned", () =>
  EffectModule.flatMap(Rules, () => EffectModule.fail(new NoPlan()) as Effect.Effect<Strategy.Answer, NoPlan>)
)
const guard = Guard.make({
  name: "g",
  stages: ["input"],
  check: () =>
    EffectModule.flatMap(Rules, () => EffectModule.fail(new NoRules()) as Effect.Effect<Guard.GuardResult, NoRules>)
})

test("an agent of nothing adds nothing", () => {
  expectTypeOf(Agent.make("a")).toEqualTypeOf<Agent.Agent<string, never, never>>()
  expectTypeOf(Agent.make("a", {})).toEqualTypeOf<Agent.Agent<string, never, never>>()
  expectTypeOf(Agent.make("a", { system: "s", tools: [], strategy: "react" })).toEqualTypeOf<Agent.Agent>()
})

test("options of memory add what they require", () => {
  const profile = MemoryBlock.make("profile", { description: "d", fields: { name: Schema.String } })
  const namespaces = MemoryNamespaces.make({
    memberships: () => EffectModule.map(Rules, () => [{ scope: "team" as const, id: "t" }])
  })
  const a = Agent.make("a")
  expectTypeOf(a.pipe(Agent.withMemory(Remembering.make({})))).toEqualTypeOf<Agent.Agent>()
  expectTypeOf(a.pipe(Agent.withMemory(Remembering.make({ memory: WorkingMemory.noop })))).toEqualTypeOf<Agent.Agent>()
  expectTypeOf(a.pipe(Agent.withMemory(Remembering.make({ tools: MemoryTools.make })))).toEqualTypeOf<
    Agent.Agent<string, never, MemoryStore>
  >()
  expectTypeOf(
    a.pipe(
      Agent.withMemory(
        Remembering.make({ tools: (given) => MemoryTools.make({ ...given, maxNotes: 1 }), blocks: [profile] })
      )
    )
  ).toEqualTypeOf<Agent.Agent<string, never, MemoryStore>>()
  expectTypeOf(a.pipe(Agent.withMemory(Remembering.make({ namespaces })))).toEqualTypeOf<
    Agent.Agent<string, never, Rules>
  >()
  expectTypeOf(a.pipe(Agent.withMemory(Remembering.make({ blocks: [profile], namespaces })))).toEqualTypeOf<
    Agent.Agent<string, never, MemoryStore | Rules>
  >()
  // @ts-expect-error no such option
  Agent.withMemory(Remembering.make({ tool: true }))
})

test("tools add their fatal failures and what they require", () => {
  expectTypeOf(Agent.make("a", { tools: [get, send] })).toEqualTypeOf<Agent.Agent<string, never, Db | Mail>>()
  expectTypeOf(Agent.make("a", { tools: [fatal, send] })).toEqualTypeOf<Agent.Agent<string, DbDown, Db | Mail>>()
  expectTypeOf(Agent.make("a", { tools: ToolSet.make(fatal, send) })).toEqualTypeOf<
    Agent.Agent<string, DbDown, Db | Mail>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withTools(fatal, ToolSet.make(send)))).toEqualTypeOf<
    Agent.Agent<string, DbDown, Db | Mail>
  >()
})

test("strategies and guards add theirs", () => {
  expectTypeOf(Agent.make("a", { strategy: planned })).toEqualTypeOf<Agent.Agent<string, NoPlan, Rules>>()
  expectTypeOf(Agent.make("a").pipe(Agent.withStrategy(planned))).toEqualTypeOf<Agent.Agent<string, NoPlan, Rules>>()
  expectTypeOf(Agent.make("a").pipe(Agent.withStrategy("react", { maxIterations: 1 }))).toEqualTypeOf<Agent.Agent>()
  expectTypeOf(Agent.make("a", { guards: [guard] })).toEqualTypeOf<Agent.Agent<string, NoRules, Rules>>()
  expectTypeOf(Agent.make("a").pipe(Agent.withGuards(guard))).toEqualTypeOf<Agent.Agent<string, NoRules, Rules>>()
})

test("an output is what its schema decodes to, and may fail to be one, strings too", () => {
  expectTypeOf(Agent.make("a", { output: Order })).toEqualTypeOf<Agent.Agent<Order, OutputValidationError, never>>()
  expectTypeOf(Agent.make("a", { output: Schema.Struct({ n: Schema.NumberFromString }) })).toEqualTypeOf<
    Agent.Agent<{ readonly n: number }, OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a", { output: Schema.NonEmptyString })).toEqualTypeOf<
    Agent.Agent<string, OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withOutput(Schema.NonEmptyString))).toEqualTypeOf<
    Agent.Agent<string, OutputValidationError, never>
  >()
  expectTypeOf(Agent.make("a", { output: Schema.Unknown })).toEqualTypeOf<
    Agent.Agent<unknown, OutputValidationError, never>
  >()
})

const all = Agent.make("a", { tools: [fatal, send], strategy: planned, guards: [guard], output: Order })

test("everything together is the sum, of an agent and of its runs", () => {
  type E = DbDown | NoPlan | NoRules | OutputValidationError
  type R = Db | Mail | Rules
  expectTypeOf(all).toEqualTypeOf<Agent.Agent<Order, E, R>>()
  expectTypeOf<Agent.OutputOf<typeof all>>().toEqualTypeOf<Order>()
  expectTypeOf<Agent.ErrorOf<typeof all>>().toEqualTypeOf<E>()
  expectTypeOf<Agent.ServicesOf<typeof all>>().toEqualTypeOf<R>()
  expectTypeOf(AgentExecutor.run(all, "hi")).toEqualTypeOf<
    Effect.Effect<AgentResponse<Order>, E | AgentExecutor.ExecutorError, R | AgentExecutor.AgentExecutor>
  >()
  expectTypeOf(AgentExecutor.stream(all, "hi")).toEqualTypeOf<
    Stream.Stream<AgentEvent, E | AgentExecutor.ExecutorError | ReaderTimeoutError, R | AgentExecutor.AgentExecutor>
  >()
})

test("combinators that add nothing keep the type", () => {
  expectTypeOf(
    all.pipe(
      Agent.withSystem("s"),
      Agent.withTemperature(1),
      Agent.withSettings({ seed: 1 }),
      Agent.withRole("thinking"),
      Agent.withModule("m"),
      Agent.withLimits({ maxTokens: 1 })
    )
  ).toEqualTypeOf<typeof all>()
})

test("catchTag takes one failure away, of the agent or of the executor", () => {
  const caught = AgentExecutor.run(all, "hi").pipe(
    EffectModule.catchTag("DbDown", () => EffectModule.succeed(undefined))
  )
  expectTypeOf<Effect.Effect.Error<typeof caught>>().toEqualTypeOf<
    NoPlan | NoRules | OutputValidationError | AgentExecutor.ExecutorError
  >()
  const allowed = AgentExecutor.run(Agent.make("a"), "hi").pipe(
    EffectModule.catchTag("BudgetExceededError", () => EffectModule.succeed(undefined))
  )
  expectTypeOf<Effect.Effect.Error<typeof allowed>>().toEqualTypeOf<
    Exclude<AgentExecutor.ExecutorError, { readonly _tag: "BudgetExceededError" }>
  >()
  // @ts-expect-error no run fails with this
  const never = AgentExecutor.run(all, "hi").pipe(EffectModule.catchTag("Nothing", () => EffectModule.void))
  expectTypeOf(never).toBeObject()
})

test("what carries failures inside never shows", () => {
  expectTypeOf<Extract<AgentExecutor.ExecutorError, { readonly _tag: "Fatality" }>>().toEqualTypeOf<never>()
})

test("a schema that requires services is refused", () => {
  const effectful = Schema.transformOrFail(Schema.String, Schema.String, {
    decode: (text) => EffectModule.as(Rules, text),
    encode: (text) => EffectModule.succeed(text)
  })
  // @ts-expect-error outputs are decoded without services
  Agent.make("a", { output: effectful })
})

test("a limit in dollars requires prices", () => {
  const dear = { maxCostUsd: 1 }
  expectTypeOf(Agent.make("a", { limits: dear })).toEqualTypeOf<Agent.Agent<string, never, CostEstimator>>()
  expectTypeOf(Agent.make("a", { limits: { maxTokens: 1, maxTokensPerStep: 1 } })).toEqualTypeOf<Agent.Agent>()
  const dearSteps = { maxCostUsdPerStep: 1 }
  expectTypeOf(Agent.make("a", { limits: dearSteps })).toEqualTypeOf<Agent.Agent<string, never, CostEstimator>>()
  expectTypeOf(Agent.make("a").pipe(Agent.withLimits(dear))).toEqualTypeOf<Agent.Agent<string, never, CostEstimator>>()
  const limited = () => AgentTool.make(Agent.make("a"), { limits: dear })
  expectTypeOf<Tool.ServicesOf<ReturnType<typeof limited>>>().toEqualTypeOf<
    CostEstimator | AgentExecutor.AgentExecutor
  >()
  const plain = () => AgentTool.make(Agent.make("a"), { timeout: "1 second" })
  expectTypeOf<Tool.ServicesOf<ReturnType<typeof plain>>>().toEqualTypeOf<AgentExecutor.AgentExecutor>()
  // @ts-expect-error misspelt
  Agent.make("a", { limits: { maxTokens: 1, maxCostUSD: 1 } })
  // @ts-expect-error misspelt
  Agent.withLimits({ maxTokens: 1, maxCostUSD: 1 })
  // @ts-expect-error misspelt
  AgentTool.make(Agent.make("a"), { limits: { maxTokens: 1, maxCostUSD: 1 } })
})

test("what an agent decides while it runs adds its failures and requirements", () => {
  const broken = EffectModule.flatMap(Rules, () => EffectModule.fail(new NoRules()))
  expectTypeOf(Agent.make("a").pipe(Agent.withInstructions(() => EffectModule.as(Rules, "text")))).toEqualTypeOf<
    Agent.Agent<string, never, Rules>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withInstructions(() => broken))).toEqualTypeOf<
    Agent.Agent<string, NoRules, Rules>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withToolRepair(() => broken))).toEqualTypeOf<
    Agent.Agent<string, NoRules, Rules>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withToolChoice("required"))).toEqualTypeOf<Agent.Agent>()
  const prepared = Agent.make("a").pipe(Agent.withPrepareStep(() => broken))
  expectTypeOf<NoRules>().toExtend<Agent.ErrorOf<typeof prepared>>()
  expectTypeOf<Agent.ServicesOf<typeof prepared>>().toEqualTypeOf<Rules>()
})

test("a validator gets the decoded output, and its rejections are no failures of the run", () => {
  const checked = Agent.make("a", { output: Order }).pipe(
    Agent.withValidator((order) => {
      expectTypeOf(order).toEqualTypeOf<Order>()
      return order.id > 0 ? EffectModule.void : EffectModule.fail(Agent.reject("no id"))
    })
  )
  expectTypeOf(checked).toEqualTypeOf<Agent.Agent<Order, OutputValidationError, never>>()
  const texts = Agent.make("a").pipe(
    Agent.withValidator((text) => (text === "" ? EffectModule.fail(new NoRules()) : EffectModule.void))
  )
  expectTypeOf(texts).toEqualTypeOf<Agent.Agent<string, NoRules | OutputValidationError, never>>()
})

test("a tool source adds its failures, those of its tools, and what both require", () => {
  const source = ToolSource.make({ name: "plugins", tools: EffectModule.as(Rules, [get, fatal]) })
  const agent = Agent.make("a").pipe(Agent.withToolSource(source))
  expectTypeOf<Agent.ServicesOf<typeof agent>>().toEqualTypeOf<
    Rules | Tool.ServicesOf<typeof get> | Tool.ServicesOf<typeof fatal>
  >()
  expectTypeOf<ToolSource.ToolSourceError | Tool.ErrorOf<typeof fatal>>().toExtend<Agent.ErrorOf<typeof agent>>()
  const broken = ToolSource.make({ name: "broken", tools: EffectModule.fail(new NoRules()) })
  const both = Agent.make("a").pipe(Agent.withToolSource(ToolSource.merge(source, broken)), Agent.withToolSearch())
  expectTypeOf<NoRules>().toExtend<Agent.ErrorOf<typeof both>>()
  expectTypeOf<Agent.ServicesOf<typeof both>>().toEqualTypeOf<Agent.ServicesOf<typeof agent>>()
  expectTypeOf(Agent.make("a").pipe(Agent.withToolSource(ToolSource.fromRegistry))).toEqualTypeOf<
    Agent.Agent<string, ToolSource.ToolSourceError, ToolRegistry>
  >()
  expectTypeOf(Agent.make("a").pipe(Agent.withToolSearch({ maxDefinitions: 10 }))).toEqualTypeOf<Agent.Agent>()
})
