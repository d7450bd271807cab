/**
 * Adapts any language model of the AI SDK to {@link LlmClient}: models with version 3 (AI SDK 6) or version 4 (AI SDK
 * 7) of its specification, from any of its provider packages.
 *
 * Tools are declared, never run. What a provider reports beside its answer (signatures of reasoning, ids of items) is
 * kept with the message and sent back, as its package wants it. The package sends the requests: its own `fetch`,
 * `headers` and `baseURL` apply.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as CachedContent from "../../llm/CachedContent.js"
import * as ContentSupport from "../../llm/ContentSupport.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { LlmPart, LlmRequest, LlmResponse, OnParts, Service } from "../../llm/model/LlmClient.js"
import { LlmClient } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmConfigurationError, LlmInvalidRequestError, LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as PartAssembler from "../../llm/model/PartAssembler.js"
import * as ProviderTool from "../../llm/ProviderTool.js"
import * as ToolCallIds from "../exchange/ToolCallIds.js"
import * as SdkFailure from "./SdkFailure.js"
import * as SdkParts from "./SdkParts.js"
import * as SdkReasoning from "./SdkReasoning.js"
import * as SdkRequest from "./SdkRequest.js"
import type * as Sdk from "./SdkSpecification.js"
import * as SdkTools from "./SdkTools.js"

/**
 * A language model of the AI SDK: what `anthropic("claude-…")` or `google("gemini-…")` returns.
 *
 * @since 0.1.0
 * @category models
 */
