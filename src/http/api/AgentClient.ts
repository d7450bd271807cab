/**
 * A client of `AgentApi` for browsers and servers, typed by the same definition. It follows runs across broken
 * connections.
 *
 * @since 0.1.0
 */
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentEvents from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as SseLines from "../../provider/exchange/SseLines.js"
import { AgentApi } from "./AgentApi.js"
import * as ApiErrors from "./ApiError.js"
import * as ApiModels from "./ApiModels.js"

const { ApiError } = ApiErrors
type ApiError = ApiErrors.ApiError
type AgentEvent = AgentEvents.AgentEvent

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The address of the server, without `/v1`: `https://agents.example`. */
  readonly baseUrl: string | URL
  /** A bearer token, or how to get one: it is asked for before each request. */
  readonly token?: Redacted.Redacted | Effect.Effect<Redacted.Redacted, ApiError> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How often a connection is tried in a row before a stream fails; default 8, with pauses from 250 ms to 8 s. */
  readonly attempts?: number | undefined
  /**
   * How long the server may send nothing before the connection counts as broken; default 1 minute. A server sends a
   * comment every 15 seconds where it has no events, and answers a request for a run within 25.
   */
  readonly idle?: Duration.DurationInput | undefined
  /**
   * Where the events of runs are; default `/v1/runs`.
   *
   * @internal
   */
  readonly eventsOf?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StreamOptions {
  /** Names the start, so that it may be repeated; default a random one. */
  readonly idempotencyKey?: string | undefined
  /** Whether the run goes on when the stream ends before it; default false. */
  readonly detach?: boolean | undefined
}

type Groups = typeof AgentApi extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R> ? Groups : never

type TopLevel<Group> = Group extends HttpApiGroup.HttpApiGroup.Any
  ? HttpApiClient.Client.TopLevelMethods<Group, ApiError, never>
  : never

type Offer = TopLevel<Extract<Groups, { readonly topLevel: true }>>

