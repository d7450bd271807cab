import * as Zlib from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as HttpRequestError from "../../../src/builtin/web/HttpRequestError.js"
import * as HttpRequestSkill from "../../../src/builtin/web/HttpRequestSkill.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"
import { call, Misfit } from "../../support/Skills.js"

const local = { allowPrivate: ["127.0.0.1"], ports: "any" } as const

const reasonOf = (options: HttpRequestSkill.Options, params: unknown) =>
  Effect.map(Effect.flip(call(HttpRequestSkill.make(options), params)), (error) => {
    assert.instanceOf(error, HttpRequestError.HttpRequestError)
    return (error as HttpRequestError.HttpRequestError).reason
  })

/** Every request goes to this server, whatever its host. */
const towards = (...addresses: ReadonlyArray<string>) => ({ resolve: () => Effect.succeed(addresses) })

describe("HttpRequestSkill", () => {
  it("describes itself", () => {
    const { definition, problem } = HttpRequestSkill.skill
    assert.isUndefined(problem)
    assert.strictEqual(definition.name, "http_request")
    assert.strictEqual(definition.category, "web")
    assert.deepStrictEqual(definition.permissions, ["http.request"])
    assert.isFalse(definition.idempotent)
    assert.isTrue(HttpRequestSkill.make({ methods: ["GET"] }).definition.idempotent)
  })

  it.scopedLive("sends method, headers and body, and returns status, headers and text", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => {
        response.writeHead(201, {
          "content-type": "text/plain",
          etag: '"1"',
          "set-cookie": "session=secret",
          "x-internal": "1"
        })
        response.end("höchst")
      })
      const result = yield* call(HttpRequestSkill.make(local), {
        url: `${server.url}/a?b=c#d`,
        method: "POST",
        headers: { "X-One": "1", Accept: "text/plain" },
        body: { a: [1] }
      })
      assert.strictEqual(result.status_code, 201)
      assert.strictEqual(result.body, "höchst")
      assert.strictEqual(result.body_encoding, "text")
      assert.strictEqual(result.url, `${server.url}/a?b=c`)
      assert.strictEqual(result.headers.etag, '"1"')
      assert.notProperty(result.headers, "set-cookie")
      assert.notProperty(result.headers, "x-internal")
      const [request] = server.requests
      assert.strictEqual(request?.method, "POST")
      assert.strictEqual(request?.path, "/a?b=c")
      assert.strictEqual(request?.body, '{"a":[1]}')
      assert.strictEqual(request?.headers["content-type"], "application/json")
      assert.strictEqual(request?.headers["x-one"], "1")
      assert.strictEqual(request?.headers.accept, "text/plain")
    })
  )

  it.scopedLive("returns an error status as a result", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => {
        response.statusCode = 503
        response.end("busy")
      })
      const result = yield* call(HttpRequestSkill.make(local), { url: server.url })
      assert.strictEqual(result.status_code, 503)
      assert.strictEqual(result.body, "busy")
    })
  )

  it.effect("requests only http and https without credentials", () =>
    Effect.gen(function* () {
      for (const url of [
        "file:///etc/passwd",
        "ftp://example.org/",
        "data:text/plain,a",
        "javascript:alert(1)",
        "//example.org/",
        "example.org",
        "",
        "http://",
        "http://user:pass@example.org/",
        "http://user@example.org/",
        `http://example.org/${"a".repeat(10_000)}`
      ]) {
        assert.strictEqual(yield* reasonOf({ ...local, ...towards("8.8.8.8") }, { url }), "InvalidUrl", url)
      }
    })
  )

  it.effect("rejects private addresses in every notation", () =>
    Effect.gen(function* () {
      for (const host of [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "①②⑦.⓪.⓪.①",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "10.0.0.1",
        "0.0.0.0",
        "[::]",
        "localhost",
        "LOCALHOST.",
        "db.localhost",
        "intern.example"
      ]) {
        const reason = yield* reasonOf(towards("10.0.0.5"), { url: `http://${host}/latest/meta-data/` })
        assert.strictEqual(reason, "AddressNotAllowed", host)
      }
    })
  )

  it.effect("rejects addresses of cloud credentials even when private networks are allowed", () =>
    Effect.gen(function* () {
      for (const url of ["http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://metadata.example/"]) {
        const options = { allowPrivate: true, ...towards("169.254.169.254") }
        assert.strictEqual(yield* reasonOf(options, { url }), "AddressNotAllowed")
      }
    })
  )

  it.scopedLive("does not resolve a name again that turns private after the check", () =>
    Effect.gen(function* () {
      const trap = yield* LoopbackServer.http((_request, response) => void response.end("internal"))
      const server = yield* LoopbackServer.http((_request, response) => void response.end("checked"))
      let asked = 0
      const resolve = () => Effect.sync(() => [asked++ === 0 ? "127.0.0.2" : "127.0.0.1"])
      // 127.0.0.2 stands for the public address; nothing listens there, and 127.0.0.1 is not tried.
      const options = { ports: "any", allowPrivate: ["127.0.0.2"], resolve } as const
      const url = `http://rebind.example:${trap.port}/`
      assert.strictEqual(yield* reasonOf(options, { url, timeout: 5 }), "Unreachable")
      assert.strictEqual(asked, 1)
      assert.deepStrictEqual(trap.requests, [])
      assert.strictEqual(yield* reasonOf(options, { url }), "AddressNotAllowed")

      const result = yield* call(HttpRequestSkill.make({ ...local, ...towards("127.0.0.1") }), {
        url: `http://name.example:${server.port}/`
      })
      assert.strictEqual(result.body, "checked")
      assert.strictEqual(server.requests[0]?.headers.host, `name.example:${server.port}`)
    })
  )

  it.scopedLive("checks a redirect like the first request", () =>
    Effect.gen(function* () {
      const targets = [
        "http://127.0.0.2/",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "http://a:b@127.0.0.1/",
        "http://["
      ]
      const server = yield* LoopbackServer.http(({ path }, response) => {
        response.writeHead(302, { location: targets[Number(path.slice(1))]! })
        response.end()
      })
      const reasons = []
      for (const index of targets.keys()) reasons.push(yield* reasonOf(local, { url: `${server.url}/${index}` }))
      assert.deepStrictEqual(reasons, [
        "AddressNotAllowed",
        "AddressNotAllowed",
        "InvalidUrl",
        "InvalidUrl",
        "InvalidUrl"
      ])
      const options = { ...local, hosts: ["first.example"], ...towards("127.0.0.1") }
      targets[0] = `http://second.example:${server.port}/1`
      assert.strictEqual(yield* reasonOf(options, { url: `http://first.example:${server.port}/0` }), "NotAllowed")
      assert.strictEqual(server.requests.length, targets.length + 1)
    })
  )

  it.scopedLive("allows hosts by name and by domain", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => void response.end("ok"))
      const options = {
        ...local,
        hosts: ["API.example.org", "*.example.com", "bücher.example"],
        ...towards("127.0.0.1")
      }
      for (const host of [
        "api.example.org",
        "api.example.org.",
        "a.example.com",
        "a.b.example.com",
        "xn--bcher-kva.example"
      ]) {
        const result = yield* call(HttpRequestSkill.make(options), { url: `http://${host}:${server.port}/` })
        assert.strictEqual(result.body, "ok", host)
      }
      for (const host of ["example.org", "example.com", "badexample.com", "api.example.org.evil.net", "127.0.0.1"]) {
        assert.strictEqual(yield* reasonOf(options, { url: `http://${host}:${server.port}/` }), "NotAllowed", host)
      }
    })
  )

  it.effect("rejects every request for an unusable entry of the options, and names it", () =>
    Effect.gen(function* () {
      for (const options of [
        { hosts: ["a.b/c"] },
        { hosts: ["*"] },
        { hosts: ["a:8080"] },
        { allowPrivate: ["10/99"] }
      ]) {
        const error = yield* Effect.flip(call(HttpRequestSkill.make(options), { url: "http://example.org/" }))
        assert.instanceOf(error, HttpRequestError.HttpRequestError)
        assert.strictEqual((error as HttpRequestError.HttpRequestError).reason, "Configuration")
        assert.include(error.message, Object.values(options)[0]![0]!)
      }
    })
  )

  it.scopedLive("allows ports 80 and 443, or the configured ones", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => void response.end("ok"))
      const allowPrivate = ["127.0.0.1"]
      assert.strictEqual(yield* reasonOf({ allowPrivate }, { url: server.url }), "NotAllowed")
      assert.strictEqual(yield* reasonOf({ allowPrivate, ports: [22] }, { url: server.url }), "NotAllowed")
      const result = yield* call(HttpRequestSkill.make({ allowPrivate, ports: [server.port] }), { url: server.url })
      assert.strictEqual(result.body, "ok")
    })
  )

  it.effect("rejects framing and invalid headers without showing their value", () =>
    Effect.gen(function* () {
      const headers = [
        { Host: "internal" },
        { "content-length": "1" },
        { "Transfer-Encoding": "chunked" },
        { Connection: "keep-alive" },
        { "proxy-authorization": "hush" },
        { "a b": "hush" },
        { "": "hush" },
        { "x-a": "hush\r\nx-b: 1" },
        { "x-a": "hush\0" },
        { "x-a": `hush${"a".repeat(9_000)}` },
        Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`x-${index}`, "hush"]))
      ]
      for (const given of headers) {
        const error = yield* Effect.flip(
          call(HttpRequestSkill.make(towards("8.8.8.8")), { url: "http://example.org/", headers: given })
        )
        assert.strictEqual((error as HttpRequestError.HttpRequestError).reason, "HeaderNotAllowed")
        assert.notInclude(JSON.stringify(error), "hush")
      }
    })
  )

  it.scopedLive("sends no possible credential to another origin", () =>
    Effect.gen(function* () {
      const other = yield* LoopbackServer.http((_request, response) => void response.end("other"))
      const server = yield* LoopbackServer.http(({ path }, response) => {
        if (path === "/end") return void response.end("same")
        response.writeHead(307, { location: path === "/same" ? "/end" : `${other.url}/` })
        response.end()
      })
      const params = {
        method: "POST",
        headers: { Authorization: "Bearer t", Cookie: "a=b", "X-Api-Key": "k", "Accept-Language": "de" },
        body: "x"
      }
      yield* call(HttpRequestSkill.make(local), { ...params, url: `${server.url}/same` })
      assert.strictEqual(server.requests[1]?.headers.authorization, "Bearer t")
      assert.strictEqual(server.requests[1]?.headers["x-api-key"], "k")
      yield* call(HttpRequestSkill.make(local), { ...params, url: `${server.url}/other` })
      const { body, headers, method } = other.requests[0]!
      assert.strictEqual(`${method} ${body}`, "POST x")
      assert.strictEqual(headers["accept-language"], "de")
      for (const name of ["authorization", "cookie", "x-api-key"]) assert.notProperty(headers, name)
    })
  )

  it.scopedLive("changes the method on redirects as fetch does", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(({ path }, response) => {
        if (path === "/end") return void response.end()
        response.writeHead(Number(path.slice(1)), { location: "/end" })
        response.end()
      })
      const seen = []
      for (const [status, method] of [
        [301, "POST"],
        [302, "POST"],
        [302, "PUT"],
        [303, "PUT"],
        [307, "POST"],
        [308, "DELETE"]
      ] as const) {
        yield* call(HttpRequestSkill.make(local), { url: `${server.url}/${status}`, method, body: "x" })
        const last = server.requests.at(-1)!
        seen.push(`${status} ${last.method} ${last.body} ${last.headers["content-type"] ?? ""}`)
      }
      assert.deepStrictEqual(seen, [
        "301 GET  ",
        "302 GET  ",
        "302 PUT x text/plain; charset=utf-8",
        "303 GET  ",
        "307 POST x text/plain; charset=utf-8",
        "308 DELETE x text/plain; charset=utf-8"
      ])
    })
  )

  it.scopedLive("limits redirects", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(({ path }, response) => {
        const left = Number(path.slice(1))
        if (left === 0) return void response.end("there")
        response.writeHead(302, { location: `/${left - 1}` })
        response.end()
      })
      assert.strictEqual((yield* call(HttpRequestSkill.make(local), { url: `${server.url}/5` })).body, "there")
      assert.strictEqual(yield* reasonOf(local, { url: `${server.url}/6` }), "TooManyRedirects")
      assert.strictEqual(yield* reasonOf({ ...local, maxRedirects: 0 }, { url: `${server.url}/1` }), "TooManyRedirects")
    })
  )

  it.scopedLive("stops a small archive of a large body at the limit", () =>
    Effect.gen(function* () {
      // Sixteen mebibytes of zeros each, one after the other: a gibibyte in one mebibyte.
      const member = Zlib.gzipSync(Buffer.alloc(16 * 1024 * 1024))
      const bomb = Buffer.concat(Array.from({ length: 64 }, () => member))
      const small = Zlib.gzipSync(Buffer.alloc(10 * 1024 * 1024), { level: 9 })
      const brotli = Zlib.brotliCompressSync(Buffer.alloc(64 * 1024 * 1024), {
        params: { [Zlib.constants.BROTLI_PARAM_QUALITY]: 1 }
      })
      assert.isBelow(small.length, 11_000)
      const bodies: Record<string, readonly [string, Buffer]> = {
        "/bomb": ["gzip", bomb],
        "/small": ["gzip", small],
        "/brotli": ["br", brotli]
      }
      const server = yield* LoopbackServer.http(({ path }, response) => {
        const [encoding, body] = bodies[path]!
        response.writeHead(200, { "content-encoding": encoding, "content-type": "text/plain" })
        response.end(body)
      })
      for (const path of Object.keys(bodies)) {
        const reason = yield* reasonOf({ ...local, maxCompressedBytes: 1e8 }, { url: `${server.url}${path}` })
        assert.strictEqual(reason, "TooLarge", path)
      }
      assert.strictEqual(
        yield* reasonOf({ ...local, maxBytes: 1e9, maxCompressedBytes: 10_000 }, { url: `${server.url}/bomb` }),
        "TooLarge"
      )
      const cut = yield* call(HttpRequestSkill.make({ ...local, truncate: true, maxBytes: 1000 }), {
        url: `${server.url}/small`
      })
      assert.isTrue(cut.truncated)
      assert.strictEqual(cut.body, "\0".repeat(1000))
      const slow = { ...local, truncate: true, maxBytes: 1e8, maxCompressedBytes: 1000 }
      const part = yield* call(HttpRequestSkill.make(slow), { url: `${server.url}/small` })
      assert.isTrue(part.truncated)
      assert.isAbove(part.body.length, 100_000)
      assert.isBelow(part.body.length, 10 * 1024 * 1024)
    })
  )

  it.scopedLive("reads a body of exactly the limit, and not one byte more", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http(({ path }, response) => {
        response.writeHead(200, path.startsWith("/told") ? { "content-length": path.slice(5) } : {})
        response.end("a".repeat(Number(path.slice(5))))
      })
      for (const kind of ["told", "sent"]) {
        const options = { ...local, maxBytes: 100 }
        const whole = yield* call(HttpRequestSkill.make(options), { url: `${server.url}/${kind}100` })
        assert.strictEqual(whole.body.length, 100)
        assert.isFalse(whole.truncated)
        assert.strictEqual(yield* reasonOf(options, { url: `${server.url}/${kind}101` }), "TooLarge")
        const cut = yield* call(HttpRequestSkill.make({ ...options, truncate: true }), {
          url: `${server.url}/${kind}101`
        })
        assert.deepStrictEqual([cut.body.length, cut.truncated], [100, true])
      }
    })
  )

  it.scopedLive("rejects broken and empty archives and other encodings", () =>
    Effect.gen(function* () {
      const whole = Zlib.gzipSync("abc")
      const bodies: Record<string, readonly [string, Buffer]> = {
        "/gzip": ["gzip", whole],
        "/upper": [" GZIP ", whole],
        "/empty": ["gzip", Buffer.alloc(0)],
        "/cut": ["gzip", whole.subarray(0, whole.length - 4)],
        "/not": ["gzip", Buffer.from("plain")],
        "/twice": ["gzip, gzip", Zlib.gzipSync(whole)],
        "/other": ["zstd", Buffer.from("abc")]
      }
      const server = yield* LoopbackServer.http(({ path }, response) => {
        const [encoding, body] = bodies[path]!
        response.writeHead(200, { "content-encoding": encoding })
        response.end(body)
      })
      const skill = HttpRequestSkill.make(local)
      assert.strictEqual((yield* call(skill, { url: `${server.url}/gzip` })).body, "abc")
      assert.strictEqual((yield* call(skill, { url: `${server.url}/upper` })).body, "abc")
      assert.strictEqual((yield* call(skill, { url: `${server.url}/empty` })).body, "")
      for (const path of ["/cut", "/not", "/twice", "/other"]) {
        assert.strictEqual(yield* reasonOf(local, { url: `${server.url}${path}` }), "Decoding", path)
      }
    })
  )

  it.scopedLive("decodes text by mark, charset and type, and rejects or encodes anything else", () =>
    Effect.gen(function* () {
      const bodies: Record<string, readonly [string, Buffer]> = {
        "/latin": ["text/plain; charset=ISO-8859-1", Buffer.from([0xe4])],
        "/quoted": ['text/html; a="b"; charset="windows-1251"', Buffer.from([0xc0])],
        "/unknown": ["text/plain; charset=x-none", Buffer.from("ä")],
        "/mark": ["text/plain; charset=latin1", Buffer.from([0xff, 0xfe, 0x61, 0])],
        "/json": ["application/problem+json", Buffer.from([0x22, 0xff, 0x22])],
        "/none": ["application/octet-stream", Buffer.from("ä")],
        "/image": ["image/png", Buffer.from([0x89, 0x50, 0, 1])],
        "/zero": ["application/octet-stream", Buffer.from("a\0b")]
      }
      const server = yield* LoopbackServer.http(({ path }, response) => {
        const [type, body] = bodies[path]!
        response.writeHead(200, { "content-type": type })
        response.end(body)
      })
      const texts: Record<string, string> = {}
      for (const path of Object.keys(bodies)) {
        const result = yield* call(HttpRequestSkill.make({ ...local, binary: "base64" }), {
          url: `${server.url}${path}`
        })
        texts[path] = `${result.body_encoding} ${result.body}`
      }
      assert.deepStrictEqual(texts, {
        "/latin": "text ä",
        "/quoted": "text А",
        "/unknown": "text ä",
        "/mark": "text a",
        "/json": 'text "\ufffd"',
        "/none": "text ä",
        "/image": "base64 iVAAAQ==",
        "/zero": "base64 YQBi"
      })
      assert.strictEqual(yield* reasonOf(local, { url: `${server.url}/image` }), "Binary")
      const cut = yield* call(HttpRequestSkill.make({ ...local, maxBytes: 1, truncate: true }), {
        url: `${server.url}/none`
      })
      assert.deepStrictEqual([cut.body, cut.truncated], ["", true])
    })
  )

  it.scopedLive("ends an endless body, a silent server and endless headers", () =>
    Effect.gen(function* () {
      const drip = yield* LoopbackServer.raw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        const timer = setInterval(() => socket.write("a"), 5)
        socket.on("close", () => clearInterval(timer))
      })
      const silent = yield* LoopbackServer.raw(() => undefined)
      const headers = yield* LoopbackServer.raw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n")
        const more = () => {
          while (!socket.destroyed && socket.write(`x-${"a".repeat(500)}: b\r\n`));
        }
        socket.on("drain", more)
        more()
      })
      for (const server of [drip, silent]) {
        const error = yield* Effect.flip(call(HttpRequestSkill.make(local), { url: server.url, timeout: 0.1 }))
        assert.strictEqual((error as HttpRequestError.HttpRequestError).reason, "Timeout")
        assert.include(error.message, "0.1 seconds")
        yield* server.closed
        assert.strictEqual(server.open(), 0)
      }
      assert.strictEqual(yield* reasonOf(local, { url: headers.url }), "TooLarge")
      yield* headers.closed
    })
  )

  it.scoped("applies the timeout of the options to a call without one", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.raw(() => undefined)
      for (const [options, seconds] of [
        [{}, 30],
        [{ timeout: "3 seconds" }, 3]
      ] as const) {
        const fiber = yield* Effect.fork(reasonOf({ ...local, ...options }, { url: server.url }))
        yield* TestClock.adjust(`${seconds - 1} seconds`)
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust("1 seconds")
        assert.strictEqual(yield* Fiber.join(fiber), "Timeout")
      }
    })
  )

  it.effect("caps the timeout of a call by the options", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        call(HttpRequestSkill.make({ maxTimeout: "60 seconds" }), { url: "http://a/", timeout: 61 })
      )
      assert.instanceOf(error, Misfit)
      assert.strictEqual(HttpRequestSkill.make({ maxTimeout: "60 seconds" }).definition.timeoutSeconds, 61)
    })
  )

  it.scopedLive("closes the connection on interruption", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.raw((socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nfirst"))
      const fiber = yield* Effect.fork(call(HttpRequestSkill.make(local), { url: server.url }))
      while (server.open() === 0) yield* Effect.sleep("1 millis")
      yield* Fiber.interrupt(fiber)
      yield* server.closed
      assert.strictEqual(server.open(), 0)
    })
  )

  it.scopedLive("closes every connection with its request", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => void response.end("ok"))
      yield* call(HttpRequestSkill.make(local), { url: server.url })
      yield* server.closed
      assert.strictEqual(server.open(), 0)
    })
  )

  it.scopedLive("distinguishes broken connections by whether anything was sent", () =>
    Effect.gen(function* () {
      const hangup = yield* LoopbackServer.raw((socket) => void socket.destroy())
      const short = yield* LoopbackServer.raw(
        (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")
      )
      const noise = yield* LoopbackServer.raw((socket) => void socket.end("220 mail ready\r\n"))
      const { port } = yield* Effect.scoped(LoopbackServer.raw(() => undefined))
      assert.strictEqual(yield* reasonOf(local, { url: hangup.url }), "Connection")
      assert.strictEqual(yield* reasonOf(local, { url: short.url }), "Connection")
      assert.strictEqual(yield* reasonOf(local, { url: noise.url }), "Connection")
      assert.strictEqual(yield* reasonOf(local, { url: `https://127.0.0.1:${noise.port}` }), "Tls")
      assert.strictEqual(yield* reasonOf(local, { url: `http://127.0.0.1:${port}` }), "Unreachable")
      const nobody = { ...local, resolve: () => Effect.fail("none") }
      assert.strictEqual(yield* reasonOf(nobody, { url: "http://example.org" }), "Unresolved")
      const { isRetryable } = HttpRequestSkill.skill.erased
      const retryable = (["Unresolved", "Unreachable", "Connection", "Timeout", "TooLarge"] as const).map((reason) =>
        isRetryable?.(new HttpRequestError.HttpRequestError({ reason, message: "" }))
      )
      assert.deepStrictEqual(retryable, [true, true, false, false, false])
    })
  )

  it.scopedLive("shows only the host of a request in its failure", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.raw((socket) => void socket.end("HTTP/1.1 hush-from-server\r\n"))
      const error = yield* Effect.flip(
        call(HttpRequestSkill.make(local), {
          url: `${server.url}/hush-path?key=hush-query`,
          method: "POST",
          headers: { authorization: "hush-header" },
          body: "hush-body"
        })
      )
      assert.strictEqual((error as HttpRequestError.HttpRequestError).host, "127.0.0.1")
      assert.notInclude(`${JSON.stringify(error)} ${error.message} ${error.stack} ${String(error.cause)}`, "hush")
    })
  )

  it.scopedLive("rejects bodies where none is allowed, and bodies that are too large", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => void response.end("ok"))
      assert.strictEqual(yield* reasonOf(local, { url: server.url, body: "x" }), "BodyNotAllowed")
      const options = { ...local, maxRequestBytes: 3 }
      assert.strictEqual(yield* reasonOf(options, { url: server.url, method: "PUT", body: "ää" }), "BodyNotAllowed")
      yield* call(HttpRequestSkill.make(options), { url: server.url, method: "PUT", body: "äx" })
      assert.deepStrictEqual(
        server.requests.map(({ body, headers }) => [body, headers["content-length"]]),
        [["äx", "3"]]
      )
    })
  )

  it.scopedLive("keeps parameters away from prototypes", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.http((_request, response) => void response.end("ok"))
      const params = JSON.parse(
        `{"url":"${server.url}","method":"POST","__proto__":{"polluted":1},"headers":{"__proto__":"x","constructor":"y"},"body":{"__proto__":{"polluted":1},"a":1}}`
      )
      const result = yield* call(HttpRequestSkill.make(local), params)
      assert.strictEqual(result.body, "ok")
      assert.notProperty({}, "polluted")
      assert.deepStrictEqual(
        Object.entries(server.requests[0]?.headers ?? {}).find(([name]) => name === "constructor"),
        ["constructor", "y"]
      )
      assert.deepStrictEqual(JSON.parse(server.requests[0]!.body).a, 1)
    })
  )

  it.effect("rejects invalid parameters before sending anything", () =>
    Effect.gen(function* () {
      for (const params of [
        {},
        { url: 1 },
        { url: "http://a", method: "TRACE" },
        { url: "http://a", headers: { a: 1 } },
        { url: "http://a", timeout: 0 },
        { url: "http://a", timeout: Number.NaN },
        null,
        []
      ]) {
        assert.instanceOf(yield* Effect.flip(call(HttpRequestSkill.skill, params)), Misfit)
      }
      assert.instanceOf(
        yield* Effect.flip(call(HttpRequestSkill.make({ methods: ["GET"] }), { url: "http://a", method: "POST" })),
        Misfit
      )
    })
  )
})