export interface Model extends Sdk.Model {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name in telemetry, prices and errors. Default: the first part of the model's own (`anthropic.messages`). */
  readonly provider?: string | undefined
  /**
   * Finds the model of a request whose settings name one: the function that the provider package exports. By default,
   * such a request is an `LlmInvalidRequestError` unless it names this model.
   */
  readonly models?: ((modelId: string) => Model) | undefined
  /** Media types of files that the models take. Default: what `ContentSupport.table` says. */
  readonly accepts?: ReadonlyArray<string> | undefined
  /** Secrets that must not appear in errors: the keys the model was built with. */
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

const providerOf = (model: Model): string => model.provider.split(".")[0] ?? model.provider

const isVersion = (version: string): version is Sdk.Version => version === "v3" || version === "v4"

const chosen = (given: Model, wanted: string | undefined, options: Options): Either.Either<Model, string> => {
  if (wanted === undefined || wanted === given.modelId) return Either.right(given)
  if (options.models === undefined) return Either.left(`The client has the model ${given.modelId}, not ${wanted}`)
  const { models } = options
  return Either.try({ try: () => models(wanted), catch: (error) => String(error) })
}

/** Runs a function of a package, which may throw, and interrupts it by the signal. */
const called = <A>(
  call: () => PromiseLike<A>,
  fail: (error: unknown) => Effect.Effect<never, LlmError>
): Effect.Effect<A, LlmError> =>
  Effect.catchAll(Effect.tryPromise({ try: async () => await call(), catch: (error) => ({ error }) }), ({ error }) =>
    fail(error)
  )

type Fail = (error: unknown) => Effect.Effect<never, LlmError>

/** Asks a model once which URLs it fetches, and again after a rejection. */
const supportedUrls = (model: Model, known: Map<string, Promise<Sdk.SupportedUrls>>): Promise<Sdk.SupportedUrls> => {
  const before = known.get(model.modelId)
  if (before !== undefined) return before
  const read = (async () => (await model.supportedUrls) ?? {})()
  known.set(model.modelId, read)
  read.catch(() => known.delete(model.modelId))
  return read
}

const urlsUnknown = (error: unknown, known: Omit<SdkFailure.Context, "nowMs">): Effect.Effect<never, LlmError> => {
  const { message } = SdkFailure.classify(error, { ...known, nowMs: 0 })
  return new LlmInvalidRequestError({
    provider: known.provider,
    model: known.model,
    message: `The provider's package did not tell which URLs the model fetches: ${message}`,
    hint: "Give the bytes of the file instead of its URL, or repeat the call."
  })
}

const readWhole = (model: Model, options: Sdk.CallOptions, signal: AbortSignal, fail: Fail) =>
  Effect.map(
    called(() => model.doGenerate({ ...options, abortSignal: signal }), fail),
    SdkParts.fromAnswer
  )

/** Reads to the end of the stream, or to its first error. */
const readStream = (
  model: Model,
  options: Sdk.CallOptions,
  signal: AbortSignal,
  fail: Fail,
  take: (parts: ReadonlyArray<LlmPart>) => Effect.Effect<void>
): Effect.Effect<void, LlmError> =>
  Effect.flatMap(
    called(() => model.doStream({ ...options, abortSignal: signal }), fail),
    ({ stream }) => {
      const reader = stream.getReader()
      const next: Effect.Effect<void, LlmError> = Effect.flatMap(
        called(() => reader.read(), fail),
        ({ done, value }) => {
          if (done) return Effect.void
          if (value?.type === "error") return fail(value.error)
          const part = SdkParts.fromStream(value)
          return part === undefined ? next : Effect.zipRight(take([part]), next)
        }
      )
      return Effect.onError(next, () => Effect.sync(() => void reader.cancel().catch(() => undefined)))
    }
  )

/**
 * Makes a client from a model. Fails if the model has another version of the specification.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (given: Model, options: Options = {}): Effect.Effect<Service, LlmConfigurationError> => {
  const provider = options.provider ?? providerOf(given)
  const { redact } = options

  const urls = new Map<string, Promise<Sdk.SupportedUrls>>()

  const targetOf = (request: LlmRequest, model: Model): Effect.Effect<SdkRequest.Target, LlmError> => {
    const target = {
      version: model.specificationVersion as Sdk.Version,
      provider: providerOf(model),
      api: model.provider.split(".")[1],
      model: model.modelId,
      supportedUrls: {}
    }
    if (!SdkRequest.hasFileUrl(request)) return Effect.succeed(target)
    return Effect.map(
      called(
        () => supportedUrls(model, urls),
        (error) => urlsUnknown(error, { provider, model: model.modelId, redact })
      ),
      (supportedUrls) => ({ ...target, supportedUrls })
    )
  }

  const complete = (request: LlmRequest, onParts: OnParts | undefined): Effect.Effect<LlmResponse, LlmError> =>
    Effect.gen(function* () {
      const choice = chosen(given, request.settings?.model, options)
      if (Either.isLeft(choice) || !isVersion(choice.right.specificationVersion))
        return yield* new LlmInvalidRequestError({
          provider,
          message: Either.isLeft(choice) ? choice.left : wrongVersion(choice.right),
          hint: "Pass the function that makes the models of this provider as the option `models`."
        })
      const model = choice.right
      const known = { provider, model: model.modelId }
      const asked = { ...known, provider: providerOf(model) }
      const settings = request.settings ?? {}
      const refused =
        SdkReasoning.check(settings, asked) ??
        (asked.provider === "google" ? undefined : CachedContent.check(settings, asked))
      if (refused !== undefined) return yield* refused
      const target = yield* targetOf(request, model)
      const callOptions = SdkRequest.make(request, target, yield* SdkTools.make(request, target))
      if (Either.isLeft(callOptions)) {
        const { hint, message } = callOptions.left
        return yield* new LlmInvalidRequestError({ ...known, message, hint })
      }
      const assembler = PartAssembler.make(known)
      const unique = ToolCallIds.make()
      const take = (parts: ReadonlyArray<LlmPart>): Effect.Effect<void> => {
        const own = parts.map(unique)
        for (const part of own) assembler.push(part)
        return onParts === undefined ? Effect.void : onParts(own)
      }
      const fail: Fail = (error) =>
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
          Effect.fail(SdkFailure.classify(error, { ...known, nowMs, redact }))
        )
      yield* Effect.acquireUseRelease(
        Effect.sync(() => new AbortController()),
        ({ signal }) =>
          onParts === undefined
            ? Effect.flatMap(readWhole(model, callOptions.right, signal, fail), take)
            : readStream(model, callOptions.right, signal, fail, take),
        (controller) => Effect.sync(() => (assembler.finished() ? undefined : controller.abort()))
      )
      if (!assembler.finished())
        return yield* new LlmMalformedResponseError({ ...known, message: "The answer ended before its finish" })
      return assembler.response()
    })

  return isVersion(given.specificationVersion)
    ? Effect.succeed(
        ContentSupport.wrap({ accepts: options.accepts })(
          ProviderTool.counted({ provider: providerOf(given) })({
            provider,
            model: given.modelId,
            complete: (request, given) => complete(request, given?.onParts)
          })
        )
      )
    : Effect.fail(
        new LlmConfigurationError({
          provider,
          message: wrongVersion(given),
          hint: "Install a version of the provider package for AI SDK 6 or 7."
        })
      )
}

const wrongVersion = ({ modelId, specificationVersion }: Model): string =>
  `The model ${modelId} has version ${String(specificationVersion).slice(0, 20)} of the specification of the AI SDK; versions v3 and v4 are supported`

/**
 * The model as the `LlmClient` of a program.
 *
 * @example
 * ```ts
 * import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
 * import { AiSdkModel } from "effect-lexigram/provider"
 *
 * const local = createOpenAICompatible({ name: "local", baseURL: "http://127.0.0.1:11434/v1" })
 * const layer = AiSdkModel.layer(local("qwen3"), { models: local })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (model: Model, options: Options = {}): Layer.Layer<LlmClient, LlmConfigurationError> =>
  Layer.effect(LlmClient, Effect.map(make(model, options), CallGate.wrap))
