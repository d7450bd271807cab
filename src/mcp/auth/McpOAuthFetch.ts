/**
 * The `fetch` by which OAuth reaches the addresses that a server names: checked, over https, bounded, and without
 * redirects.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as AddressPolicy from "../../builtin/web/AddressPolicy.js"
import * as HttpExchange from "../../builtin/web/HttpExchange.js"
import { type AuthFailure, isLoopback, isSecure } from "./McpAuthorization.js"

export interface Target {
  readonly server: URL
  readonly allowPrivate: boolean | ReadonlyArray<string>
}

/** Bytes of an answer: metadata, a registration or tokens. */
const MAX_BYTES = 256 * 1024

const refused = (message: string): AuthFailure => ({
  reason: "AuthorizationFailed",
  message,
  hint: "Addresses that a server names must be public and https. Permit others by the option allowPrivate"
})

const bodyOf = (body: RequestInit["body"]): Uint8Array | undefined =>
  body === undefined || body === null ? undefined : new TextEncoder().encode(String(body))

/** The addresses that requests may have. A server on this machine may name others on it. */
export const policyOf = ({ allowPrivate, server }: Target): Either.Either<AddressPolicy.Policy, string> => {
  const own = isLoopback(server) ? ["127.0.0.0/8", "::1"] : []
  return AddressPolicy.make(allowPrivate === true ? true : [...(allowPrivate === false ? [] : allowPrivate), ...own])
}

/** Sends one request. A redirect is an answer: the SDK follows it within the origin. */
export const send = (
  policy: AddressPolicy.Policy,
  input: string | URL,
  init: RequestInit | undefined
): Effect.Effect<Response, AuthFailure> =>
  Effect.gen(function* () {
    const url = new URL(input)
    if (!isSecure(url) || url.username !== "" || url.password !== "") {
      return yield* Effect.fail(
        refused(`it names an address that is not https or has credentials, at ${url.host.slice(0, 100)}`)
      )
    }
    const addresses = yield* Effect.mapError(
      AddressPolicy.check(policy, url.hostname, AddressPolicy.resolve),
      ({ message, reason }): AuthFailure =>
        reason === "AddressNotAllowed"
          ? refused(`it names an address that is not allowed: ${message}`)
          : { reason: "AuthorizationFailed", message }
    )
    const answer = yield* HttpExchange.run({
      url,
      method: init?.method ?? "GET",
      headers: Object.fromEntries(new Headers(init?.headers)),
      body: bodyOf(init?.body),
      addresses,
      maxBytes: MAX_BYTES,
      maxCompressedBytes: MAX_BYTES,
      truncate: false
    }).pipe(Effect.mapError(({ message }): AuthFailure => ({ reason: "AuthorizationFailed", message })))
    const headers = new Headers()
    for (const name of ["content-type", "location"] as const) {
      const value = answer.headers[name]
      if (value !== undefined) headers.set(name, value)
    }
    const status = answer.status >= 200 && answer.status < 600 ? answer.status : 502
    const isEmpty = status === 204 || status === 205 || status === 304
    return new Response(isEmpty ? null : (answer.body as Uint8Array<ArrayBuffer>), { status, headers })
  })
