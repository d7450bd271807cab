import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as Jose from "jose"
import * as SessionToken from "../../../src/http/session/SessionToken.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"

const text = "0123456789abcdef0123456789abcdef"
const secret = Redacted.make(text)
const bytes = new TextEncoder().encode(text)

/** Seconds since the epoch. */
const now = 1_800_000_000
const setTime = TestClock.setTime(now * 1000)

const sign = (
  claims: Jose.JWTPayload,
  options: { readonly key?: Jose.CryptoKey | Uint8Array; readonly alg?: string; readonly kid?: string } = {}
): Effect.Effect<string> =>
  Effect.promise(() =>
    new Jose.SignJWT({ exp: now + 60, ...claims })
      .setProtectedHeader({ alg: options.alg ?? "HS256", ...(options.kid === undefined ? {} : { kid: options.kid }) })
      .sign(options.key ?? bytes)
  )

const shared = (options: Partial<SessionToken.Options> = {}) =>
  SessionToken.make({ secret, algorithms: ["HS256"], ...options } as SessionToken.Options)

const base64 = (value: unknown) => Jose.base64url.encode(typeof value === "string" ? value : JSON.stringify(value))

/** Why a verifier refuses a token; nothing if it does not. */
const reason = (verifier: SessionToken.Verifier, token: string) =>
  Effect.match(verifier.verify(token), { onFailure: (error) => error.reason, onSuccess: () => undefined })

