import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as McpOAuth from "../../../src/mcp/auth/McpOAuth.js"
import * as McpTokens from "../../../src/mcp/auth/McpTokens.js"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"
import { agree, json, start } from "../../support/McpOAuthServer.js"

const redirectUri = "http://localhost:9/callback"

/** Counts how often the person is asked, and keeps the addresses. */
const person = (answer: (url: URL) => Effect.Effect<McpOAuth.Callback, unknown> = agree) => {
  const asked: Array<URL> = []
  return {
    asked,
    authorize: (url: URL) => {
      asked.push(url)
      return answer(url)
    }
  }
}

const connect = (url: string, options: Partial<McpOAuth.AuthorizationCodeOptions<unknown>> = {}) =>
  McpClientSdk.makeHttp({
    name: "guarded",
    url,
    auth: McpOAuth.authorizationCode({ redirectUri, authorize: agree, ...options })
  })

const memory = Effect.provide(McpTokens.layerMemory)

describe("McpOAuth.authorizationCode", () => {
  it.scopedLive("registers, asks with PKCE, a state and the resource, and sends the token", () =>
    Effect.gen(function* () {
      const { server, tokenRequests, url } = yield* start()
      const { asked, authorize } = person()
      const client = yield* connect(url, { authorize, scope: "a b", clientMetadata: { client_name: "Tester" } })
      assert.deepStrictEqual((yield* client.callTool("look")).content, [{ type: "text", text: "seen" }])
      const query = Object.fromEntries(asked[0]?.searchParams ?? [])
      assert.strictEqual(query["code_challenge_method"], "S256")
      assert.strictEqual(query["resource"], url)
      assert.strictEqual(query["scope"], "a b")
      assert.strictEqual(query["redirect_uri"], redirectUri)
      assert.isAbove(query["state"]?.length ?? 0, 30)
      const registration = server.requests.find(({ path }) => path === "/register")
      assert.include(JSON.parse(registration?.body ?? ""), { client_name: "Tester", scope: "a b" })
      assert.include(Object.fromEntries(tokenRequests[0] ?? []), { client_id: "registered", resource: url })
      assert.strictEqual(asked.length, 1)
    }).pipe(memory)
  )

  it.scopedLive("refreshes a token that is refused, once for all calls in flight", () =>
    Effect.gen(function* () {
      const { issued, tokenRequests, url } = yield* start()
      const { asked, authorize } = person()
      const client = yield* connect(url, { authorize })
      issued.clear()
      yield* Effect.all(
        Array.from({ length: 10 }, () => client.callTool("look")),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        tokenRequests.map((request) => request.get("grant_type")),
        ["authorization_code", "refresh_token"]
      )
      assert.strictEqual(asked.length, 1)
    }).pipe(memory)
  )

  it.scopedLive("authorizes once for the clients of an owner, and each owner", () =>
    Effect.gen(function* () {
      const { url } = yield* start()
      const { asked, authorize } = person()
      yield* Effect.all(
        ["ann", "ann", "ben"].map((owner) => connect(url, { authorize, owner })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(asked.length, 2)
    }).pipe(memory)
  )

  it.scopedLive(
    "uses kept tokens where nobody can be asked, and says that it needs an authorization without them",
    () =>
      Effect.gen(function* () {
        const { issued, url } = yield* start()
        const needed = yield* Effect.flip(connect(url, { authorize: undefined }))
        assert.strictEqual(needed.reason, "AuthorizationNeeded")
        assert.include(needed.hint, "authorize")
        yield* connect(url)
        issued.clear()
        const client = yield* connect(url, { authorize: undefined })
        yield* client.ping
        const tokens = yield* McpTokens.McpTokens
        const kept = yield* tokens.get({ server: url })
        assert.isTrue(Redacted.isRedacted(kept.tokens?.access_token))
        assert.notInclude(JSON.stringify(kept), "access-")
        yield* tokens.remove({ server: url })
        const again = yield* Effect.flip(connect(url, { authorize: undefined }))
        assert.strictEqual(again.reason, "AuthorizationNeeded")
      }).pipe(Effect.provide(McpTokens.layerKeyValueStore.pipe(Layer.provide(KeyValueStore.layerMemory))))
  )

  it.scopedLive("registers again for another redirect", () =>
    Effect.gen(function* () {
      const { issued, server, url } = yield* start()
      yield* connect(url)
      issued.clear()
      const tokens = yield* McpTokens.McpTokens
      const kept = yield* tokens.get({ server: url })
      yield* tokens.set({ server: url }, { client: kept.client })
      yield* connect(url, { redirectUri: "http://localhost:10/callback" })
      assert.strictEqual(server.requests.filter(({ path }) => path === "/register").length, 2)
    }).pipe(memory)
  )

  it.scopedLive("asks for more scopes when they are needed, and not for ever", () =>
    Effect.gen(function* () {
      let asks = 0
      const { url } = yield* start({
        refuse: (token, method) =>
          token === undefined
            ? { status: 401, challenge: 'scope="read"' }
            : method === "tools/call"
              ? { status: 403, challenge: `error="insufficient_scope", scope="read write${++asks}"` }
              : undefined
      })
      const { asked, authorize } = person()
      const client = yield* connect(url, { authorize, maxStepUps: 2 })
      const error = yield* Effect.flip(client.callTool("look"))
      assert.strictEqual(error.reason, "AuthorizationRefused")
      assert.deepStrictEqual(
        asked.map(({ searchParams }) => searchParams.get("scope")),
        ["read", "read write1", "read write1 write2"]
      )
      assert.strictEqual((yield* Effect.flip(client.callTool("look"))).reason, "AuthorizationRefused")
      assert.strictEqual(asked.length, 3)
      // Scopes that suffice for the rest are kept.
      yield* client.listTools
    }).pipe(memory)
  )

  it.scopedLive("gives up on a server that accepts no token", () =>
    Effect.gen(function* () {
      const { tokenRequests, url } = yield* start({ refuse: () => ({ status: 401, challenge: 'realm="x"' }) })
      const { asked, authorize } = person()
      const error = yield* Effect.flip(connect(url, { authorize }))
      assert.strictEqual(error.reason, "AuthorizationRefused")
      assert.strictEqual(asked.length, 1)
      assert.strictEqual(tokenRequests.length, 2)
    }).pipe(memory)
  )

  const never = Effect.die("asked")

  const hostile: ReadonlyArray<
    readonly [name: string, behavior: Parameters<typeof start>[0], says: string, isAsked?: boolean]
  > = [
    ["a private address", { resource: (url) => resource(url, "https://10.0.0.1") }, "not allowed"],
    ["the address of a cloud", { resource: (url) => resource(url, "https://169.254.169.254") }, "not allowed"],
    ["plain http elsewhere", { resource: (url) => resource(url, "http://192.0.2.1") }, "not https"],
    [
      "credentials in an address",
      { authorizationServer: (url) => ({ registration_endpoint: url.replace("//", "//a:b@") }) },
      "not https"
    ],
    [
      "another resource",
      { resource: (url) => ({ ...resource(url, url), resource: "https://evil.example/mcp" }) },
      "another resource"
    ],
    ["metadata of another issuer", { authorizationServer: () => ({ issuer: "https://bank.example" }) }, "another one"],
    ["no PKCE", { authorizationServer: () => ({ code_challenge_methods_supported: ["plain"] }) }, "PKCE"],
    ["unsaid PKCE", { authorizationServer: () => ({ code_challenge_methods_supported: undefined }) }, "PKCE"],
    [
      "a page that is not https",
      { authorizationServer: () => ({ authorization_endpoint: "ftp://a.example/x" }) },
      "page"
    ],
    [
      "a registration elsewhere",
      { authorizationServer: () => ({ registration_endpoint: "https://192.168.0.1/" }) },
      "not allowed"
    ],
    ["no registration", { authorizationServer: () => ({ registration_endpoint: undefined }) }, "registers no clients"],
    ["metadata of no sense", { authorizationServer: () => ({ token_endpoint: 7 }) }, "follow the protocol"],
    [
      "a token endpoint elsewhere",
      { authorizationServer: () => ({ token_endpoint: "https://[fd00::1]/" }) },
      "not allowed",
      true
    ],
    ["another state", { redirect: (right) => ({ ...right, state: "guessed" }) }, "state", true],
    ["no state", { redirect: ({ code = "" }) => ({ code }) }, "state", true],
    [
      "another issuer",
      { redirect: (right) => ({ ...right, iss: "https://evil.example" }) },
      "another authorization server",
      true
    ],
    ["no issuer", { redirect: ({ code = "", state = "" }) => ({ code, state }) }, "another authorization server", true],
    ["no code", { redirect: ({ state = "", iss = "" }) => ({ state, iss }) }, "no code", true],
    ["an endless answer", { token: (response) => flood(response) }, "larger than", true],
    ["no token", { token: (response) => json(response, 200, { token_type: "Bearer" }) }, "follow the protocol", true],
    [
      "a redirect of the code",
      { token: (response) => void response.writeHead(307, { location: "http://192.0.2.1/" }).end() },
      "server_error",
      true
    ]
  ]

  const resource = (url: string, authorizationServer: string) => ({
    resource: `${url}/mcp`,
    authorization_servers: [authorizationServer]
  })

  const flood = (response: Parameters<NonNullable<NonNullable<Parameters<typeof start>[0]>["token"]>>[0]): void => {
    response.writeHead(200, { "content-type": "application/json" })
    const write = (): void => {
      while (!response.destroyed && response.write(" ".repeat(65_536))) {}
      if (!response.destroyed) response.once("drain", write)
    }
    write()
  }

  for (const [name, behavior, says, isAsked = false] of hostile) {
    it.scopedLive(`refuses ${name}`, () =>
      Effect.gen(function* () {
        const { server, url } = yield* start(behavior)
        const { asked, authorize } = person(isAsked ? agree : () => never)
        const error = yield* Effect.flip(connect(url, { authorize }))
        assert.strictEqual(error.reason, "AuthorizationFailed", error.message)
        assert.include(error.message, says)
        assert.strictEqual(asked.length, isAsked ? 1 : 0)
        assert.strictEqual(server.requests.filter(({ headers }) => headers.authorization !== undefined).length, 0)
      }).pipe(memory)
    )
  }

  it.scopedLive("reaches private addresses that the option allows", () =>
    Effect.gen(function* () {
      const { url } = yield* start({
        resource: (own) => resource(own, own.replace("http://127.0.0.1", "https://0.0.0.0"))
      })
      const refused = yield* Effect.flip(connect(url))
      assert.include(refused.message, "not allowed")
      const tried = yield* Effect.flip(connect(url, { allowPrivate: ["0.0.0.0/8"] }))
      assert.include(tried.message, "No secure connection")
      assert.include((yield* Effect.flip(connect(url, { allowPrivate: ["nowhere"] }))).message, "allowPrivate")
    }).pipe(memory)
  )

  it.scopedLive("shows no secret of an error", () =>
    Effect.gen(function* () {
      const { url } = yield* start({
        token: (response, body) =>
          json(response, 400, { error: "invalid_grant", error_description: `bad ${body} secret-of-the-client` })
      })
      const client = {
        clientId: "known",
        clientSecret: Redacted.make("secret-of-the-client"),
        issuer: new URL(url).origin
      }
      const error = yield* Effect.flip(connect(url, { client }))
      assert.strictEqual(error.reason, "AuthorizationFailed")
      assert.include(error.message, "invalid_grant")
      assert.notInclude(`${error.stack} ${JSON.stringify(error)}`, "secret-of-the-client")
      assert.notInclude(`${error.stack} ${JSON.stringify(error)}`, "a-code")
      for (const authorize of [() => Effect.fail("the-code"), () => Effect.die("the-code")]) {
        const failing = yield* Effect.flip(connect(url, { client, authorize }))
        assert.strictEqual(failing.reason, "AuthorizationFailed")
        assert.notInclude(`${failing.stack} ${JSON.stringify(failing)}`, "the-code")
      }
    }).pipe(memory)
  )

  it.scopedLive("shows no token in what a server says", () =>
    Effect.gen(function* () {
      const { url } = yield* start()
      const client = yield* connect(url)
      const error = yield* Effect.flip(client.getPrompt("x"))
      assert.include(error.message, "but I know")
      assert.notInclude(error.message, "access-1")
    }).pipe(memory)
  )

  it.scopedLive("sends the credentials of a known client to its authorization server only", () =>
    Effect.gen(function* () {
      const { tokenRequests, url } = yield* start()
      const { asked, authorize } = person()
      const client = { clientId: "known", issuer: "https://login.example" }
      const error = yield* Effect.flip(connect(url, { authorize, client }))
      assert.include(error.message, "another authorization server")
      assert.strictEqual(asked.length + tokenRequests.length, 0)
    }).pipe(memory)
  )

  it.scopedLive("says that the person refused", () =>
    Effect.gen(function* () {
      const { url } = yield* start({ redirect: ({ iss = "", state = "" }) => ({ state, iss, error: "access_denied" }) })
      const error = yield* Effect.flip(connect(url))
      assert.strictEqual(error.reason, "AuthorizationRefused")
      assert.include(error.message, "access_denied")
    }).pipe(memory)
  )

  it.scopedLive("uses the client's metadata document where the server supports it", () =>
    Effect.gen(function* () {
      const { server, url } = yield* start({
        authorizationServer: () => ({ client_id_metadata_document_supported: true })
      })
      const { asked, authorize } = person()
      const clientMetadataUrl = "https://client.example/metadata.json"
      yield* connect(url, { authorize, clientMetadataUrl })
      assert.strictEqual(asked[0]?.searchParams.get("client_id"), clientMetadataUrl)
      assert.isFalse(server.requests.some(({ path }) => path === "/register"))
    }).pipe(memory)
  )

  it.scopedLive("sends tokens over https only", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect("http://mcp.example/mcp"))
      assert.strictEqual(error.reason, "Configuration")
      assert.include(error.message, "https")
    }).pipe(memory)
  )

  it.scoped("waits for the person without the limits of the connection, and not for ever", () =>
    Effect.gen(function* () {
      const { url } = yield* start()
      const isAsked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<void>()
      const authorize = (address: URL) =>
        Effect.zipRight(Deferred.succeed(isAsked, undefined), Effect.zipRight(Deferred.await(answer), agree(address)))
      const slow = yield* Effect.fork(connect(url, { authorize }))
      yield* Deferred.await(isAsked)
      yield* TestClock.adjust("9 minutes")
      yield* Deferred.succeed(answer, undefined)
      yield* Fiber.join(slow)
      const absent = yield* Deferred.make<void>()
      const late = yield* Effect.fork(
        Effect.flip(
          connect(url, {
            owner: "other",
            authorizeTimeout: "1 minute",
            authorize: () => Effect.zipRight(Deferred.succeed(absent, undefined), Effect.never)
          })
        )
      )
      yield* Deferred.await(absent)
      yield* TestClock.adjust("1 minute")
      assert.include((yield* Fiber.join(late)).message, "nobody authorized it in time")
    }).pipe(memory)
  )

  it.scoped("waits for a token endpoint as long as the option says", () =>
    Effect.gen(function* () {
      const isAsked = yield* Deferred.make<void>()
      const { url } = yield* start({ token: () => Deferred.unsafeDone(isAsked, Exit.void) })
      const waiting = yield* Effect.fork(Effect.flip(connect(url, { timeout: "5 seconds" })))
      yield* Deferred.await(isAsked)
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error.reason, "AuthorizationFailed")
      assert.include(error.message, "5s")
    }).pipe(memory)
  )

  it.scopedLive("continues for a caller that gives up, and ends with the client", () =>
    Effect.gen(function* () {
      const { issued, url } = yield* start()
      const asks = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      const answer = yield* Deferred.make<void>()
      let count = 0
      const authorize = (address: URL) =>
        Effect.suspend(() => {
          const [first, second] = asks
          switch (count++) {
            case 0:
              return agree(address)
            case 1:
              return Effect.zipRight(
                Deferred.succeed(first, undefined),
                Effect.zipRight(Deferred.await(answer), agree(address))
              )
            default:
              return Effect.zipRight(Deferred.succeed(second, undefined), Effect.never)
          }
        })
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(connect(url, { authorize }), scope)
      const tokens = yield* McpTokens.McpTokens
      const forget = Effect.suspend(() => {
        issued.clear()
        return tokens.set({ server: url }, {})
      })
      yield* forget
      const call = yield* Effect.fork(client.callTool("look"))
      yield* Deferred.await(asks[0])
      yield* Fiber.interrupt(call)
      yield* Deferred.succeed(answer, undefined)
      yield* client.callTool("look")
      assert.strictEqual(count, 2)
      yield* forget
      const last = yield* Effect.fork(Effect.flip(client.callTool("look")))
      yield* Deferred.await(asks[1])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(last)).reason, "Closed")
    }).pipe(memory)
  )
})

