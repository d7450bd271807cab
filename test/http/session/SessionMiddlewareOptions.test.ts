import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SessionMiddleware from "../../../src/http/session/SessionMiddleware.js"
import type * as SessionToken from "../../../src/http/session/SessionToken.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as Sessions from "../../../src/session/Sessions.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import { asking, by, router, serve, sessions, user } from "../../support/HttpSessions.js"

const ann = UserId.make("ann")
const asAnn = { "x-user": "ann" }

/** The cookie that a first request is given. */
const cookieOf = (
  options: SessionMiddleware.Options,
  headers: Readonly<Record<string, string>> = {},
  origin?: string
) =>
  Effect.flatMap(serve(options), (ask) =>
    Effect.map(ask("/", headers, origin), ({ headers, shown }) =>
      headers.getSetCookie().map((cookie) => cookie.replace(shown.id, "ID"))
    )
  )

const plain = "lexigram_session=ID; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax"
const secure = "lexigram_session=ID; Max-Age=86400; Path=/; HttpOnly; Secure; SameSite=Lax"

describe("options", () => {
  it.effect("headerName: names another header, or none", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const { id } = yield* manager.create({ userId: ann })
      const ask = yield* serve({ user, headerName: "X-Conversation" })
      assert.strictEqual((yield* ask("/", { ...asAnn, "x-conversation": id })).shown.id, id)
      assert.notStrictEqual((yield* ask("/", { ...asAnn, "x-session-id": id })).shown.id, id)
      const none = yield* serve({ user, headerName: null })
      assert.notStrictEqual((yield* none("/", { ...asAnn, "x-session-id": id })).shown.id, id)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("queryName: names another parameter, or none", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const { id } = yield* manager.create({ userId: ann })
      const ask = yield* serve({ user, queryName: "conversation[id]" })
      assert.strictEqual((yield* ask(`/?conversation%5Bid%5D=${id}#x`, asAnn)).shown.id, id)
      assert.notStrictEqual((yield* ask(`/?session_id=${id}`, asAnn)).shown.id, id)
      const none = yield* serve({ user, queryName: null })
      assert.notStrictEqual((yield* none(`/?session_id=${id}`, asAnn)).shown.id, id)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("cookieName: names another cookie, or none, and then sets none", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ cookieName: "__Host-chat" })
      const { cookie, shown } = yield* ask("/")
      assert.strictEqual(cookie?.name, "__Host-chat")
      assert.strictEqual((yield* ask("/", { cookie: `__Host-chat=${shown.id}` })).shown.id, shown.id)
      assert.notStrictEqual((yield* ask("/", by(shown.id))).shown.id, shown.id)
      const none = yield* serve({ cookieName: null })
      const answer = yield* none("/", by(shown.id))
      assert.notStrictEqual(answer.shown.id, shown.id)
      assert.isUndefined(answer.cookie)
      assert.isNull(answer.headers.get("cache-control"))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("ttl: sets how long the browser keeps the cookie", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* cookieOf({ ttl: "90 minutes" }), [plain.replace("86400", "5400")])
      assert.deepStrictEqual(yield* cookieOf({ ttl: 0 }), [plain.replace("Max-Age=86400; ", "")])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("sameSite, path and domain: set the attributes of the cookie", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* cookieOf({ sameSite: "strict", path: "/chat", domain: "app.example" }), [
        "lexigram_session=ID; Max-Age=86400; Domain=app.example; Path=/chat; HttpOnly; SameSite=Strict"
      ])
      assert.deepStrictEqual(yield* cookieOf({ sameSite: "none" }), [secure.replace("Lax", "None")])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("secure: restricts the cookie to TLS if the request used TLS, or as set", () =>
    Effect.gen(function* () {
      const https = "https://app.example"
      assert.deepStrictEqual(yield* cookieOf({}, {}, https), [secure])
      assert.deepStrictEqual(yield* cookieOf({ secure: true }), [secure])
      assert.deepStrictEqual(yield* cookieOf({ secure: false }, {}, https), [plain])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("trustProxy: reads forwarded headers only from a trusted proxy", () =>
    Effect.gen(function* () {
      const forwarded = (protocol: string) => ({ "x-forwarded-proto": protocol })
      assert.deepStrictEqual(yield* cookieOf({}, forwarded("https")), [plain])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }, forwarded("https")), [secure])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }, forwarded(" HTTPS , http")), [secure])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }, forwarded("http, https")), [plain])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }), [plain])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }, {}, "https://app.example"), [secure])
      assert.deepStrictEqual(yield* cookieOf({ trustProxy: true }, forwarded("http"), "https://app.example"), [plain])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("create: sets the options of new sessions", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ create: { variables: { from: "web" } } })
      const { shown } = yield* ask("/")
      assert.deepStrictEqual(shown.variables, { from: "web" })
    }).pipe(Effect.provide(sessions))
  )

  it("rejects names and attributes that are invalid in a header or cookie", () => {
    const wrong: ReadonlyArray<SessionMiddleware.Options> = [
      { headerName: "X Session" },
      { headerName: "" },
      { cookieName: "a=b" },
      { cookieName: "a;b" },
      { cookieName: "a\r\nb" },
      { path: "/\r\nSet-Cookie: a=b" },
      { path: "/;x" },
      { domain: "a;b" },
      { domain: "a\r\nb" },
      { ttl: Infinity },
      { sameSite: "none", secure: false }
    ]
    for (const options of wrong) {
      assert.throws(() => SessionMiddleware.make(options), /must be|invalid in a cookie/, JSON.stringify(options))
    }
  })
})

