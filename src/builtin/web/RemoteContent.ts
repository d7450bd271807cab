/**
 * Fetches files that messages give by URL, for models that do not fetch them. A URL may come from a user, a tool or a
 * model, so its target is checked as that of the skill `http_request`.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Content from "../../content/Content.js"
import { ContentError } from "../../content/ContentError.js"
import * as ContentSource from "../../content/ContentSource.js"
import * as MediaType from "../../content/MediaType.js"
import * as ToolFiles from "../../content/ToolFiles.js"
import type { StoredFile } from "../../domain/StoredFile.js"
import { version } from "../../domain/Version.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as CallGate from "../../llm/model/CallGate.js"
import type { LlmClient, Message, Service } from "../../llm/model/LlmClient.js"
import { LlmConnectionError, LlmInvalidRequestError } from "../../llm/model/LlmError.js"
import * as LlmGateway from "../../llm/model/LlmGateway.js"
import * as HttpFetch from "./HttpFetch.js"
import { HttpRequestError } from "./HttpRequestError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends HttpFetch.Targets {
  /** The most bytes of a file. Default 20 MiB. */
  readonly maxBytes?: number | undefined
  /** The time limit of a file, including redirects. Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * A file by its URL.
 *
 * @since 0.1.0
 * @category models
 */
export interface Remote {
  readonly url: URL | string
  /** The type that the bytes must have; its subtype may be `*`. Default: what the server and the bytes say. */
  readonly mediaType?: string | undefined
  readonly fileName?: string | undefined
}

/** Types by which servers say that they know none. */
const noTypes: ReadonlySet<string> = new Set(["application/octet-stream", "binary/octet-stream"])

/** The type that a server declares; the bytes are still asked whether it is true. */
const declaredType = (header: string | undefined): string | undefined => {
  const type = header === undefined ? undefined : MediaType.normalize(header)
  return type === undefined || noTypes.has(type) ? undefined : type
}

const takes = (wanted: string, mediaType: string): boolean =>
  !wanted.endsWith("/*") || mediaType.startsWith(wanted.slice(0, -1))

/**
 * Fetches files: at most `maxBytes`, in at most `timeout`, from public addresses unless `allowPrivate` adds others. The
 * addresses are checked after the name is resolved, again at each redirect, and the connection uses a checked address.
 * The bytes must be of the wanted type. Fails with `HttpRequestError` or `ContentError`.
 *
 * @example
 * ```ts
 * import { RemoteContent } from "effect-lexigram/builtin"
 *
 * const fetch = RemoteContent.fetch({ hosts: ["*.example.com"], maxBytes: 5_000_000 })
 * const picture = fetch({ url: "https://files.example.com/receipt.png", mediaType: "image/*" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fetch = (
  options: Options = {}
): ((remote: Remote) => Effect.Effect<Content.ResolvedFile, HttpRequestError | ContentError>) => {
  const maxBytes = options.maxBytes ?? ContentSource.defaultMaxBytes
  const timeout = Duration.toMillis(options.timeout ?? "30 seconds")
  const settings = HttpFetch.make({ ...options, maxBytes })
  return ({ fileName, mediaType, url: given }) =>
    Effect.gen(function* () {
      const url = yield* HttpFetch.urlOf(typeof given === "string" ? given : given.href)
      const headers = {
        accept: mediaType ?? "*/*",
        "accept-encoding": "gzip, br",
        "user-agent": `effect-lexigram/${version}`
      }
      const request = { url, method: "GET", headers, body: undefined }
      const [last, response] = yield* HttpFetch.send(yield* settings, request, timeout)
      if (response.status !== 200) {
        return yield* new HttpRequestError({
          reason: "Status",
          host: last.hostname,
          message: `The server answered with status ${response.status}`,
          hint: "Check that the URL leads to the file without further credentials"
        })
      }
      const wanted = mediaType ?? "*/*"
      const exact = mediaType?.endsWith("/*") === false ? mediaType : undefined
      const file = yield* Content.file(response.body, {
        mediaType: exact ?? declaredType(response.headers["content-type"]),
        fileName,
        maxBytes
      })
      return wanted === "*/*" || takes(wanted, file.mediaType)
        ? file
        : yield* new ContentError({
            reason: "kind",
            message: `The file of ${last.hostname} is ${file.mediaType}, not ${wanted}`,
            hint: "Give the URL of the file itself, not of a page that shows it"
          })
    })
}

type CallError = LlmConnectionError | LlmInvalidRequestError

const transient: ReadonlySet<HttpRequestError["reason"]> = new Set([
  "Unresolved",
  "Unreachable",
  "Connection",
  "Timeout"
])

/** A failed fetch as the failure of the model call for which it was made. */
const callError = ({ provider }: Service, where: string, error: HttpRequestError | ContentError): CallError => {
  const fields = {
    provider,
    message: `The file of ${where} was not fetched: ${error.message}`,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint })
  }
  return error._tag === "HttpRequestError" && transient.has(error.reason)
    ? new LlmConnectionError({ ...fields, sent: false })
    : new LlmInvalidRequestError(fields)
}