describe("verify", () => {
  it.effect("returns the tenant of the token", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      const named = yield* verifier.verify(yield* sign({ sub: "ann", tenant_id: "north", org: "south" }))
      assert.strictEqual(named.tenantId, "north")
      const other = yield* shared({ tenantClaim: "org" })
      assert.strictEqual((yield* other.verify(yield* sign({ sub: "ann", org: "south" }))).tenantId, "south")
      assert.isUndefined((yield* verifier.verify(yield* sign({ sub: "ann" }))).tenantId)
      assert.strictEqual((yield* Effect.flip(verifier.verify(yield* sign({ tenant_id: 5 })))).reason, "invalid")
    })
  )

  it.effect("returns the user and the session of the token", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      assert.deepStrictEqual<unknown>(yield* verifier.verify(yield* sign({ sub: "ann", session_id: "s-1" })), {
        userId: Option.some("ann"),
        sessionId: Option.some("s-1")
      })
      assert.deepStrictEqual<unknown>(yield* verifier.verify(yield* sign({})), {
        userId: Option.none(),
        sessionId: Option.none()
      })
    })
  )

  it.effect("reads the session from the claim named by sessionClaim", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared({ sessionClaim: "sid" })
      const { sessionId } = yield* verifier.verify(yield* sign({ sid: "a", session_id: "b" }))
      assert.deepStrictEqual(sessionId, Option.some("a"))
    })
  )

  it.effect("ignores inherited properties as claims", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared({ sessionClaim: "constructor" })
      assert.deepStrictEqual((yield* verifier.verify(yield* sign({}))).sessionId, Option.none())
    })
  )

  it.effect("rejects an unsigned or altered token, or one signed by another key", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      const good = yield* sign({ sub: "ann" })
      const [header, , signature] = good.split(".")
      const other = yield* sign({ sub: "ann" }, { key: new TextEncoder().encode(text.toUpperCase()) })
      const claims = base64({ sub: "ann", exp: now + 60 })
      for (const token of [
        `${base64({ alg: "none" })}.${claims}.`,
        `${base64({ alg: "None" })}.${claims}.`,
        `${base64({ alg: "none" })}.${claims}.${signature}`,
        `${header}.${claims}.`,
        `${header}.${base64({ sub: "eve", exp: now + 60 })}.${signature}`,
        `${header}.${claims}`,
        other,
        `${good}x`,
        good.slice(0, -4),
        "",
        "...",
        "a.b.c",
        `${base64("{")}.${claims}.${signature}`,
        `${base64({ alg: "HS256", crit: ["x"], x: 1 })}.${claims}.${signature}`,
        "\u0000\ud800"
      ]) {
        assert.strictEqual(yield* reason(verifier, token), "invalid", token)
      }
      assert.isUndefined(yield* reason(verifier, good))
    })
  )

  it.effect("rejects an algorithm that is not listed, however valid the signature", () =>
    Effect.gen(function* () {
      yield* setTime
      const long = Redacted.make(new Uint8Array(64).fill(7))
      const token = yield* sign({}, { alg: "HS512", key: Redacted.value(long) })
      const one = yield* SessionToken.make({ secret: long, algorithms: ["HS256"] })
      const both = yield* SessionToken.make({ secret: long, algorithms: ["HS256", "HS512"] })
      assert.strictEqual(yield* reason(one, token), "invalid")
      assert.isUndefined(yield* reason(both, token))
    })
  )

  it.effect("accepts a token until its end by Effect's clock, within the tolerance", () =>
    Effect.gen(function* () {
      const verifier = yield* shared()
      const strict = yield* shared({ clockTolerance: 0 })
      const token = yield* sign({ exp: now + 10 })
      const at = (seconds: number) =>
        Effect.zipRight(TestClock.setTime(seconds * 1000), Effect.all([reason(verifier, token), reason(strict, token)]))
      assert.deepStrictEqual(yield* at(now + 9.5), [undefined, undefined])
      assert.deepStrictEqual(yield* at(now + 10), [undefined, "expired"])
      assert.deepStrictEqual(yield* at(now + 14.5), [undefined, "expired"])
      assert.deepStrictEqual(yield* at(now + 15), ["expired", "expired"])
    })
  )

  it.effect("rejects a token without an end", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      for (const exp of [undefined as never, "never" as never, null as never]) {
        assert.strictEqual(yield* reason(verifier, yield* sign({ exp })), "invalid")
      }
    })
  )

  it.effect("rejects a token before its beginning", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared({ clockTolerance: "30 seconds" })
      assert.isUndefined(yield* reason(verifier, yield* sign({ nbf: now + 30 })))
      assert.strictEqual(yield* reason(verifier, yield* sign({ nbf: now + 31 })), "invalid")
    })
  )

  it.effect("checks issuer and audience as configured", () =>
    Effect.gen(function* () {
      yield* setTime
      const one = yield* shared({ issuer: "https://a", audience: "chat" })
      const several = yield* shared({ issuer: ["https://a", "https://b"], audience: ["chat", "shop"] })
      const refused = (claims: Jose.JWTPayload) =>
        Effect.flatMap(sign(claims), (token) => Effect.all([reason(one, token), reason(several, token)]))
      assert.deepStrictEqual(yield* refused({ iss: "https://a", aud: ["x", "chat"] }), [undefined, undefined])
      assert.deepStrictEqual(yield* refused({ iss: "https://b", aud: "shop" }), ["invalid", undefined])
      for (const claims of [
        { iss: "https://c", aud: "chat" },
        { iss: "https://a", aud: "x" },
        { iss: "https://a" },
        {}
      ]) {
        assert.deepStrictEqual(yield* refused(claims), ["invalid", "invalid"])
      }
    })
  )

  it.effect("rejects invalid ids of users and sessions", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      for (const claim of ["", "a\nb", "x".repeat(257), 7, ["ann"], { a: 1 }, null]) {
        assert.strictEqual(yield* reason(verifier, yield* sign({ sub: claim as never })), "invalid")
        assert.strictEqual(yield* reason(verifier, yield* sign({ session_id: claim })), "invalid")
      }
    })
  )

  it.effect("rejects a token that is too long without reading it", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      const token = yield* sign({ sub: "ann", padding: "x".repeat(7000) })
      assert.isAbove(token.length, SessionToken.maxTokenLength)
      assert.strictEqual(yield* reason(verifier, token), "invalid")
      assert.strictEqual(yield* reason(verifier, `${"a".repeat(20_000_000)}.b.c`), "invalid")
    })
  )

  it.effect("shows nothing of the token in errors", () =>
    Effect.gen(function* () {
      yield* setTime
      const verifier = yield* shared()
      const token = yield* sign({ sub: "ann-the-user", exp: now - 60 })
      const error = yield* Effect.flip(verifier.verify(token))
      assert.deepStrictEqual(
        [error._tag, error.reason, error.code],
        ["SessionTokenError", "expired", "LEX_ERR_SES_111"]
      )
      const shown = [
        JSON.stringify(error),
        Cause.pretty(Cause.fail(error), { renderErrorCause: true }),
        inspect(error, { depth: 20, showHidden: true })
      ].join()
      for (const part of [...token.split("."), "ann-the-user", text]) assert.notInclude(shown, part)
    })
  )
})

