/**
 * A scripted model for tests. Its answers are written in advance, and an unexpected request is a defect.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import type * as Usage from "../domain/Usage.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as Excerpt from "../internal/text/Excerpt.js"
import * as CallGate from "../llm/model/CallGate.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import type { LlmError } from "../llm/model/LlmError.js"
import * as PartAssembler from "../llm/model/PartAssembler.js"

/**
 * A tool call. Without an id it gets `call_1`, `call_2`, … in the order of the script.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly id?: string | undefined
  readonly name: string
  readonly params?: unknown
}

/**
 * The answer to one request.
 *
 * @since 0.1.0
 * @category models
 */
export interface Turn {
  readonly reasoning?: string | undefined
  /** Text; a list is streamed piece by piece. */
  readonly text?: string | ReadonlyArray<string> | undefined
  readonly calls?: ReadonlyArray<Call> | undefined
  /** Exactly these parts instead of the fields above, `finish` included. */
  readonly parts?: ReadonlyArray<LlmClient.LlmPart> | undefined
  readonly usage?: Usage.Usage | undefined
  /** Default: `tool-calls` with calls, otherwise `stop`. */
  readonly finishReason?: LlmClient.FinishReason | undefined
  /** Time before the first part. */
  readonly delay?: Duration.DurationInput | undefined
  /** Time before each further part of a stream. */
  readonly partDelay?: Duration.DurationInput | undefined
  /** Fails with this error after the parts before it. */
  readonly fail?: LlmError | undefined
  /** Checks the request; `false` or a thrown error fails the test as a defect. */
  readonly expect?: ((request: LlmClient.LlmRequest) => boolean | void) | undefined
}

/**
 * A turn, a text, or a function of the request and of the number of earlier requests.
 *
 * @since 0.1.0
 * @category models
 */
export type ScriptItem =
  | string
  | Turn
  | ((request: LlmClient.LlmRequest, index: number) => Turn | string | Effect.Effect<Turn | string, LlmError>)

/**
 * A list of turns that is used in order, or one function that answers every request.
 *
 * @since 0.1.0
 * @category models
 */
export type Script = ReadonlyArray<ScriptItem> | Exclude<ScriptItem, string | Turn>

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Name of the model in its answers; default `test-model`. */
  readonly model?: string | undefined
  /** Default `test`. */
  readonly provider?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface LayerOptions extends Options {
  /**
   * Whether a scope that closes with success while turns of a list were never asked for dies. Default: true. False is
   * for tests whose point it is that the model is not asked again.
   */
  readonly exhausted?: boolean | undefined
}

/**
 * Observes the requests of a scripted model.
 *
 * @since 0.1.0
 * @category models
 */
