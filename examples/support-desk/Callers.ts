/** Who calls: customers and people of the shop, by tokens in a header or in the cookie of the page. */
import { createHash, randomUUID } from "node:crypto"
import * as Headers from "@effect/platform/Headers"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Ids } from "effect-lexigram"
import { ApiError, Authentication } from "effect-lexigram/http"

export const cookie = "support-desk"

const STAFF = "staff"

export const isStaff = ({ scopes = [] }: Authentication.Identity): boolean => scopes.includes(STAFF)

/** Tokens are found by their hash, so that the time of a refusal says nothing about them. */
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")

const malformed = new ApiError.ApiConfigurationError({
  message: "SUPPORT_DESK_TOKENS is a list of user=token, with commas between; a token has 16 characters or more",
  hint: "Write ada=…,carla:staff=… : carla is of the shop"
})

const parse = Effect.fnUntraced(function* (text: string) {
  const callers = new Map<string, Authentication.Identity>()
  for (const entry of text.split(",")) {
    const [, user, staff, token] = /^\s*([^\s:=]+)(:staff)?=(\S{16,})\s*$/.exec(entry) ?? []
    if (user === undefined || token === undefined) return yield* malformed
    const userId = Ids.UserId.make(user)
    callers.set(hashOf(token), staff === undefined ? { userId } : { userId, scopes: [STAFF] })
  }
  return callers
})

/** Tokens that hold until the process ends. */
const invented = Effect.suspend(() => {
  const names = ["ada", "ben", "carla:staff"]
  const tokens = names.map((name) => `${name}=${randomUUID()}`)
  return Effect.as(Effect.log(`SUPPORT_DESK_TOKENS is not set. For now: ${tokens.join(", ")}`), tokens.join(","))
})

const bearers = Layer.unwrapEffect(
  Effect.gen(function* () {
    const given = yield* Config.option(Config.redacted("SUPPORT_DESK_TOKENS"))
    const callers = yield* parse(Option.isSome(given) ? Redacted.value(given.value) : yield* invented)
    return Authentication.layerBearer({
      verify: (token) => Effect.succeed(Option.fromNullable(callers.get(hashOf(Redacted.value(token)))))
    })
  })
)

/** A request with the token of its cookie, if it has no other one. */
const signedIn = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest => {
  const token = request.cookies[cookie]
  return token === undefined || Headers.has(request.headers, "authorization")
    ? request
    : request.modify({ headers: Headers.set(request.headers, "authorization", `Bearer ${token}`) })
}

/** A browser sends the cookie only with requests of the page itself (`SameSite=Strict`). */
export const layer = Layer.effect(
  Authentication.Authentication,
  Effect.map(Authentication.Authentication, (bearer) => ({
    ...bearer,
    authenticate: (request) => bearer.authenticate(signedIn(request))
  }))
).pipe(Layer.provide(bearers))
