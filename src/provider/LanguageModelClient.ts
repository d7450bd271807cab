/**
 * Adapts any `@effect/ai` language model to {@link LlmClient}.
 *
 * Tools are declared, never run; the raw parameters of calls come back. Answers that the model's types cannot express
 * (calls of unknown tools, answers its decoder rejects) are recovered from its errors where these contain them, and are
 * typed errors otherwise.
 *
 * @since 0.1.0
 */
import * as AiError from "@effect/ai/AiError"
import * as LanguageModel from "@effect/ai/LanguageModel"
import * as Model from "@effect/ai/Model"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Telemetry from "@effect/ai/Telemetry"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as CachedContent from "../llm/CachedContent.js"
import * as CallGate from "../llm/model/CallGate.js"
import type { LlmPart, LlmRequest, LlmResponse, Message, OnParts, Service } from "../llm/model/LlmClient.js"
import { LlmClient } from "../llm/model/LlmClient.js"
import type { LlmError } from "../llm/model/LlmError.js"
import { LlmMalformedResponseError } from "../llm/model/LlmError.js"
import type { ModelSettings } from "../llm/model/ModelSettings.js"
import * as PartAssembler from "../llm/model/PartAssembler.js"
import * as ProviderTool from "../llm/ProviderTool.js"
import * as AiErrorClassifier from "./exchange/AiErrorClassifier.js"
import { toPlainPart, toStreamParts, withOwnName } from "./exchange/LanguageModelParts.js"
import * as LanguageModelRequest from "./exchange/LanguageModelRequest.js"
import * as LlmErrorClassifier from "./exchange/LlmErrorClassifier.js"
import * as ReasoningLevels from "./exchange/ReasoningLevels.js"
import * as ToolCallIds from "./exchange/ToolCallIds.js"
import * as ToolResults from "./exchange/ToolResults.js"
import * as Wire from "./exchange/WireDecoder.js"
import * as Anthropic from "./format/Anthropic.js"
import * as AnthropicMessages from "./format/AnthropicMessages.js"
import * as OpenAi from "./format/OpenAi.js"
import * as OpenAiResponses from "./format/OpenAiResponses.js"

/**
 * Passes the settings of a request to the model, around its call.
 *
 * @since 0.1.0
 * @category models
 */
export type Configure = (settings: ModelSettings) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name in telemetry and errors. Default: the provider name of an `@effect/ai` `Model`, else `language-model`. */
  readonly provider?: string | undefined
  /** The model's name in telemetry and errors. */
  readonly model?: string | undefined
  /** Secrets that must not appear in errors: the keys the model was built with. */
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  /**
   * How settings reach the model. By default they reach `@effect/ai-openai` and `@effect/ai-anthropic`; any other
   * package needs its own `withConfigOverride` here.
   */
  readonly configure?: Configure | undefined
}

// The packages look up their configuration by these keys; naming them here keeps the packages optional.
const OpenAiConfig = Context.GenericTag<never, object>("@effect/ai-openai/OpenAiLanguageModel/Config")
const AnthropicConfig = Context.GenericTag<never, object>("@effect/ai-anthropic/AnthropicLanguageModel/Config")

const configureWith =
  (strict: boolean, named = "", isForced = false): Configure =>
  (settings) =>
  (effect) =>
    Effect.contextWithEffect((context: Context.Context<never>) => {
      const { max_tokens: maxTokens, model: _, ...rest } = Anthropic.fromSettings(settings, named, isForced)
      // The model may have its own bound.
      const isBounded = settings.maxTokens !== undefined || settings.reasoning !== undefined
      return effect.pipe(
        Effect.provideService(OpenAiConfig, {
          strict,
          ...context.unsafeMap.get(OpenAiConfig.key),
          ...OpenAi.fromSettings(settings)
        }),
        Effect.provideService(AnthropicConfig, {
          ...context.unsafeMap.get(AnthropicConfig.key),
          ...(settings.model === undefined ? {} : { model: settings.model }),
          ...(isBounded ? { max_tokens: maxTokens } : {}),
          ...rest
        })
      )
    })

