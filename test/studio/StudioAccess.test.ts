import * as Fs from "node:fs"
import { request } from "node:http"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import { StudioApi } from "../../src/studio/api/StudioApi.js"
import * as StudioPages from "../support/StudioPages.js"

const agents = [Agent.make("clerk", { system: "You help." })]

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
}

/** A request as any program may send it: no header is added or forbidden. */
const ask = (
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET"
): Effect.Effect<Answer> =>
  Effect.async((resume) => {
    const sent = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let body = ""
      response.setEncoding("utf8")
      response.on("data", (chunk) => {
        body += chunk
      })
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body }))
      )
    })
    sent.on("error", (error) => resume(Effect.die(error)))
    sent.end()
  })

const pathOf = (link: string): string => {
  const { pathname, search } = new URL(link)
  return `${pathname}${search}`
}

/** The cookie that a response sets. */
const cookieOf = ({ headers }: Answer): string | undefined => {
  const set = headers["set-cookie"]
  return (Array.isArray(set) ? set[0] : undefined)?.split(";")[0]
}

const signedIn = (server: StudioPages.Server) =>
  Effect.gen(function* () {
    const answer = yield* ask(server.url, pathOf(yield* server.link))
    return { answer, cookie: cookieOf(answer) ?? "" }
  })

const session = "/studio/api/session"

it.scopedLive("a link gives one browser a session, once", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({ agents, userId: UserId.make("ann") })
    const link = yield* server.link
    assert.strictEqual((yield* ask(server.url, session)).status, 403)
    const answer = yield* ask(server.url, pathOf(link))
    assert.strictEqual(answer.status, 303)
    assert.strictEqual(answer.headers.location, "/studio/")
    assert.strictEqual(answer.headers["referrer-policy"], "no-referrer")
    const set = String(answer.headers["set-cookie"])
    for (const part of ["HttpOnly", "SameSite=Strict", "Path=/"]) assert.include(set, part)
    const cookie = cookieOf(answer) ?? ""
    assert.notInclude(set, link.split("token=")[1] ?? "?")
    const found = yield* ask(server.url, session, { cookie })
    assert.deepStrictEqual([found.status, JSON.parse(found.body)], [200, { userId: "ann", scopes: ["studio"] }])
    // It is the caller of the API of all callers, too.
    assert.strictEqual((yield* ask(server.url, "/v1/memory", { cookie })).status, 501)
    assert.strictEqual((yield* ask(server.url, "/v1/memory")).status, 501)
    const again = yield* ask(server.url, pathOf(link))
    assert.deepStrictEqual([again.status, again.headers.location, cookieOf(again)], [303, "/studio/#/used", undefined])
    // The next link is another one.
    const next = yield* signedIn(server)
    assert.strictEqual((yield* ask(server.url, session, { cookie: next.cookie })).status, 200)
    assert.strictEqual((yield* ask(server.url, session, { cookie })).status, 200)
  })
)

it.scopedLive("what no link gave is no session", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({ agents })
    const { cookie } = yield* signedIn(server)
    const [name = "", value = ""] = cookie.split("=")
    const [until = "", id = "", signature = ""] = value.split(".")
    const wrong = [
      "",
      "x",
      `${until}.${id}`,
      `${until}.${id}.${signature.slice(0, -2)}AA`,
      `${Number(until) + 1}.${id}.${signature}`,
      `${until}.${id.slice(1)}A.${signature}`,
      `0.${id}.${signature}`,
      `${value}.x`,
      "a".repeat(10_000)
    ]
    for (const forged of wrong) {
      assert.strictEqual((yield* ask(server.url, session, { cookie: `${name}=${forged}` })).status, 403, forged)
    }
    // Of another server, whose secret is another.
    const other = yield* StudioPages.serve({ agents })
    const foreign = (yield* signedIn(other)).cookie.split("=")[1]
    assert.strictEqual((yield* ask(server.url, session, { cookie: `${name}=${foreign}` })).status, 403)
    assert.strictEqual((yield* ask(server.url, session, { cookie })).status, 200)
    for (const token of ["x", "%00", "a".repeat(300), "%E0%A4%A"]) {
      const answer = yield* ask(server.url, `/studio/?token=${token}`)
      assert.strictEqual(cookieOf(answer), undefined)
      assert.include([303, 400], answer.status)
    }
  })
)