/** The address by which a part gives its file. */
const addressOf = ({ data }: Prompt.FilePartEncoded): URL | undefined => {
  const url = data instanceof URL ? data : undefined
  if (url !== undefined) return ContentSource.isAddress(url) ? url : undefined
  return typeof data === "string" && /^https?:/i.test(data) && URL.canParse(data) ? new URL(data) : undefined
}

const isRemote = (file: StoredFile): file is StoredFile & { readonly data: { readonly url: string } } =>
  "url" in file.data && URL.canParse(file.data.url)

const hasAddress = (message: Message): boolean => {
  if (typeof message.content === "string") return false
  if (message.role === "user") {
    return message.content.some((part) => part.type === "file" && addressOf(part) !== undefined)
  }
  return message.role === "tool" && message.content.some((part) => ToolFiles.refsOf(part).some(isRemote))
}

type Load = ReturnType<typeof fetch>

const resultFile = (file: StoredFile, load: Load): Effect.Effect<ReadonlyArray<StoredFile>> => {
  if (!isRemote(file)) return Effect.succeed([file])
  const { fileName, mediaType } = file
  return load({ url: file.data.url, mediaType, fileName }).pipe(
    Effect.map(({ data, mediaType }) => [ToolFiles.hold({ ...file, mediaType }, data as Uint8Array)]),
    Effect.catchAll((error) =>
      Effect.as(Effect.logWarning(`A file of a tool's result was not fetched: ${error.message}`), [])
    )
  )
}

const resultPart = (part: Prompt.ToolResultPartEncoded, load: Load): Effect.Effect<Prompt.ToolResultPartEncoded> => {
  const files = ToolFiles.refsOf(part)
  if (!files.some(isRemote)) return Effect.succeed(part)
  return Effect.map(
    Effect.forEach(files, (file) => resultFile(file, load)),
    (files) => ({ ...part, options: { ...part.options, ...ToolFiles.optionsOf(files.flat()).options } })
  )
}

/** The message with bytes in the place of addresses. */
const convert = (
  message: Message,
  load: Load,
  onFailure: (partIndex: number, error: HttpRequestError | ContentError) => CallError
): Effect.Effect<Message, CallError> => {
  if (message.role === "tool") {
    return Effect.map(
      Effect.forEach(message.content, (part) => resultPart(part, load)),
      (content) => ({ ...message, content })
    )
  }
  if (message.role !== "user" || typeof message.content === "string") return Effect.succeed(message)
  return Effect.map(
    Effect.forEach(message.content, (part, index): Effect.Effect<Prompt.UserMessagePartEncoded, CallError> => {
      const url = part.type === "file" ? addressOf(part) : undefined
      if (part.type !== "file" || url === undefined) return Effect.succeed(part)
      const { fileName, mediaType } = part
      return Effect.mapBoth(load({ url, mediaType, fileName }), {
        onFailure: (error) => onFailure(index, error),
        onSuccess: (file) => ({ ...part, mediaType: file.mediaType, data: file.data })
      })
    }),
    (content) => ({ ...message, content })
  )
}

/**
 * A client whose requests have the bytes of the files that were given by URL, in messages of users and in results of
 * tools. A file is fetched once for all calls that have its message. If a user's file cannot be fetched, the call fails
 * before it is made: with `LlmConnectionError` if another try may succeed, else with `LlmInvalidRequestError`. If that
 * of a tool's result cannot be fetched, it is left out; the text of the result names it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap = (options: Options = {}): ((inner: Service) => Service) => {
  const load = fetch(options)
  return (inner) => {
    // Held as long as their messages.
    const fetched = new WeakMap<Message, Message>()
    const turns = new WeakMap<Message, Permits.WithPermit>()
    /** Calls that run at the same time fetch once. */
    const once = (message: Message, index: number): Effect.Effect<Message, CallError> =>
      Effect.suspend(() => {
        const turn = turns.get(message) ?? Permits.make(1)
        turns.set(message, turn)
        return turn(
          Effect.suspend(() => {
            const known = fetched.get(message)
            if (known !== undefined) return Effect.succeed(known)
            return Effect.tap(
              convert(message, load, (part, error) => callError(inner, `part ${part} of message ${index}`, error)),
              (made) => Effect.sync(() => fetched.set(message, made))
            )
          })
        )
      })
    return {
      ...inner,
      complete: (request, given) =>
        request.messages.some(hasAddress)
          ? Effect.flatMap(
              Effect.forEach(request.messages, (message, index) =>
                hasAddress(message) ? once(message, index) : Effect.succeed(message)
              ),
              (messages) => inner.complete({ ...request, messages }, given)
            )
          : inner.complete(request, given)
    }
  }
}

/**
 * Wraps the client below.
 *
 * @example
 * ```ts
 * import { RemoteContent } from "effect-lexigram/builtin"
 * import { ChatCompletions, ChatCompletionsDialect } from "effect-lexigram/provider"
 * import * as Layer from "effect/Layer"
 *
 * const model = ChatCompletions.layer({ ...ChatCompletionsDialect.ollama, model: "qwen3-vl" })
 * const layer = RemoteContent.layer().pipe(Layer.provide(model))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<LlmClient, never, LlmClient> =>
  LlmGateway.layerWrapped((inner) => Effect.succeed(CallGate.wrap(wrap(options)(inner))))