/**
 * Passes the settings to the models of `@effect/ai-openai` and `@effect/ai-anthropic`. `parallelToolCalls` reaches only
 * the former.
 *
 * @since 0.1.0
 * @category combinators
 */
export const configure: Configure = configureWith(false)

const encodableTools = new Set(["AnthropicCodeExecution", "AnthropicWebSearch"])

/**
 * Calls that the provider ran itself, as our own decoders read them, have no place in the prompts of the packages,
 * which fail on them.
 */
const encodable = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const dropped = new Set<string>()
  const keeps = (part: Prompt.AssistantMessagePartEncoded): boolean => {
    if (part.type === "tool-result") return !dropped.has(part.id)
    if (part.type !== "tool-call" || part.providerExecuted !== true || encodableTools.has(part.name)) return true
    const isOurs =
      Wire.record(part.options?.openai)?.item !== undefined || Wire.record(part.options?.anthropic)?.block !== undefined
    if (isOurs) dropped.add(part.id)
    return !isOurs
  }
  return ToolResults.lower(messages, true).map((message) =>
    message.role === "assistant" && typeof message.content !== "string"
      ? { ...message, content: message.content.filter(keeps) }
      : message
  )
}

const refused = (settings: ModelSettings, target: ReasoningLevels.Target) =>
  toolsRefused(settings, target) ?? CachedContent.check(settings, target) ?? budgetRefused(settings, target)

/** The packages add their own tools to a toolkit, which is not made here. */
const toolsRefused = ({ providerTools = [] }: ModelSettings, target: ReasoningLevels.Target) =>
  providerTools[0] === undefined ? undefined : ProviderTool.unsupported(target, providerTools[0].tool)

const budgetRefused = (settings: ModelSettings, target: ReasoningLevels.Target) =>
  target.provider === "openai"
    ? ReasoningLevels.levelsOnly(settings, target)
    : target.provider === "anthropic"
      ? ReasoningLevels.checkAnthropic(settings, target)
      : undefined

const malformedValue = (error: AiError.AiError): unknown =>
  error._tag === "MalformedOutput" && ParseResult.isParseError(error.cause) ? error.cause.issue.actual : undefined

const isPart = (value: unknown): value is Response.AnyPartEncoded => Wire.string(Wire.record(value)?.type) !== undefined

/**
 * The parts of a rejected answer: its own parts when a call named an unknown tool, or the body that the package's
 * decoder rejected.
 */
const recover = (error: AiError.AiError, request: LlmRequest): Wire.Decoded => {
  const value = malformedValue(error)
  if (error._tag !== "MalformedOutput" || value === undefined) return { parts: [] }
  if (Array.isArray(value)) return value.every(isPart) ? { parts: toStreamParts(value, request) } : { parts: [] }
  if (Chunk.isChunk(value)) {
    const parts = Chunk.toReadonlyArray(value)
    return parts.every(isPart) ? { parts: toStreamParts(parts, request) } : { parts: [] }
  }
  const format = request.responseFormat
  switch (error.module) {
    case "OpenAiClient":
      return OpenAiResponses.make().body(value)
    case "AnthropicClient":
      return AnthropicMessages.make(format?.type === "json" ? { output: format.name } : {}).body(value)
    default:
      return { parts: [] }
  }
}

const unreadable = "The provider's client could not read the answer."

type Content = ReadonlyArray<Response.AnyPart>

