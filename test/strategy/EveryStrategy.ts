/** Every strategy on its sample task, and on others where the sample leaves a branch out; and how to watch one of them run. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { sample as adaptive } from "../../examples/strategies/adaptive.js"
import { sample as functionCalling } from "../../examples/strategies/function-calling.js"
import { sample as lats } from "../../examples/strategies/lats.js"
import { sample as llmCompiler } from "../../examples/strategies/llm-compiler.js"
import { sample as planAndSolve } from "../../examples/strategies/plan-and-solve.js"
import { sample as planExecute } from "../../examples/strategies/plan-execute.js"
import { sample as react } from "../../examples/strategies/react.js"
import { sample as reflection } from "../../examples/strategies/reflection.js"
import { sample as reflexion } from "../../examples/strategies/reflexion.js"
import { sample as rewoo } from "../../examples/strategies/rewoo.js"
import type { Sample } from "../../examples/strategies/sample.js"
import { sample as selfDiscovery } from "../../examples/strategies/self-discovery.js"
import { sample as storm } from "../../examples/strategies/storm.js"
import { sample as supervisor } from "../../examples/strategies/supervisor.js"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as AgentConfig from "../../src/agent/definition/AgentConfig.js"
import * as Content from "../../src/content/Content.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmAuthenticationError, type LlmError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Adaptive from "../../src/strategy/Adaptive.js"
import * as LlmCompiler from "../../src/strategy/compiler/LlmCompiler.js"
import * as Evaluator from "../../src/strategy/definition/Evaluator.js"
import * as SelfDiscovery from "../../src/strategy/discovery/SelfDiscovery.js"
import * as Lats from "../../src/strategy/lats/Lats.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as PlanAndSolve from "../../src/strategy/PlanAndSolve.js"
import * as PlanExecute from "../../src/strategy/PlanExecute.js"
import * as Reflection from "../../src/strategy/Reflection.js"
import * as ReWoo from "../../src/strategy/ReWoo.js"
import * as Reflexion from "../../src/strategy/reflexion/Reflexion.js"
import * as Storm from "../../src/strategy/storm/Storm.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import { inText, type Model, said, stepOf, textOf } from "./EveryStrategyForms.js"

export interface Case {
  readonly name: string
  readonly sample: Sample
  /** The answer is to have a shape: steps that only such tasks reach. */
  readonly shaped?: boolean | undefined
  /** How the same task is put to the strategy where replies of a shape are wanted as text. */
  readonly text?: boolean | undefined
}

export { keyOf, type Model, stepOf, systemOf, textOf } from "./EveryStrategyForms.js"

const textForm = (name: string, sample: Sample, strategy: Sample["strategy"]): Case => ({
  name: `${name} (text)`,
  text: true,
  sample: { ...sample, strategy, model: inText(sample.model) }
})

const variant = (
  name: string,
  sample: Pick<Sample, "task" | "strategy" | "model" | "tools">,
  more?: Partial<Case>
): Case => ({
  name,
  sample: { why: "", calls: "", ...sample },
  ...more
})

