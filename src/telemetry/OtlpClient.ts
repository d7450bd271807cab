/**
 * HTTP client of the exporters: bounds requests in time and number, and removes headers from responses and errors.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SameOriginHttp from "../internal/SameOriginHttp.js"

/** A value that is not a credential may be plain. */
export type Headers = { readonly [name: string]: string | Redacted.Redacted<string> }

/** Most concurrent batches; further ones are dropped, so that a hanging collector cannot fill the memory. */
const maxInFlight = 8

const failed = (request: HttpClientRequest.HttpClientRequest, reason: "Transport" | "Encode", description: string) =>
  new HttpClientError.RequestError({ request, reason, description })

/** Only the host: the rest of the URL may contain a key. */
const hostOf = ({ url }: HttpClientRequest.HttpClientRequest): string =>
  URL.canParse(url) ? ` at ${new URL(url).host}` : ""

/** Returns the response without request headers, read to its end: only then is the connection reusable. */
const drain = (request: HttpClientRequest.HttpClientRequest, response: HttpClientResponse.HttpClientResponse) =>
  Effect.as(
    Effect.ignore(Stream.runDrain(Stream.take(response.stream, 64))),
    HttpClientResponse.fromWeb(
      request,
      new Response(null, { status: response.status < 200 ? 502 : response.status, headers: retryAfter(response) })
    )
  )

const retryAfter = ({ headers }: HttpClientResponse.HttpClientResponse): Record<string, string> => {
  const value = headers["retry-after"]
  return value === undefined ? {} : { "retry-after": value }
}

/**
 * Makes a client for exporters. A request takes at most `timeout`. A request continues when its exporter is stopped:
 * `settle` waits for it, and the end of the scope interrupts it. The first failure after a success is logged, once per
 * address.
 */
export const make = (
  http: SameOriginHttp.SameOriginHttp,
  options: {
    readonly headers: Headers
    readonly timeout: Duration.Duration
  }
): Effect.Effect<
  { readonly client: HttpClient.HttpClient; readonly settle: Effect.Effect<void> },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const inFlight = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    const failing = new Set<string>()
    yield* Effect.addFinalizer(() => Effect.suspend(() => Fiber.interruptAll(Array.from(inFlight))))

    const warn = (url: string, reason: string) =>
      Effect.suspend(() => {
        if (failing.has(url)) return Effect.void
        failing.add(url)
        return Effect.annotateLogs(Effect.logWarning(`telemetry cannot be exported: ${reason}`), {
          module: "OtlpTelemetry"
        })
      })

    const send = (request: HttpClientRequest.HttpClientRequest) =>
      Effect.suspend(() => {
        const headers: Record<string, string> = {}
        for (const [name, value] of Object.entries(options.headers)) {
          headers[name] = typeof value === "string" ? value : Redacted.value(value)
        }
        return http(HttpClientRequest.setHeaders(request, headers))
      }).pipe(
        Effect.flatMap((response) => drain(request, response)),
        // The underlying error contains the headers, and a logger would print them.
        Effect.mapError((error) =>
          SameOriginHttp.isRefusedRedirect(error)
            ? failed(request, "Encode", "the collector redirects to another URL: configure that one")
            : failed(request, "Transport", `the collector cannot be reached${hostOf(request)}`)
        ),
        Effect.scoped,
        Effect.timeoutFail({
          duration: options.timeout,
          onTimeout: () => failed(request, "Transport", `no answer within ${Duration.toMillis(options.timeout)} ms`)
        }),
        Effect.tapBoth({
          onFailure: (error) => warn(request.url, error.description ?? ""),
          onSuccess: ({ status }) => {
            if (status >= 400) return warn(request.url, `status ${status}`)
            failing.delete(request.url)
            return Effect.void
          }
        })
      )

    const client = HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      Effect.flatMap((request) => {
        if (inFlight.size >= maxInFlight) {
          const full = "too many batches wait for the collector"
          return Effect.zipRight(warn(request.url, full), Effect.fail(failed(request, "Encode", full)))
        }
        return Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const fiber = yield* Effect.forkDaemon(Effect.withTracerEnabled(Effect.interruptible(send(request)), false))
            inFlight.add(fiber)
            fiber.addObserver(() => inFlight.delete(fiber))
            const exit = yield* restore(Fiber.await(fiber))
            return yield* Exit.isInterrupted(exit) ? Effect.fail(failed(request, "Encode", "given up")) : exit
          })
        )
      }),
      Effect.succeed
    )
    return { client, settle: Effect.suspend(() => Effect.asVoid(Fiber.awaitAll(Array.from(inFlight)))) }
  })
