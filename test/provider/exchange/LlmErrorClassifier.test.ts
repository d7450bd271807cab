import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as LlmError from "../../../src/llm/model/LlmError.js"
import * as Classifier from "../../../src/provider/exchange/LlmErrorClassifier.js"

const now = Date.parse("2026-03-01T12:00:00Z")

const classify = (
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
  extra: Partial<Classifier.Answer> = {}
) =>
  Classifier.classify({
    provider: "test",
    status,
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
    nowMs: now,
    ...extra
  })

const openai = (message: string, code: string | null = null, type = "invalid_request_error") => ({
  error: { message, type, param: null, code }
})

const retryAfter = (error: LlmError.LlmError) => ("retryAfterMs" in error ? error.retryAfterMs : undefined)

describe("LlmErrorClassifier", () => {
  const table: ReadonlyArray<readonly [name: string, status: number, body: unknown, tag: LlmError.LlmError["_tag"]]> = [
    ["a wrong key", 401, openai("Incorrect API key provided", "invalid_api_key"), "LlmAuthenticationError"],
    ["a bare 401", 401, "", "LlmAuthenticationError"],
    ["a 401 of FastAPI", 401, { detail: "Unauthorized" }, "LlmAuthenticationError"],
    ["a forbidden project", 403, openai("Project does not have access"), "LlmAuthenticationError"],
    [
      "a Google key error with status 400",
      400,
      [
        { error: { code: 400, message: "API key not valid. Please pass a valid API key.", status: "INVALID_ARGUMENT" } }
      ],
      "LlmAuthenticationError"
    ],
    [
      "an xAI key error with status 400",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***Z1." },
      "LlmAuthenticationError"
    ],
    [
      "a moderated request at OpenRouter",
      403,
      { error: { code: 403, message: "Input rejected", metadata: { reasons: ["violence"], flagged_input: "..." } } },
      "LlmContentPolicyError"
    ],
    ["a 429", 429, openai("Slow down", "rate_limit_exceeded", "requests"), "LlmRateLimitError"],
    [
      "a 429 that links a billing page",
      429,
      openai(
        "Rate limit reached on tokens per min (TPM). Visit https://platform.openai.com/account/billing to add a payment method.",
        "rate_limit_exceeded",
        "tokens"
      ),
      "LlmRateLimitError"
    ],
    [
      "a 429 that links a billing page and has no code",
      429,
      openai("Rate limit reached. See https://console.example.com/settings/billing", null, ""),
      "LlmRateLimitError"
    ],
    [
      "an exhausted account",
      429,
      openai(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota"
      ),
      "LlmQuotaError"
    ],
    ["an exhausted account told in words", 429, { error: "You exceeded your current quota" }, "LlmQuotaError"],
    [
      "a passing limit at Google",
      429,
      {
        error: {
          code: 429,
          message: "You exceeded your current quota, please check your plan and billing details.",
          status: "RESOURCE_EXHAUSTED",
          details: [
            {
              "@type": "QuotaFailure",
              violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier" }]
            },
            { "@type": "RetryInfo", retryDelay: "13s" }
          ]
        }
      },
      "LlmRateLimitError"
    ],
    [
      "a request larger than the minute's tokens",
      429,
      openai(
        "Request too large for model on tokens per min (TPM): Limit 10000, Requested 15000.",
        "rate_limit_exceeded",
        "tokens"
      ),
      "LlmContextOverflowError"
    ],
    [
      "the same at Groq",
      413,
      openai(
        "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size",
        "rate_limit_exceeded",
        "tokens"
      ),
      "LlmContextOverflowError"
    ],
    ["a 402", 402, openai("Insufficient Balance"), "LlmQuotaError"],
    [
      "no credit at Anthropic",
      400,
      {
        type: "error",
        error: { type: "invalid_request_error", message: "Your credit balance is too low to access the API." }
      },
      "LlmQuotaError"
    ],
    ["too long by code", 400, openai("Too long", "context_length_exceeded"), "LlmContextOverflowError"],
    [
      "too long at vLLM",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        type: "BadRequestError",
        param: null,
        code: 400
      },
      "LlmContextOverflowError"
    ],
    [
      "too long at Anthropic",
      400,
      {
        type: "error",
        error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" }
      },
      "LlmContextOverflowError"
    ],
    [
      "too long at llama.cpp",
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
          n_prompt_tokens: 9000,
          n_ctx: 4096
        }
      },
      "LlmContextOverflowError"
    ],
    [
      "too long at an old llama.cpp with status 500",
      500,
      { error: { code: 500, message: "the request exceeds the available context size", type: "server_error" } },
      "LlmContextOverflowError"
    ],
    [
      "too long at Google",
      400,
      {
        error: {
          code: 400,
          message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT"
        }
      },
      "LlmContextOverflowError"
    ],
    [
      "too long with status 413",
      413,
      openai("Input exceeds the context window of this model"),
      "LlmContextOverflowError"
    ],
    [
      "too long at LM Studio",
      400,
      {
        error:
          "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"
      },
      "LlmContextOverflowError"
    ],
    [
      "Azure's content filter",
      400,
      {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" }
        }
      },
      "LlmContentPolicyError"
    ],
    [
      "an inner content filter alone",
      400,
      { error: { message: "Bad input", code: "other", innererror: { code: "ResponsibleAIPolicyViolation" } } },
      "LlmContentPolicyError"
    ],
    [
      "OpenAI's content policy",
      400,
      openai("Rejected by our safety system", "content_policy_violation"),
      "LlmContentPolicyError"
    ],
    ["an unknown model", 404, openai("The model `x` does not exist", "model_not_found"), "LlmInvalidRequestError"],
    ["a bad parameter", 400, openai("Unsupported value: 'temperature'", "unsupported_value"), "LlmInvalidRequestError"],
    [
      "a validation error",
      422,
      { detail: [{ loc: ["body", "messages"], msg: "field required", type: "missing" }] },
      "LlmInvalidRequestError"
    ],
    ["a 408", 408, "", "LlmTimeoutError"],
    [
      "a 504 in HTML",
      504,
      "<html><head><title>504 Gateway Time-out</title></head><body>x</body></html>",
      "LlmTimeoutError"
    ],
    ["a 500", 500, openai("The server had an error", null, "server_error"), "LlmUnavailableError"],
    ["a 502 in HTML", 502, "<html><head><title>502 Bad Gateway</title></head></html>", "LlmUnavailableError"],
    [
      "a 529",
      529,
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      "LlmUnavailableError"
    ],
    [
      "an error in a 200: numeric code",
      200,
      { error: { code: 429, message: "Rate limited upstream" } },
      "LlmRateLimitError"
    ],
    [
      "an error in a 200: type",
      200,
      { error: { type: "overloaded_error", message: "Overloaded" } },
      "LlmUnavailableError"
    ],
    ["an error in a 200: words of a key", 200, { error: "invalid api key" }, "LlmAuthenticationError"],
    ["an error in a 200: no word at all", 200, { error: {} }, "LlmUnavailableError"],
    [
      "an error in a 200: too long",
      200,
      { error: { message: "maximum context length is 10 tokens", type: "BadRequestError", code: 400 } },
      "LlmContextOverflowError"
    ]
  ]
  for (const [name, status, body, tag] of table) {
    it(`classifies ${name} as ${tag}`, () => {
      const error = classify(status, body)
      assert.strictEqual(error._tag, tag)
      assert.strictEqual(error.provider, "test")
      assert.strictEqual(error.status, status)
      assert.notStrictEqual(error.message.trim(), "")
    })
  }

  it("finds the provider's message in any shape", () => {
    assert.strictEqual(classify(400, openai("Bad thing")).message, "Bad thing")
    assert.strictEqual(classify(400, { error: "plain" }).message, "plain")
    assert.strictEqual(classify(400, { message: "top" }).message, "top")
    assert.strictEqual(classify(422, { detail: [{ loc: ["body", "n"], msg: "too big" }] }).message, "body.n: too big")
    assert.strictEqual(classify(502, "<html><title>502 Bad Gateway</title></html>").message, "502 Bad Gateway")
    assert.strictEqual(classify(502, "<p>a &lt; b</p>").message, "a < b")
    assert.strictEqual(classify(400, "just text").message, "just text")
    assert.strictEqual(classify(503, "").message, "The provider failed (status 503)")
    const upstream = {
      error: { code: 502, message: "Provider returned error", metadata: { raw: '{"error":{"message":"no capacity"}}' } }
    }
    assert.strictEqual(classify(502, upstream).message, "Provider returned error: no capacity")
  })

  it("gives a hint for an unknown model and a wrong key", () => {
    assert.include(classify(404, openai("no")).hint, "model")
    assert.include(classify(401, "").hint, "key")
    assert.isUndefined(classify(400, openai("no")).hint)
  })

  it("keeps the message short and on one line", () => {
    const error = classify(400, openai(`a\n\tb\u0000${"x".repeat(3_000_000)}`))
    assert.isAtMost(error.message.length, Classifier.maxMessageLength)
    const text = classify(500, `line one\r\nline two\u2028three ${"y ".repeat(100_000)}`)
    assert.isAtMost(text.message.length, Classifier.maxMessageLength)
    assert.match(text.message, /^line one line two three y/)
    assert.notMatch(text.message, /[\n\r\u2028]/)
  })

  it("reads the delay from seconds, milliseconds and dates", () => {
    const wait = (headers: Record<string, string>, body: unknown = "") => retryAfter(classify(429, body, headers))
    assert.strictEqual(wait({ "retry-after": "7" }), 7000)
    assert.strictEqual(wait({ "retry-after": "0.5" }), 500)
    assert.strictEqual(wait({ "retry-after-ms": "1234", "retry-after": "9" }), 1234)
    assert.strictEqual(wait({ "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" }), 30_000)
    assert.strictEqual(wait({ "retry-after": "Sun, 01 Mar 2026 11:00:00 GMT" }), 0)
    assert.strictEqual(wait({ "retry-after": "-5" }), 0)
    assert.strictEqual(wait({ "retry-after": "999999999" }), 86_400_000)
    assert.isUndefined(wait({ "retry-after": "soon" }))
    assert.isUndefined(wait({}))
    assert.strictEqual(retryAfter(classify(503, "", { "retry-after": "3" })), 3000)
    assert.isUndefined(
      retryAfter(classify(429, "", { "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" }, { nowMs: undefined }))
    )
  })

  it("reads the delay from reset headers, exhausted limits first", () => {
    const wait = (headers: Record<string, string>) => retryAfter(classify(429, "", headers))
    assert.strictEqual(wait({ "x-ratelimit-reset-requests": "1m2.5s" }), 62_500)
    assert.strictEqual(wait({ "x-ratelimit-reset-requests": "20ms", "x-ratelimit-reset-tokens": "6m0s" }), 20)
    assert.strictEqual(
      wait({
        "x-ratelimit-reset-requests": "20ms",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-remaining-tokens": "0"
      }),
      360_000
    )
    assert.strictEqual(wait({ "x-ratelimit-reset": String(now + 4000) }), 4000)
    assert.strictEqual(wait({ "x-ratelimit-reset": String(now / 1000 + 5) }), 5000)
    assert.strictEqual(wait({ "anthropic-ratelimit-requests-reset": "2026-03-01T12:01:00Z" }), 60_000)
    assert.strictEqual(wait({ "retry-after": "2", "x-ratelimit-reset-requests": "1h" }), 2000)
  })

  it("reads the delay from the body", () => {
    const wait = (body: unknown) => retryAfter(classify(429, body))
    assert.strictEqual(wait(openai("Please try again in 6.5s. Visit", "rate_limit_exceeded")), 6500)
    assert.strictEqual(wait(openai("Please try again in 1m26.4s.", "rate_limit_exceeded")), 86_400)
    assert.strictEqual(wait(openai("Please try again in 20ms.", "rate_limit_exceeded")), 20)
    assert.strictEqual(wait(openai("Please retry after 2 seconds.")), 2000)
    assert.strictEqual(wait(openai("Try again in 3 minutes")), 180_000)
    assert.isUndefined(wait(openai("Try again in 3 moons")))
    assert.strictEqual(wait({ error: { message: "x", details: [{ retryDelay: "13s" }] } }), 13_000)
    const metadata = { headers: { "X-RateLimit-Reset": now + 9000, "X-RateLimit-Remaining": "0" } }
    assert.strictEqual(wait({ error: { code: 429, message: "x", metadata } }), 9000)
  })

  it("finds the request id in headers, else in the body", () => {
    for (const name of ["x-request-id", "request-id", "cf-ray", "apim-request-id"]) {
      assert.strictEqual(classify(500, "", { [name]: "req-1" }).requestId, "req-1")
    }
    assert.strictEqual(classify(500, { error: { message: "x" }, request_id: "req-2" }).requestId, "req-2")
    assert.isUndefined(classify(500, "").requestId)
    assert.isAtMost(classify(500, "", { "x-request-id": "r".repeat(9000) }).requestId!.length, 200)
  })

  it("keeps the requested model", () => {
    assert.strictEqual(classify(500, "", {}, { model: "m-1" }).model, "m-1")
  })

  it("redacts keys", () => {
    const secret = "my own/key+with=signs"
    const redact = [Redacted.make(secret)]
    const bodies = [
      openai(`Incorrect API key provided: sk-proj-ab***cdef. Key ${secret} is wrong`),
      openai("sent Authorization: Bearer abcdef123456 to us"),
      openai(`GET https://host/v1?api-version=1&api-key=${encodeURIComponent(secret)}&key=AAAABBBB`),
      openai("x-api-key: zzzz9999zzzz"),
      openai("masked abcd****wxyz key"),
      openai("https://user:hunter2hunter2@host/"),
      `<html>${secret}</html>`,
      `${" ".repeat(4990)}${secret} ${"x".repeat(9000)}`,
      { error: { message: "x" }, request_id: secret }
    ]
    for (const body of bodies) {
      const error = classify(401, body, { "x-request-id": `id ${secret}` }, { redact })
      const text = JSON.stringify(error) + JSON.stringify(Schema.encodeSync(LlmError.LlmError)(error)) + String(error)
      for (const leak of [
        secret,
        encodeURIComponent(secret),
        "sk-proj",
        "cdef",
        "abcdef123456",
        "AAAABBBB",
        "zzzz9999",
        "wxyz",
        "hunter2"
      ]) {
        assert.notInclude(text, leak)
      }
    }
    assert.include(classify(401, openai("Key sk-abcdefgh12 is wrong")).message, "Key [REDACTED] is wrong")
  })

  it("never throws, whatever the server sends", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 100, max: 999 }),
        FastCheck.oneof(
          FastCheck.string(),
          FastCheck.json(),
          FastCheck.jsonValue().map((error) => JSON.stringify({ error })),
          FastCheck.jsonValue().map((error) =>
            JSON.stringify({ error: { message: error, details: error, metadata: error } })
          )
        ),
        FastCheck.dictionary(
          FastCheck.constantFrom("retry-after", "x-ratelimit-reset", "__proto__"),
          FastCheck.string()
        ),
        (status, body, headers) => {
          const error = classify(status, body, headers)
          assert.isTrue(LlmError.isLlmError(error))
          const wait = retryAfter(error)
          assert.isTrue(wait === undefined || (wait >= 0 && wait <= 86_400_000))
        }
      )
    )
  })

  describe("fromTransport", () => {
    const request = HttpClientRequest.post("http://host/v1", { headers: { authorization: "Bearer super-secret-key" } })
    const failed = (cause: unknown) => new HttpClientError.RequestError({ request, reason: "Transport", cause })
    const from = (error: unknown) => Classifier.fromTransport({ provider: "test", model: "m", error })
    const coded = (code: string, message = "boom") => Object.assign(new Error(message), { code })

    it("names refused, cut and unresolvable connections", () => {
      const refused = from(failed(new TypeError("fetch failed", { cause: coded("ECONNREFUSED") })))
      assert.strictEqual(refused._tag, "LlmConnectionError")
      assert.strictEqual(refused.message, "host refused the connection")
      assert.include(refused.hint, "server is running")
      assert.strictEqual(refused.cause, "TypeError: fetch failed, caused by Error: boom (ECONNREFUSED)")
      assert.strictEqual(from(failed(coded("ECONNRESET"))).message, "The connection to host was closed")
      assert.strictEqual(from(failed(coded("ENOTFOUND"))).message, "The host was not found: host")
      assert.strictEqual(
        from(failed(new AggregateError([coded("ECONNREFUSED")]))).message,
        "host refused the connection"
      )
      assert.strictEqual(
        from(failed(new DOMException("aborted", "AbortError"))).message,
        "The connection to host failed"
      )
      assert.strictEqual(from("text").message, "The connection to the server failed")
    })

    it("keeps neither the request nor its headers", () => {
      const error = from(failed(new Error("with Bearer super-secret-key inside")))
      const text = JSON.stringify(error) + JSON.stringify(Schema.encodeSync(LlmError.LlmError)(error)) + String(error)
      assert.notInclude(text, "super-secret-key")
      assert.notInclude(text, "http://host")
      assert.isString(error.cause)
    })

    it("reports a request that cannot be built as invalid", () => {
      const error = from(new HttpClientError.RequestError({ request, reason: "InvalidUrl", cause: new Error("no") }))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
    })

    it("tolerates a cause that refers to itself", () => {
      const error: { cause?: unknown; message: string } = { message: "round" }
      error.cause = error
      assert.strictEqual(from(error)._tag, "LlmConnectionError")
    })
  })
})