/** What follows a heading, up to the next one. */
const part = (text: string, heading: string): string => {
  const from = text.split(`${heading}\n`)[1] ?? ""
  return (from.split(/\n\n?(?:#+ |[A-Z][a-z ]+:\n)/)[0] ?? "").trim()
}

const asked = (request: LlmClient.LlmRequest): string =>
  textOf(request.messages.findLast(({ role }) => role === "user"))

const reactInText = variant(
  "react (text)",
  {
    task: react.task,
    tools: react.tools,
    strategy: ReAct.make({ format: "text" }),
    model: ({ messages }) => {
      const told = messages.slice(1).map(textOf).join("\n")
      const next = ["Lantern Prize", "Ida Moss", "Haven"].find(
        (subject) => told.includes(subject) && !told.includes(`{"subject":"${subject}"}`)
      )
      return next === undefined
        ? "THOUGHT: That is the river.\nFINAL_ANSWER: She was born on the river Ald."
        : `THOUGHT: Who is that?\nACTION: lookup\nACTION_INPUT: {"subject":"${next}"}`
    }
  },
  { text: true }
)

/** A plan with a step that no tool carries out. */
const planWithReason = variant("plan-execute (reasoning)", {
  task: "What is 3 plus 4, doubled?",
  strategy: PlanExecute.make({ directAnswer: false }),
  model: (request) => {
    const text = asked(request)
    switch (stepOf(request)?.name) {
      case "Plan":
        return JSON.stringify({ steps: [{ description: "Add the numbers" }, { description: "Double the sum" }] })
      case "Reason": {
        const [a = 0, b = 0] = (/What is (\d+) plus (\d+)/.exec(text) ?? []).slice(1).map(Number)
        const sum = Number(/<result>\n(\d+)/.exec(text)?.[1])
        const result = part(text, "This step:").startsWith("Add") ? a + b : 2 * sum
        return JSON.stringify({ thought: "I reckon.", status: "done", result: String(result) })
      }
      default:
        return `It comes to ${Array.from(text.matchAll(/<result>\n(\d+)/g), ([, value]) => value).at(-1)}.`
    }
  }
})

/** Trials that are planned by a model and judged by one; the first plan is wrong. */
const reflexionOfPlans = variant("reflexion (plans)", {
  task: "Name a fruit that is not red.",
  strategy: Reflexion.make(),
  model: (request) => {
    const text = asked(request)
    switch (stepOf(request)?.name) {
      case "PlanWithMemory":
        return text.includes("yellow ones") ? "Take the banana." : "Take the apple."
      case "Execute":
        return `The fruit is a${part(text, "## Plan\n").includes("banana") ? " banana" : "n apple"}.`
      case "Evaluate": {
        const success = part(text, "## Result to judge\n").includes("banana")
        return JSON.stringify({
          success,
          score: success ? 1 : 0.2,
          reason: success ? "It is yellow" : "Apples are red"
        })
      }
      case "ReflectOnTrial":
        return "Think of the yellow ones."
      default:
        return `Answer: ${/an? (apple|banana)/.exec(part(text, "## Outcome of the last attempt\n"))?.[1]}.`
    }
  }
})

/** A text that is written, criticized and mended. */
const reflexionCritique = variant("reflexion (critique)", {
  task: "Greet Ada by name.",
  strategy: Reflexion.make({ form: "critique" }),
  model: (request) => {
    const text = asked(request)
    switch (stepOf(request)?.name) {
      case "Critique": {
        const accepted = part(text, "## Text to review\n").includes("Ada")
        return JSON.stringify({
          accepted,
          problems: accepted ? [] : ["The name is missing"],
          score: accepted ? 1 : 0.3
        })
      }
      case "Refine":
        return "Good morning, Ada."
      default:
        return "Good morning."
    }
  }
})

/** A structure that is filled in by one call. */
const selfDiscoveryAtOnce = variant("self-discovery (structure)", {
  task: selfDiscovery.task,
  strategy: SelfDiscovery.make({ maxSelectedModules: 2, solve: "structure" }),
  model: (request) =>
    stepOf(request)?.name === "FollowStructure"
      ? JSON.stringify({ results: ["three pairs", "Chen, Amara, Dario, Bela", "All hold"], answer: "Chen goes first." })
      : selfDiscovery.model(request)
})

/** A search whose paths hold no answer: one is written from the best of them. */
const latsWithoutAnswer = variant("lats (no answer)", {
  task: "Say something about the sea.",
  strategy: Lats.make({ maxIterations: 2, maxDepth: 2, sampling: "together", numExpansions: 2 }),
  model: (request) => {
    switch (stepOf(request)?.name) {
      case "Expand":
        return JSON.stringify({ expansions: [{ thought: "It is wide." }, { thought: "It is deep." }] })
      case "Evaluate":
        return JSON.stringify({ reason: "Nothing is said yet.", score: asked(request).includes("deep") ? 0.6 : 0.4 })
      case "Reflect":
        return "Come to an answer."
      default:
        return `The sea: ${asked(request).includes("deep") ? "it is deep" : "it is wide"}.`
    }
  }
})

/** Every action of the search is a native call. */
const latsNative = variant("lats (native)", {
  task: "What does the archive say of the lighthouse?",
  tools: lats.tools,
  strategy: Lats.make({ maxIterations: 2, actions: "native", numExpansions: 2 }),
  model: (request) => {
    const text = asked(request)
    if (stepOf(request)?.name === "Evaluate") return JSON.stringify({ reason: "It says so.", score: 1 })
    return text.includes("Built 1871")
      ? "It was built in 1871."
      : { calls: [{ name: "lookup", params: { subject: "lighthouse" } }] }
  }
})

/** What the sample writes as text, as JSON. */
const compilerInJson = variant("llm-compiler", {
  task: llmCompiler.task,
  tools: llmCompiler.tools,
  strategy: LlmCompiler.make(),
  model: (request) => {
    const text = said(llmCompiler.model(request))
    const answer = /Finish\((.*)\)$/.exec(text)?.[1]
    if (answer !== undefined) {
      return stepOf(request)?.name === "Join"
        ? JSON.stringify({ thought: "All prices are there.", action: "finish", answer })
        : answer
    }
    const tasks = Array.from(text.matchAll(/^(\d+)\. (flight|night|total)\((.*)\)$/gm), ([, id, tool, list]) => {
      const values: ReadonlyArray<string> = (list ?? "").split(", ").map((value) => value.replace(/"/g, ""))
      const args =
        tool === "total" ? { flight: values[0], night: values[1], nights: Number(values[2]) } : { city: values[0] }
      return { id: Number(id), tool, args }
    })
    return JSON.stringify({ tasks })
  }
})

/** A first plan that is not enough, and an answer that is written in a call of its own. */
const compilerAgain = variant(
  "llm-compiler (again)",
  {
    task: "What do flights to Lisbon and Oslo cost?",
    tools: llmCompiler.tools,
    strategy: LlmCompiler.make({ synthesize: true, format: "text" }),
    model: (request) => {
      const text = asked(request)
      switch (stepOf(request)?.name) {
        case "PlanGraph":
          return text.includes("Oslo is missing")
            ? 'Thought: Oslo now.\n2. flight("Oslo")\n3. join()<END_OF_PLAN>'
            : '1. flight("Lisbon")\n2. join()<END_OF_PLAN>'
        case "Join":
          return text.includes('flight("Oslo")')
            ? "Thought: Both are there.\nAction: Finish(both)"
            : "Thought: One is there.\nAction: Replan(Oslo is missing)"
        default:
          return `They cost ${Array.from(text.matchAll(/^ {2}(\d+)$/gm), ([, price]) => price).join(" and ")} EUR.`
      }
    }
  },
  { text: true }
)

/** What the sample writes as text, as JSON. */
const rewooInJson = variant("rewoo", {
  task: rewoo.task,
  tools: rewoo.tools,
  strategy: ReWoo.make(),
  model: (request) => {
    const text = said(rewoo.model(request))
    const steps = Array.from(
      text.matchAll(/^Plan: (.*)\n(#E\d) = (\w+)\[(.*)\]$/gm),
      ([, plan, variable, tool, input]) => {
        const [from, what] = (input ?? "").split(", ")
        return { plan, variable, tool, input: tool === "subtract" ? { from, what } : input }
      }
    )
    return steps.length === 0 ? text : JSON.stringify({ steps })
  }
})

/** A plan that asks a model for a piece of evidence. */
const rewooWithModel = variant(
  "rewoo (model)",
  {
    task: "Who made Alien, in capitals?",
    tools: rewoo.tools,
    strategy: ReWoo.make({ format: "text" }),
    model: (request) => {
      const text = asked(request)
      switch (stepOf(request)?.name) {
        case "WorkerPlan":
          return "Plan: Find out.\n#E1 = search[director of Alien]\nPlan: Write it large.\n#E2 = LLM[In capitals: #E1]"
        case "SolverExecute":
          return (/In capitals: (.*)/.exec(text)?.[1] ?? "").toUpperCase()
        default:
          return `It was ${/[A-Z]{3,} [A-Z]{3,}/.exec(text)?.[0]}.`
      }
    }
  },
  { text: true }
)

const requests = [
  ["clerk", "lamps"],
  ["buyer", "lamps"],
  ["clerk", "candles"],
  ["buyer", "candles"]
] as const

/** A supervisor that writes its actions, one agent a turn. */
const supervisorInText = variant(
  "supervisor (text)",
  {
    task: supervisor.task,
    tools: supervisor.tools,
    strategy: Supervisor.make({ format: "text" }),
    model: (request) => {
      const told = request.messages.slice(1).map(textOf).join("\n")
      const said = (agent: string, item: string) => told.includes(`What about ${item}, ${agent}?`)
      switch (stepOf(request)?.name) {
        case "AssessText": {
          const [agent, item] = requests.find(([agent, item]) => !said(agent, item)) ?? []
          return agent === undefined
            ? "THOUGHT: That is all.\nFINAL_ANSWER: everything is known"
            : `THOUGHT: I ask the ${agent}.\nACTION: delegate_to_${agent}\nACTION_INPUT: {"message":"What about ${item}, ${agent}?"}`
        }
        case "Review": {
          const missing = requests.filter(([agent, item]) => !said(agent, item))
          return missing.length === 0
            ? "VERDICT: DONE\nREASON: all four are there"
            : `VERDICT: MORE\nREASON: ${missing.length} are missing\nINSTRUCTIONS: ask the ${missing[0]?.[0]} about ${missing[0]?.[1]}`
        }
        case "Decide":
          return `Reports: ${Array.from(told.matchAll(/(lamps|candles): ([\d.]+)/g), ([report]) => report).join(", ")}.`
        default:
          return supervisor.model(request)
      }
    }
  },
  { text: true }
)

/** The sample task of each strategy. */
export const samples: ReadonlyArray<Case> = [
  { name: "function_calling", sample: functionCalling },
  { name: "react", sample: react },
  { name: "reflection", sample: reflection },
  { name: "plan-and-solve", sample: planAndSolve },
  { name: "plan-execute", sample: planExecute },
  { name: "reflexion", sample: reflexion },
  { name: "llm-compiler (text)", sample: llmCompiler, text: true },
  { name: "rewoo (text)", sample: rewoo, text: true },
  compilerInJson,
  rewooInJson,
  { name: "lats", sample: lats },
  { name: "self-discovery", sample: selfDiscovery },
  { name: "storm", sample: storm },
  { name: "supervisor", sample: supervisor },
  { name: "adaptive", sample: adaptive }
]

/** Those, every other form of them, and tasks that reach what the samples leave out. */
export const cases: ReadonlyArray<Case> = [
  ...samples,
  reactInText,
  textForm("reflection", reflection, Reflection.make({ maxReflectionCycles: 3, format: "text" })),
  textForm("plan-and-solve", planAndSolve, PlanAndSolve.make({ variant: "ps+", format: "text" })),
  textForm("plan-execute", planExecute, PlanExecute.make({ format: "text" })),
  planWithReason,
  textForm(
    "plan-execute (reasoning)",
    planWithReason.sample,
    PlanExecute.make({ directAnswer: false, format: "text" })
  ),
  textForm(
    "reflexion",
    reflexion,
    Reflexion.make({ evaluator: Evaluator.exactMatch("1963"), maxTrials: 3, format: "text" })
  ),
  reflexionOfPlans,
  textForm("reflexion (plans)", reflexionOfPlans.sample, Reflexion.make({ format: "text" })),
  reflexionCritique,
  textForm("reflexion (critique)", reflexionCritique.sample, Reflexion.make({ form: "critique", format: "text" })),
  textForm("lats", lats, Lats.make({ numExpansions: 2, sampling: "together", format: "text" })),
  latsWithoutAnswer,
  compilerAgain,
  rewooWithModel,
  latsNative,
  textForm("self-discovery", selfDiscovery, SelfDiscovery.make({ maxSelectedModules: 2, format: "text" })),
  selfDiscoveryAtOnce,
  textForm(
    "self-discovery (structure)",
    selfDiscoveryAtOnce.sample,
    SelfDiscovery.make({ maxSelectedModules: 2, solve: "structure", format: "text" })
  ),
  textForm("storm", storm, Storm.make({ maxTurns: 2, maxSections: 3, format: "text" })),
  { name: "storm (shaped)", sample: storm, shaped: true },
  supervisorInText,
  textForm(
    "adaptive",
    adaptive,
    Adaptive.make({
      strategies: {
        lookup: { strategy: FunctionCalling.make(), description: "questions that one look at a tool settles" },
        explorer: { strategy: ReAct.make(), description: "questions whose steps build on each other" }
      },
      format: "text"
    })
  )
]

/** What a shaped answer is to be, and the name its form goes by. */
export const Shape = Schema.Struct({ answer: Schema.String }).annotations({ identifier: "Shaped" })

/** Whether a model is told that its answer does not fit the shape. */
export const isRepair = ({ messages }: LlmClient.LlmRequest): boolean =>
  textOf(messages.at(-1)).startsWith("Give the answer as JSON")

/**
 * The same model, which puts its last words into the shape of `Shape` where it is asked to. `stubborn`: not before it has been told what is
 * wrong.
 */
export const shaping =
  (model: Model, options?: { readonly stubborn?: boolean | undefined }): Model =>
  (request) => {
    const { messages, responseFormat, ...rest } = request
    if (responseFormat?.type !== "json" || !/shaped|sample_output/i.test(responseFormat.name)) return model(request)
    const isAgain = isRepair(request)
    const reply = isAgain ? textOf(messages.at(-2)) : model({ ...rest, messages })
    const text = said(reply)
    return options?.stubborn === true && !isAgain ? `I would say: ${text}` : JSON.stringify({ answer: text })
  }

/** What a model fails with that lets nobody in: nothing that is worth another attempt. */
export const refused = new LlmAuthenticationError({ provider: "test", message: "The key is not known" })

/** A clock for which short waits are over at once and long ones never: nothing of a test depends on how fast the machine is. */
export const hurried = (): Clock.Clock => {
  let now = 0
  const sleep = (duration: Duration.Duration): Effect.Effect<void> => {
    const millis = Duration.toMillis(duration)
    if (millis > 1000) return Effect.never
    return Effect.sync(() => {
      now += millis
    }).pipe(Effect.zipRight(Effect.yieldNow()))
  }
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(now * 1e6)),
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now * 1e6))),
    sleep
  }
}

export interface Watched {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly events: ReadonlyArray<AgentEvent>
  readonly requests: ReadonlyArray<LlmClient.LlmRequest>
  /** Calls of tools that were begun, and those that ended. */
  readonly tools: { readonly begun: ReadonlyArray<string>; readonly open: number }
  readonly active: number
  readonly answer: string
}

export interface WatchOptions {
  /** Files of the request. */
  readonly files?: ReadonlyArray<Content.ResolvedFile> | undefined
  readonly model?:
    | ((request: LlmClient.LlmRequest) => ReturnType<Model> | Effect.Effect<ReturnType<Model>, LlmError>)
    | undefined
  /** Wraps the model. */
  readonly client?: ((client: LlmClient.Service) => LlmClient.Service) | undefined
  readonly input?: string | undefined
  readonly history?: ReadonlyArray<LlmClient.Message> | undefined
  readonly userId?: string | undefined
  readonly agent?: ((agent: Agent.Agent<any, any, any>) => Agent.Agent<any, any, any>) | undefined
  /** Wraps the run, with what is in its context. */
  readonly around?: (<A, E, R>(run: Effect.Effect<A, E, R>) => Effect.Effect<A, any, any>) | undefined
  readonly tools?: Sample["tools"]
  readonly config?: AgentConfig.Options | undefined
  /** What stands before tools, besides the one who watches them. */
  readonly interceptors?: ReadonlyArray<ToolRunner.ToolInterceptor> | undefined
}

export const agentOf = ({ sample, shaped }: Case, tools = sample.tools): Agent.Agent<any, any, any> => {
  const agent = Agent.make("sample", { system: "You are brief.", tools: tools ?? [], strategy: sample.strategy })
  return shaped === true ? agent.pipe(Agent.withOutput(Shape)) : agent
}

/** Sees tools while they run: each takes a turn of the scheduler. */
export const toolWatch = () => {
  const begun: Array<string> = []
  let open = 0
  const watch: ToolRunner.ToolInterceptor = (call, next) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        begun.push(call.name)
        open++
      }),
      () => Effect.zipRight(Effect.yieldNow(), next(call)),
      () => Effect.sync(() => void open--)
    )
  return { watch, begun, open: () => open }
}