/** `HttpApiClient` has no types for the endpoints of several groups without a name. */
type Api = Effect.Effect.Success<ReturnType<typeof derive>> & {
  readonly [Method in Offer as Method[0]]: Method[1]
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Client {
  /** Every endpoint by its group and name, such as `api.runs.getRun({ path: { runId } })`. */
  readonly api: Api
  /** Starts a run, and waits for its answer, however long it takes. The answer of a run that failed has its `error`. */
  readonly run: (request: ApiModels.StartRun) => Effect.Effect<ApiModels.Answer, ApiError>
  /** Starts a run and follows it: the public view of its events. The last one is `Finished` or `Error`. */
  readonly stream: (
    request: ApiModels.StartRun,
    options?: StreamOptions | undefined
  ) => Stream.Stream<AgentEvent, ApiError>
  /** The events of a run, from a number on. */
  readonly events: (runId: string, from?: number | undefined) => Stream.Stream<AgentEvent, ApiError>
}

type Http = HttpClient.HttpClient.With<HttpClientError.HttpClientError | ApiError>

const derive = (httpClient: Http) => HttpApiClient.makeWith(AgentApi, { httpClient })

const lost = (message: string): ApiError =>
  new ApiError({ reason: "unavailable", message, hint: "Check the address and the connection" })

const decodeProblem = Schema.decodeUnknownOption(ApiErrors.ProblemDetails)
const decodeEvent = Schema.decodeUnknownOption(AgentEvents.AgentEvent)
const encodeStart = Schema.encode(ApiModels.StartRun)

/** A request that is not valid is not sent. */
const encoded = (request: ApiModels.StartRun) =>
  Effect.mapError(encodeStart(request), ({ message }) => new ApiError({ reason: "invalid", message }))

const valueOf = (text: string): unknown => Either.getOrUndefined(JsonText.read(text))

/** A key that nobody else has. */
const randomKey = Effect.sync(() => Encoding.encodeHex(globalThis.crypto.getRandomValues(new Uint8Array(16))))

const problemOf = (text: string, status: number): ApiError =>
  ApiErrors.fromProblem(Option.getOrElse(decodeProblem(valueOf(text)), () => ({ status })))

/** A response that is not a failure. */
const accepted = (
  response: HttpClientResponse.HttpClientResponse
): Effect.Effect<HttpClientResponse.HttpClientResponse, ApiError> =>
  response.status < 400
    ? Effect.succeed(response)
    : Effect.flatMap(
        Effect.orElseSucceed(response.text, () => ""),
        (text) => problemOf(text, response.status)
      )

/** Longer events are refused. */
const LONGEST = 16 * 1024 * 1024

const silent = () => lost("The server sends nothing any more")

/** The events of a body. It fails with the failure that the server sends in its place. */
const readEvents = (
  response: HttpClientResponse.HttpClientResponse,
  idle: Duration.Duration
): Stream.Stream<AgentEvent, ApiError> =>
  Stream.suspend(() => {
    const lines = SseLines.make({ maxEventLength: LONGEST })
    return response.stream.pipe(
      Stream.mapError(() => lost("The connection to the server broke")),
      Stream.timeoutFail(silent, idle),
      Stream.mapConcatEffect((bytes) => {
        const found: Array<SseLines.SseEvent> = []
        if (!lines.push(bytes, found)) return lost(`An event has more than ${LONGEST} characters`)
        const events: Array<AgentEvent> = []
        for (const { data, event } of found) {
          const text = data.join("\n")
          if (event === "problem") return problemOf(text, 500)
          // Kinds of events that this version does not know are passed over.
          const decoded = decodeEvent(valueOf(text))
          if (Option.isSome(decoded)) events.push(decoded.value)
        }
        return Effect.succeed(events)
      })
    )
  })

/** What a broken connection leaves: it is worth another attempt. */
const isPassing = ({ reason }: ApiError): boolean => reason === "unavailable" || reason === "rate"

/** Between attempts, in milliseconds. */
const FIRST_PAUSE = 250
const LONGEST_PAUSE = 8_000

class Connection {
  constructor(
    private readonly http: Http,
    private readonly attempts: number,
    private readonly idle: Duration.Duration,
    private readonly eventsOf: string
  ) {}

  private readonly ask = (
    request: HttpClientRequest.HttpClientRequest
  ): Stream.Stream<HttpClientResponse.HttpClientResponse, ApiError> =>
    Stream.fromEffect(
      Effect.flatMap(
        Effect.catchAll(this.http.execute(request), (error) =>
          error instanceof ApiError ? error : lost("The server cannot be reached")
        ),
        accepted
      )
    )

  /**
   * Follows a run. `open` asks for its events from a number on. After a break it is asked again for those that follow
   * the last one, unless that was the last one of the run. What inner runs ask has no number, and comes again then.
   */
  private readonly follow = (
    runId: string | undefined,
    from: number,
    open: (from: number, runId: string | undefined) => HttpClientRequest.HttpClientRequest
  ): Stream.Stream<AgentEvent, ApiError> =>
    Stream.suspend(() => {
      let next = from
      let known = runId
      let isOver = false
      let failures = 0
      const told = new Set<string>()
      const isRepeated = (event: AgentEvent): boolean => {
        // Other events of nested runs, where a server sends them, may share the ids of their calls.
        if (event.runId === known || !("id" in event) || !/^(?:Approval|Question)/.test(event._tag)) return false
        const key = `${event._tag} ${event.id}`
        if (told.has(key)) return true
        told.add(key)
        return false
      }
      const once: Stream.Stream<AgentEvent, ApiError> = Stream.suspend(() =>
        this.ask(open(next, known)).pipe(
          Stream.flatMap((response) => {
            known ??= response.headers["lexigram-run-id"]
            if (response.status === 204) isOver = true
            return readEvents(response, this.idle)
          }),
          Stream.tap((event) =>
            Effect.sync(() => {
              failures = 0
              known ??= event.runId
              if (event.runId !== known) return
              next = event.seq + 1
              if (AgentEvents.isTerminal(event)) isOver = true
            })
          ),
          Stream.filter((event) => !isRepeated(event))
        )
      )
      /** Why the last attempt ended before the run. */
      let broken: ApiError | undefined
      const attempt: Effect.Effect<Stream.Stream<AgentEvent>, Option.Option<ApiError>> = Effect.suspend(() => {
        if (isOver) return Effect.fail(Option.none())
        if (broken !== undefined) {
          if (!isPassing(broken) || ++failures >= this.attempts) return Effect.fail(Option.some(broken))
        }
        const pause =
          broken === undefined
            ? 0
            : Math.max((broken.retryAfter ?? 0) * 1000, Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1)))
        broken = lost("The server ended the stream before the run")
        const events = Stream.catchAll(once, (error) => {
          broken = error
          return Stream.empty
        })
        return pause === 0 ? Effect.succeed(events) : Effect.as(Effect.sleep(pause), events)
      })
      return Stream.flatten(Stream.repeatEffectOption(attempt))
    })

  readonly events = (runId: string, from: number): Stream.Stream<AgentEvent, ApiError> =>
    this.follow(runId, from, (next) =>
      HttpClientRequest.get(`${this.eventsOf}/${encodeURIComponent(runId)}/events`, {
        urlParams: { from: String(next) }
      })
    )

  readonly stream = (request: ApiModels.StartRun, options: StreamOptions): Stream.Stream<AgentEvent, ApiError> =>
    Stream.unwrap(
      Effect.zipWith(
        encoded(request),
        options.idempotencyKey === undefined ? randomKey : Effect.succeed(options.idempotencyKey),
        (body, key) => {
          const start = HttpClientRequest.post("/v1/runs/stream", {
            headers: { "idempotency-key": key },
            urlParams: options.detach === true ? { detach: "true" } : {}
          }).pipe(HttpClientRequest.bodyUnsafeJson(body))
          return this.follow(undefined, 0, (next, runId) =>
            runId === undefined
              ? start
              : HttpClientRequest.get(`${this.eventsOf}/${encodeURIComponent(runId)}/events`, {
                  urlParams: { from: String(next) }
                })
          )
        }
      )
    )
}