describe("failures", () => {
  const failing = (change: Partial<SessionManager.Service>) =>
    Layer.provide(
      Layer.effect(
        SessionManager.SessionManager,
        Effect.map(SessionManager.SessionManager, (manager) => ({ ...manager, ...change }))
      ),
      sessions
    )

  it.effect("answers 429 for too many sessions of a user", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ user })
      for (let i = 0; i < 10; i++) assert.strictEqual((yield* ask("/", asAnn)).status, 200)
      const { cookie, status, text } = yield* ask("/", asAnn)
      assert.strictEqual(status, 429)
      assert.strictEqual(text, '{"error":{"code":"LEX_ERR_SES_012","message":"There are too many sessions"}}')
      assert.isUndefined(cookie)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("answers 503 for unavailable sessions, logs the reason and hides it from the client", () => {
    const logged: Array<string> = []
    const broken = Effect.fail(new SessionStorageError({ message: "10.0.0.7:5432 refused the connection" }))
    return Effect.gen(function* () {
      const ask = yield* serve({ user })
      const named = "0b0e3d5c-known-id"
      for (const headers of [{ ...asAnn, "x-session-id": named, authorization: "Bearer the-token" }, asAnn]) {
        const { cookie, status, text } = yield* ask("/", headers)
        assert.strictEqual(status, 503)
        assert.strictEqual(
          text,
          '{"error":{"code":"LEX_ERR_SES_100","message":"Sessions are temporarily unavailable"}}'
        )
        assert.isUndefined(cookie)
      }
      assert.lengthOf(logged, 2)
      assert.include(logged[0], "10.0.0.7:5432 refused the connection")
      for (const text of [named, "the-token", "ann"]) assert.notInclude(logged.join(), text)
    }).pipe(
      Effect.provide([
        failing({ get: () => broken, create: () => broken }),
        Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ annotations, message }) => {
            logged.push(`${String(message)} ${JSON.stringify([...annotations])}`)
          })
        )
      ])
    )
  })

  it.effect("skips a session that ends during the lookup", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const { id } = yield* manager.create({ userId: ann })
      const ask = yield* Effect.provideService(serve({ user }), SessionManager.SessionManager, {
        ...manager,
        get: (id, options) => Effect.zipLeft(manager.get(id, options), Effect.orDie(manager.delete(id, options)))
      })
      const { shown, status } = yield* ask("/", { ...asAnn, "x-session-id": id })
      assert.strictEqual(status, 200)
      assert.notStrictEqual(shown.id, id)
    }).pipe(Effect.provide(sessions))
  )
})

