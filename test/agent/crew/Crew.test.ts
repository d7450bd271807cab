import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { expectTypeOf } from "vitest"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Crew from "../../../src/agent/crew/Crew.js"
import * as CrewResult from "../../../src/agent/crew/CrewResult.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { CrewError } from "../../../src/agent/definition/AgentError.js"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../../src/llm/model/LlmError.js"
import type { OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }

const who = (request: LlmClient.LlmRequest): string => {
  const [first] = request.messages
  const system = first?.role === "system" ? (first.content.split("\n")[0] as string) : ""
  return system.startsWith("You manage") ? "manager" : system
}

const said = (request: LlmClient.LlmRequest): string => {
  const content = request.messages.findLast((message) => message.role === "user")?.content
  return typeof content === "string" ? content : ""
}

/** The innermost task, of crews within crews. */
const taskOf = (text: string): string => Array.from(text.matchAll(/^# Your task: (.*)$/gm)).at(-1)?.[1] ?? ""

type Role = (text: string, request: LlmClient.LlmRequest) => string | TestModel.Turn

const layer = (roles: { readonly [name: string]: Role }) =>
  Agents.layer().pipe(
    Layer.provideMerge(
      TestModel.layer((request) => {
        const role = roles[who(request)]
        if (role === undefined) throw new Error(`nobody is "${who(request)}"`)
        const turn = role(said(request), request)
        return typeof turn === "string" ? { text: turn, usage } : { usage, ...turn }
      })
    )
  )

/** Says who it is and what it does. */
const does =
  (name: string): Role =>
  (text) =>
    `${name} did ${taskOf(text)}`

const researcher = Agent.make("researcher", { system: "researcher" })
const writer = Agent.make("writer", { system: "writer" })
const agents = [researcher, writer] as const
const workers = { researcher: does("researcher"), writer: does("writer") }

const facts = Crew.task("facts", { description: "Collect the facts", agent: "researcher" })
const article = Crew.task("article", { description: "Write it up", agent: "writer" })

/** What each agent was told, in order. */
const told = Effect.map(TestModel.requests, (requests) =>
  requests.map((request) => ({ who: who(request), text: said(request) }))
)

const accept = JSON.stringify({ accepted: true, feedback: "" })
const reject = (feedback: string) => JSON.stringify({ accepted: false, feedback })
const give = (...pairs: ReadonlyArray<readonly [string, string, string?]>) =>
  JSON.stringify({ assignments: pairs.map(([task, agent, instructions = ""]) => ({ task, agent, instructions })) })

class Ledger extends Context.Tag("Ledger")<Ledger, { readonly total: number }>() {}
class Broke extends Schema.TaggedError<Broke>()("Broke", { message: Schema.String }) {}

const collect = <E, R>(stream: Stream.Stream<CrewResult.CrewEvent, E, R>) =>
  Effect.gen(function* () {
    const events: Array<CrewResult.CrewEvent> = []
    const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Effect.sync(() => void events.push(event))))
    return { events, exit }
  })

const isAgentEvent = (event: CrewResult.CrewEvent): event is AgentEvent => "seq" in event

