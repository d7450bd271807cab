/**
 * Which files models take in messages, and a wrapper that refuses a request with any other file before it is sent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ToolFiles from "../content/ToolFiles.js"
import type { StoredFile } from "../domain/StoredFile.js"
import type { LlmRequest, Message, Service } from "./model/LlmClient.js"
import { LlmUnsupportedContentError } from "./model/LlmError.js"

/**
 * The media types that the models of a provider take; a subtype may be `*`. The last rule that fits decides.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  readonly provider: string
  /** Default: every model. */
  readonly model?: RegExp | undefined
  readonly accepts: ReadonlyArray<string>
}

const images = ["image/png", "image/jpeg", "image/gif", "image/webp"]

const everything = ["image/*", "audio/*", "video/*", "application/pdf", "text/*"]

/**
 * What is known of providers. Models that are not named are sent everything: a refusal of the provider costs less than
 * a wrong one here.
 *
 * @since 0.1.0
 * @category constants
 */
export const table: ReadonlyArray<Rule> = [
  { provider: "anthropic", accepts: [...images, "application/pdf", "text/plain"] },
  { provider: "openai", accepts: [...images, "application/pdf"] },
  { provider: "openai", model: /^(?:gpt-3|gpt-4(?:-32k|-\d{4})?$|o1-mini|o1-preview|o3-mini)/, accepts: [] },
  { provider: "openai", model: /audio/, accepts: ["audio/wav", "audio/mpeg"] },
  { provider: "google", accepts: everything },
  { provider: "gemini", accepts: everything },
  { provider: "groq", model: /^(?:llama-?3|gemma2|qwen|deepseek|openai\/gpt-oss|moonshotai\/)/, accepts: [] },
  { provider: "mistral", model: /^(?:open-|codestral|ministral-[38]b|mistral-nemo)/, accepts: [] },
  { provider: "xai", model: /^grok-(?:3|2(?!-vision))/, accepts: [] },
  { provider: "cerebras", model: /^(?:llama|qwen|gpt-oss)/, accepts: [] },
  { provider: "deepseek", accepts: [] }
]

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Media types that every model of the client takes, in place of the table. */
  readonly accepts?: ReadonlyArray<string> | undefined
  /** Media types that may be given by URL. Default: all that are accepted. */
  readonly urls?: ReadonlyArray<string> | undefined
  /** Default `table`. */
  readonly table?: ReadonlyArray<Rule> | undefined
}

const fits = (mediaType: string, accepted: string): boolean => {
  const [kind, subtype] = mediaType.split("/")
  const [acceptedKind, acceptedSubtype] = accepted.split("/")
  return kind === acceptedKind && (subtype === acceptedSubtype || acceptedSubtype === "*" || subtype === "*")
}

const takes = (accepts: ReadonlyArray<string>, mediaType: string): boolean =>
  accepts.some((accepted) => fits(mediaType.toLowerCase(), accepted))

/**
 * The media types that a model takes; `undefined` if they are not known.
 *
 * @since 0.1.0
 * @category getters
 */
export const acceptedBy = (
  provider: string,
  model: string | undefined,
  rules: ReadonlyArray<Rule> = table
): ReadonlyArray<string> | undefined =>
  rules.findLast((rule) => rule.provider === provider && (rule.model === undefined || rule.model.test(model ?? "")))
    ?.accepts

const kindOf = (mediaType: string): LlmUnsupportedContentError["kind"] => {
  const kind = mediaType.split("/")[0]
  return kind === "image" || kind === "audio" || kind === "video" ? kind : "document"
}

const hintOf = (mediaType: string, rules: ReadonlyArray<Rule>): string => {
  const others = new Set(rules.flatMap(({ accepts, provider }) => (takes(accepts, mediaType) ? [provider] : [])))
  return others.size === 0
    ? "Give the content as text, or name the types that the model takes in `accepts`"
    : `Models of ${Array.from(others).join(", ")} take it; or name the types that the model takes in \`accepts\``
}

const isAddress = (data: unknown): boolean =>
  data instanceof URL ? data.protocol !== "data:" : typeof data === "string" && /^https?:/i.test(data)

