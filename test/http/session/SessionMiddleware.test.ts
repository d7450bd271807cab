import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SessionToken from "../../../src/http/session/SessionToken.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as Growth from "../../support/Growth.js"
import { by, serve, sessions, user } from "../../support/HttpSessions.js"

const ann = UserId.make("ann")
const bob = UserId.make("bob")
const sid = (id: string) => SessionId.make(id)

/** Ann may have ten sessions at once. */
const closeAll = Effect.gen(function* () {
  const manager = yield* SessionManager.SessionManager
  const { sessions } = yield* manager.list(ann, { statuses: ["active"] })
  yield* Effect.forEach(sessions, ({ id }) => manager.close(id, { userId: ann }), { discard: true })
})

describe("a request without a session", () => {
  it.effect("creates one without an owner, stored in a cookie that scripts cannot read", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { cookie, headers, shown, status } = yield* ask("/")
      assert.strictEqual(status, 200)
      assert.match(shown.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.strictEqual(shown.again, shown.id)
      assert.isUndefined(shown.userId)
      assert.deepStrictEqual(headers.getSetCookie(), [
        `lexigram_session=${shown.id}; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax`
      ])
      assert.strictEqual(cookie?.value, shown.id)
      assert.strictEqual(headers.get("cache-control"), "no-store")
      const manager = yield* SessionManager.SessionManager
      assert.isTrue(Option.isSome(yield* manager.get(sid(shown.id))))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("creates one of its user", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ user })
      const { cookie, shown } = yield* ask("/", { "x-user": "ann" })
      assert.strictEqual(shown.userId, "ann")
      assert.strictEqual(cookie?.value, shown.id)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("sets the cookie even when the application fails", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { cookie, status } = yield* ask("/fail")
      assert.strictEqual(status, 500)
      assert.strictEqual((yield* ask("/", by(cookie!.value))).shown.id, cookie!.value)
    }).pipe(Effect.provide(sessions))
  )
})

