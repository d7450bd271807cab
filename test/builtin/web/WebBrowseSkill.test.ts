import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpRequestError from "../../../src/builtin/web/HttpRequestError.js"
import * as PageText from "../../../src/builtin/web/PageText.js"
import * as WebBrowseSkill from "../../../src/builtin/web/WebBrowseSkill.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"
import { call } from "../../support/Skills.js"

const local = { allowPrivate: ["127.0.0.1"], ports: "any" } as const

const prose = "The river is long, and it carries boats, and people live beside it. ".repeat(12)
const page = `<!doctype html><html><head><title>Rivers &amp; boats</title><script>steal()</script></head><body>
<nav><ul><li><a href="/menu">Menu</a></li></ul></nav>
<article><h1>Rivers</h1><p>${prose}</p><h2>Boats</h2><p>See <a href="/boats?x=1">the boats</a> and
<a href="javascript:alert(1)">this</a>. ${prose}</p><ul><li>one</li><li>two</li></ul><pre>a
  b</pre></article>
<footer>Cookies!</footer></body></html>`

const serving = (body: string, contentType: string | undefined = "text/html; charset=utf-8", status = 200) =>
  LoopbackServer.http((_request, response) => {
    response.writeHead(status, contentType === undefined ? {} : { "content-type": contentType })
    response.end(body)
  })

describe("WebBrowseSkill", () => {
  it("describes itself", () => {
    const { definition, problem } = WebBrowseSkill.skill
    assert.isUndefined(problem)
    assert.strictEqual(definition.name, "web_browse")
    assert.deepStrictEqual(definition.permissions, ["http.request"])
    assert.isTrue(definition.idempotent)
  })

  it.scopedLive("returns the article of a page, with its headings, lists and links", () =>
    Effect.gen(function* () {
      const server = yield* serving(page)
      const result = yield* call(WebBrowseSkill.make(local), { url: `${server.url}/a/b` })
      assert.strictEqual(result.title, "Rivers & boats")
      assert.strictEqual(result.status_code, 200)
      assert.isFalse(result.truncated)
      assert.include(result.text, "## Boats")
      assert.include(result.text, `[the boats](${server.url}/boats?x=1)`)
      assert.include(result.text, "\n- one\n- two")
      assert.include(result.text, "a\n  b")
      for (const gone of ["steal", "Menu", "Cookies", "javascript:", "<"]) assert.notInclude(result.text, gone)
      assert.strictEqual(result.total_chars, result.text.length)
      assert.notProperty(result, "next_offset")
      assert.include(server.requests[0]?.headers.accept, "text/html")
    })
  )

  it.scopedLive("returns all visible text of a page without an article, and any other text unchanged", () =>
    Effect.gen(function* () {
      const read = (body: string, contentType?: string | undefined, status?: number) =>
        Effect.flatMap(serving(body, contentType, status), ({ url }) => call(WebBrowseSkill.make(local), { url }))
      assert.strictEqual((yield* read("<p>Not here</p>", "text/html", 404)).text, "Not here")
      assert.strictEqual((yield* read("<p>Not here</p>", "text/html", 404)).status_code, 404)
      assert.strictEqual((yield* read("", "text/html")).text, "")
      assert.strictEqual((yield* read("a <b> c", "text/plain")).text, "a <b> c")
      const undeclared = yield* Effect.flatMap(
        LoopbackServer.http((_request, response) => response.end("<!doctype html><title>t</title><p>x</p>")),
        ({ url }) => call(WebBrowseSkill.make(local), { url })
      )
      assert.deepStrictEqual([undeclared.title, undeclared.text], ["t", "x"])
    })
  )

  it.scopedLive("returns a long text in pieces, never half a character", () =>
    Effect.gen(function* () {
      const server = yield* serving(`${"a".repeat(9)}😀${"b".repeat(5)}`, "text/plain")
      const browse = WebBrowseSkill.make({ ...local, maxChars: 10 })
      const first = yield* call(browse, { url: server.url })
      assert.deepStrictEqual([first.text, first.next_offset, first.total_chars], ["a".repeat(9), 9, 16])
      const second = yield* call(browse, { url: server.url, offset: 9 })
      assert.deepStrictEqual([second.text, second.next_offset], [`😀${"b".repeat(5)}`, undefined])
      const beyond = yield* call(browse, { url: server.url, offset: 99 })
      assert.deepStrictEqual([beyond.text, beyond.next_offset], ["", undefined])
    })
  )

  it.scopedLive("cuts a page that is too large and says so", () =>
    Effect.gen(function* () {
      const server = yield* serving(`<p>${"word ".repeat(1000)}</p>`)
      const result = yield* call(WebBrowseSkill.make({ ...local, maxBytes: 500 }), { url: server.url })
      assert.isTrue(result.truncated)
      assert.isBelow(result.total_chars, 500)
    })
  )

  it.scopedLive("rejects what http_request rejects", () =>
    Effect.gen(function* () {
      const server = yield* serving(page)
      const reasonOf = (options: WebBrowseSkill.Options, url: string) =>
        Effect.map(Effect.flip(call(WebBrowseSkill.make(options), { url })), (error) => {
          assert.instanceOf(error, HttpRequestError.HttpRequestError)
          return (error as HttpRequestError.HttpRequestError).reason
        })
      assert.strictEqual(yield* reasonOf({ ports: "any" }, server.url), "AddressNotAllowed")
      assert.strictEqual(yield* reasonOf({ ...local, hosts: ["example.org"] }, server.url), "NotAllowed")
      assert.strictEqual(yield* reasonOf({}, "file:///etc/passwd"), "InvalidUrl")
      const away = yield* LoopbackServer.http((_request, response) => {
        response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data/" })
        response.end()
      })
      assert.strictEqual(yield* reasonOf(local, away.url), "AddressNotAllowed")
      assert.deepStrictEqual(server.requests, [])
    })
  )

  it.scopedLive("gives up a page that takes too long", () =>
    Effect.gen(function* () {
      const server = yield* serving("<div>".repeat(100_000))
      const error = yield* Effect.flip(
        call(WebBrowseSkill.make({ ...local, timeout: "2 seconds" }), { url: server.url })
      )
      assert.deepInclude(error, { _tag: "WebBrowseError", reason: "Timeout" })
    })
  )
})

describe("the text of a page", () => {
  it.live("is bounded for any markup", () =>
    Effect.gen(function* () {
      const read = (html: string) => PageText.read({ html, url: "https://example.org/", millis: 60_000 })
      for (const html of ["<", "<!--", "<a href='x", "\0&#x110000;<svg><p>x<table><td><td>]]>"]) {
        assert.isString((yield* read(html)).text, html)
      }
      assert.strictEqual((yield* read("<p>a&nbsp;b &lt;c&gt;</p>")).text, "a b <c>")
      assert.strictEqual((yield* read("<a href='//evil.example/x'>y</a>")).text, "[y](https://evil.example/x)")
    })
  )
})
