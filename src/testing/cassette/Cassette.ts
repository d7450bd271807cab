/**
 * Records what a program exchanges with providers over HTTP, once, and answers from the file ever after: any provider,
 * model or embedder, without a network and without a key.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Chunk from "effect/Chunk"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SecretText from "../../internal/text/SecretText.js"
import * as CassetteFile from "./CassetteFile.js"
import * as CassetteMatch from "./CassetteMatch.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The file. `.jsonl` has an exchange a line, `.json` a document, and all others are YAML. Files of VCR and its
   * relatives are read as they are.
   */
  readonly file: string
  /** Which case of a `.jsonl` file that has several, each a line with `id` and `interactions`. */
  readonly case?: string | undefined
  /**
   * `replay` (the default) answers from the file. `record` sends every request, and writes the file anew when the scope
   * closes. `auto` records if there is no file. The variable `LEXIGRAM_CASSETTES` wins over this.
   */
  readonly mode?: Mode | undefined
  /**
   * Which exchange answers a request. `strict` (the default): one whose request is the same but for the order of keys,
   * ids and dates. `lenient`: one that is the same in all fields that both requests have, from whatever host. `order`:
   * the next one, if method and path are the same. Each answers once.
   */
  readonly match?: "strict" | "lenient" | "order" | undefined
  /** Fields of bodies that do not count: `user`, `messages[*].name`. Default none. */
  readonly ignore?: ReadonlyArray<string> | undefined
  /** What differs in texts from run to run, besides UUIDs, dates with times, and ids of providers. Default none. */
  readonly volatile?: ReadonlyArray<RegExp> | undefined
  /**
   * Secrets that no file may have, besides what looks like one and the credentials that requests carry. Shorter than 8
   * characters they stay. Default none.
   */
  readonly secrets?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** Whether exchanges that nobody asked for are a defect when the scope closes after a success; default `fail`. */
  readonly unused?: "fail" | "ignore" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Mode = "replay" | "record" | "auto"

/**
 * The file cannot be read, is no cassette, or cannot be written.
 *
 * @since 0.1.0
 * @category errors
 */
export class CassetteError extends Data.TaggedError("effect-lexigram/testing/Cassette/CassetteError")<{
  readonly reason: "missing" | "invalid" | "unwritable"
  readonly file: string
  readonly message: string
  readonly hint: string
}> {}

/**
 * No exchange answers a request. It is a defect of the test: a provider's client would try again otherwise.
 *
 * @since 0.1.0
 * @category errors
 */
export class CassetteMismatchError extends Data.TaggedError("effect-lexigram/testing/Cassette/CassetteMismatchError")<{
  readonly file: string
  readonly message: string
}> {}

const RECORD = "record it with LEXIGRAM_CASSETTES=record"

/** Headers that say what bodies are. All others stay out of files: they have keys, accounts and addresses. */
const SENT = new Set(["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"])
const ANSWERED = new Set(["content-type", "retry-after", "retry-after-ms"])

const only = (headers: Readonly<Record<string, string>>, names: ReadonlySet<string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name.toLowerCase())))

const isText = (contentType: string): boolean => /json|text|xml|urlencoded|event-stream/i.test(contentType)

const ofBytes = (bytes: Uint8Array, contentType: string): CassetteFile.Body =>
  isText(contentType)
    ? CassetteFile.fromText(new TextDecoder().decode(bytes))
    : { base64: Encoding.encodeBase64(bytes) }