describe("a cookie", () => {
  it.effect("names the session and is renewed", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const first = yield* ask("/")
      const second = yield* ask("/", by(first.shown.id))
      assert.strictEqual(second.shown.id, first.shown.id)
      assert.deepStrictEqual(second.headers.getSetCookie(), first.headers.getSetCookie())
      const quoted = yield* ask("/", { cookie: `a=b; lexigram_session="${first.shown.id}" ; c` })
      assert.strictEqual(quoted.shown.id, first.shown.id)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("is decoded as it was encoded", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const id = 'a b;c="d", é%20\u{1f600}'
      yield* manager.create({ id: sid(id), userId: ann })
      const ask = yield* serve({ user })
      const { headers, shown } = yield* ask("/", { "x-user": "ann", ...by(encodeURIComponent(id)) })
      assert.strictEqual(shown.id, id)
      assert.include(headers.getSetCookie()[0], `lexigram_session=${encodeURIComponent(id)};`)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("names none when it occurs twice with different values", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const mine = (yield* ask("/")).shown.id
      const planted = (yield* ask("/")).shown.id
      for (const values of [
        [mine, planted],
        [planted, mine],
        ["", mine]
      ]) {
        const cookie = values.map((value) => `lexigram_session=${value}`).join("; ")
        const { shown } = yield* ask("/", { cookie })
        if (values[0] === "") assert.strictEqual(shown.id, mine)
        else assert.notInclude([mine, planted], shown.id)
      }
      assert.strictEqual(
        (yield* ask("/", { cookie: `lexigram_session=${mine}; lexigram_session=${mine}` })).shown.id,
        mine
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("stays when the application sets it, and so does its caching header", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { cookie } = yield* ask("/leave", by((yield* ask("/")).shown.id))
      assert.strictEqual(cookie?.value, "")
      const cached = yield* ask("/cached")
      assert.isDefined(cached.cookie)
      assert.strictEqual(cached.headers.get("cache-control"), "private, max-age=5")
    }).pipe(Effect.provide(sessions))
  )
})

describe("header and query", () => {
  it.effect("name a user's session and set no cookie", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      yield* manager.create({ id: sid("s 1&2"), userId: ann })
      const ask = yield* serve({ user })
      for (const answer of [
        yield* ask("/", { "x-user": "ann", "x-session-id": "s 1&2" }),
        yield* ask("/?session_id=s%201%262&x=1", { "x-user": "ann" })
      ]) {
        assert.strictEqual(answer.shown.id, "s 1&2")
        assert.isUndefined(answer.cookie)
        assert.isNull(answer.headers.get("cache-control"))
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("do not name a session without an owner: links and scripts can carry them", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { id } = (yield* ask("/")).shown
      assert.notStrictEqual((yield* ask("/", { "x-session-id": id })).shown.id, id)
      assert.notStrictEqual((yield* ask(`/?session_id=${id}`)).shown.id, id)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are read before cookie and token, the header first", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      for (const id of ["h", "q", "c", "t"]) yield* manager.create({ id: sid(id), userId: ann })
      const token: SessionToken.Verifier = {
        verify: () => Effect.succeed({ userId: Option.some(ann), sessionId: Option.some(sid("t")) })
      }
      const ask = yield* serve({ token })
      const authorization = { authorization: "Bearer x" }
      const asked = yield* Effect.all([
        ask("/?session_id=q", { "x-session-id": "h", ...by("c"), ...authorization }),
        ask("/?session_id=q", { ...by("c"), ...authorization }),
        ask("/", { ...by("c"), ...authorization }),
        ask("/", authorization)
      ])
      assert.deepStrictEqual(
        asked.map(({ cookie, shown }) => [shown.id, cookie?.value]),
        [
          ["h", undefined],
          ["q", undefined],
          ["c", "c"],
          ["t", undefined]
        ]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("that name nothing are skipped for the cookie", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { id } = (yield* ask("/")).shown
      const answer = yield* ask("/?session_id=other", { "x-session-id": "another", ...by(id) })
      assert.strictEqual(answer.shown.id, id)
    }).pipe(Effect.provide(sessions))
  )
})

describe("another user's session", () => {
  const world = Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    yield* manager.create({ id: sid("of-bob"), userId: bob })
    const nobody = (yield* manager.create()).id
    return { manager, nobody }
  })

  it.effect("is never found, however it is named", () =>
    Effect.gen(function* () {
      yield* world
      const ask = yield* serve({ user })
      for (const headers of [{ "x-user": "ann" }, {}]) {
        for (const [path, named] of [
          ["/", { "x-session-id": "of-bob" }],
          ["/?session_id=of-bob", {}],
          ["/", by("of-bob")]
        ] as const) {
          const { cookie, shown, status } = yield* ask(path, { ...headers, ...named })
          assert.strictEqual(status, 200)
          assert.notStrictEqual(shown.id, "of-bob")
          assert.strictEqual(shown.userId, "x-user" in headers ? "ann" : undefined)
          assert.strictEqual(cookie?.value, shown.id)
        }
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("is rejected like a missing one with onForeign reject; a cookie gets a new one", () =>
    Effect.gen(function* () {
      const { manager, nobody } = yield* world
      yield* manager.create({ id: sid("of-ann"), userId: ann })
      const ask = yield* serve({ user, onForeign: "reject" })
      const answers = yield* Effect.forEach(["of-bob", "unknown", nobody, "\u0080"], (id) =>
        Effect.all([
          ask("/", { "x-user": "ann", "x-session-id": id }),
          ask(`/?session_id=${encodeURIComponent(id)}`, { "x-user": "ann" }),
          ask("/", { "x-session-id": id })
        ])
      )
      for (const { cookie, headers, status, text } of answers.flat()) {
        assert.strictEqual(status, 404)
        assert.strictEqual(text, '{"error":{"code":"LEX_ERR_SES_007","message":"The session was not found"}}')
        assert.isUndefined(cookie)
        assert.strictEqual(headers.get("cache-control"), "no-store")
      }
      const { shown } = yield* ask("/", { "x-user": "ann", ...by("of-bob") })
      assert.strictEqual(shown.userId, "ann")
      assert.strictEqual((yield* ask("/", { "x-user": "ann", "x-session-id": "of-ann" })).shown.id, "of-ann")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("is not taken over at sign-in, nor left behind at sign-out", () =>
    Effect.gen(function* () {
      const { manager, nobody } = yield* world
      const ask = yield* serve({ user })
      const signedIn = yield* ask("/", { "x-user": "ann", ...by(nobody) })
      assert.notStrictEqual(signedIn.shown.id, nobody)
      assert.strictEqual(signedIn.cookie?.value, signedIn.shown.id)
      assert.isUndefined(Option.getOrThrow(yield* manager.get(nobody)).userId)
      const signedOut = yield* ask("/", by(signedIn.shown.id))
      assert.notInclude([nobody, signedIn.shown.id], signedOut.shown.id)
      assert.isUndefined(signedOut.shown.userId)
    }).pipe(Effect.provide(sessions))
  )
})

describe("an id made up by a client", () => {
  it.effect("never becomes that of a new session", () =>
    Effect.gen(function* () {
      const token: SessionToken.Verifier = {
        verify: () => Effect.succeed({ userId: Option.none(), sessionId: Option.some(sid("made-up")) })
      }
      const ask = yield* serve({ user, token })
      const manager = yield* SessionManager.SessionManager
      for (const headers of [{}, { "x-user": "ann" }]) {
        const authorization = { authorization: "Bearer x" }
        const { shown } = yield* ask("/?session_id=made-up", {
          "x-session-id": "made-up",
          ...by("made-up"),
          ...authorization,
          ...headers
        })
        assert.notStrictEqual(shown.id, "made-up")
      }
      assert.isTrue(Option.isNone(yield* manager.get(sid("made-up"))))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("may have any content: it names no session and breaks nothing", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ user })
      const hostile = [
        "__proto__",
        "constructor",
        "%0d%0aSet-Cookie:%20a=b",
        "%00",
        "%ff%fe",
        "%",
        "%E0%A4%A",
        "a%0ab",
        "x".repeat(257),
        "x".repeat(100_000),
        "../../etc/passwd",
        "' OR 1=1 --",
        "%F0%9F%98%80",
        "=;=",
        '"',
        '""'
      ]
      for (const id of hostile) {
        for (const [path, headers] of [
          [`/?session_id=${id}`, {}],
          ["/", { "x-session-id": id }],
          ["/", by(id)]
        ] as const) {
          const answer = yield* ask(path, { "x-user": "ann", ...headers })
          assert.strictEqual(answer.status, 200)
          assert.match(answer.shown.id, /^[0-9a-f-]{36}$/)
          assert.strictEqual(answer.cookie?.value, answer.shown.id)
        }
        yield* closeAll
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("is skipped in linear time in 100 kB of cookies and parameters", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { id } = (yield* ask("/")).shown
      const filled = (part: string) => (size: number) => part.repeat(size / part.length)
      const cookies: ReadonlyArray<Growth.Text> = [
        (size) => `${filled("lexigram_session=;")(size)}lexigram_session=${id}`,
        (size) => `${filled(";")(size)}lexigram_session=${id}`,
        "="
      ]
      for (const cookie of cookies) {
        const { shown } = yield* ask("/", {
          cookie: typeof cookie === "string" ? cookie.repeat(100_000) : cookie(100_000)
        })
        assert.notStrictEqual(shown.id, id)
      }
      yield* Growth.assertLinearTextsEffect(
        cookies,
        (cookie) => Effect.map(ask("/", { cookie }), ({ status }) => assert.strictEqual(status, 200)),
        100_000
      )
      yield* Growth.assertLinearTextsEffect(
        ["session_id=a&"],
        (query) => Effect.map(ask(`/?${query}`), ({ status }) => assert.strictEqual(status, 200)),
        100_000
      )
    }).pipe(Effect.provide(sessions))
  )
})

describe("an ended session", () => {
  it.effect("is not found: closed, expired, or overdue", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ask = yield* serve()
      const closed = (yield* ask("/")).shown.id
      const overdue = (yield* ask("/")).shown.id
      yield* manager.close(sid(closed))
      assert.notStrictEqual((yield* ask("/", by(closed))).shown.id, closed)
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual((yield* ask("/", by(overdue))).shown.id, overdue)
      yield* TestClock.adjust("1 minute")
      assert.notStrictEqual((yield* ask("/", by(overdue))).shown.id, overdue)
      assert.strictEqual(Option.getOrThrow(yield* manager.get(sid(overdue))).status, "expired")
      assert.notStrictEqual((yield* ask("/", by(overdue))).shown.id, overdue)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("is not a suspended one, which is found and stays suspended", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ask = yield* serve()
      const { id } = (yield* ask("/")).shown
      yield* manager.suspend(sid(id))
      const { shown } = yield* ask("/", by(id))
      assert.deepStrictEqual([shown.id, shown.status], [id, "suspended"])
    }).pipe(Effect.provide(sessions))
  )
})

describe("tokens", () => {
  const token: SessionToken.Verifier = {
    verify: (text) => {
      switch (text) {
        case "ann":
        case "bob":
          return Effect.succeed({ userId: Option.some(UserId.make(text)), sessionId: Option.none() })
        case "ann-s":
          return Effect.succeed({ userId: Option.some(ann), sessionId: Option.some(sid("s")) })
        case "nobody":
          return Effect.succeed({ userId: Option.none(), sessionId: Option.none() })
        case "old":
          return Effect.fail(SessionToken.refusal("expired"))
        case "unknown":
          return Effect.fail(SessionToken.refusal("unavailable"))
        default:
          return Effect.fail(SessionToken.refusal("invalid"))
      }
    }
  }
  const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

  it.effect("identify the user", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ token })
      assert.strictEqual((yield* ask("/", bearing("ann"))).shown.userId, "ann")
      assert.strictEqual((yield* ask("/", { authorization: "bearer   bob " })).shown.userId, "bob")
      assert.isUndefined((yield* ask("/", bearing("nobody"))).shown.userId)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("name only sessions of their user", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ask = yield* serve({ token })
      assert.notStrictEqual((yield* ask("/", bearing("ann-s"))).shown.id, "s")
      yield* manager.create({ id: sid("s"), userId: bob })
      assert.notStrictEqual((yield* ask("/", bearing("ann-s"))).shown.id, "s")
      yield* manager.delete(sid("s"), { userId: bob })
      yield* manager.create({ id: sid("s"), userId: ann })
      assert.strictEqual((yield* ask("/", bearing("ann-s"))).shown.id, "s")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are rejected with 401 when missing or invalid", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ token })
      const refused = (headers: Readonly<Record<string, string>>) =>
        Effect.map(ask("/", headers), ({ cookie, headers, status, text }) => {
          assert.strictEqual(status, 401)
          assert.isUndefined(cookie)
          return [headers.get("www-authenticate"), text]
        })
      const body = (message: string) => `{"error":{"code":"LEX_ERR_SES_111","message":"${message}"}}`
      assert.deepStrictEqual(yield* refused({}), ["Bearer", body("The token is missing")])
      assert.deepStrictEqual(yield* refused({ authorization: "Basic YW5uOmE=" }), [
        "Bearer",
        body("The token is missing")
      ])
      const invalid = 'Bearer error="invalid_token"'
      assert.deepStrictEqual(yield* refused(bearing("x")), [invalid, body("The token is not valid")])
      assert.deepStrictEqual(yield* refused(bearing("old")), [invalid, body("The token has expired")])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("count as none when invalid and not required", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ token, tokenRequired: false })
      for (const headers of [{}, bearing("x"), bearing("old")]) {
        const { shown, status } = yield* ask("/", headers)
        assert.deepStrictEqual([status, shown.userId], [200, undefined])
      }
      assert.strictEqual((yield* ask("/", bearing("ann"))).shown.userId, "ann")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are not treated as anonymous when they cannot be verified now", () =>
    Effect.gen(function* () {
      for (const tokenRequired of [true, false]) {
        const ask = yield* serve({ token, tokenRequired })
        const { headers, status, text } = yield* ask("/", bearing("unknown"))
        assert.strictEqual(status, 503)
        assert.isNull(headers.get("www-authenticate"))
        assert.include(text, "LEX_ERR_SES_111")
      }
    }).pipe(Effect.provide([sessions, Logger.remove(Logger.defaultLogger)]))
  )

  it.effect("are ignored without a verifier", () =>
    Effect.gen(function* () {
      const ask = yield* serve()
      const { shown, status } = yield* ask("/", bearing("ann"))
      assert.deepStrictEqual([status, shown.userId], [200, undefined])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("do not identify the user when the application does", () =>
    Effect.gen(function* () {
      const ask = yield* serve({ token, user })
      assert.strictEqual((yield* ask("/", { ...bearing("ann"), "x-user": "bob" })).shown.userId, "bob")
      assert.isUndefined((yield* ask("/", bearing("ann"))).shown.userId)
    }).pipe(Effect.provide(sessions))
  )
})