const pair = (alg: string) => Effect.promise(() => Jose.generateKeyPair(alg, { extractable: true }))

describe("public keys", () => {
  it.effect("verify as PEM, for each family of algorithms", () =>
    Effect.gen(function* () {
      yield* setTime
      for (const alg of ["RS256", "PS256", "ES256", "EdDSA"] as const) {
        const { privateKey, publicKey } = yield* pair(alg)
        const pem = yield* Effect.promise(() => Jose.exportSPKI(publicKey))
        const verifier = yield* SessionToken.make({ publicKey: pem, algorithms: [alg] })
        const token = yield* sign({ sub: "ann" }, { alg, key: privateKey })
        assert.deepStrictEqual((yield* verifier.verify(token)).userId, Option.some("ann"))
        const foreign = yield* sign({ sub: "ann" }, { alg, key: (yield* pair(alg)).privateKey })
        assert.strictEqual(yield* reason(verifier, foreign), "invalid")
      }
    })
  )

  it.effect("verify several algorithms of their family", () =>
    Effect.gen(function* () {
      yield* setTime
      const { privateKey, publicKey } = yield* pair("RS256")
      const pem = yield* Effect.promise(() => Jose.exportSPKI(publicKey))
      const verifier = yield* SessionToken.make({ publicKey: pem, algorithms: ["RS256", "RS512"] })
      const pkcs8 = yield* Effect.promise(() => Jose.exportPKCS8(privateKey))
      const key = yield* Effect.promise(() => Jose.importPKCS8(pkcs8, "RS512"))
      assert.isUndefined(yield* reason(verifier, yield* sign({}, { alg: "RS512", key })))
    })
  )

  it.effect("are never accepted as a shared secret", () =>
    Effect.gen(function* () {
      yield* setTime
      const { publicKey } = yield* pair("RS256")
      const pem = yield* Effect.promise(() => Jose.exportSPKI(publicKey))
      const verifier = yield* SessionToken.make({ publicKey: pem, algorithms: ["RS256"] })
      for (const key of [pem, `${pem}\n`, pem.replaceAll("\n", "")]) {
        const token = yield* sign({ sub: "ann" }, { alg: "HS256", key: new TextEncoder().encode(key) })
        assert.strictEqual(yield* reason(verifier, token), "invalid")
      }
    })
  )

  it.effect("are chosen from a set by the token", () =>
    Effect.gen(function* () {
      yield* setTime
      const one = yield* pair("ES256")
      const two = yield* pair("ES256")
      const keys = yield* Effect.forEach(["one", "two"], (kid, i) =>
        Effect.promise(async () => ({ ...(await Jose.exportJWK([one, two][i]!.publicKey)), kid }))
      )
      const verifier = yield* SessionToken.make({
        jwks: { keys: keys as SessionToken.JsonWebKeySet["keys"] },
        algorithms: ["ES256"]
      })
      const token = (kid: string, { privateKey }: typeof one) => sign({}, { alg: "ES256", kid, key: privateKey })
      assert.isUndefined(yield* reason(verifier, yield* token("one", one)))
      assert.isUndefined(yield* reason(verifier, yield* token("two", two)))
      assert.strictEqual(yield* reason(verifier, yield* token("one", two)), "invalid")
      assert.strictEqual(yield* reason(verifier, yield* token("three", one)), "invalid")
    })
  )
})