export interface Observer {
  readonly requests: Effect.Effect<ReadonlyArray<LlmClient.LlmRequest>>
  /** Turns of the script that were not requested yet. */
  readonly remaining: Effect.Effect<number>
  /** Dies if turns of the script were not requested yet, and says how many and what the first of them is. */
  readonly exhausted: Effect.Effect<void>
  /** Requests that are being answered. */
  readonly active: Effect.Effect<number>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class TestModel extends Context.Tag("effect-lexigram/testing/TestModel")<TestModel, Observer>() {}

const toParts = (turn: Turn, callId: () => string): ReadonlyArray<LlmClient.LlmPart> => {
  if (turn.parts !== undefined) return turn.parts
  const parts: Array<LlmClient.LlmPart> = []
  if (turn.reasoning !== undefined) {
    parts.push({ type: "reasoning-start", id: "r" }, { type: "reasoning-delta", id: "r", delta: turn.reasoning })
    parts.push({ type: "reasoning-end", id: "r" })
  }
  if (turn.text !== undefined) {
    parts.push({ type: "text-start", id: "t" })
    for (const delta of typeof turn.text === "string" ? [turn.text] : turn.text) {
      parts.push({ type: "text-delta", id: "t", delta })
    }
    parts.push({ type: "text-end", id: "t" })
  }
  for (const call of turn.calls ?? []) {
    parts.push({ type: "tool-call", id: call.id ?? callId(), name: call.name, params: call.params ?? {} })
  }
  if (turn.fail === undefined) {
    parts.push({
      type: "finish",
      reason: turn.finishReason ?? ((turn.calls ?? []).length > 0 ? "tool-calls" : "stop"),
      usage: turn.usage ?? { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    })
  }
  return parts
}

const describe = (item: ScriptItem): string => {
  if (typeof item === "function") return "a function of the request"
  return Excerpt.ends(typeof item === "string" ? JSON.stringify(item) : Inspectable.toStringUnknown(item, 0), 500)
}

/** Dies if a list has turns after those that were asked for. */
const checkExhausted = (script: Script, asked: number): Effect.Effect<void> => {
  if (typeof script === "function" || asked >= script.length) return Effect.void
  return Effect.dieMessage(
    `TestModel: ${script.length - asked} of ${script.length} turns of the script were never asked for. The first of them: ${describe(script[asked]!)}. Shorten the script, or give the layer \`exhausted: false\` if turns may be left.`
  )
}

/**
 * A model with a script: a list that is used in order, or one function that answers every request.
 *
 * A request beyond the list, or one that `expect` rejects, is a defect that names the request.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  script: Script,
  options?: Options | undefined
): LlmClient.Service & { readonly observer: Observer } => {
  const requests: Array<LlmClient.LlmRequest> = []
  const provider = options?.provider ?? "test"
  const model = options?.model ?? "test-model"
  let asked = 0
  let called = 0
  let active = 0
  const callId = () => `call_${++called}`

  const next = (request: LlmClient.LlmRequest): Effect.Effect<Turn, LlmError> =>
    Effect.suspend(() => {
      const index = asked++
      requests.push(request)
      const item = typeof script === "function" ? script : script[index]
      if (item === undefined) {
        return Effect.dieMessage(
          `TestModel: request ${index + 1} came, but the script has ${script.length} turns. Last message: ${JSON.stringify(request.messages.at(-1) ?? null).slice(0, 500)}`
        )
      }
      const given = typeof item === "function" ? item(request, index) : item
      const turn = Effect.isEffect(given) ? given : Effect.succeed(given)
      return Effect.flatMap(turn, (value) => {
        const turn: Turn = typeof value === "string" ? { text: value } : value
        if (turn.expect?.(request) === false) {
          return Effect.dieMessage(
            `TestModel: request ${index + 1} is not as expected: ${JSON.stringify(request).slice(0, 1000)}`
          )
        }
        return Effect.succeed(turn)
      })
    })

  const answer = Effect.fnUntraced(function* (request: LlmClient.LlmRequest, complete?: LlmClient.CompleteOptions) {
    const turn = yield* next(request)
    if (turn.delay !== undefined) yield* Effect.sleep(turn.delay)
    const assembler = PartAssembler.make({ provider, model: request.settings?.model ?? model })
    const parts = toParts(turn, callId)
    for (const part of parts) assembler.push(part)
    const onParts = complete?.onParts
    if (onParts !== undefined) {
      if (turn.partDelay === undefined) yield* onParts(parts)
      else {
        for (let i = 0; i < parts.length; i++) {
          if (i > 0) yield* Effect.sleep(turn.partDelay)
          yield* onParts([parts[i]!])
        }
      }
    }
    if (turn.fail !== undefined) return yield* turn.fail
    return assembler.response()
  })

  return {
    provider,
    model,
    complete: (request, complete) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void active++),
        () => answer(request, complete),
        () => Effect.sync(() => void active--)
      ),
    observer: {
      requests: Effect.sync(() => requests.slice()),
      remaining: Effect.sync(() => (typeof script === "function" ? 0 : Math.max(0, script.length - asked))),
      exhausted: Effect.suspend(() => checkExhausted(script, asked)),
      active: Effect.sync(() => active)
    }
  }
}

/**
 * The model and the observer of its requests. Building the layer loads what runs load on first use, such as the
 * strategies: an import takes real time, and a test that adjusts `TestClock` would be ahead of it.
 *
 * If its scope closes with success while turns of a list were never asked for, closing it dies as {@link exhausted}
 * does: a test that provides the layer fails. A scope that closes with a failure or an interruption keeps that as its
 * only cause. A layer that several tests share is checked once, when it closes after the last of them: by `layer` of
 * `@effect/vitest` in `afterAll`, and by a `ManagedRuntime` in `dispose`.
 *
 * @example
 * ```ts
 * import { Agent, AgentExecutor, Agents } from "effect-lexigram"
 * import { TestModel } from "effect-lexigram/testing"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const clerk = Agent.make("clerk", { system: "You help at the desk." })
 *
 * const answer = AgentExecutor.run(clerk, { input: "When are you open?" }).pipe(
 *   Effect.provide(Agents.layer().pipe(Layer.provide(TestModel.layer(["From 9 to 5."]))))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  script: Script,
  options?: LayerOptions | undefined
): Layer.Layer<LlmClient.LlmClient | TestModel> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      yield* OnDemand.loadAll
      const service = make(script, options)
      const { observer } = service
      if (options?.exhausted !== false) {
        yield* Effect.addFinalizer((exit) => (Exit.isSuccess(exit) ? observer.exhausted : Effect.void))
      }
      return Context.make(LlmClient.LlmClient, CallGate.wrap(service)).pipe(Context.add(TestModel, observer))
    })
  )

/**
 * The requests so far.
 *
 * @since 0.1.0
 * @category accessors
 */
export const requests: Effect.Effect<ReadonlyArray<LlmClient.LlmRequest>, never, TestModel> = Effect.flatMap(
  TestModel,
  (observer) => observer.requests
)

/**
 * Dies if turns of the script were never asked for. The message says how many they are and what the first of them is.
 * A script that is a function has none left. `layer` checks it when it closes; this is for tests that check it before.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exhausted: Effect.Effect<void, never, TestModel> = Effect.flatMap(
  TestModel,
  (observer) => observer.exhausted
)