const readWhole = (
  language: LanguageModel.Service,
  request: LanguageModelRequest.LanguageModelRequest
): Effect.Effect<Content, AiError.AiError> => {
  if (request.output === undefined) {
    return Effect.map(LanguageModelRequest.generate(language, request), (response) => response.content as Content)
  }
  return Effect.gen(function* () {
    const outer = yield* Effect.serviceOption(Telemetry.CurrentSpanTransformer)
    let content: Content | undefined
    // The only place to see an answer before it is decoded as the object, which fails when it has calls or is not JSON.
    const observe: Telemetry.SpanTransformer = (options) => {
      content = options.response as Content
      if (Option.isSome(outer)) outer.value(options)
    }
    return yield* LanguageModelRequest.generate(language, request).pipe(
      Effect.map((response) => response.content as Content),
      Effect.provideService(Telemetry.CurrentSpanTransformer, observe),
      Effect.catchAll((error) => (content === undefined ? Effect.fail(error) : Effect.succeed(content)))
    )
  })
}

const readStream = (
  language: LanguageModel.Service,
  request: LanguageModelRequest.LanguageModelRequest
): Stream.Stream<Response.AnyPart, AiError.AiError> => {
  const options = {
    prompt: request.prompt,
    ...(request.toolkit === undefined
      ? {}
      : { toolkit: request.toolkit, toolChoice: request.toolChoice ?? "auto", disableToolCallResolution: true })
  }
  return Stream.suspend(() => language.streamText(options as never)) as Stream.Stream<Response.AnyPart, AiError.AiError>
}

// Decoders of providers die on answers they do not know; a cause with anything but defects is not theirs.
const isDefect = (cause: Cause.Cause<unknown>): boolean =>
  Cause.reduceWithContext(cause, undefined, {
    emptyCase: () => true,
    failCase: () => false,
    dieCase: () => true,
    interruptCase: () => false,
    sequentialCase: (_, left, right) => left && right,
    parallelCase: (_, left, right) => left && right
  }) && Cause.isDie(cause)

/** How the settings of a request reach the model; fails for a budget of reasoning that it cannot keep. */
const configured = (
  request: LlmRequest,
  { configure, model }: Options,
  target: ReasoningLevels.Target
): Effect.Effect<Configure, LlmError> =>
  configure === undefined
    ? (refused(request.settings ?? {}, target) ??
      Effect.succeed(configureWith(isStrict(request), model, Anthropic.isForced(request))))
    : Effect.succeed(configure)

