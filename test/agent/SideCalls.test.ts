/** Model calls that no strategy makes: they are under the limits and the governance of the run they belong to, and each counts once. */

import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentParticipant from "../../src/agent/AgentParticipant.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { RunLimitExceededError } from "../../src/agent/definition/AgentError.js"
import * as Handoff from "../../src/agent/Handoff.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import { SessionId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import { BudgetExceededError } from "../../src/governance/store/GovernanceError.js"
import * as JudgeGuard from "../../src/guard/JudgeGuard.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as LlmResilience from "../../src/llm/LlmResilience.js"
import type * as ModelRouter from "../../src/llm/ModelRouter.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import type { LlmCallRefusedError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as EpisodicCompressor from "../../src/memory/episodic/EpisodicCompressor.js"
import * as MemoryClient from "../../src/memory/working/MemoryClient.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as ModelTurnManager from "../../src/session/group/ModelTurnManager.js"
import * as CompactedSessionHistory from "../../src/session/history/CompactedSessionHistory.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import * as SkillResultCache from "../../src/skill/execute/SkillResultCache.js"
import * as StrategyBudget from "../../src/strategy/combine/StrategyBudget.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as KeptSessions from "../support/KeptSessions.js"
import * as Tiers from "../support/MemoryTiers.js"
import { fresh } from "../support/SessionTurns.js"
import * as WatchedLedger from "../support/WatchedLedger.js"

const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 }
const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 2_000_000 } })

const question = "What is aside?"
const aside = Effect.map(
  LlmGateway.complete({ messages: [{ role: "user", content: question }], settings: { maxTokens: 10 } }),
  LlmClient.text
)

const textOf = ({ content }: LlmClient.Message): string =>
  typeof content === "string" ? content : JSON.stringify(content)

const isAside = ({ messages }: LlmClient.LlmRequest): boolean =>
  messages.some((message) => textOf(message) === question)

/** Who calls a tool of this name calls it once, and answers what came of it. */
const model = (call: string) =>
  TestModel.layer((request) => {
    const { messages, responseFormat, tools } = request
    if (responseFormat?.type === "json") {
      const text = JSON.stringify({ explanation: "", categories: [], score: 0, next: "" })
      return { text, usage }
    }
    if (isAside(request)) return { text: "an answer", usage }
    const last = messages.at(-1)
    const offered = tools?.find(
      ({ name }) => name === call || name.startsWith("delegate_") || name.startsWith("transfer_")
    )
    if (offered === undefined || last?.role === "tool") return { text: "done", usage }
    return { calls: [{ name: offered.name, params: offered.name === call ? {} : { message: "go on" } }], usage }
  })

const client = (call: string) => LlmResilience.layer().pipe(Layer.provide(model(call)))

const executor = (given: Agents.Replaceable, call = "ask") =>
  Layer.provideMerge(
    Agents.layerWith({ prices, ...given }),
    Layer.provideMerge(DefaultModelRouter.layerDefault, model(call))
  )

const ask = Tool.make("ask", { description: "Asks a model", parameters: {}, handler: () => aside })

const skill = Skill.make("ask", { description: "Asks a model", handler: () => Effect.orDie(aside) })

const skills = DefaultSkillExecutor.layer().pipe(
  Layer.provideMerge(DefaultSkillRegistry.layer(skill)),
  Layer.provide([PermissionChecker.layerNoop, SkillResultCache.layerNoop, ApprovalGate.layerDeny])
)

const judges = DefaultGuardPipeline.layerGuards([JudgeGuard.make({ kind: "jailbreak" })])
const outputJudges = DefaultGuardPipeline.layerGuards([JudgeGuard.make({ kind: "toxicity", stages: ["output"] })])

const sessionId = SessionId.make("s")

const long = Layer.effect(
  SessionManager.SessionManager,
  Effect.tap(SessionManager.SessionManager, (sessions) =>
    Effect.gen(function* () {
      const { id } = yield* sessions.create({ id: sessionId })
      for (let n = 1; n <= 12; n++) {
        const content = `turn ${n} `.padEnd(60, "x")
        yield* sessions.addTurn(id, fresh(`t${n}`, { role: n % 2 === 1 ? "user" : "assistant", content, timestamp: n }))
      }
    }).pipe(Effect.orDie)
  )
).pipe(Layer.provide(KeptSessions.layer))