describe("Crew", () => {
  it("has the failures and requirements of its agents, its manager and its checks", () => {
    const payer = Agent.make("payer", {
      tools: [
        Tool.make("pay", {
          description: "Pays",
          fatal: true,
          failure: Broke,
          handler: () => new Broke({ message: "" })
        })
      ]
    })
    const teller = Agent.make("manager", {
      tools: [Tool.make("ask", { description: "Asks", handler: () => Effect.map(Ledger, (ledger) => ledger.total) })]
    })
    const crew = Crew.make("crew", {
      agents: [payer, writer],
      manager: teller,
      tasks: [Crew.task("t", { description: "x", check: () => Effect.fail("odd" as const) })]
    })
    expectTypeOf(crew).toEqualTypeOf<Crew.Crew<Broke | "odd", Ledger>>()
    expectTypeOf(Crew.run(crew, "go")).toEqualTypeOf<
      Effect.Effect<
        CrewResult.CrewResult,
        Broke | "odd" | CrewError | OutputValidationError | AgentExecutor.ExecutorError,
        Ledger | AgentExecutor.AgentExecutor
      >
    >()
    expectTypeOf(Crew.make("plain", { agents, tasks: [facts] })).toEqualTypeOf<Crew.Crew>()
    // @ts-expect-error an option that does not exist
    Crew.make("crew", { agents, tasks: [facts], mode: "parallel" })
  })

  it.effect("gives each task to its own agent, not to the first one", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(Crew.make("press", { agents, tasks: [article, facts] }), "Heat pumps")
      assert.deepStrictEqual(
        result.tasks.map(({ agent, name, output, status, success }) => [name, agent, output, status, success]),
        [
          ["article", "writer", "writer did article", "completed", true],
          ["facts", "researcher", "researcher did facts", "completed", true]
        ]
      )
      assert.strictEqual(result.finalOutput, "researcher did facts")
    }).pipe(Effect.provide(layer(workers)))
  )

  it.effect("tells every agent the request, its task, the expected output and its context", () =>
    Effect.gen(function* () {
      yield* Crew.run(
        Crew.make("press", {
          agents,
          tasks: [
            facts,
            Crew.task("article", { description: "Write it up", agent: "writer", expectedOutput: "One page" })
          ]
        }),
        "Heat pumps"
      )
      const [first, second, review] = yield* told
      assert.strictEqual(first?.text, "# Request\nHeat pumps\n\n# Your task: facts\nCollect the facts")
      for (const part of ["# Request\nHeat pumps", "Write it up", "# Expected output\nOne page"]) {
        assert.include(second?.text, part)
      }
      assert.include(
        second?.text,
        JSON.stringify({ task: "facts", agent: "researcher", output: "researcher did facts" })
      )
      assert.strictEqual(review?.who, "manager")
    }).pipe(Effect.provide(layer({ ...workers, manager: () => accept })))
  )

  it.effect("accepts an expected output, or asks again with the reason, or fails the crew", () =>
    Effect.gen(function* () {
      const crew = (retries?: number) =>
        Crew.make("press", {
          agents,
          tasks: [
            Crew.task("article", { description: "Write", agent: "writer", expectedOutput: "Three lines", retries })
          ]
        })
      const roles = {
        writer: (text: string) => (text.includes("too short") ? "long" : "short"),
        manager: (text: string) => (text.includes('"long"') ? accept : reject("too short"))
      }
      const result = yield* Effect.provide(Crew.run(crew(), "go"), layer(roles))
      assert.deepInclude(result.tasks[0], { output: "long", attempts: 2, success: true })
      const error = yield* Effect.flip(Effect.provide(Crew.run(crew(0), "go"), layer(roles)))
      assert.deepInclude(error, { _tag: "CrewError", reason: "rejected", task: "article" })
      assert.include(error.message, "too short")
    })
  )

  it.effect("skips the check, or runs a function", () =>
    Effect.gen(function* () {
      const crew = (check: "none" | ((output: { readonly text: string }) => Effect.Effect<true | string>)) =>
        Crew.make("press", {
          agents,
          tasks: [Crew.task("article", { description: "Write", agent: "writer", expectedOutput: "Lines", check })]
        })
      const roles = { writer: (text: string) => (text.includes("no verb") ? "I go" : "I") }
      const unchecked = yield* Effect.provide(Crew.run(crew("none"), "go"), layer(roles))
      assert.deepInclude(unchecked.tasks[0], { output: "I", attempts: 1 })
      const checked = yield* Effect.provide(
        Crew.run(
          crew(({ text }) => Effect.succeed(text.includes("go") || "no verb")),
          "go"
        ),
        layer(roles)
      )
      assert.deepInclude(checked.tasks[0], { output: "I go", attempts: 2 })
    })
  )

  it.effect("decodes an output with a schema, after another attempt if needed", () =>
    Effect.gen(function* () {
      let asked = 0
      const result = yield* Crew.run(
        Crew.make("press", {
          agents,
          tasks: [
            Crew.task("count", {
              description: "Count",
              agent: "writer",
              output: Schema.Struct({ n: Schema.NumberFromString })
            }),
            Crew.task("tell", { description: "Tell", agent: "researcher" })
          ]
        }),
        "go"
      ).pipe(
        Effect.provide(
          layer({
            writer: () => (asked++ === 0 ? "many" : JSON.stringify({ n: "07" })),
            researcher: (text) => text
          })
        )
      )
      assert.deepStrictEqual(result.tasks[0]?.value, { n: "7" })
      assert.strictEqual(result.tasks[0]?.output, '{"n":"7"}')
      assert.include(result.finalOutput, JSON.stringify({ task: "count", agent: "writer", output: '{"n":"7"}' }))
    })
  )

  it.effect("passes the task before, the named tasks, or none as context", () =>
    Effect.gen(function* () {
      const step = (name: string, context?: ReadonlyArray<string>) =>
        Crew.task(name, { description: name, agent: "writer", context })
      yield* Crew.run(
        Crew.make("press", { agents, tasks: [step("a"), step("b"), step("c", []), step("d", ["a", "b"])] }),
        "go"
      )
      const known = (yield* told).map(({ text }) => Array.from(text.matchAll(/\{"task":"(\w)"/g), (match) => match[1]))
      assert.deepStrictEqual(known, [[], ["a"], [], ["a", "b"]])
    }).pipe(Effect.provide(layer(workers)))
  )

  it.effect("finds an invalid crew before any model call", () =>
    Effect.gen(function* () {
      const t = (name: string, options: { agent?: string; context?: ReadonlyArray<string> } = {}) =>
        Crew.task(name, { description: name, agent: "writer", ...options })
      const cases: ReadonlyArray<readonly [CrewError["reason"], Crew.Crew]> = [
        ["no-agents", Crew.make("c", { agents: [], tasks: [t("a")] })],
        ["no-tasks", Crew.make("c", { agents, tasks: [] })],
        ["duplicate-agent", Crew.make("c", { agents: [writer, writer], tasks: [t("a")] })],
        ["duplicate-task", Crew.make("c", { agents, tasks: [t("a"), t("a")] })],
        ["unknown-agent", Crew.make("c", { agents, tasks: [t("a", { agent: "writter" })] })],
        ["unknown-context", Crew.make("c", { agents, tasks: [t("a", { context: ["b"] })] })],
        ["cycle", Crew.make("c", { agents, tasks: [t("a", { context: ["b"] }), t("b", { context: ["a"] })] })],
        ["cycle", Crew.make("c", { agents, process: "parallel", tasks: [t("a", { context: ["a"] })] })],
        ["order", Crew.make("c", { agents, tasks: [t("a", { context: ["b"] }), t("b", { context: [] })] })]
      ]
      for (const [reason, crew] of cases) {
        const error = yield* Effect.flip(Crew.run(crew, "go"))
        assert.deepInclude(error, { _tag: "CrewError", code: "LEX_ERR_AGT_111", reason })
        assert.deepInclude(Either.flip(Crew.validate(crew)), { _tag: "Right" })
      }
      const misspelt = yield* Effect.flip(Crew.run(cases[4]![1], "go"))
      assert.strictEqual((misspelt as CrewError).hint, 'Did you mean "writer"?')
      assert.deepStrictEqual(yield* TestModel.requests, [])
    }).pipe(Effect.provide(layer({})))
  )

  it.effect("adds and removes agents by name", () =>
    Effect.gen(function* () {
      const crew = Crew.make("press", { agents: [researcher], tasks: [facts, article] })
      assert.deepInclude(yield* Effect.flip(Crew.run(crew, "go")), { reason: "unknown-agent" })
      const whole = crew.pipe(Crew.withAgent(writer))
      assert.strictEqual((yield* Crew.run(whole, "go")).finalOutput, "writer did article")
      const other = whole.pipe(Crew.withAgent(Agent.make("writer", { system: "researcher" })))
      assert.strictEqual(other.agents.length, 2)
      assert.strictEqual((yield* Crew.run(other, "go")).finalOutput, "researcher did article")
      assert.isTrue(Option.isNone(Crew.getAgent(whole.pipe(Crew.withoutAgent("writer")), "writer")))
    }).pipe(Effect.provide(layer(workers)))
  )
})