describe("McpOAuth.jwtBearer", () => {
  it.scopedLive("exchanges an assertion for each token, and shows none", () =>
    Effect.gen(function* () {
      const { issued, tokenRequests, url } = yield* start()
      const issuer = new URL(url).origin
      let count = 0
      const client = yield* McpClientSdk.makeHttp({
        url,
        auth: McpOAuth.jwtBearer({
          clientId: "app",
          issuer,
          assertion: (target) =>
            ++count === 3
              ? Effect.fail("no the-assertion")
              : Effect.succeed(Redacted.make(`${target.issuer} ${target.resource} ${count}`))
        })
      })
      issued.clear()
      yield* client.callTool("look")
      assert.deepStrictEqual(
        tokenRequests.map((request) => request.get("assertion")),
        [`${issuer} ${url} 1`, `${issuer} ${url} 2`]
      )
      issued.clear()
      const tokens = yield* McpTokens.McpTokens
      yield* tokens.remove({ server: url, client: `${issuer} app` })
      const error = yield* Effect.flip(client.callTool("look"))
      assert.strictEqual(error.reason, "AuthorizationFailed")
      assert.notInclude(`${error.stack} ${JSON.stringify(error)}`, "the-assertion")
    }).pipe(memory)
  )
})

describe("McpOAuth.clientCredentials", () => {
  it.scopedLive("uses the secret, and renews the token", () =>
    Effect.gen(function* () {
      const { issued, tokenRequests, url } = yield* start({
        authorizationServer: () => ({ code_challenge_methods_supported: undefined })
      })
      const options = { clientId: "robot", clientSecret: Redacted.make("robot-secret"), issuer: new URL(url).origin }
      const client = yield* McpClientSdk.makeHttp({
        url,
        auth: McpOAuth.clientCredentials({ ...options, scope: "run" })
      })
      issued.clear()
      yield* client.callTool("look")
      assert.deepStrictEqual(
        tokenRequests.map((request) => [request.get("grant_type"), request.get("scope")]),
        [
          ["client_credentials", "run"],
          ["client_credentials", "run"]
        ]
      )
      const auth = McpOAuth.clientCredentials({ ...options, issuer: "https://login.example" })
      const error = yield* Effect.flip(McpClientSdk.makeHttp({ url, auth }))
      yield* client.ping
      assert.strictEqual(error.reason, "AuthorizationFailed")
    }).pipe(memory)
  )
})