const joined = (chunks: Chunk.Chunk<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(Chunk.reduce(chunks, 0, (size, { byteLength }) => size + byteLength))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

const formOf = async (form: FormData): Promise<CassetteFile.Body> => ({
  form: await Promise.all(
    Array.from(
      form.entries(),
      async ([name, value]): Promise<[string, string]> =>
        typeof value === "string"
          ? [name, value]
          : [name, Encoding.encodeBase64(new Uint8Array(await value.arrayBuffer()))]
    )
  )
})

/** The request with a body that may be read twice. */
const inMemory = (
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientRequest.HttpClientRequest, HttpClientError.RequestError> => {
  const { body } = request
  if (body._tag !== "Stream") return Effect.succeed(request)
  return Effect.mapBoth(Stream.runCollect(body.stream), {
    onFailure: (cause) => new HttpClientError.RequestError({ request, reason: "Encode", cause }),
    onSuccess: (chunks) => HttpClientRequest.bodyUint8Array(request, joined(chunks), body.contentType)
  })
}

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): Effect.Effect<CassetteFile.Body | undefined> => {
  switch (body._tag) {
    case "Raw":
      return Effect.succeed(CassetteFile.fromText(typeof body.body === "string" ? body.body : String(body.body)))
    case "Uint8Array":
      return Effect.succeed(ofBytes(body.body, body.contentType))
    case "FormData":
      return Effect.promise(() => formOf(body.formData))
    default:
      return Effect.succeed(undefined)
  }
}

/** The credentials that a request carries. */
const credentialsOf = ({ headers }: HttpClientRequest.HttpClientRequest): ReadonlyArray<Redacted.Redacted<string>> =>
  Object.entries(headers).flatMap(([name, value]) =>
    /auth|key|token|secret|cookie/i.test(name) ? [Redacted.make(value.replace(/^(?:basic|bearer|token)\s+/i, ""))] : []
  )

/** Answers without a body. */
const NO_BODY = new Set([101, 204, 205, 304])

const responseOf = (
  request: HttpClientRequest.HttpClientRequest,
  {
    body,
    headers,
    status
  }: Pick<CassetteFile.Exchange["response"], "headers" | "status"> & { readonly body: Uint8Array }
): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(
    request,
    new Response(NO_BODY.has(status) ? null : (body as Uint8Array<ArrayBuffer>), { status, headers })
  )

/** A request as a file has it. */
const sentOf = (
  request: HttpClientRequest.HttpClientRequest,
  url: URL,
  secrets: ReadonlyArray<Redacted.Redacted<string>>
): Effect.Effect<CassetteFile.Exchange["request"]> =>
  Effect.map(bodyOf(request), (body) => ({
    method: request.method,
    url: SecretText.redact(url.href, secrets),
    headers: only(request.headers, SENT),
    body: body === undefined ? undefined : CassetteFile.scrub(body, secrets)
  }))

const recording = (
  options: Options
): Effect.Effect<HttpClient.HttpClient, CassetteError, FileSystem.FileSystem | HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const client = yield* HttpClient.HttpClient
    const { file, secrets = [] } = options
    const folder = file.slice(0, Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1)
    yield* Effect.mapError(
      Effect.zipRight(
        folder === "" ? Effect.void : fs.makeDirectory(folder, { recursive: true }),
        // What cannot be written must be known before anything is paid for.
        fs.writeFileString(file, "", { flag: "a" })
      ),
      ({ message }) =>
        new CassetteError({
          reason: "unwritable",
          file,
          message: `The cassette ${file} cannot be written: ${message}`,
          hint: "Give a file in a folder that may be written"
        })
    )
    const recorded: Array<CassetteFile.Exchange | undefined> = []
    yield* Effect.addFinalizer(() => {
      const exchanges = recorded.filter((one) => one !== undefined)
      return Effect.orDie(fs.writeFileString(file, CassetteFile.print(exchanges, file)))
    })
    return HttpClient.make((given, url) =>
      Effect.gen(function* () {
        const request = yield* inMemory(given)
        // Exchanges stand in the order in which they began.
        const at = recorded.push(undefined) - 1
        const known = [...secrets, ...credentialsOf(request)]
        const sent = yield* sentOf(request, url, known)
        const response = yield* client.execute(request)
        const body = new Uint8Array(yield* response.arrayBuffer)
        const { headers, status } = response
        const kept = only(headers, ANSWERED)
        recorded[at] = {
          request: sent,
          response: {
            status,
            headers: kept,
            body: CassetteFile.scrub(ofBytes(body, headers["content-type"] ?? ""), known)
          }
        }
        return responseOf(request, { status, headers: kept, body })
      })
    )
  })