describe("traces", () => {
  /** Every attribute of spans of servers. */
  const traced = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const native = yield* Effect.tracer
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (...args) => {
          const span = native.span(...args)
          spans.push(span)
          return span
        },
        context: (run) => run()
      })
      yield* Effect.withTracer(effect, tracer)
      return spans
        .filter(({ name }) => name.startsWith("http.server"))
        .map(({ attributes }) => Object.fromEntries(attributes))
    })

  it.effect("show neither session nor token in a server", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const id = SessionId.make("the secret&id")
      yield* manager.create({ id, userId: ann })
      const token: SessionToken.Verifier = {
        verify: () => Effect.succeed({ userId: Option.some(ann), sessionId: Option.none() })
      }
      const spans = yield* traced(
        Effect.gen(function* () {
          const ask = yield* serve({ token, headerName: "X-Conversation" })
          const authorization = { authorization: "Bearer the-token" }
          yield* ask("/?a=1&session_id=the+secret%26id&b=%C3%A9", authorization)
          yield* ask("/?x=y", { "X-Conversation": id, ...authorization })
          yield* ask("/", { cookie: `lexigram_session=${encodeURIComponent(id)}`, ...authorization })
        })
      )
      assert.lengthOf(spans, 3)
      const shown = JSON.stringify(spans)
      for (const text of ["the secret", "the+secret", "the%20secret", "the-token"]) assert.notInclude(shown, text)
      assert.strictEqual(spans[0]!["url.query"], "a=1&session_id=%3Credacted%3E&b=%C3%A9")
      assert.include(String(spans[0]!["url.full"]), "/?a=1&session_id=%3Credacted%3E&b=%C3%A9")
      assert.strictEqual(spans[1]!["http.request.header.x-conversation"], "<redacted>")
      assert.strictEqual(spans[1]!["url.query"], "x=y")
    }).pipe(Effect.provide(sessions))
  )
})

describe("fromConfig", () => {
  it.effect("takes header, cookie and time to live from the configuration of sessions", () =>
    Effect.gen(function* () {
      const { config } = yield* Sessions.Sessions
      const manager = yield* SessionManager.SessionManager
      const { id } = yield* manager.create({ userId: ann })
      const middleware = SessionMiddleware.fromConfig(config, { user })
      const ask = yield* asking(middleware(router))
      assert.strictEqual((yield* ask("/", { ...asAnn, "x-talk": id })).shown.id, id)
      const { headers, shown } = yield* ask("/", asAnn)
      assert.deepStrictEqual(
        headers.getSetCookie().map((cookie) => cookie.replace(shown.id, "ID")),
        ["talk=ID; Max-Age=60; Path=/; HttpOnly; SameSite=Lax"]
      )
    }).pipe(
      Effect.provide(
        Sessions.layer({ config: { headerName: "X-Talk", cookieName: "talk", sessionTtl: 60 }, cleanup: false })
      )
    )
  )

  it.effect("overrides the configuration by options, and sets a long-lived cookie when sessions never expire", () =>
    Effect.gen(function* () {
      const { config } = yield* Sessions.Sessions
      const middleware = SessionMiddleware.fromConfig(config, { cookieName: "own" })
      const ask = yield* asking(middleware(router))
      const { headers } = yield* ask("/")
      assert.match(headers.getSetCookie()[0] ?? "", /^own=[^;]+; Max-Age=34560000;/)
    }).pipe(Effect.provide(Sessions.layer({ config: { sessionTtl: 0 }, cleanup: false })))
  )
})
