/** The server: the API of agents for customers under `/v1`, the decisions of the shop under `/staff`, and the page. */
import { fileURLToPath } from "node:url"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpRouter from "@effect/platform/HttpRouter"
import type { RequestError } from "@effect/platform/HttpServerError"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { ApprovalError } from "effect-lexigram"
import type { RunError } from "effect-lexigram/agent"
import { AgentServer, ApiError, Authentication } from "effect-lexigram/http"
import * as Callers from "./Callers.js"
import * as Staff from "./Staff.js"
import * as SupportDesk from "./SupportDesk.js"

/** The bearer token of a request becomes a cookie, which no script of the page can read. */
const signIn = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const authentication = yield* Authentication.Authentication
  const caller = yield* authentication.authenticate(request)
  const token = request.headers["authorization"]?.replace(/^Bearer /i, "") ?? ""
  const response = HttpServerResponse.unsafeJson({ user: caller.userId, isStaff: Callers.isStaff(caller) })
  return HttpServerResponse.unsafeSetCookie(response, Callers.cookie, token, { httpOnly: true, sameSite: "strict" })
})

const staffOnly = Effect.gen(function* () {
  const authentication = yield* Authentication.Authentication
  const caller = yield* authentication.authenticate(yield* HttpServerRequest.HttpServerRequest)
  if (Callers.isStaff(caller)) return caller
  return yield* new ApiError.ApiError({ reason: "forbidden", message: "The shop decides refunds" })
})

const waiting = Effect.gen(function* () {
  yield* staffOnly
  const staff = yield* Staff.Staff
  return HttpServerResponse.unsafeJson({ waiting: yield* staff.waiting })
})

const Decision = Schema.Union(
  Schema.Struct({ decision: Schema.Literal("approve") }),
  Schema.Struct({ decision: Schema.Literal("deny"), reason: Schema.String })
)

const decide = Effect.gen(function* () {
  const { userId = "" } = yield* staffOnly
  const { id } = yield* HttpRouter.schemaPathParams(Schema.Struct({ id: Schema.String }))
  const decision = yield* HttpServerRequest.schemaBodyJson(Decision)
  const staff = yield* Staff.Staff
  yield* decision.decision === "approve" ? staff.approve(id, userId) : staff.deny(id, userId, decision.reason)
  return HttpServerResponse.empty()
})

type Failure = ApiError.ApiError | ApprovalError.ApprovalError | RunError.RunError | ParseError | RequestError

const statusOf = (failure: Failure): number => {
  switch (failure._tag) {
    case "ApiError":
      return ApiError.statusOf(failure)
    case "ParseError":
    case "RequestError":
      return 400
    case "RunError":
      return failure.reason === "not-waiting" ? 404 : 503
    case "ApprovalError":
      return 503
  }
}

/** With the failures as answers. */
const answered = <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, Failure, R>) =>
  Effect.catchAll(handler, (failure) =>
    Effect.succeed(HttpServerResponse.unsafeJson({ detail: failure.message }, { status: statusOf(failure) }))
  )

const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const file = (name: string) =>
  HttpServerResponse.file(fileURLToPath(new URL(name, import.meta.url)), {
    headers: { "content-security-policy": policy, "x-content-type-options": "nosniff", "cache-control": "no-cache" }
  })

const routes = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const services = yield* Effect.context<Authentication.Authentication | Staff.Staff>()
    yield* router.get("/", file("page/index.html"))
    yield* router.get("/desk.js", file("page/desk.js"))
    yield* router.get("/chat.css", file("../web-chat/chat.css"))
    yield* router.post("/sign-in", Effect.provide(answered(signIn), services))
    yield* router.get("/staff/waiting", Effect.provide(answered(waiting), services))
    yield* router.post("/staff/waiting/:id", Effect.provide(answered(decide), services))
  })
)

/**
 * An approval belongs to the customer whose run asked for it. Without `permits`, customers would approve their own
 * refunds.
 */
export const options = {
  agents: SupportDesk.agents(),
  permits: (_caller, endpoint) => endpoint !== "decideApproval",
  limits: { requestsPerMinute: 120, maxBodyBytes: 65_536 }
} satisfies AgentServer.Options

/** On the application and the `HttpServer` in context. */
export const layer = AgentServer.layer(options).pipe(Layer.provide(routes), Layer.provide([Staff.layer, Callers.layer]))