it.scopedLive("another page of the same browser does not get in", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({ agents })
    const link = pathOf(yield* server.link)
    // A name that leads to this machine, as in an attack by DNS rebinding, neither takes the link nor uses the session.
    const rebound = yield* ask(server.url, link, { host: "evil.example" })
    assert.deepStrictEqual([rebound.status, cookieOf(rebound)], [303, undefined])
    const cookie = cookieOf(yield* ask(server.url, link)) ?? ""
    const { host } = new URL(server.url)
    const foreign = [
      { host: "evil.example" },
      { host: `evil.example:${server.url.split(":")[2]}` },
      { host, origin: "https://evil.example" },
      // Another port of this machine is the same site for cookies.
      { host, origin: "http://127.0.0.1:1" },
      { host, origin: "http://localhost:1" },
      { host, origin: "null" },
      { host, "sec-fetch-site": "same-site" },
      { host, "sec-fetch-site": "cross-site" }
    ]
    for (const headers of foreign) {
      for (const path of [session, "/v1/runs"]) {
        const answer = yield* ask(server.url, path, { ...headers, cookie })
        assert.strictEqual(answer.status, 403, JSON.stringify({ path, ...headers }))
      }
    }
    assert.strictEqual((yield* ask(server.url, session, { host, origin: server.url, cookie })).status, 200)
    const own = { host, origin: server.url, "sec-fetch-site": "same-origin", cookie }
    assert.strictEqual((yield* ask(server.url, session, own)).status, 200)
  })
)

it.scopedLive("a session holds in every process with the secret, until the browser signs out", () =>
  Effect.gen(function* () {
    const secret = Redacted.make("a secret of both processes")
    const announce = () => Effect.void
    const cookie = yield* Effect.scoped(
      Effect.gen(function* () {
        const links: Array<string> = []
        const server = yield* StudioPages.serve({
          agents,
          studio: { links: { secret, announce: (url) => Effect.sync(() => void links.push(url)) } }
        })
        return cookieOf(yield* ask(server.url, pathOf(links[0] ?? ""))) ?? ""
      })
    )
    const server = yield* StudioPages.serve({ agents, studio: { links: { secret, announce } } })
    const [, value] = cookie.split("=")
    const mine = `lexigram_studio_${new URL(server.url).port}=${value}`
    assert.strictEqual((yield* ask(server.url, session, { cookie: mine })).status, 200)
    const out = yield* ask(server.url, "/studio/api/sign-out", { cookie: mine }, "POST")
    assert.strictEqual(out.status, 204)
    assert.match(String(out.headers["set-cookie"]), /^lexigram_studio_\d+=; Max-Age=0/)
  })
)

it.scopedLive("a session is none for another user of the same secret", () =>
  Effect.gen(function* () {
    const secret = Redacted.make("a secret of both processes")
    const [ann, bob, nobody] = yield* Effect.all([
      StudioPages.serve({ agents, secret, userId: UserId.make("ann") }),
      StudioPages.serve({ agents, secret, userId: UserId.make("bob") }),
      StudioPages.serve({ agents, secret })
    ])
    const servers = [ann, bob, nobody]
    for (const [at, from] of servers.entries()) {
      const [, value] = (yield* signedIn(from)).cookie.split("=")
      const statuses: Array<number> = []
      for (const { url } of servers) {
        const cookie = `lexigram_studio_${new URL(url).port}=${value}`
        statuses.push((yield* ask(url, session, { cookie })).status)
      }
      assert.deepStrictEqual(
        statuses,
        servers.map((_, other) => (other === at ? 200 : 403))
      )
    }
  })
)

it.scopedLive("a server on a Unix socket announces no link, since no browser can open it", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-studio-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    )
    const links: Array<string> = []
    const socket = Path.join(folder, "studio.sock")
    const announce = (url: string) => Effect.sync(() => void links.push(url))
    yield* StudioPages.serve({ agents, socket, studio: { links: { announce } } })
    const status = yield* Effect.async<number | undefined>((resume) => {
      request({ socketPath: socket, path: "/studio/", agent: false }, (response) => {
        response.resume()
        resume(Effect.succeed(response.statusCode))
      }).end()
    })
    assert.deepStrictEqual([status, links], [200, []])
  })
)

