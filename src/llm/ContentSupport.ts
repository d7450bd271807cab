/**
 * Which files models take in messages, and a wrapper that refuses a request with any other file before it is sent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
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

/**
 * What is known of providers. Those that are not named are sent everything.
 *
 * @since 0.1.0
 * @category constants
 */
export const table: ReadonlyArray<Rule> = [
  { provider: "anthropic", accepts: [...images, "application/pdf", "text/plain"] },
  { provider: "openai", accepts: [...images, "application/pdf"] },
  { provider: "openai", model: /^(?:gpt-3|o1-mini|o1-preview|o3-mini)/, accepts: [] },
  { provider: "google", accepts: ["image/*", "audio/*", "video/*", "application/pdf", "text/*"] },
  { provider: "deepseek", accepts: [] }
]

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Media types that every model of the client takes, in place of the table. */
  readonly accepts?: ReadonlyArray<string> | undefined
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

const filesOf = (messages: ReadonlyArray<Message>) =>
  messages.flatMap(({ content, role }, messageIndex) =>
    role !== "user" || typeof content === "string"
      ? []
      : content.flatMap((part, partIndex) =>
          part.type === "file" ? [{ messageIndex, partIndex, mediaType: part.mediaType }] : []
        )
  )

/**
 * The first file of a request that the model does not take, as an error.
 *
 * @since 0.1.0
 * @category getters
 */
export const check = (
  { messages }: LlmRequest,
  target: { readonly provider: string; readonly model?: string | undefined },
  options: Options = {}
): LlmUnsupportedContentError | undefined => {
  const { model, provider } = target
  const rules = options.table ?? table
  const accepts = options.accepts ?? acceptedBy(provider, model, rules)
  if (accepts === undefined) return undefined
  const file = filesOf(messages).find(({ mediaType }) => !takes(accepts, mediaType))
  if (file === undefined) return undefined
  const { mediaType, messageIndex, partIndex } = file
  return new LlmUnsupportedContentError({
    provider,
    ...(model === undefined ? {} : { model }),
    ...file,
    kind: kindOf(mediaType),
    message: `${model ?? "The model"} of ${provider} takes no ${mediaType}: part ${partIndex} of message ${messageIndex}`,
    hint: hintOf(mediaType, rules)
  })
}

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
      Effect.suspend(() => {
        const model = request.settings?.model ?? inner.model
        return check(request, { provider: inner.provider, model }, options) ?? inner.complete(request, given)
      })
  })
