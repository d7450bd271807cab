/**
 * Agents as plain promises and async iterables, for programs that are not written in Effect.
 *
 * @since 0.1.0
 */
/// <reference lib="esnext.disposable" preserve="true" />
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../agent/AgentExecutor.js"
import * as Definition from "../agent/definition/Agent.js"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as AgentResponse from "../domain/AgentResponse.js"
import type * as Guard from "../guard/pipeline/Guard.js"
import type * as ModelSettings from "../llm/model/ModelSettings.js"
import type * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import type * as Tool from "../tool/definition/Tool.js"
import { EventReader } from "./EventReader.js"
import { toInput } from "./InputContent.js"
import * as Job from "./Job.js"
import type { Input } from "./PromiseInput.js"
import { createRuntime, type Runtime, type RuntimeOptions } from "./PromiseRuntime.js"

/**
 * An agent as a plain value; all but the name are optional.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentDefinition<Out extends Definition.OutputLike = never, R = never> {
  readonly name: string
  /** The system prompt. */
  readonly instructions?: string | undefined
  /** Tools of `tool` and of `Tool.make`; what the latter require is in the `layer`. */
  readonly tools?: ReadonlyArray<Tool.Tool<never, unknown, unknown, R, unknown>> | undefined
  /** The schema of the answer: of Zod, ArkType, Valibot or Effect. */
  readonly output?: Out | undefined
  /** Replaces the JSON Schema of `output`, which models read. */
  readonly outputJsonSchema?: Readonly<Record<string, unknown>> | undefined
  /** How often an answer that does not fit goes back to the model; default 2. */
  readonly outputRetries?: number | undefined
  /** Model calls of a run, at most; default 10. Reaching it fails the run with `MaxIterationsExceededError`. */
  readonly maxSteps?: number | undefined
  /** The name of a strategy; default `react`. */
  readonly strategy?: string | undefined
  readonly limits?: Omit<Definition.RunLimits, "maxCostUsd" | "maxCostUsdPerStep"> | undefined
  readonly settings?: ModelSettings.ModelSettings | undefined
  readonly guards?: ReadonlyArray<Guard.Guard<unknown, R>> | undefined
}

/**
 * An agent with its own services, or one that shares those of a runtime.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentOptions<Out extends Definition.OutputLike = never, R = never> = AgentDefinition<Out, R> &
  (
    | (RuntimeOptions<R> & { readonly runtime?: undefined })
    | { readonly runtime: Runtime<R>; readonly model?: undefined; readonly layer?: undefined }
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions extends Omit<AgentExecutor.AgentRequest, "input"> {
  /** Interrupts the run; its promise rejects with the reason of the signal after everything has stopped. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The result of a run.
 *
 * @since 0.1.0
 * @category models
 */
export type Result<Output = string> = AgentResponse.AgentResponse<Output>