const replaying = (
  options: Options
): Effect.Effect<HttpClient.HttpClient, CassetteError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const { file, ignore = [], match = "strict", secrets = [], unused = "fail", volatile = [] } = options
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      ({ message }) =>
        new CassetteError({
          reason: "missing",
          file,
          message: `The cassette ${file} was not read: ${message}`,
          hint: RECORD
        })
    )
    const parsed = CassetteFile.parse(text, file, options.case)
    if (Either.isLeft(parsed)) {
      return yield* new CassetteError({
        reason: "invalid",
        file,
        message: `${file} is no cassette: ${parsed.left}`,
        hint: RECORD
      })
    }
    const exchanges = parsed.right
    const used = new Set<number>()
    let asked = 0
    yield* Effect.addFinalizer((exit) => {
      if (Exit.isFailure(exit) || unused === "ignore" || used.size === exchanges.length) return Effect.void
      const left = exchanges.flatMap(({ request }, at) =>
        used.has(at) ? [] : [`  ${at + 1}: ${request.method} ${request.url}`]
      )
      const message = `Cassette ${file}: nobody asked for ${left.length} of ${exchanges.length} exchanges:\n${left.join("\n")}`
      return Effect.die(new CassetteMismatchError({ file, message }))
    })
    return HttpClient.make((given, url) =>
      Effect.gen(function* () {
        const request = yield* inMemory(given)
        const sent = yield* sentOf(request, url, [...secrets, ...credentialsOf(request)])
        asked++
        const found = CassetteMatch.find(exchanges, used, sent, { match, ignore, volatile })
        if (typeof found === "string") {
          const message = `Cassette ${file}: nothing answers request ${asked}, ${sent.method} ${sent.url}. ${found}\nIf the request is right, ${RECORD}.`
          return yield* Effect.die(new CassetteMismatchError({ file, message }))
        }
        used.add(found)
        const { response } = exchanges[found]!
        return responseOf(request, { ...response, body: CassetteFile.toBytes(response.body) })
      })
    )
  })

const MODE = Config.literal("replay", "record", "auto")("LEXIGRAM_CASSETTES")

/**
 * A client that records by the client in context, or replays.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<HttpClient.HttpClient, CassetteError, FileSystem.FileSystem | HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const mode = yield* Effect.mapError(
      Config.withDefault(MODE, options.mode ?? "replay"),
      () =>
        new CassetteError({
          reason: "invalid",
          file: options.file,
          message: "LEXIGRAM_CASSETTES is none of replay, record and auto",
          hint: "Leave it out to replay"
        })
    )
    const records =
      mode === "record" || (mode === "auto" && !(yield* Effect.orElseSucceed(fs.exists(options.file), () => false)))
    return yield* records ? recording(options) : replaying(options)
  })

/**
 * The client of whatever asks a provider over HTTP.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
 * import { ChatCompletions } from "effect-lexigram/provider/chat"
 * import { Cassette } from "effect-lexigram/testing"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const http = Cassette.layer({ file: "test/cassettes/weather.yaml" }).pipe(
 *   Layer.provide([FetchHttpClient.layer, NodeFileSystem.layer])
 * )
 *
 * const model = ChatCompletions.layer({
 *   baseUrl: "https://api.openai.com/v1",
 *   apiKey: Redacted.make("not needed to replay"),
 *   model: "gpt-4.1-mini"
 * }).pipe(Layer.provide(http))
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<HttpClient.HttpClient, CassetteError, FileSystem.FileSystem | HttpClient.HttpClient> =>
  Layer.scoped(HttpClient.HttpClient, make(options))