/** The request as the models of the cases read it. */
const withoutFiles = (request: LlmClient.LlmRequest): LlmClient.LlmRequest => ({
  ...request,
  messages: request.messages.map((message) =>
    message.role === "user" && typeof message.content !== "string"
      ? { ...message, content: message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("") }
      : message
  )
})

/** Streams a run to its end, whatever that is. */
export const watch = (given: Case, options: WatchOptions = {}): Effect.Effect<Watched> =>
  Effect.gen(function* () {
    const model = options.model ?? (given.shaped === true ? shaping(given.sample.model) : given.sample.model)
    const client = TestModel.make((request) => {
      const reply = model(options.files === undefined ? request : withoutFiles(request))
      return Effect.zipRight(Effect.yieldNow(), Effect.isEffect(reply) ? reply : Effect.succeed(reply))
    })
    const events: Array<AgentEvent> = []
    const tools = toolWatch()
    const agent = (options.agent ?? ((one) => one))(agentOf(given, options.tools ?? given.sample.tools))
    const text = options.input ?? given.sample.task
    const input = options.files === undefined ? text : [Content.text(text), ...options.files]
    const around = options.around ?? ((run) => run)
    const wrapped = options.client?.(client) ?? client
    const program = Stream.runForEach(
      AgentExecutor.stream(agent, { input, history: options.history, userId: options.userId }),
      (event) => Effect.sync(() => void events.push(event))
    )
    const exit = yield* Effect.exit(around(program)).pipe(
      Effect.provideService(ToolRunner.ToolInterceptors, [tools.watch, ...(options.interceptors ?? [])]),
      Effect.provide(
        Agents.layer({ enableMetrics: false, ...options.config }).pipe(Layer.provide(LlmGateway.layer(wrapped)))
      ),
      Effect.withClock(hurried())
    ) as Effect.Effect<Exit.Exit<unknown, unknown>>
    const message = events.findLast((event) => event._tag === "Message" && event.agent === "sample")
    return {
      exit,
      events,
      requests: yield* client.observer.requests,
      active: yield* client.observer.active,
      tools: { begun: tools.begun, open: tools.open() },
      answer: message?._tag === "Message" ? message.text : ""
    }
  })

/** Watches a run that has to succeed. */
export const succeed = (given: Case, options?: WatchOptions): Effect.Effect<Watched> =>
  Effect.tap(watch(given, options), ({ exit }) =>
    Exit.isSuccess(exit) ? Effect.void : Effect.dieMessage(`${given.name}: ${Cause.pretty(exit.cause)}`)
  )