/**
 * The events of one run, for one reader. The run starts when they or the result are first asked for; a slow reader
 * slows it down, and one that leaves (`break`) ends it.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentStream<Output = string> extends AsyncIterable<AgentEvent> {
  /** The result of the run. It need not be awaited: its failure is never an unhandled rejection. */
  readonly result: Promise<Result<Output>>
  /**
   * The text of the agent as it is written, in place of the events. It includes what is written before a tool call; the
   * events say which text is part of the answer (`TextRetracted`).
   */
  readonly text: AsyncIterable<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Agent<Output = string> {
  readonly name: string
  /**
   * Runs the agent to its end. Rejects with the failure itself, as `AgentExecutor.run` has it (`instanceof` and `_tag`
   * apply), with a defect as it was thrown, or with the reason of an aborted signal.
   */
  readonly run: (input: Input, options?: RunOptions | undefined) => Promise<Result<Output>>
  /** The same run as its events; the last one is `Finished` or `Error`, and an error is then thrown. */
  readonly stream: (input: Input, options?: RunOptions | undefined) => AgentStream<Output>
  /** Stops its runs and waits for them. Releases its services unless they are those of a runtime. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

type Built<O, R> = Definition.Agent<O, unknown, R>

const build = (options: AgentDefinition<any, any>): Built<any, any> => {
  const { instructions, maxSteps, strategy, name, guards, ...rest } = options
  const steps: StrategyRegistry.Named | undefined =
    maxSteps === undefined
      ? undefined
      : { _tag: "Named", name: strategy ?? "react", options: { maxIterations: maxSteps } }
  return Definition.make(name, {
    system: instructions,
    tools: rest.tools as ReadonlyArray<Tool.Any> | undefined,
    output: rest.output,
    outputJsonSchema: rest.outputJsonSchema,
    outputRetries: rest.outputRetries,
    settings: rest.settings,
    limits: rest.limits,
    guards: guards as ReadonlyArray<Guard.Any> | undefined,
    strategy: steps ?? strategy
  }) as Built<any, any>
}

/** The response of a run that emitted these events, with its output decoded. */
const toResult = <O>(agent: Built<O, unknown>, response: AgentResponse.AgentResponse<unknown>) => {
  const { output } = agent.definition
  if (output === undefined) return Effect.succeed(response as Result<O>)
  // The output was decoded before it was emitted, so it is valid.
  return Effect.orDie(Effect.map(output.decode(response.output), (decoded) => ({ ...response, output: decoded as O })))
}

/** Runs an agent and hands its events on. */
const streamed = <O, R>(
  agent: Built<O, R>,
  request: AgentExecutor.AgentRequest,
  reader: EventReader<AgentEvent>
): Effect.Effect<Result<O>, unknown, R | AgentExecutor.AgentExecutor> =>
  Effect.suspend(() => {
    const fold = AgentResponse.fold()
    return Effect.zipRight(
      Stream.runForEachChunk(AgentExecutor.stream(agent, request), (events) => {
        for (const event of events) fold.push(event)
        return reader.push(Chunk.toReadonlyArray(events))
      }),
      Effect.suspend(() => toResult(agent, fold.response()))
    )
  })

async function* textOf(events: AsyncIterable<AgentEvent>): AsyncGenerator<string, void, undefined> {
  let run: string | undefined
  for await (const event of events) {
    run ??= event.runId
    if (event._tag === "TextDelta" && event.runId === run) yield event.text
  }
}

const left = () => new DOMException("The reader left the stream before its end", "AbortError")

const makeStream = <O>(start: (reader: EventReader<AgentEvent>) => Job.Job<Result<O>>): AgentStream<O> => {
  let job: Job.Job<Result<O>> | undefined
  const begin = (): Job.Job<Result<O>> => {
    if (job !== undefined) return job
    job = start(reader)
    job.result.then(
      () => reader.finish({ failed: false }),
      (error) => reader.finish({ failed: true, error })
    )
    return job
  }
  const reader = new EventReader<AgentEvent>(begin, async () => job?.stop(left()))
  let isRead = false
  const events: AsyncIterable<AgentEvent> = {
    [Symbol.asyncIterator]: () => {
      if (isRead) throw new TypeError("A stream of a run has one reader: read its events or its text, once")
      isRead = true
      return reader
    }
  }
  return {
    ...events,
    get result() {
      return begin().result
    },
    get text() {
      return { [Symbol.asyncIterator]: () => textOf(events) }
    }
  }
}

/**
 * An agent. Close it at the end, or write `await using`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { createAgent } from "effect-lexigram/promise"
 *
 * const agent = createAgent({
 *   name: "clerk",
 *   instructions: "You answer in one sentence.",
 *   model: { provider: "anthropic", model: "claude-sonnet-4-5" }
 * })
 *
 * const answer = async (question: string) => (await agent.run(question)).message
 * ```
 */
export const createAgent = <Out extends Definition.OutputLike = never, R = never>(
  options: AgentOptions<Out, R>
): Agent<[Out] extends [never] ? string : Definition.OutputType<Out>> => {
  type O = [Out] extends [never] ? string : Definition.OutputType<Out>
  const agent: Built<O, R> = build(options)
  const runtime = options.runtime ?? createRuntime<R>(options)
  const owner = new Job.Owner(`The agent ${JSON.stringify(options.name)}`, runtime.owner)
  const close = () => owner.close(options.runtime === undefined ? runtime.close : async () => undefined)
  return {
    name: options.name,
    run: (input, { signal, ...request } = {}) =>
      runtime.start(
        owner,
        Effect.flatMap(toInput(input), (input) => AgentExecutor.run(agent, { ...request, input })),
        signal
      ).result,
    stream: (input, { signal, ...request } = {}) =>
      makeStream((reader) =>
        runtime.start(
          owner,
          Effect.flatMap(toInput(input), (input) => streamed(agent, { ...request, input }, reader)),
          signal
        )
      ),
    close,
    [Symbol.asyncDispose]: close
  }
}
