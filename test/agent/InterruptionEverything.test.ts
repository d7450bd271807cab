import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Steering from "../../src/agent/record/Steering.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as AgentDomainEvents from "../../src/observability/AgentDomainEvents.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as WatchedLedger from "../support/WatchedLedger.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 }

/** Answers by what stands in the conversation, so that any number of runs can share it. */
const makeModel = () =>
  TestModel.make((request) => {
    const last = request.messages.findLastIndex((message) => message.role === "user")
    const asked = request.messages[last]
    const results = request.messages.slice(last).filter((message) => message.role === "tool").length
    const turn = (): TestModel.Turn => {
      if (results > 0) return { text: ["call z", "q1", "2 ", "now"], usage }
      switch (asked?.content) {
        case "parallel":
          return { text: "three", calls: [{ name: "held" }, { name: "failing" }, { name: "held" }], usage }
        case "nested":
          return { calls: [{ name: "delegate_to_sub", params: { message: "sub" } }, { name: "held" }], usage }
        case "single":
        case "sub":
          return { text: "first", calls: [{ name: "held" }], usage }
        default:
          return { text: "at once", usage }
      }
    }
    return Effect.as(Effect.yieldNow(), turn())
  })

const codes = WindowGuard.make({
  name: "codes",
  stages: ["input", "toolInput", "toolOutput", "output"],
  window: {
    reach: 4,
    find: (text) =>
      Array.from(text.matchAll(/zq\d\d/g), (match) => ({
        start: match.index,
        end: match.index + match[0].length,
        label: "CODE",
        action: "redact" as const
      }))
  }
})

const prices = CostEstimator.layerPrices({ "test-model": { input: 1000, output: 2000 } })
const ada = UserId.make("ada")

/** An executor with everything switched on, and what runs leave behind. */
const make = () => {
  const model = makeModel()
  const ledger = Effect.runSync(WatchedLedger.make)
  const sessions = Collaborators.sessions()
  const logged: Array<AgentEvent> = []
  const ids = new Set<string>()
  const told: Array<DomainEvent.Body> = []
  const called: Array<string> = []
  let held = 0
  const tools = [
    Tool.make("held", {
      description: "Holds something for a while",
      handler: () =>
        Effect.acquireUseRelease(
          Effect.sync(() => void held++),
          () => Effect.as(Effect.yieldNow(), "held zq12"),
          () => Effect.sync(() => void held--)
        )
    }),
    Tool.make("failing", { description: "Fails", handler: () => Effect.zipRight(Effect.yieldNow(), Effect.fail("no")) })
  ] as const
  const sub = Agent.make("sub", { tools: [tools[0]] })
  const agent = Agent.make("main", { tools: [...tools, AgentTool.make(sub)] })
  const governance = DefaultGovernance.layerWith({
    config: { monthlyBudget: 1000, maxRequestCost: 100, maxTokensPerRequest: 100_000, rpmLimit: 1000, tpmLimit: 1e9 },
    ledger: Layer.succeed(CostLedger.CostLedger, ledger.service)
  }).pipe(Layer.provide(prices))
  // Waits in every hook, changes what filters see: each is a place to be interrupted at.
  const hooks = Layer.provideMerge(
    Layer.scopedDiscard(
      Effect.all([
        Hooks.on(AgentHooks.AgentStartedHook, ({ runId }) =>
          Effect.map(Effect.yieldNow(), () => called.push(`+${runId}`))
        ),
        Hooks.on(AgentHooks.AgentCompletedHook, ({ runId }) =>
          Effect.map(Effect.yieldNow(), () => called.push(`-${runId}`))
        ),
        Hooks.on(AgentHooks.AgentToolCalledHook, () => Effect.yieldNow()),
        Hooks.onFilter(AgentHooks.AgentInputFilter, (text) => Effect.as(Effect.yieldNow(), text)),
        Hooks.onFilter(AgentHooks.AgentAnswerFilter, (text) => Effect.as(Effect.yieldNow(), `${text}!`)),
        Hooks.onFilter(AgentHooks.AgentToolParamsFilter, (params) => Effect.as(Effect.yieldNow(), params)),
        Hooks.onFilter(AgentHooks.AgentObservationFilter, (text) => Effect.as(Effect.yieldNow(), text))
      ])
    ),
    Hooks.layer
  )
  const bus = Layer.succeed(EventBus.EventBus, {
    ...EventBus.noop,
    enabled: true,
    offer: (event) => told.push(event) > 0
  })
  const layer = Agents.layerWith({
    governance,
    prices,
    guards: DefaultGuardPipeline.layerGuards([codes]),
    hooks,
    events: bus,
    steering: Steering.layer(),
    sessions: sessions.layer,
    memory: Collaborators.memory().layer,
    log: Collaborators.log({
      append: (events) =>
        Effect.sync(() => {
          // Appending what is known already changes nothing, as it is with any log.
          for (const event of events) {
            const id = `${event.runId} ${event.seq}`
            if (!ids.has(id)) logged.push(event)
            ids.add(id)
          }
        })
    }).layer
  }).pipe(Layer.provide(Layer.succeed(LlmClient.LlmClient, model)), Layer.merge(governance))
  return { agent, layer, ledger, sessions, logged, told, called, model, held: () => held }
}