const compacted = {
  sessions: long,
  history: CompactedSessionHistory.layer().pipe(Layer.provide(DefaultHistoryCompactor.layer())),
  tokens: Layer.succeed(TokenCounter.TokenCounter, Tiers.characters),
  config: { sessionTurns: 5 }
}

/** A memory that sums up what it is given. */
const summing = Layer.effect(
  WorkingMemory.WorkingMemory,
  Effect.map(EpisodicCompressor.EpisodicCompressor, (compressor) => ({
    ...WorkingMemory.noop,
    addAll: (entries: Parameters<WorkingMemory.Service["addAll"]>[0]) =>
      Effect.asVoid(Effect.orDie(compressor.compress(entries)))
  }))
).pipe(Layer.provide(DefaultEpisodicCompressor.layerModel()), Layer.provide(TokenCounter.layerApproximate()))

const plain = Agent.make("plain")
const asking = Agent.make("asking", { tools: [ask] })

const agentJudges = Agent.make("judged", { guards: [JudgeGuard.make({ kind: "jailbreak" })] })

/** Who makes the call, how many calls the run makes with it, and how many of them before it. */
const callers: ReadonlyArray<{
  readonly name: string
  readonly given: Agents.Replaceable
  readonly agent: Agent.Agent<
    string,
    unknown,
    AgentExecutor.AgentExecutor | LlmClient.LlmClient | ModelRouter.ModelRouter
  >
  readonly calls: number
  readonly before: number
}> = [
  { name: "a tool", given: {}, agent: asking, calls: 3, before: 1 },
  { name: "a skill", given: { skills }, agent: plain, calls: 3, before: 1 },
  { name: "a guard of the executor", given: { guards: judges }, agent: plain, calls: 2, before: 0 },
  { name: "a guard of answers", given: { guards: outputJudges }, agent: plain, calls: 2, before: 1 },
  { name: "a guard of the agent", given: {}, agent: agentJudges, calls: 2, before: 0 },
  { name: "compaction", given: compacted, agent: plain, calls: 2, before: 0 },
  { name: "memory", given: { memory: summing }, agent: plain, calls: 2, before: 1 },
  {
    name: "a tool of an agent that is a tool",
    given: {},
    agent: Agent.make("outer", { tools: [AgentTool.make(asking)] }),
    calls: 5,
    before: 2
  },
  {
    name: "a tool behind a handoff",
    given: {},
    agent: Agent.make("first", { tools: [Handoff.to(asking)] }),
    calls: 4,
    before: 2
  },
  {
    name: "a guard of an agent that is a tool",
    given: {},
    agent: Agent.make("outer", { tools: [AgentTool.make(agentJudges)] }),
    calls: 4,
    before: 1
  }
]

const request = { input: "hi", sessionId }

const watched = Effect.map(WatchedLedger.make, (ledger) => ({
  ledger,
  governance: DefaultGovernance.layerWith({
    config: { monthlyBudget: 1_000_000 },
    ledger: Layer.succeed(CostLedger.CostLedger, ledger.service)
  })
}))