/** Seconds of one wait for an answer: proxies end requests that take longer. */
const WAIT = 25

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import { AgentClient } from "effect-lexigram/http/client"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 * import * as Stream from "effect/Stream"
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* AgentClient.make({ baseUrl: "http://127.0.0.1:3000", token: Redacted.make("…") })
 *   yield* Stream.runForEach(client.stream({ agent: "clerk", input: "Is there a train on Sunday?" }), (event) =>
 *     event._tag === "TextDelta" ? Effect.log(event.text) : Effect.void
 *   )
 * }).pipe(Effect.provide(FetchHttpClient.layer))
 * ```
 */
export const make = (options: Options): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.flatMap(HttpClient.HttpClient, (given) => {
    const { headers, token } = options
    const idle = Duration.decode(options.idle ?? "1 minute")
    const base = given.pipe(
      HttpClient.transformResponse(Effect.timeoutFail({ duration: idle, onTimeout: silent })),
      HttpClient.mapRequest((request) =>
        HttpClientRequest.prependUrl(
          headers === undefined ? request : HttpClientRequest.setHeaders(request, headers),
          String(options.baseUrl).replace(/\/$/, "")
        )
      )
    )
    const known = Redacted.isRedacted(token) ? Effect.succeed(token) : token
    const http: Http =
      known === undefined
        ? base
        : HttpClient.mapRequestEffect(base, (request) =>
            Effect.map(known, (value) => HttpClientRequest.bearerToken(request, value))
          )
    return Effect.map(derive(http), (api): Client => {
      const connection = new Connection(http, count(options.attempts, 8, 1), idle, options.eventsOf ?? "/v1/runs")
      const failed = (error: unknown): ApiError =>
        error instanceof ApiError ? error : lost("The server cannot be reached, or answers in another language")
      const answer = (found: ApiModels.RunWithAnswer): Effect.Effect<ApiModels.Answer, ApiError> =>
        found.answer !== undefined
          ? Effect.succeed(found.answer)
          : Effect.flatMap(Stream.runDrain(connection.events(found.run.runId, 0)), () =>
              Effect.flatMap(Effect.mapError(api.runs.getRun({ path: { runId: found.run.runId } }), failed), (ended) =>
                ended.answer === undefined
                  ? new ApiError({ reason: "failed", message: "The run has ended, and its answer is not kept" })
                  : Effect.succeed(ended.answer)
              )
            )
      return {
        api: api as Api,
        run: (request) =>
          Effect.flatMap(Effect.zipRight(encoded(request), randomKey), (key) => {
            const start = api.runs.startRun({
              headers: { "idempotency-key": key },
              urlParams: { wait: WAIT },
              payload: request
            })
            return Effect.flatMap(
              Effect.retry(Effect.mapError(start, failed), {
                schedule: Schedule.exponential("250 millis"),
                times: count(options.attempts, 8, 1) - 1,
                while: isPassing
              }),
              answer
            )
          }),
        stream: (request, streamOptions = {}) => connection.stream(request, streamOptions),
        events: (runId, from = 0) => connection.events(runId, from)
      }
    })
  })
