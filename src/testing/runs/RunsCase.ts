/**
 * Building blocks of the cases of `RunsSuite`: agents whose tools and model the cases hold.
 *
 * @since 0.1.0
 * @private
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { YieldWrap } from "effect/Utils"
import * as Agent from "../../agent/definition/Agent.js"
import type { RunRecord, RunState } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as NextTurn from "../../internal/fiber/NextTurn.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import { LlmConnectionError } from "../../llm/model/LlmError.js"
import type { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as PageTool from "../../tool/client/PageTool.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as Elicitation from "../../tool/Elicitation.js"
import { Mismatch } from "../suite/SuiteAssert.js"
import * as TestModel from "../TestModel.js"

/**
 * The time at which a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * What the runs of a case are made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given {
  readonly agents: ReadonlyArray<Agent.Agent<unknown, OutputValidationError, never>>
  readonly model: Layer.Layer<LlmClient.LlmClient>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Stage {
  readonly runs: Runs.Service
  readonly approvals: PendingApprovals.Service
  /** Lets all calls of the tool `work` return. */
  readonly open: Effect.Effect<void>
  /** How many calls of `work` go on. */
  readonly working: () => number
  /** How many calls of `work` began. */
  readonly worked: () => number
  /** How often the model was asked. */
  readonly asked: () => number
  /** What calls of `book` were undone, in order. */
  readonly undone: () => ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Case {
  readonly name: string
  readonly body: (stage: Stage) => Effect.Effect<void, unknown>
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (stage: Stage) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, body: (stage) => Effect.gen(() => body(stage)) })

/** The pieces of the answer to `slow`, which come an hour apart. */
export const pieces: ReadonlyArray<string> = ["One ", "two ", "three ", "four"]

const textsOf = (request: LlmClient.LlmRequest): ReadonlyArray<string> =>
  request.messages.flatMap((message) =>
    message.role === "user"
      ? [
          typeof message.content === "string"
            ? message.content
            : message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
        ]
      : []
  )

const resultsOf = (request: LlmClient.LlmRequest): ReadonlyArray<unknown> =>
  request.messages.flatMap((message) => (message.role === "tool" ? message.content.map(({ result }) => result) : []))

const textOf = (result: unknown): string => (typeof result === "string" ? result : JSON.stringify(result))
/** Answers in the form that is asked for. A `riddle` has no answer. */
const formed = ({ name, schema }: Extract<LlmClient.ResponseFormat, { readonly type: "json" }>): TestModel.Turn => {
  if (name === "riddle") return { text: "I do not know" }
  if (name === "forecast") return { text: '{"city":"Delft","degrees":7}' }
  return {
    text: "steps" in (schema["properties"] as object) ? '{"variables":[],"steps":["think"]}' : '{"text":"hello"}'
  }
}

/** Calls the tool that the input names, then answers with its results and all that the user said. */
const answerTo = (request: LlmClient.LlmRequest): TestModel.Turn => {
  const { responseFormat, toolChoice = "auto" } = request
  if (responseFormat?.type === "json") return formed(responseFormat)
  const [input = "", ...steered] = textsOf(request)
  const results = resultsOf(request)
  if (input === "choice") {
    if (toolChoice === "auto" || toolChoice === "none")
      return { text: [...results.map((result) => JSON.stringify(result)), toolChoice].join(" | ") }
    const name = typeof toolChoice === "string" ? "book" : toolChoice.tool
    return { calls: [{ name, params: name === "book" ? { place: "p1" } : {} }] }
  }
  if (["work", "danger", "ask"].includes(input) && results.length === 0) return { calls: [{ name: input }] }
  if (input === "trip" && results.length < 3) {
    return {
      calls: [results.length < 2 ? { name: "book", params: { place: `p${results.length}` } } : { name: "work" }]
    }
  }
  if (input === "weather" && results.length === 0) {
    return { calls: ["Delft", "Ghent"].map((city) => ({ name: "weather", params: { city } })) }
  }
  if (input === "locate" && results.length === 0) return { calls: [{ name: "locate", params: { exact: true } }] }
  if (results.length > 0) return { text: [...results.map(textOf), ...steered].join(" | ") }
  if (input === "slow") return { text: pieces, partDelay: "1 hour" }
  if (input === "fail") {
    return { fail: new LlmConnectionError({ provider: "test", message: "The model is away" }) }
  }
  return { text: `You said ${input}` }
}