const filesOf = (messages: ReadonlyArray<Message>) =>
  messages.flatMap(({ content, role }, messageIndex) =>
    role !== "user" || typeof content === "string"
      ? []
      : content.flatMap((part, partIndex) =>
          part.type === "file"
            ? [{ messageIndex, partIndex, mediaType: part.mediaType, isAddress: isAddress(part.data) }]
            : []
        )
  )

/** What a model takes, in full and by URL; `undefined` stands for everything. */
interface Taken {
  readonly accepts: ReadonlyArray<string> | undefined
  readonly urls: ReadonlyArray<string> | undefined
}

const isTaken = ({ accepts, urls }: Taken, mediaType: string, isAddress: boolean): boolean =>
  (accepts === undefined || takes(accepts, mediaType)) && (!isAddress || urls === undefined || takes(urls, mediaType))

/** The model of a request. */
interface Target {
  readonly provider: string
  readonly model?: string | undefined
}

const takenBy = ({ model, provider }: Target, { accepts, table: rules = table, urls }: Options): Taken => ({
  accepts: accepts ?? acceptedBy(provider, model, rules),
  urls
})

/**
 * The first file of a user's message that the model does not take, as an error.
 *
 * @since 0.1.0
 * @category getters
 */
export const check = (
  { messages }: LlmRequest,
  target: Target,
  options: Options = {}
): LlmUnsupportedContentError | undefined => {
  const { model, provider } = target
  const taken = takenBy(target, options)
  if (taken.accepts === undefined && taken.urls === undefined) return undefined
  const file = filesOf(messages).find(({ isAddress, mediaType }) => !isTaken(taken, mediaType, isAddress))
  if (file === undefined) return undefined
  const { mediaType, messageIndex, partIndex } = file
  const isTypeTaken = isTaken(taken, mediaType, false)
  return new LlmUnsupportedContentError({
    provider,
    ...(model === undefined ? {} : { model }),
    messageIndex,
    partIndex,
    mediaType,
    kind: kindOf(mediaType),
    message: `${model ?? "The model"} of ${provider} takes no ${mediaType}${isTypeTaken ? " by URL" : ""}: part ${partIndex} of message ${messageIndex}`,
    hint: isTypeTaken
      ? "Give its bytes, or have them fetched by `RemoteContent` of effect-lexigram/builtin"
      : hintOf(mediaType, options.table ?? table)
  })
}

/** Results have the bytes of such files as text. */
const isText = (mediaType: string): boolean => mediaType.startsWith("text/") || mediaType === "application/json"

/** The message without those files of results that the model does not take. The text of a result names its files. */
const withTaken = (message: Message, taken: Taken): Message => {
  if (message.role !== "tool") return message
  const isShown = ({ data, mediaType }: StoredFile): boolean =>
    isTaken(taken, mediaType, "url" in data) || (isText(mediaType) && !("url" in data))
  if (message.content.every((part) => ToolFiles.refsOf(part).every(isShown))) return message
  return {
    ...message,
    content: message.content.map((part) => {
      const files = ToolFiles.refsOf(part).filter(isShown)
      const options = {
        ...ToolFiles.withoutFiles(part.options),
        ...(files.length === 0 ? {} : ToolFiles.optionsOf(files).options)
      }
      return { ...part, options }
    })
  }
}

/**
 * A request that the model takes: without the files of tools' results that it does not take, whose names stay in the
 * text. A file of a user that it does not take is the error.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fit = (
  request: LlmRequest,
  target: Target,
  options: Options = {}
): Effect.Effect<LlmRequest, LlmUnsupportedContentError> =>
  Effect.suspend(() => {
    const error = check(request, target, options)
    if (error !== undefined) return Effect.fail(error)
    const taken = takenBy(target, options)
    const messages = request.messages.map((message) => withTaken(message, taken))
    return Effect.succeed(
      messages.every((message, index) => message === request.messages[index]) ? request : { ...request, messages }
    )
  })

/**
 * A client that fails with `LlmUnsupportedContentError` before anything is sent. Fallbacks go to their next client.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (options: Options = {}): ((inner: Service) => Service) =>
  (inner) => ({
    ...inner,
    complete: (request, given) =>
      Effect.flatMap(
        fit(request, { provider: inner.provider, model: request.settings?.model ?? inner.model }, options),
        (fitting) => inner.complete(fitting, given)
      )
  })