describe("a task without an agent", () => {
  const open = [Crew.task("facts", { description: "Find" }), Crew.task("article", { description: "Write" })]

  it.effect("is assigned by the manager", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(Crew.make("press", { agents, tasks: open }), "go")
      assert.deepStrictEqual(
        result.tasks.map((task) => task.agent),
        ["writer", "researcher"]
      )
      assert.include((yield* told)[2]?.text, "# Instructions\nhurry")
    }).pipe(
      Effect.provide(
        layer({ ...workers, manager: () => give(["facts", "writer"], ["article", "researcher", "hurry"]) })
      )
    )
  )

  it.effect("is assigned again after an unknown name", () =>
    Effect.gen(function* () {
      let asked = 0
      const replies = [
        give(["facts", "nobody"], ["article", "writer"]),
        give(["facts", "writer"]),
        give(["facts", "researcher"], ["article", "writer"])
      ]
      const result = yield* Crew.run(Crew.make("press", { agents, tasks: open }), "go").pipe(
        Effect.provide(layer({ ...workers, manager: () => replies[asked++] as string }))
      )
      assert.strictEqual(asked, 3)
      assert.strictEqual(result.finalOutput, "writer did article")
    })
  )

  it.effect("fails the crew with a typed error if it stays unassigned", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Crew.run(Crew.make("press", { agents, tasks: open }), "go"))
      assert.deepInclude(error, { _tag: "CrewError", reason: "assignment" })
    }).pipe(Effect.provide(layer({ ...workers, manager: () => give(["facts", "nobody"], ["article", "writer"]) })))
  )

  it.effect("goes to the only agent without a model call", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(Crew.make("solo", { agents: [writer], tasks: open }), "go")
      assert.strictEqual(result.finalOutput, "writer did article")
    }).pipe(Effect.provide(layer({ writer: does("writer") })))
  )
})