/**
 * The agents `helper` and `clerk`, alike, `thinker`, which plans, and `former`, which has an output. `work` waits until
 * the case opens its gate, `danger` needs approval, `ask` asks for a row, `locate` asks the caller where it is, and
 * `book` books a place, which can be undone unless it is `p0`. On the input `trip` the agent books `p0` and `p1`, and
 * works; on `weather` it asks a tool of that name twice; on `choice` it calls the tool that it must call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const prepare: Effect.Effect<{
  readonly given: Given
  readonly controls: Omit<Stage, "runs" | "approvals">
}> = Effect.map(Deferred.make<void>(), (gate) => {
  let working = 0
  let worked = 0
  let asked = 0
  const undone: Array<string> = []
  const work = Tool.make("work", {
    description: "Works",
    timeout: "1000 days",
    handler: () =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          working++
          worked++
        }),
        () => Effect.as(Deferred.await(gate), "worked"),
        () => Effect.sync(() => void working--)
      )
  })
  const danger = Tool.make("danger", {
    description: "Is dangerous",
    requiresApproval: true,
    handler: () => Effect.succeed("boom")
  })
  const ask = Tool.make("ask", {
    description: "Asks for a row",
    handler: () =>
      Effect.map(Elicitation.ask({ message: "Which row?", schema: Schema.Struct({ row: Schema.Int }) }), (answer) =>
        answer._tag === "accept" ? `row ${answer.content.row}` : answer._tag
      ).pipe(Effect.orDie)
  })
  const book = Tool.make("book", {
    description: "Books a place",
    parameters: { place: Schema.String },
    success: Schema.Struct({ id: Schema.String }),
    retries: 0,
    handler: ({ place }) => Effect.succeed({ id: `#${place}` }),
    compensate: ({ place }, { id }) =>
      Effect.suspend(() => {
        undone.push(`${place} ${id}`)
        return place === "p0" ? Effect.fail("too late") : Effect.void
      })
  })
  const locate = PageTool.make("locate", {
    description: "Where the user is",
    parameters: { exact: Schema.Boolean },
    success: Schema.Struct({ city: Schema.String }),
    expiresAfter: "1 hour"
  })
  const tools = [work, danger, ask, book, locate]
  const agents = [
    ...["helper", "clerk"].map((name) => Agent.make(name, { system: name, tools, limits: { llmTimeout: "1 day" } })),
    Agent.make("thinker", { strategy: "plan-and-solve" }),
    Agent.make("former", { output: Schema.Struct({ text: Schema.String }) })
  ]
  const model = TestModel.layer((request) => {
    asked++
    return answerTo(request)
  })
  return {
    given: { agents, model },
    controls: {
      open: Effect.asVoid(Deferred.succeed(gate, undefined)),
      working: () => working,
      worked: () => worked,
      asked: () => asked,
      undone: () => undone
    }
  }
})

/** Rounds in which something must happen; each is a turn of the event loop and 20 ms of the clock. */
const rounds = 1000

/** Later rounds take real time: a server answers after more turns than fit into a moment. */
const turns = 100

const moment = Effect.withClock(Effect.sleep("5 millis"), Clock.make())

/**
 * Waits until an effect gives a value.
 *
 * @since 0.1.0
 * @category accessors
 */
export const eventually = <A, E>(look: Effect.Effect<A | undefined, E>, what: string): Effect.Effect<A, E> => {
  const attempt = (left: number): Effect.Effect<A, E> =>
    Effect.flatMap(look, (found) => {
      if (found !== undefined) return Effect.succeed(found)
      if (left === 0) return Effect.die(new Mismatch(what, "nothing", "something that happens"))
      const next = left > rounds - turns ? NextTurn.nextTurn : moment
      return next.pipe(Effect.zipRight(TestClock.adjust("20 millis")), Effect.zipRight(attempt(left - 1)))
    })
  return attempt(rounds)
}

/**
 * Waits until a run is in a state.
 *
 * @since 0.1.0
 * @category accessors
 */
export const inState = ({ runs }: Stage, runId: string, state: RunState, access: Runs.Access = { userId: "ann" }) =>
  eventually(
    Effect.map(runs.poll(runId, access), (found): RunRecord | undefined =>
      Option.isSome(found) && found.value.record.state === state ? found.value.record : undefined
    ),
    `the run is ${state}`
  )

/**
 * Waits until a call of `work` goes on.
 *
 * @since 0.1.0
 * @category accessors
 */
export const atWork = ({ working }: Stage) =>
  eventually(
    Effect.sync(() => (working() > 0 ? true : undefined)),
    "the tool works"
  )

/**
 * Starts a run of Ann.
 *
 * @since 0.1.0
 * @category accessors
 */
export const start = ({ runs }: Stage, input: string, fields?: Partial<Runs.StartRequest>) =>
  runs.start({ agent: "helper", input, userId: "ann", ...fields })

/**
 * Reads events into a list while the returned fiber runs.
 *
 * @since 0.1.0
 * @category accessors
 */
export const follow = Effect.fnUntraced(function* (
  { runs }: Stage,
  runId: string,
  options: Runs.EventsOptions = { userId: "ann" }
) {
  const events: Array<AgentEvent> = []
  const fiber = yield* Effect.fork(
    Stream.runForEach(runs.events(runId, options), (event) => Effect.sync(() => void events.push(event)))
  )
  return { events, fiber }
})

/**
 * All events of a run of Ann, until it ends.
 *
 * @since 0.1.0
 * @category accessors
 */
export const all = ({ runs }: Stage, runId: string, options?: Runs.EventsOptions) =>
  Effect.map(Stream.runCollect(runs.events(runId, { userId: "ann", ...options })), Chunk.toReadonlyArray)

/**
 * The text that a reader shows: deltas, without those that were retracted.
 *
 * @since 0.1.0
 * @category getters
 */
export const shown = (events: ReadonlyArray<AgentEvent>): string => {
  let text = ""
  for (const event of events) {
    if (event._tag === "TextDelta") text += event.text
    if (event._tag === "TextRetracted") text = ""
  }
  return text
}