type Everything = ReturnType<typeof make>
type Program = (
  agent: Everything["agent"]
) => Effect.Effect<unknown, unknown, AgentExecutor.AgentExecutor | Governance.Governance>

const request = (input: string) => ({ input, userId: "ada", sessionId: "s" })

/** Interrupts at the k-th yield; `undefined` runs to the end. */
const attempt = async (program: Program, at: number | undefined) => {
  const all = make()
  const problems: Array<string> = []
  const managed = ManagedRuntime.make(all.layer)
  const runtime = await managed.runtime()
  const supervisor = Effect.runSync(Supervisor.track)
  let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
  }, at)
  const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
    main = Runtime.runFork(runtime)(
      Effect.supervised(Effect.withScheduler(program(all.agent), scheduler), supervisor),
      { immediate: false }
    )
    main.addObserver(resolve)
  })
  const running = Effect.runSync(supervisor.value).filter((fiber) => fiber.unsafePoll() === null)
  if (running.length > 0) problems.push(`${running.length} fibers run on`)
  if (all.held() !== 0) problems.push(`${all.held()} are held`)
  const active = Effect.runSync(all.model.observer.active)
  if (active !== 0) problems.push(`${active} model calls are open`)

  problems.push(...all.ledger.problems)
  if (all.ledger.open() !== 0) problems.push(`${all.ledger.open()} reservations are open`)
  const budget = await managed.runPromise(Effect.flatMap(Governance.Governance, (one) => one.getBudget(ada)))
  if (budget.reserved !== 0) problems.push(`${budget.reserved} dollars are reserved`)
  if (budget.spent !== CostLedger.toUsd(all.ledger.settled().nanoUsd))
    problems.push(`${budget.spent} dollars are spent`)

  problems.push(...EventRecorder.violations(all.logged, { log: true }))
  if (JSON.stringify(all.logged).includes("zq12")) problems.push("what guards took out is told")
  const started = all.logged.flatMap((event) => (event._tag === "Started" ? [event.runId] : []))
  const ended = all.told.filter((event) => AgentDomainEvents.AgentRunCompletedEvent.is(event as never)).length
  if (ended !== started.length) problems.push(`${started.length} runs began, of ${ended} the end was announced`)
  for (const runId of started) {
    const completed = all.called.filter((one) => one === `-${runId}`).length
    if (completed !== 1) problems.push(`${completed} hooks were told of the end of ${runId}`)
  }
  if (Exit.isFailure(exit) && !Cause.isInterrupted(exit.cause)) problems.push(`ended with ${Cause.pretty(exit.cause)}`)
  const roles = all.sessions.turns("s").map((turn) => `${turn.role}${turn.unanswered === undefined ? "" : "!"}`)
  if (!["", "user,assistant", "user!"].includes(roles.join(","))) problems.push(`kept ${roles.join(",")}`)

  const next = await managed.runPromise(
    Effect.timeoutOption(AgentExecutor.run(all.agent, request("again")), "10 seconds")
  )
  if (next._tag === "None") problems.push("the next run of the session waits for ever")
  else if (next.value.message !== "at once!") problems.push(`the next run says ${next.value.message}`)
  await managed.dispose()
  return { yields: scheduler.count(), exit, problems, roles }
}

const everywhere = async (program: Program, stride: number): Promise<void> => {
  const whole = await attempt(program, undefined)
  assert.deepStrictEqual(whole.problems, [])
  assert.isTrue(Exit.isSuccess(whole.exit), "the uninterrupted run succeeds")
  assert.deepStrictEqual(whole.roles, ["user", "assistant"])
  // The number of operations when fibers run as usual up to the point.
  const { yields } = await attempt(program, Number.POSITIVE_INFINITY)
  let interrupted = 0
  for (let k = 1; ; k += stride) {
    const { exit, problems } = await attempt(program, k)
    assert.deepStrictEqual(problems, [], `interrupted at yield ${k} of ${yields}`)
    if (Exit.isFailure(exit)) interrupted++
    else if (k > yields) break
  }
  assert.isAbove(interrupted, yields / stride / 2)
}

describe("interruption of runs with every feature enabled", () => {
  it("leaves nothing running after run", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("single")), 29)
  )

  it("leaves nothing running after stream", { timeout: 300_000 }, () =>
    everywhere((agent) => Stream.runDrain(AgentExecutor.stream(agent, request("single"))), 37)
  )

  it("leaves nothing running after parallel tools", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("parallel")), 37)
  )

  it("leaves nothing running after a nested agent", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("nested")), 53)
  )
})