it.scopedLive("a secret that can be guessed is refused", () =>
  Effect.gen(function* () {
    for (const secret of ["", "x".repeat(15)]) {
      const links = { secret: Redacted.make(secret), announce: () => Effect.void }
      const result = yield* Effect.either(Effect.sandbox(StudioPages.serve({ agents, studio: { links } })))
      assert.include(String(Either.getLeft(result)), "fewer than 16 characters")
    }
  })
)

const callers = Authentication.layerBearer({
  verify: (token) =>
    Effect.succeed(
      Option.map(Option.fromNullable(/^(\w+)-(\w+)$/.exec(Redacted.value(token))), ([, name = "", scope = ""]) => ({
        userId: UserId.make(name),
        scopes: [scope]
      }))
    )
})

/** Each endpoint, with something in the place of its parameters. */
const endpoints = Object.values(StudioApi.groups).flatMap((group) =>
  Object.values(group.endpoints)
    .filter(({ name }) => name !== "access" && name !== "signOut")
    .map(({ method, path }) => ({ method, path: path.replace(/:\w+/g, "x") }))
)

it.scopedLive("every endpoint is for developers alone", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({
      agents,
      authentication: callers,
      limits: { refusalsPerMinute: 1_000_000, requestsPerMinute: 1_000_000 },
      studio: { links: undefined }
    })
    assert.isAtLeast(endpoints.length, 30)
    for (const { method, path } of endpoints) {
      const statuses: Array<number> = []
      for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: "Bearer ann-user" }] as const) {
        statuses.push((yield* ask(server.url, path, headers, method)).status)
      }
      assert.deepStrictEqual(statuses, [401, 401, 403], `${method} ${path}`)
    }
    const known = yield* ask(server.url, session, { authorization: "Bearer ann-studio" })
    assert.deepStrictEqual([known.status, JSON.parse(known.body)], [200, { userId: "ann", scopes: ["studio"] }])
    const access = yield* ask(server.url, "/studio/api/access")
    assert.deepStrictEqual(JSON.parse(access.body), { links: false, schemes: [{ type: "bearer" }] })
    // Without links a token in the address does nothing.
    assert.strictEqual(cookieOf(yield* ask(server.url, "/studio/?token=x")), undefined)
  })
)

it.scopedLive("`developers` decides who is one", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({
      agents,
      authentication: callers,
      studio: { links: undefined, developers: ({ userId }) => userId === "bob" }
    })
    assert.strictEqual((yield* ask(server.url, session, { authorization: "Bearer ann-studio" })).status, 403)
    assert.strictEqual((yield* ask(server.url, session, { authorization: "Bearer bob-user" })).status, 200)
  })
)

it.scopedLive("`permits` refuses an endpoint of the studio by its name", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({ agents, permits: (_, endpoint) => endpoint !== "edge:session" })
    const { cookie } = yield* signedIn(server)
    assert.strictEqual((yield* ask(server.url, session, { cookie })).status, 403)
  })
)

it.scopedLive("the page has a policy, and its files have nothing but the page", () =>
  Effect.gen(function* () {
    const server = yield* StudioPages.serve({ agents })
    const page = yield* ask(server.url, "/studio/")
    assert.strictEqual(page.status, 200)
    const policy = String(page.headers["content-security-policy"])
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
      assert.include(policy, part)
    assert.notInclude(policy, "unsafe")
    assert.notMatch(page.body, /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/)
    assert.strictEqual(page.headers["cache-control"], "no-cache")
    const files = Array.from(page.body.matchAll(/"(\/studio\/[\w.-]+)"/g), ([, path = ""]) => path)
    assert.lengthOf(files, 2)
    for (const path of files) {
      const file = yield* ask(server.url, path)
      assert.strictEqual(file.status, 200)
      assert.strictEqual(file.headers["x-content-type-options"], "nosniff")
      assert.include(String(file.headers["cache-control"]), "immutable")
    }
    for (const path of [
      "/studio/nothing.js",
      "/studio/..%2F..%2Fpackage.json",
      "/studio/%2e%2e",
      "/studio/constructor"
    ]) {
      assert.include([400, 404], (yield* ask(server.url, path)).status, path)
    }
  })
)

it.scopedLive("a page that was not built says what to do", () =>
  Effect.gen(function* () {
    const result = yield* Effect.either(Effect.sandbox(StudioPages.serve({ agents, studio: { page: "/nowhere" } })))
    assert.include(String(Either.getLeft(result)), "The page of the studio is missing")
  })
)
