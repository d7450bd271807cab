import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import * as StateGraph from "../../../src/graph/StateGraph.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as CustomPrompts from "../../../src/prompt/CustomPrompts.js"
import * as SelfDiscoveryPrompts from "../../../src/prompt/defaults/SelfDiscoveryPrompts.js"
import * as PromptLibrary from "../../../src/prompt/PromptLibrary.js"
import * as ReasoningModules from "../../../src/strategy/discovery/ReasoningModules.js"
import * as ReasoningStructure from "../../../src/strategy/discovery/ReasoningStructure.js"
import * as SelfDiscovery from "../../../src/strategy/discovery/SelfDiscovery.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Growth from "../../support/Growth.js"
import * as Strategies from "../Strategies.js"

type Options = Omit<SelfDiscovery.Options, "cache"> & Strategies.Setup

const run = (script: Strategies.Script, options: Options = {}) =>
  Strategies.run(SelfDiscovery.make(options), script, options)

const text = (request: LlmClient.LlmRequest | undefined): string =>
  request!.messages.map((message) => String(message.content)).join("\n----\n")

const json = (value: unknown) => JSON.stringify(value)
const selected = (...names: ReadonlyArray<string>) => json({ selected: names })
const adapted = (...names: ReadonlyArray<string>) =>
  json({ modules: names.map((name) => ({ name, strategy: `use ${name}` })) })
const planned = (...steps: ReadonlyArray<string>) => json({ steps })

const two = [
  selected("simplify", "step_by_step"),
  adapted("simplify"),
  adapted("step_by_step"),
  planned("list", "add"),
  "1 and 2",
  "3",
  "It is 3."
]

const structure: ReasoningStructure.Structure = {
  modules: [{ name: "simplify", strategy: "take the small one" }],
  steps: ["list", "add"]
}

const plans = (ran: Strategies.Ran<unknown>) =>
  ran.of("Plan").map(({ steps }) => steps.map(({ description, status }) => `${description} ${status}`).join(", "))

const stepNames = (ran: Strategies.Ran<unknown>) => ran.of("StepStarted").map((event) => event.name)