describe("model calls beside the strategy", () => {
  for (const { agent, before, calls, given, name } of callers) {
    it.effect(`count once, in the answer and in the ledger: ${name}`, () =>
      Effect.gen(function* () {
        const { governance, ledger } = yield* watched
        const { response, sent } = yield* Effect.gen(function* () {
          const response = yield* AgentExecutor.run(agent, request)
          return { response, sent: (yield* TestModel.requests).length }
        }).pipe(Effect.provide(executor({ ...given, governance })))
        assert.strictEqual(sent, calls)
        assert.strictEqual(response.modelCalls, calls)
        assert.strictEqual(response.usage.totalTokens, 3 * calls)
        assert.strictEqual(response.costUsd, 4 * calls)
        assert.strictEqual(ledger.open(), 0)
        assert.deepStrictEqual(ledger.problems, [])
        assert.strictEqual(ledger.settled().tokens, 3 * calls)
        assert.strictEqual(CostLedger.toUsd(ledger.settled().nanoUsd), 4 * calls)
      })
    )

    it.effect(`are not made when governance refuses: ${name}`, () => {
      let reserved = 0
      const refusing = Collaborators.governance({
        reserve: (request) =>
          ++reserved > before
            ? new BudgetExceededError({ budgetType: "monthly", limit: 1, used: 1, message: "used up" })
            : Effect.succeed({ id: `r${reserved}`, ...request })
      })
      const governance = Layer.succeed(Governance.Governance, refusing.service)
      return Effect.gen(function* () {
        yield* Effect.exit(AgentExecutor.run(agent, request))
        assert.isAbove(reserved, before)
        assert.strictEqual((yield* TestModel.requests).length, before)
      }).pipe(Effect.provide(executor({ ...given, governance })))
    })
  }

  it.effect("fail in tools of a run that has used up its calls", () => {
    const errors: Array<unknown> = []
    const telling = Tool.make("ask", {
      description: "Asks a model",
      handler: () =>
        Effect.catchAll(aside, (error) =>
          Effect.sync(() => {
            errors.push(error)
            return "no answer"
          })
        )
    })
    const agent = Agent.make("a", { tools: [telling], limits: { maxModelCalls: 1 } })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(error._tag, "RunLimitExceededError")
      assert.strictEqual((yield* TestModel.requests).length, 1)
      const [refused] = errors as ReadonlyArray<LlmCallRefusedError>
      assert.strictEqual(refused?._tag, "LlmCallRefusedError")
      assert.instanceOf(refused?.cause, RunLimitExceededError)
      assert.deepInclude(refused, { code: "LEX_ERR_LLM_112", provider: "test", model: "test-model" })
    }).pipe(Effect.provide(executor({})))
  })

  it.effect("obey the limit of an outer run in tools of an inner one", () =>
    Effect.gen(function* () {
      const outer = Agent.make("outer", { tools: [AgentTool.make(asking)], limits: { maxModelCalls: 2 } })
      const error = yield* Effect.flip(AgentExecutor.run(outer, "hi"))
      assert.strictEqual(error._tag, "RunLimitExceededError")
      assert.strictEqual((yield* TestModel.requests).filter(isAside).length, 0)
    }).pipe(Effect.provide(executor({})))
  )

  it.effect("count in the budget of a strategy, which refuses them when it is spent", () =>
    Effect.gen(function* () {
      const budget = (most: number) =>
        Agent.make("a", {
          tools: [ask],
          strategy: StrategyBudget.withBudget(FunctionCalling.make(), { maxModelCalls: most })
        })
      assert.strictEqual((yield* AgentExecutor.run(budget(3), "hi")).modelCalls, 3)
      const error = yield* Effect.flip(AgentExecutor.run(budget(2), "hi"))
      assert.strictEqual(error._tag, "StrategyBudgetError")
      assert.strictEqual((yield* TestModel.requests).length, 5)
    }).pipe(Effect.provide(executor({})))
  )

  it.effect("count once for a client behind wrappers or kept by a tool", () =>
    Effect.gen(function* () {
      const kept = yield* LlmClient.LlmClient
      const tool = Tool.make("ask", {
        description: "Asks a model",
        handler: () => Effect.map(kept.complete({ messages: [{ role: "user", content: question }] }), LlmClient.text)
      })
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [tool] }), "hi")
      assert.strictEqual(response.modelCalls, 3)
      assert.strictEqual(response.usage.totalTokens, 9)
    }).pipe(Effect.provide(Layer.provideMerge(Agents.layerWith({ prices }), client("ask"))))
  )

  it.effect("count while an answer arrives", () =>
    Effect.gen(function* () {
      let asked = 0
      const tool = Tool.make("ask", {
        description: "Asks a model twice",
        handler: () =>
          Effect.flatMap(LlmClient.LlmClient, (client) => {
            const onParts = () =>
              ++asked === 1
                ? aside.pipe(Effect.provideService(LlmClient.LlmClient, client), Effect.orDie, Effect.asVoid)
                : Effect.void
            const complete = LlmGateway.complete({ messages: [{ role: "user", content: question }] }, { onParts })
            return Effect.map(complete, LlmClient.text)
          })
      })
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [tool] }), "hi")
      assert.isAbove(asked, 0)
      assert.strictEqual(response.modelCalls, 4)
    }).pipe(Effect.provide(executor({})))
  )

  it.effect("do not wait for the call they are part of while an answer arrives", () =>
    Effect.gen(function* () {
      const errors: Array<string> = []
      const tool = Tool.make("ask", {
        description: "Asks a model while it answers",
        handler: () =>
          Effect.flatMap(LlmClient.LlmClient, (client) => {
            const onParts = () =>
              aside.pipe(
                Effect.provideService(LlmClient.LlmClient, client),
                Effect.catchAll(({ _tag }) => Effect.sync(() => errors.push(_tag))),
                Effect.asVoid
              )
            return Effect.map(
              LlmGateway.complete({ messages: [{ role: "user", content: question }] }, { onParts }),
              LlmClient.text
            )
          })
      })
      const agent = Agent.make("a", { tools: [tool], limits: { maxModelCalls: 4 } })
      assert.strictEqual((yield* AgentExecutor.run(agent, "hi")).modelCalls, 4)
      assert.deepStrictEqual(Array.from(new Set(errors)), [])
      const least = Agent.make("a", { tools: [tool], limits: { maxModelCalls: 2 } })
      assert.strictEqual((yield* Effect.flip(AgentExecutor.run(least, "hi")))._tag, "RunLimitExceededError")
      assert.deepStrictEqual(Array.from(new Set(errors)), ["LlmCallRefusedError"])
    }).pipe(Effect.provide(executor({})))
  )

  it.effect("count for a memory inside a client, and do not block", () => {
    const recalling = Layer.effect(
      WorkingMemory.WorkingMemory,
      Effect.map(LlmClient.LlmClient, (client) => ({
        ...WorkingMemory.noop,
        assemble: () =>
          Effect.flatMap(Effect.either(Effect.provideService(aside, LlmClient.LlmClient, client)), () =>
            WorkingMemory.noop.assemble({ query: "", tokenBudget: 1, ownerId: "ada" })
          )
      }))
    )
    const remembering = MemoryClient.layer({ ownerId: "ada" }).pipe(Layer.provide(recalling))
    return Effect.gen(function* () {
      assert.strictEqual((yield* AgentExecutor.run(plain, "hi")).modelCalls, 2)
      const once = Agent.make("a", { limits: { maxModelCalls: 1 } })
      assert.strictEqual((yield* AgentExecutor.run(once, "hi")).modelCalls, 1)
      assert.strictEqual((yield* TestModel.requests).length, 3)
    }).pipe(
      Effect.provide(Agents.layerWith({ prices }).pipe(Layer.provide(remembering), Layer.provideMerge(model("ask"))))
    )
  })

  it.effect("count once for the model that leads a group, besides its members", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id: sessionId })
      const group = yield* GroupSession.make({
        participants: [AgentParticipant.make(asking), AgentParticipant.make(Agent.make("other"))],
        turnManager: ModelTurnManager.make({}),
        maxRounds: 1
      })
      const { events } = yield* EventRecorder.record(GroupSession.stream(group, sessionId, "hello"))
      const response = AgentResponse.fromEvents(events)
      const sent = (yield* TestModel.requests).length
      assert.isAbove(sent, 0)
      assert.strictEqual(response.modelCalls, sent)
      assert.strictEqual(response.usage.totalTokens, 3 * sent)
    }).pipe(Effect.provide(Layer.provideMerge(executor({}), KeptSessions.layer)))
  )

  it.effect("belong to nobody in work that outlives its run", () => {
    const told = Collaborators.governance()
    return Effect.gen(function* () {
      const after = yield* Deferred.make<void>()
      const late = yield* Deferred.make<Fiber.Fiber<string, unknown>>()
      const leaving = Tool.make("ask", {
        description: "Asks later",
        handler: () =>
          Effect.zipRight(Deferred.await(after), aside).pipe(
            Effect.forkDaemon,
            Effect.flatMap((fiber) => Deferred.succeed(late, fiber)),
            Effect.as("later")
          )
      })
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [leaving] }), "hi")
      assert.strictEqual(response.modelCalls, 2)
      yield* Deferred.succeed(after, undefined)
      assert.strictEqual(yield* Fiber.join(yield* Deferred.await(late)), "an answer")
      assert.strictEqual(told.told.filter(({ op }) => op === "reserve").length, 2)
    }).pipe(Effect.provide(executor({ governance: Layer.succeed(Governance.Governance, told.service) })))
  })

  it.effect("leave a client unchanged outside of runs", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* aside, "an answer")
      assert.isTrue(Option.isNone(yield* Effect.serviceOption(Governance.Governance)))
    }).pipe(Effect.provide(model("ask")))
  )
})
