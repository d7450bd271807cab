/** The APIs of the server, and how the caller is known to it. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as AgentClient from "../../src/http/api/AgentClient.js"
import { ApiError } from "../../src/http/api/ApiError.js"
import { StudioApi } from "../../src/studio/api/StudioApi.js"

/** A token or a key, and the header that it is sent in. A browser with a session needs none. */
export interface Credential {
  readonly header: string
  readonly value: string
}

const STORED = "lexigram-studio"

/** The credential of this tab, which a reload keeps. */
export const storedCredential = (): Credential | undefined => {
  try {
    const { header, value } = JSON.parse(sessionStorage.getItem(STORED) ?? "null") ?? {}
    return typeof header === "string" && typeof value === "string" ? { header, value } : undefined
  } catch {
    return undefined
  }
}

export const storeCredential = (credential: Credential | undefined): void => {
  if (credential === undefined) sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, JSON.stringify(credential))
}

const studioOf = (headers: Readonly<Record<string, string>>) =>
  HttpApiClient.make(StudioApi, {
    baseUrl: location.origin,
    transformClient: HttpClient.mapRequest(HttpClientRequest.setHeaders(headers))
  })

type Studio = Effect.Effect.Success<ReturnType<typeof studioOf>>

export interface Connection {
  /** `connection.api.runs.listRuns(…)`: the API of all callers. */
  readonly api: AgentClient.Client["api"]
  /** `connection.studio.session.session()`: the API of developers. */
  readonly studio: Studio
  /** Events of a run in the view of developers, across broken connections. */
  readonly events: AgentClient.Client["events"]
  /** For requests that are made by hand. */
  readonly headers: Readonly<Record<string, string>>
}

/** A server that restarts is waited for, as long as the page is open. */
const ATTEMPTS = 1_000_000

export const connect = (credential: Credential | undefined): Connection => {
  const headers = credential === undefined ? {} : { [credential.header]: credential.value }
  return Effect.runSync(
    Effect.gen(function* () {
      const client = yield* AgentClient.make({
        baseUrl: location.origin,
        headers,
        attempts: ATTEMPTS,
        eventsOf: "/studio/api/runs"
      })
      return { api: client.api, events: client.events, headers, studio: yield* studioOf(headers) }
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
}

const isApiError = (error: unknown): error is ApiError => error instanceof ApiError

const lost = new ApiError({
  reason: "unavailable",
  message: "The server cannot be reached",
  hint: "Is it running? The page goes on by itself when it is"
})

/** What anything that went wrong is for the person. */
export const problemOf = (error: unknown): ApiError => {
  if (isApiError(error)) return error
  const tag = typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined
  if (tag === "RequestError") return lost
  if (tag === "ParseError" || tag === "ResponseError" || tag === "HttpApiDecodeError") {
    return new ApiError({
      reason: "failed",
      message: `The page and the server do not understand each other: ${String(error).slice(0, 500)}`,
      hint: "Reload the page: the server may be of another version"
    })
  }
  return new ApiError({ reason: "failed", message: String(error).slice(0, 500) })
}

/** The result, or an `ApiError`. Aborting interrupts it. */
export const run = <A, E>(effect: Effect.Effect<A, E>, signal?: AbortSignal): Promise<A> =>
  Effect.runPromiseExit(effect, signal === undefined ? {} : { signal }).then(
    Exit.match({
      onSuccess: (value) => value,
      onFailure: (cause) => {
        throw problemOf(Cause.squash(cause))
      }
    })
  )