describe("jwksUrl", () => {
  const serve = (answer: () => { readonly status: number; readonly body: string }) =>
    LoopbackServer.http((_, response) => {
      const { body, status } = answer()
      response.writeHead(status, { "content-type": "application/json" }).end(body)
    })

  it.scoped("are fetched on first use and cached", () =>
    Effect.gen(function* () {
      yield* setTime
      const { privateKey, publicKey } = yield* pair("ES256")
      const jwk = yield* Effect.promise(() => Jose.exportJWK(publicKey))
      const server = yield* serve(() => ({ status: 200, body: JSON.stringify({ keys: [{ ...jwk, kid: "k" }] }) }))
      const verifier = yield* SessionToken.make({ jwksUrl: `${server.url}/keys`, algorithms: ["ES256"] })
      assert.lengthOf(server.requests, 0)
      const token = yield* sign({ sub: "ann" }, { alg: "ES256", kid: "k", key: privateKey })
      assert.strictEqual(yield* reason(verifier, "a.b.c"), "invalid")
      assert.strictEqual(yield* reason(verifier, yield* sign({})), "invalid")
      assert.lengthOf(server.requests, 0)
      assert.isUndefined(yield* reason(verifier, token))
      assert.isUndefined(yield* reason(verifier, token))
      assert.lengthOf(server.requests, 1)
      for (let i = 0; i < 20; i++) {
        const unknown = yield* sign({}, { alg: "ES256", kid: `other-${i}`, key: privateKey })
        assert.strictEqual(yield* reason(verifier, unknown), "invalid")
      }
      assert.lengthOf(server.requests, 1)
    })
  )

  it.scoped("are not the token's fault when unavailable", () =>
    Effect.gen(function* () {
      yield* setTime
      const { privateKey, publicKey } = yield* pair("ES256")
      const jwk = yield* Effect.promise(() => Jose.exportJWK(publicKey))
      const token = yield* sign({ sub: "ann" }, { alg: "ES256", kid: "k", key: privateKey })
      let answer = { status: 500, body: "" }
      const server = yield* serve(() => answer)
      const verifier = yield* SessionToken.make({ jwksUrl: server.url, algorithms: ["ES256"] })
      assert.strictEqual(yield* reason(verifier, token), "unavailable")
      answer = { status: 200, body: "<html>" }
      assert.strictEqual(yield* reason(verifier, token), "unavailable")
      answer = { status: 200, body: "[]" }
      assert.strictEqual(yield* reason(verifier, token), "unavailable")
      answer = { status: 302, body: "" }
      assert.strictEqual(yield* reason(verifier, token), "unavailable")
      answer = { status: 200, body: JSON.stringify({ keys: [{ ...jwk, kid: "k" }] }) }
      assert.isUndefined(yield* reason(verifier, token))
      const nobody = yield* SessionToken.make({ jwksUrl: "http://127.0.0.1:1/keys", algorithms: ["ES256"] })
      assert.strictEqual(yield* reason(nobody, token), "unavailable")
    })
  )
})

describe("make", () => {
  it.effect("are rejected when they do not fit the algorithms", () =>
    Effect.gen(function* () {
      const { publicKey: es } = yield* pair("ES256")
      const pem = yield* Effect.promise(() => Jose.exportSPKI(es))
      const wrong: ReadonlyArray<unknown> = [
        { secret, algorithms: [] },
        { secret, algorithms: ["none"] },
        { secret, algorithms: ["HS256", "RS256"] },
        { secret: Redacted.make("hunter2-hunter2"), algorithms: ["HS256"] },
        { secret, algorithms: ["HS512"] },
        { publicKey: pem, algorithms: ["HS256"] },
        { publicKey: pem, algorithms: ["ES256", "none"] },
        { publicKey: pem, algorithms: ["RS256"] },
        { publicKey: pem, algorithms: ["ES384"] },
        { publicKey: "-----BEGIN PUBLIC KEY-----", algorithms: ["ES256"] },
        { jwks: { keys: "x" }, algorithms: ["ES256"] },
        { jwks: { keys: [] }, algorithms: ["HS256"] },
        { jwksUrl: "http://keys.example", algorithms: ["ES256"] },
        { jwksUrl: "http://127.0.0.1.example", algorithms: ["ES256"] },
        { jwksUrl: "file:///keys", algorithms: ["ES256"] },
        { jwksUrl: "no url", algorithms: ["ES256"] }
      ]
      for (const options of wrong) {
        const error = yield* Effect.flip(SessionToken.make(options as SessionToken.Options))
        assert.strictEqual(error._tag, "SessionConfigurationError")
        assert.notInclude(JSON.stringify(error), 'short"')
      }
    })
  )
})