describe("a hierarchical crew", () => {
  it.effect("has its manager assign, review, send back and answer; context reaches the agents", () =>
    Effect.gen(function* () {
      const crew = Crew.make("press", {
        process: "hierarchical",
        agents,
        tasks: [
          Crew.task("facts", { description: "Find" }),
          Crew.task("side", { description: "Something else", context: [] }),
          Crew.task("article", { description: "Write", context: ["facts"] })
        ]
      })
      const result = yield* Crew.run(crew, "Heat pumps")
      assert.strictEqual(result.finalOutput, "the final answer")
      assert.deepStrictEqual(
        result.tasks.map(({ agent, attempts, output }) => [agent, attempts, output]),
        [
          ["researcher", 2, "three facts"],
          ["researcher", 1, "researcher did side"],
          ["writer", 1, "writer did article"]
        ]
      )
      const asked = yield* told
      const writing = asked.find((one) => one.who === "writer")?.text
      assert.include(writing, JSON.stringify({ task: "facts", agent: "researcher", output: "three facts" }))
      assert.notInclude(writing, "researcher did side")
      assert.include(writing, "# Request\nHeat pumps")
      assert.include(asked.at(-1)?.text, "writer did article")
    }).pipe(
      Effect.provide(
        layer({
          researcher: (text) => (text.includes("one more") ? "three facts" : does("researcher")(text, {} as never)),
          writer: does("writer"),
          manager: (text) =>
            text.includes("Give every task")
              ? give(["facts", "researcher"], ["side", "researcher"], ["article", "writer"])
              : text.includes("Write the final answer")
                ? "the final answer"
                : text.includes("researcher did facts")
                  ? reject("one more")
                  : accept
        })
      )
    )
  )

  it.effect("leaves a task with the agent that it names", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Crew.run(Crew.make("press", { process: "hierarchical", agents, tasks: [facts] }), "go")
      )
      assert.include(error.message, "facts belongs to researcher")
    }).pipe(Effect.provide(layer({ ...workers, manager: () => give(["facts", "writer"]) })))
  )

  it.effect("uses a custom manager instead of the default", () =>
    Effect.gen(function* () {
      const chief = Agent.make("chief", { system: "chief" })
      const result = yield* Crew.run(
        Crew.make("press", { process: "hierarchical", agents, manager: chief, tasks: [facts] }),
        "go"
      )
      assert.strictEqual(result.finalOutput, "done")
    }).pipe(
      Effect.provide(
        layer({
          ...workers,
          chief: (text) =>
            text.includes("Give every task")
              ? give(["facts", "researcher"])
              : text.includes("Is this")
                ? accept
                : "done"
        })
      )
    )
  )
})