/**
 * Makes a client from a language model.
 *
 * With `onParts` and a JSON output, all parts come at once: such models stream text only.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (language: LanguageModel.Service, options: Options = {}): Service => {
  const provider = options.provider ?? "language-model"

  const complete = Effect.fnUntraced(function* (request: LlmRequest, onParts: OnParts | undefined) {
    const settings = request.settings ?? {}
    const model = settings.model ?? options.model
    const known = { provider, ...(model === undefined ? {} : { model }) }
    const setUp = yield* configured(request, options, { provider, model: model ?? "" })
    const prepared = yield* LanguageModelRequest.make({ ...request, messages: encodable(request.messages) }, provider)
    const assembler = PartAssembler.make({ provider, model })
    const ids = ToolCallIds.make()
    const malformed = (message: string) => new LlmMalformedResponseError({ ...known, message })
    const classified = (error: AiError.AiError): Effect.Effect<never, LlmError> =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.fail(AiErrorClassifier.classify(error, { ...known, nowMs, redact: options.redact }))
      )
    const failed = (body: string): Effect.Effect<never, LlmError> =>
      Effect.fail(LlmErrorClassifier.classify({ ...known, status: 200, headers: {}, body, redact: options.redact }))

    /** Recovers what it can from a rejected answer; without any, fails with the error. */
    const recovered = Effect.fnUntraced(function* (error: AiError.AiError) {
      const { failure, parts } = yield* Effect.try({
        try: () => recover(error, request),
        catch: () => malformed(unreadable)
      })
      if (failure !== undefined) return yield* failed(failure)
      if (!parts.some((part) => part.type === "finish" || part.type === "tool-call")) return yield* classified(error)
      return parts
    })
    const take = (given: ReadonlyArray<LlmPart>): Effect.Effect<void> => {
      const parts = given.map(ids)
      for (const part of parts) assembler.push(part)
      return onParts === undefined || parts.length === 0 ? Effect.void : onParts(parts)
    }

    if (onParts !== undefined && prepared.output === undefined) {
      yield* readStream(language, prepared).pipe(
        Stream.catchAllCause(
          (cause): Stream.Stream<never, AiError.AiError | LlmError> =>
            isDefect(cause) ? Stream.fail(malformed(unreadable)) : Stream.failCause(cause)
        ),
        Stream.runForEachChunk((chunk) =>
          Effect.gen(function* () {
            const parts: Array<LlmPart> = []
            for (const part of chunk) {
              if (part.type === "error") {
                yield* take(parts)
                return yield* failed(Wire.failure(part.error))
              }
              const plain = toPlainPart(part)
              if (plain !== undefined) parts.push(withOwnName(plain, request))
            }
            yield* take(parts)
          })
        ),
        setUp(settings),
        Effect.catchIf(AiError.isAiError, (error) => Effect.flatMap(recovered(error), take))
      )
      // A call of an unknown tool ends the stream of such a model: the parts before it count, and so do the calls of
      // the turn.
      if (!assembler.finished() && assembler.response().content.some((part) => part.type === "tool-call")) {
        yield* take([{ type: "finish", reason: "tool-calls", usage: {} }])
      }
    } else {
      const content = yield* readWhole(language, prepared).pipe(
        Effect.catchAllCause(
          (cause): Effect.Effect<never, AiError.AiError | LlmError> =>
            isDefect(cause) ? Effect.fail(malformed(unreadable)) : Effect.failCause(cause)
        ),
        Effect.map((parts) => toStreamParts(parts, request)),
        setUp(settings),
        Effect.catchIf(AiError.isAiError, recovered)
      )
      yield* take(content)
    }
    if (!assembler.finished()) return yield* malformed("The answer ended before its finish.")
    const response = assembler.response()
    // A failed response of OpenAI looks like this: finished, empty, and without a token count.
    if (response.content.length === 0 && isUncounted(response)) {
      return yield* malformed("The answer is empty, and the provider counted no tokens.")
    }
    return response
  })

  return { provider, model: options.model, complete: (request, given) => complete(request, given?.onParts) }
}

const isUncounted = ({ usage }: LlmResponse): boolean =>
  usage.inputTokens === undefined && usage.outputTokens === undefined && usage.totalTokens === undefined

const isStrict = ({ responseFormat, tools }: LlmRequest): boolean =>
  (tools ?? []).every((tool) => LanguageModelRequest.isStrict(tool.parameters)) &&
  (responseFormat?.type !== "json" || LanguageModelRequest.isStrict(responseFormat.schema))

/**
 * A client of the model in context, without a layer.
 *
 * @example
 * ```ts
 * import * as OpenAiClient from "@effect/ai-openai/OpenAiClient"
 * import * as OpenAiLanguageModel from "@effect/ai-openai/OpenAiLanguageModel"
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Config from "effect/Config"
 * import * as Layer from "effect/Layer"
 * import { LanguageModelClient } from "effect-lexigram/provider"
 *
 * const layer = LanguageModelClient.layer({ provider: "openai" }).pipe(
 *   Layer.provide(OpenAiLanguageModel.layer({ model: "gpt-4.1-mini" })),
 *   Layer.provide(OpenAiClient.layerConfig({ apiKey: Config.redacted("OPENAI_API_KEY") })),
 *   Layer.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<LlmClient, never, LanguageModel.LanguageModel> =>
  Layer.effect(
    LlmClient,
    Effect.gen(function* () {
      const language = yield* LanguageModel.LanguageModel
      const named = yield* Effect.serviceOption(Model.ProviderName)
      const provider = options.provider ?? Option.getOrUndefined(named)
      return CallGate.wrap(make(language, { ...options, provider }))
    })
  )