describe("Self-Discover", () => {
  it.effect("selects, adapts, implements, follows the steps and answers", () =>
    Effect.gen(function* () {
      const ran = yield* run(two, { maxSelectedModules: Number.NaN, maxSteps: Number.NaN })
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["It is 3.", "completed"])
      assert.deepStrictEqual(stepNames(ran), [
        "DiscoverModules",
        "AdaptModules",
        "AdaptModules",
        "PlanReasoning",
        "ExecuteStep",
        "ExecuteStep",
        "SynthesizeOutput"
      ])
      assert.deepStrictEqual(
        ran.of("NodeFinished").map((event) => event.node),
        [
          "discover_modules",
          "adapt_modules",
          "plan_reasoning",
          "execute_step",
          "check_completion",
          "execute_step",
          "check_completion",
          "synthesize_output"
        ]
      )
      assert.deepStrictEqual(plans(ran), [
        "list pending, add pending",
        "list completed, add pending",
        "list completed, add completed"
      ])
      assert.deepStrictEqual(
        ran.of("Thought").map((event) => event.text),
        ["Chosen ways of thinking: simplify, step_by_step.", "1 and 2", "3"]
      )
      assert.deepStrictEqual(
        ran.of("TextDelta").map((event) => event.text),
        ["It is 3."]
      )
      const [select, adapt, , plan, first, second, final] = ran.requests.map(text)
      for (const { description, name } of ReasoningModules.all) assert.include(select, `- ${name}: ${description}`)
      assert.include(select, "at most 3")
      assert.include(adapt, ReasoningModules.get("simplify").description)
      assert.include(adapt, "the smallest version of the task")
      assert.notInclude(adapt, "{task}")
      assert.include(plan, "### simplify\n\nuse simplify\n\n### step_by_step\n\nuse step_by_step")
      assert.include(plan, "at most 10 steps")
      assert.include(first, "None yet.")
      assert.include(second, "Step 1: list\n1 and 2")
      assert.include(final, "Step 1: list\n1 and 2\n\nStep 2: add\n3")
      for (const request of ran.requests) assert.include(text(request), "What is it?")
    })
  )

  it.effect("sums usage over all calls", () =>
    Effect.gen(function* () {
      const { events } = yield* Strategies.record(SelfDiscovery.make(), two)
      const response = AgentResponse.fromEvents(events)
      assert.deepStrictEqual([response.modelCalls, response.usage.totalTokens], [7, 7 * 15])
      assert.deepStrictEqual(
        response.plan?.map((step) => step.status),
        ["completed", "completed"]
      )
    })
  )

  it.effect("takes 3 + modules + steps calls, and fewer together, at once or with a structure", () =>
    Effect.gen(function* () {
      const script = (modules: number, steps: number) => (request: LlmClient.LlmRequest) => {
        const names = ReasoningModules.originals.slice(0, modules)
        switch (request.responseFormat?.type === "json" ? request.responseFormat.name : "") {
          case "selected_modules":
            return selected(...names)
          case "adapted_modules":
            return adapted(...names.filter((name) => text(request).includes(name)))
          case "reasoning_plan":
            return planned(...Array.from({ length: steps }, (_, n) => `step ${n}`))
          case "followed_structure":
            return json({ results: Array.from({ length: steps }, () => "done"), answer: "yes" })
          default:
            return "text"
        }
      }
      const calls = (modules: number, steps: number, options: Options = {}) =>
        Effect.gen(function* () {
          const ran = yield* run(script(modules, steps), { maxSelectedModules: modules, ...options })
          yield* ran.exit
          return ran.requests.length
        })
      for (const [m, n] of [
        [1, 1],
        [3, 4],
        [6, 10]
      ] as const) {
        assert.strictEqual(yield* calls(m, n), 1 + m + 1 + n + 1)
        assert.strictEqual(yield* calls(m, n, { adapt: "together" }), 1 + 1 + 1 + n + 1)
        assert.strictEqual(yield* calls(m, n, { solve: "structure" }), 1 + m + 1 + 1)
        assert.strictEqual(yield* calls(m, n, { adapt: "together", solve: "structure" }), 4)
      }
      assert.strictEqual(yield* calls(1, 2, { structure }), 3)
      assert.strictEqual(yield* calls(1, 2, { structure, solve: "structure" }), 1)
    })
  )

  it.effect("adapts modules concurrently, within the concurrency", () =>
    Effect.gen(function* () {
      const names = ["simplify", "step_by_step", "first_principles"]
      const script: Strategies.Script = [
        selected(...names),
        ...names.map((name) => ({ text: adapted(name), delay: 1000 })),
        planned("one"),
        "result",
        "answer"
      ]
      const timed = (options: Options) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(run(script, options))
          let seconds = 0
          while ((yield* Fiber.poll(fiber))._tag === "None") {
            yield* TestClock.adjust(1000)
            seconds++
          }
          yield* (yield* Fiber.join(fiber)).exit
          return seconds
        })
      assert.strictEqual(yield* timed({}), 1)
      assert.strictEqual(yield* timed({ toolConcurrency: 1 }), 3)
      assert.strictEqual(yield* timed({ toolConcurrency: 2 }), 2)
    })
  )

  it.effect("selects no more modules than allowed, and reports unknown names", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        [
          selected("Step by step", "magic", "simplify", "step_by_step", "__proto__", "critical_analysis"),
          adapted("step_by_step"),
          adapted("simplify"),
          planned("one"),
          "r",
          "a"
        ],
        { maxSelectedModules: 2 }
      )
      yield* ran.exit
      assert.strictEqual(
        ran.of("Thought")[0]?.text,
        "Chosen ways of thinking: step_by_step, simplify. Ignored, for there is no such module: magic, __proto__."
      )
      assert.include(text(ran.requests[0]), "at most 2")
    })
  )

  it.effect("asks again when no module is known, and fails typed if none ever is", () =>
    Effect.gen(function* () {
      const again = yield* run([selected("magic"), ...two])
      assert.strictEqual((yield* again.exit).text, "It is 3.")
      assert.include(text(again.requests[1]), "no module of the list was chosen")
      assert.include(text(again.requests[1]), "break_down_problem")
      const never = yield* run([selected("magic"), "I cannot help with that.", selected()])
      const error = yield* Effect.flip(never.exit)
      assert.deepStrictEqual(
        [error._tag, "prompt" in error ? error.prompt : ""],
        ["StrategyReplyError", "SelfDiscoveryAgent/DiscoverModules"]
      )
    })
  )

  it.effect("selects from custom modules or a subset", () =>
    Effect.gen(function* () {
      const own = { name: "ask_grandma", description: "She knows.", template: "What would she say to {task}?" }
      const modules = [...ReasoningModules.originals.slice(0, 2), own] as const
      const ran = yield* run([selected("ask_grandma"), adapted("ask_grandma"), planned("one"), "r", "a"], { modules })
      yield* ran.exit
      const listed = text(ran.requests[0])
      assert.include(listed, "- ask_grandma: She knows.")
      assert.include(listed, "- break_down_problem:")
      assert.notInclude(listed, "- simplify:")
      assert.include(text(ran.requests[1]), "What would she say to the task?")
    })
  )

  it.effect("tells names that differ only in spelling apart when they are written exactly", () =>
    Effect.gen(function* () {
      const own = (name: string) => ({ name, description: `the ${name}`, template: "" })
      const modules = [own("a-b"), own("a_b"), own("A B")]
      const both = '{"modules": [{"name": "A B", "strategy": "1st"}, {"name": "a-b", "strategy": "2nd"}]}'
      const ran = yield* run([selected("A B", "a-b"), both, planned("one"), "r", "a"], { modules, adapt: "together" })
      yield* ran.exit
      assert.include(text(ran.requests[2]), "### A B\n\n1st\n\n### a-b\n\n2nd")
    })
  )

  it.effect("fails with a configuration error on invalid modules before anything is asked", () =>
    Effect.gen(function* () {
      const own = { name: "simplify", description: "mine", template: "" }
      for (const modules of [[], ["magic" as never], ["simplify", own], ["__proto__" as never]] as const) {
        const ran = yield* run([], { modules })
        const error = yield* Effect.flip(ran.exit)
        assert.deepStrictEqual([error._tag, ran.requests.length], ["StrategyConfigurationError", 0])
      }
    })
  )

  it.effect("requires a text for every module when adapting together", () =>
    Effect.gen(function* () {
      const ran = yield* run([two[0]!, adapted("simplify"), adapted("step_by_step", "simplify"), ...two.slice(3)], {
        adapt: "together"
      })
      assert.strictEqual((yield* ran.exit).text, "It is 3.")
      assert.include(text(ran.requests[1]), "simplify, step_by_step")
      assert.include(text(ran.requests[2]), "there is no adapted text for step_by_step")
      assert.include(text(ran.requests[3]), "### simplify\n\nuse simplify\n\n### step_by_step\n\nuse step_by_step")
    })
  )

  it.effect("asks again for a plan that is too long, empty or a refusal, then fails typed", () =>
    Effect.gen(function* () {
      const long = planned(...Array.from({ length: 500 }, (_, n) => `step ${n}`))
      const head = two.slice(0, 3)
      const ran = yield* run([...head, long, ...two.slice(3)], { maxSteps: 2 })
      assert.strictEqual((yield* ran.exit).text, "It is 3.")
      assert.include(text(ran.requests[4]), "the plan has 500 steps, and at most 2 are allowed")
      const never = yield* run([...head, planned(" "), "I would rather not plan."], { replyRetries: 1 })
      assert.strictEqual((yield* Effect.flip(never.exit))._tag, "StrategyReplyError")
      const filtered = yield* run([{ text: "no", finishReason: "content-filter" }])
      assert.strictEqual((yield* Effect.flip(filtered.exit))._tag, "LlmContentPolicyError")
    })
  )

  it.effect("shows a failed step as failed and earlier ones as done", () =>
    Effect.gen(function* () {
      const ran = yield* run([...two.slice(0, 5), ""], { replyRetries: 0 })
      assert.strictEqual((yield* Effect.flip(ran.exit))._tag, "StrategyReplyError")
      assert.strictEqual(plans(ran).at(-1), "list completed, add failed")
    })
  )

  it.effect("reads text replies", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        [
          "Here they are:\n- SELECTED: Simplify\n**SELECTED:** step_by_step",
          "MODULE: simplify\nTake the\nsmall one.",
          "Just go on.",
          "STEP 1: list\nthe numbers\nStep 2: add",
          "STEP 1: one\nANSWER: a line of it\nSTEP 2: two\nANSWER: three\nindeed"
        ],
        { format: "text", solve: "structure" }
      )
      assert.strictEqual((yield* ran.exit).text, "three\nindeed")
      assert.include(text(ran.requests[3]), "### simplify\n\nTake the\nsmall one.\n\n### step_by_step\n\nJust go on.")
      assert.include(text(ran.requests[4]), "1. list\nthe numbers\n2. add")
      for (const request of ran.requests) assert.notProperty(request, "responseFormat")
      for (const [index, word] of [
        [0, "SELECTED:"],
        [1, "MODULE:"],
        [3, "STEP 1:"],
        [4, "ANSWER:"]
      ] as const) {
        assert.include(text(ran.requests[index]), word)
      }
    })
  )

  it.effect("requires a result per step when filled in at once, and emits the answer once", () =>
    Effect.gen(function* () {
      const half = json({ results: ["1 and 2"], answer: "3" })
      const full = json({ results: ["1 and 2", "3"], answer: "It is 3." })
      const ran = yield* run([half, full], { structure, solve: "structure" })
      assert.strictEqual((yield* ran.exit).text, "It is 3.")
      assert.include(text(ran.requests[1]), "each needs a result: there are 1")
      assert.deepStrictEqual(
        ran.of("TextDelta").map((event) => event.text),
        ["It is 3."]
      )
      assert.deepStrictEqual(plans(ran), ["list pending, add pending", "list completed, add completed"])
    })
  )

  it.effect("shapes structured output either way", () =>
    Effect.gen(function* () {
      const task = { output: Strategies.outputSpec(1) }
      const steps = yield* run([...two.slice(0, 6), '{"n": 3}'], { task })
      assert.deepStrictEqual((yield* steps.exit).output, { n: 3 })
      const once = yield* run([json({ results: ["1 and 2", "3"], answer: "three" }), '{"n": 3}'], {
        task,
        structure,
        solve: "structure"
      })
      assert.deepStrictEqual((yield* once.exit).output, { n: 3 })
    })
  )

  it.effect("uses the tools of the task, with continuous step and call numbers", () =>
    Effect.gen(function* () {
      const act = { calls: [{ name: "add", params: { a: 1, b: 2 }, id: "c" }] }
      const ran = yield* run(["1 and 2", act, "3", "It is 3."], { tools: Strategies.tools, structure })
      assert.strictEqual((yield* ran.exit).text, "It is 3.")
      assert.deepStrictEqual(
        ran.of("StepStarted").map((event) => event.step),
        [1, 2, 3, 4]
      )
      assert.deepStrictEqual(
        ran.of("ToolResult").map(({ observation, step }) => [step, observation]),
        [[2, "3"]]
      )
      assert.include(text(ran.requests[1]), "Step 1: list\n1 and 2")
      const fatal = yield* run([{ calls: [{ name: "fatal" }] }], { tools: ToolSet.make(Strategies.fatal), structure })
      assert.strictEqual((yield* Effect.flip(fatal.exit))._tag, "Fatality")
    })
  )

  it.effect("leaves nothing running when it is interrupted while adapting or calling a tool", () =>
    Effect.gen(function* () {
      const task = yield* Strategies.task()
      yield* Effect.gen(function* () {
        const { active } = yield* TestModel.TestModel
        const fiber = yield* Effect.fork(SelfDiscovery.make().program(task))
        while ((yield* active) < 2) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(yield* active, 0)
      }).pipe(
        Effect.provide(
          Strategies.layer([two[0]!, { text: "slow", delay: "1 hour" }, { text: "slow", delay: "1 hour" }])
        )
      )
      const started = yield* Deferred.make<void>()
      let finalized = 0
      const slow = Tool.make("slow", {
        description: "Takes for ever",
        handler: () =>
          Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
            Effect.ensuring(Effect.sync(() => void finalized++))
          )
      })
      const tooled = yield* Strategies.task({ tools: ToolSet.make(slow) })
      yield* Effect.gen(function* () {
        const fiber = yield* Effect.fork(SelfDiscovery.make({ structure }).program(tooled))
        yield* Deferred.await(started)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(finalized, 1)
      }).pipe(Effect.provide(Strategies.layer([{ calls: [{ name: "slow" }] }])))
    })
  )

  it.effect("finds a structure once, as plain data that solves the next task", () =>
    Effect.gen(function* () {
      const task = yield* Strategies.task()
      const found = yield* SelfDiscovery.discover(task, { adapt: "together" }).pipe(
        Effect.provide(Strategies.layer([two[0]!, adapted("simplify", "step_by_step"), two[3]!]))
      )
      assert.deepStrictEqual(found, {
        modules: [
          { name: "simplify", strategy: "use simplify" },
          { name: "step_by_step", strategy: "use step_by_step" }
        ],
        steps: ["list", "add"]
      })
      const codec = Schema.parseJson(ReasoningStructure.Structure)
      const again = Schema.decodeSync(codec)(Schema.encodeSync(codec)(found))
      assert.deepStrictEqual(again, found)
      const ran = yield* run(["3 and 4", "7", "It is 7."], { structure: again })
      assert.strictEqual((yield* ran.exit).text, "It is 7.")
      assert.deepStrictEqual(stepNames(ran), ["ExecuteStep", "ExecuteStep", "SynthesizeOutput"])
    })
  )

  it.effect("uses overrides and instructions in every step, with every variable filled in", () =>
    Effect.gen(function* () {
      const overrides = {
        SelfDiscoveryAgent: Object.fromEntries(
          SelfDiscoveryPrompts.steps.map((step) => [
            step.name,
            { system: `own ${step.name}`, user: step.variables.map((name) => `${name}={${name}}`).join("\n") }
          ])
        )
      }
      const library = Either.getOrThrow(CustomPrompts.make({ overrides, instructions: "be kind" }))
      const provided = Effect.provideService(PromptLibrary.PromptLibrary, library)
      const ran = yield* provided(run(two))
      const once = yield* provided(run([json({ results: ["a", "b"], answer: "c" })], { structure, solve: "structure" }))
      const tooled = yield* provided(run(["a", "b", "c"], { structure, tools: Strategies.tools }))
      const requests = [...ran.requests, ...once.requests, ...tooled.requests]
      for (const step of SelfDiscoveryPrompts.steps) {
        const found = requests.filter((request) => text(request).includes(`own ${step.name}`))
        assert.isAbove(found.length, 0, step.name)
        for (const request of found) {
          assert.include(text(request), "## Custom Instructions\n\nbe kind")
          for (const name of step.variables) assert.match(text(request), new RegExp(`${name}=\\S`), step.name)
        }
      }
    })
  )

  it("has the variables and roles of the original steps", () => {
    assert.deepStrictEqual(
      SelfDiscoveryPrompts.steps.map(({ name, role, variables }) => [name, role, variables.join(" ")]),
      [
        ["DiscoverModules", "thinking", "task modules max_modules"],
        ["AdaptModules", "thinking", "task module_name module_description module_template"],
        ["PlanReasoning", "thinking", "task adapted_modules max_steps"],
        ["ExecuteStep", "execution", "task step_description previous_results"],
        ["FollowStructure", "execution", "task structure"],
        ["SynthesizeOutput", "thinking", "task reasoning_steps"]
      ]
    )
  })

  it.effect("draws the original nodes, and has a state of plain data", () =>
    Effect.gen(function* () {
      const { graph } = SelfDiscovery.make()
      const drawn = StateGraph.toMermaid(graph!)
      for (const node of [
        "discover_modules",
        "adapt_modules",
        "plan_reasoning",
        "execute_step",
        "check_completion",
        "synthesize_output"
      ]) {
        assert.include(drawn, node)
      }
      const ran = yield* run(two)
      const state = Object.assign({}, ...ran.of("NodeFinished").map((event) => event.update)) as SelfDiscovery.State
      const codec = Schema.parseJson(SelfDiscovery.State)
      assert.deepStrictEqual(Schema.decodeSync(codec)(Schema.encodeSync(codec)(state)), state)
      assert.strictEqual(state.answer?.text, "It is 3.")
    })
  )

  it.effect("fails typed and in linear time on long hostile replies", () =>
    Effect.gen(function* () {
      const ends = (hostile: string) =>
        Effect.gen(function* () {
          const ran = yield* run([hostile], { replyRetries: 0 })
          assert.strictEqual((yield* Effect.flip(ran.exit))._tag, "StrategyReplyError")
        })
      yield* ends('{"__proto__": {"selected": ["simplify"]}}')
      yield* Growth.assertLinearTextsEffect(
        [
          (size) => `SELECTED:${" ,".repeat(size / 2)}`,
          "STEP ",
          `${"*".repeat(8)}STEP    `,
          (size) => `{"selected": [${'"x",'.repeat(size / 4)}"y"]}`
        ],
        ends,
        200_000
      )
    })
  )
})