describe("a parallel crew", () => {
  const step = (name: string, context: ReadonlyArray<string> = []) =>
    Crew.task(name, { description: name, agent: "writer", context })

  it.effect("begins a task as soon as its context is done, within the concurrency", () =>
    Effect.gen(function* () {
      let active = 0
      let most = 0
      const order: Array<string> = []
      const delays: Record<string, number> = { a: 10, b: 30, c: 10, d: 10, e: 10 }
      const crew = (concurrency?: number) =>
        Crew.make("press", {
          process: "parallel",
          agents,
          concurrency,
          tasks: [step("a"), step("b"), step("c", ["a"]), step("d", ["b", "c"]), step("e")]
        })
      const writing: Role = (text) => {
        order.push(taskOf(text))
        return { text: taskOf(text), delay: delays[taskOf(text)] }
      }
      const timed = (concurrency?: number) =>
        Effect.gen(function* () {
          order.length = 0
          most = 0
          active = 0
          const fiber = yield* Effect.fork(
            Crew.stream(crew(concurrency), "go").pipe(
              Stream.runForEach((event) =>
                Effect.sync(() => {
                  if (event._tag === "TaskStarted") most = Math.max(most, ++active)
                  if (event._tag === "TaskFinished") active--
                })
              ),
              Effect.provide(layer({ writer: writing }))
            )
          )
          yield* TestClock.adjust(1000)
          yield* Fiber.join(fiber)
          return { most, order: order.join("") }
        })
      assert.deepStrictEqual(yield* timed(), { most: 3, order: "abecd" })
      assert.strictEqual((yield* timed(1)).most, 1)
    })
  )

  it.effect("keeps the results in the order of the crew", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(
        Crew.make("press", { process: "parallel", agents, tasks: [step("a", ["b"]), step("b")] }),
        "go"
      )
      assert.deepStrictEqual(
        result.tasks.map((task) => task.name),
        ["a", "b"]
      )
      assert.strictEqual(result.finalOutput, "writer did b")
    }).pipe(Effect.provide(layer(workers)))
  )
})

describe("a failed task", () => {
  const down = new LlmUnavailableError({ provider: "test", message: "down" })
  const tasks = [
    facts,
    article,
    Crew.task("aside", { description: "Something else", agent: "writer", context: [] }),
    Crew.task("end", { description: "The end", agent: "writer", context: ["article"] })
  ]
  const roles = { ...workers, researcher: () => ({ fail: down }) }

  for (const process of ["sequential", "parallel"] as const) {
    it.effect(`fails the crew with its own error: ${process}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Crew.run(Crew.make("press", { process, agents, tasks: [facts] }), "go"))
        assert.strictEqual(error._tag, "LlmUnavailableError")
      }).pipe(Effect.provide(layer(roles)))
    )
  }

  it.effect("lets others continue where possible, and tells them", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(Crew.make("press", { agents, tasks, failure: "continue" }), "go")
      assert.deepStrictEqual(
        result.tasks.map((task) => task.status),
        ["failed", "completed", "completed", "completed"]
      )
      assert.deepInclude(result.tasks[0], { success: false, output: "", attempts: 1 })
      assert.deepInclude(result.tasks[0]?.error, { tag: "LlmUnavailableError", message: "down" })
      const writing = (yield* told).find((one) => one.text.includes("Write it up"))
      assert.include(writing?.text, JSON.stringify({ task: "facts", agent: "researcher", failed: "down" }))
    }).pipe(Effect.provide(layer(roles)))
  )

  for (const process of ["sequential", "parallel"] as const) {
    it.effect(`skips its dependents if configured: ${process}`, () =>
      Effect.gen(function* () {
        const needing = tasks.map((task) => (task.name === "article" ? { ...task, context: ["facts"] } : task))
        const result = yield* Crew.run(
          Crew.make("press", { process, agents, tasks: needing, failure: "skip-dependents" }),
          "go"
        )
        assert.deepStrictEqual(
          result.tasks.map((task) => [task.name, task.status, task.attempts]),
          [
            ["facts", "failed", 1],
            ["article", "skipped", 0],
            ["aside", "completed", 1],
            ["end", "skipped", 0]
          ]
        )
        assert.strictEqual(result.finalOutput, undefined)
        assert.strictEqual(result.tasks[3]?.error?.message, '"end" was skipped: it needs "article"')
      }).pipe(Effect.provide(layer(roles)))
    )
  }

  it.effect("does not override a limit of the crew", () =>
    Effect.gen(function* () {
      const crew = Crew.make("press", {
        agents,
        tasks: [facts, article],
        failure: "continue",
        limits: { maxTokens: 100 }
      })
      const error = yield* Effect.flip(Crew.run(crew, "go"))
      assert.deepInclude(error, { _tag: "RunLimitExceededError", agentName: "press", limitType: "tokens" })
    }).pipe(Effect.provide(layer(workers)))
  )
})

describe("a crew's run", () => {
  const crew = Crew.make("press", {
    agents,
    tasks: [facts, Crew.task("article", { description: "Write", agent: "writer", expectedOutput: "long", retries: 1 })]
  })
  const roles = {
    researcher: does("researcher"),
    writer: (text: string) => (text.includes("too short") ? "long" : "short"),
    manager: (text: string) => (text.includes('"long"\n') ? accept : reject("too short"))
  }

  it.live("shows its events among those of its agents, in order", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* collect(Crew.stream(crew, "go"))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(EventRecorder.violations(events.filter(isAgentEvent)), [])
      const own = events.filter((event) => !isAgentEvent(event))
      assert.deepStrictEqual(
        own.map((event) => event._tag),
        ["CrewStarted", "TaskStarted", "TaskFinished", "TaskStarted", "TaskRetried", "TaskFinished", "CrewFinished"]
      )
      const started = events.find((event) => event._tag === "CrewStarted")!
      for (const event of events) {
        if (event._tag !== "TaskStarted" && event._tag !== "TaskRetried") continue
        const inner = events.filter(isAgentEvent).filter((other) => other.runId === event.runId)
        assert.strictEqual(inner[0]?._tag, "Started")
        assert.strictEqual(inner[0]?.agent, event.agent)
        assert.strictEqual(inner[0]?.parentRunId, started.runId)
        assert.isAbove(events.indexOf(inner[0] as AgentEvent), events.indexOf(event))
      }
      const plan = events.findLast((event) => event._tag === "Plan")
      assert.deepStrictEqual(
        plan?.steps.map((step) => [step.id, step.status]),
        [
          ["facts", "completed"],
          ["article", "completed"]
        ]
      )
      for (const event of events) {
        const encoded = Schema.encodeSync(CrewResult.CrewEvent)(event)
        assert.strictEqual(
          Schema.decodeUnknownSync(CrewResult.CrewEvent)(JSON.parse(JSON.stringify(encoded)))._tag,
          event._tag
        )
      }
    }).pipe(Effect.provide(layer(roles)))
  )

  it.effect("sums usage and cost of all agents, and of each task with its reviews", () =>
    Effect.gen(function* () {
      const result = yield* Crew.run(crew, "go")
      assert.deepStrictEqual(
        result.tasks.map((task) => [task.attempts, task.usage.totalTokens]),
        [
          [1, 110],
          [2, 440]
        ]
      )
      assert.strictEqual(result.usage.totalTokens, 550)
      assert.closeTo(result.costUsd!, 5 * 2, 1e-9)
      assert.closeTo(result.tasks[1]!.costUsd!, 4 * 2, 1e-9)
      assert.deepStrictEqual(
        Schema.decodeUnknownSync(CrewResult.CrewResult)(JSON.parse(JSON.stringify(result))),
        result
      )
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          layer(roles),
          CostEstimator.layerPrices({ "test-model": { input: 10_000, output: 100_000 } })
        )
      )
    )
  )

  it.effect("answers like an agent, inside another agent or crew", () =>
    Effect.gen(function* () {
      const inner = Crew.make("inner", { agents, tasks: [facts] })
      const outer = Crew.make("outer", {
        agents: [Crew.asAgent(inner), writer],
        tasks: [Crew.task("all", { description: "All", agent: "inner" })]
      })
      const nested = yield* Crew.run(outer, "go")
      assert.deepStrictEqual(
        nested.tasks.map((task) => [task.name, task.output]),
        [["all", "researcher did facts"]]
      )
      const boss = Agent.make("boss", { system: "boss", tools: [Crew.asTool(inner)] })
      const response = yield* AgentExecutor.run(boss, "go")
      assert.strictEqual(response.message, "told: researcher did facts")
    }).pipe(
      Effect.provide(
        layer({
          ...workers,
          boss: (_text, request) => {
            const last = request.messages.at(-1)
            return last?.role === "tool"
              ? `told: ${last.content[0]?.result}`
              : { calls: [{ name: "delegate_to_inner", params: { message: "do" } }] }
          }
        })
      )
    )
  )

  it.effect("works for its user, and saves nothing of what agents say to each other", () =>
    Effect.gen(function* () {
      const { events } = yield* collect(Crew.stream(crew, { input: "go", userId: "ada" }))
      const users = events.flatMap((event) => (event._tag === "Started" ? [event.userId] : []))
      assert.strictEqual(users.length, 6)
      assert.isTrue(users.every((user) => user === "ada"))
    }).pipe(Effect.provide(layer(roles)))
  )

  it.effect("interrupts every agent", () =>
    Effect.gen(function* () {
      const slow: Role = (text) => ({ text: taskOf(text), delay: "1 hour" })
      const parallel = Crew.make("press", {
        process: "parallel",
        agents,
        tasks: [facts, article, Crew.task("third", { description: "x", agent: "writer" })]
      })
      yield* Effect.gen(function* () {
        const observer = yield* TestModel.TestModel
        const fiber = yield* Effect.fork(Crew.run(parallel, "go"))
        while ((yield* observer.active) < 3) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(yield* observer.active, 0)
      }).pipe(Effect.provide(layer({ researcher: slow, writer: slow })))
    })
  )
})
