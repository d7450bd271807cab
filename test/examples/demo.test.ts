import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Chat from "../../examples/demo/Chat.js"
import * as Models from "../../examples/demo/Models.js"
import * as OrderStore from "../../examples/demo/OrderStore.js"
import * as Printer from "../../examples/demo/Printer.js"
import * as SupportAgent from "../../examples/demo/SupportAgent.js"
import type { Terminal } from "../../examples/demo/Terminal.js"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Ids from "../../src/domain/Ids.js"
import type * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as OfflineModel from "../../src/offline/OfflineModel.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Bundle from "../support/Bundle.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ErrorRenderings from "../support/ErrorRenderings.js"
import * as Shared from "../support/Shared.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

const examples = fileURLToPath(new URL("../../examples/", import.meta.url))
const question = "Where is my order 1042?"

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

class Program extends Context.Tag("test/Program")<Program, string>() {}

/** The demo in a process of its own, with no setting but the given ones. */
const demo = (args: ReadonlyArray<string>, options?: { readonly input?: string; readonly env?: object }) =>
  Effect.flatMap(Program, (program) =>
    Effect.async<Ended>((resume) => {
      const inherited = Object.entries(process.env).filter(([name]) => !/^LEX_|_API_KEY$|COLOR/.test(name))
      const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program, ...args], {
        env: { ...Object.fromEntries(inherited), LEXIGRAM_DEMO_FILE: ":memory:", ...options?.env }
      })
      const [stdout, stderr]: [Array<Buffer>, Array<Buffer>] = [[], []]
      child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk))
      child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk))
      child.on("close", (code) =>
        resume(
          Effect.succeed({ code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() })
        )
      )
      child.stdin.end(options?.input ?? "")
      return Effect.sync(() => void child.kill("SIGKILL"))
    })
  )

Shared.suite("the demo's process", Layer.scoped(Program, Bundle.make("demo", examples)), (test) => {
  test("answers offline from the data, and shows the tool call", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* demo([question])
      assert.strictEqual(stderr, "")
      assert.strictEqual(code, 0)
      assert.include(stdout, OfflineModel.notice)
      assert.include(stdout, '→ lookup_order {"order_id":"1042"}')
      const answer = stdout.slice(stdout.indexOf("step 2"))
      for (const fact of ["shipped", "DHL", "14 March 2026"]) assert.include(answer, fact)
      assert.match(answer, /completed in \d+\.\d\d s: 2 model calls, 1 tool call, \d+ tokens in, \d+ out, cost: /)
      assert.include(stdout, "OPENAI_API_KEY")
      assert.notInclude(stdout, "\u001b")
    }))

  test("reads questions from a pipe, and remembers the conversation", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* demo([], {
        input: `${question}\n\nWhere is that parcel now? Track it.\nexit\nWhere is order 1043?\n`
      })
      assert.strictEqual(code, 0)
      assert.include(stdout, '→ track_shipment {"tracking_number":"JD014600423"}')
      assert.include(stdout, "Padborg")
      assert.notInclude(stdout, 'lookup_order {"order_id":"1043"}')
    }))

  test("continues where the last process ended, until it is told to forget", () =>
    Effect.gen(function* () {
      const env = { LEXIGRAM_DEMO_FILE: yield* SqliteDrivers.file }
      const first = yield* demo([question], { env })
      assert.notInclude(first.stdout, "Welcome back")
      const second = yield* demo(["Which carrier has it?"], { env })
      assert.include(second.stdout, `Welcome back. Last time you asked: ${question}`)
      assert.include(second.stdout, "DHL")
      const forgotten = yield* demo(["--forget"], { env })
      assert.include(forgotten.stdout, "Everything of you is erased.")
      const third = yield* demo([question], { env })
      assert.notInclude(third.stdout, "Welcome back")
    }).pipe(Effect.scoped))

  test("exits with 1 and advice when the provider is misspelled", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* demo([question], { env: { LEX_AI_LLM__PROVIDER: "antropic" } })
      assert.strictEqual(code, 1)
      assert.include(stdout, "LlmConfigurationError (LEX_ERR_LLM_110)")
      assert.include(stdout, "Did you mean anthropic?")
    }))
})

interface Output {
  text: string
}

const writeTo =
  (out: Output) =>
  (text: string): void => {
    out.text += text
  }

const printerTo = (out: Output, chosen: Models.Chosen) => Printer.make({ write: writeTo(out), colors: false, chosen })

const services = (model: Models.Chosen["layer"]) =>
  Layer.merge(
    OrderStore.layer,
    Lexigram.layerMemory({ approvals: ApprovalGate.layerAutoApprove }).pipe(Layer.provide(model))
  )

const agent = Effect.map(OrderStore.shop, SupportAgent.make)

const conversation: Chat.Conversation = { userId: Ids.UserId.make("customer"), sessionId: "support" }

describe("the demo over a server of chat completions", () => {
  const key = "sk-secret-0123456789"

  const delta = (value: unknown, finish: string | null = null) =>
    ChatServer.event({ id: "c-1", model: "m-1", choices: [{ index: 0, delta: value, finish_reason: finish }] })
  const usage = ChatServer.event({
    id: "c-1",
    model: "m-1",
    choices: [],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
  })
  const done = ChatServer.event("[DONE]")
  const says = (text: string) => ChatServer.sse([delta({ content: text }), delta({}, "stop"), usage, done])
  const calls = (name: string, params: unknown) =>
    ChatServer.sse([
      delta({
        tool_calls: [
          { index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(params) } }
        ]
      }),
      delta({}, "tool_calls"),
      done
    ])
  const fails = (status: number, headers: Record<string, string> = {}) =>
    ChatServer.json({ error: { message: "not now" } }, { status, headers })

  /** The demo's own way from the environment to a model, with waits that suit a test. */
  const start = Effect.gen(function* () {
    const server = yield* ChatServer.make
    const configuration = ConfigProvider.fromMap(
      new Map([
        ["LEX_AI_LLM__BASE_URL", server.baseUrl],
        ["LEX_AI_LLM__MODEL", "m-1"],
        ["LEX_AI_LLM__API_KEY", key]
      ])
    )
    const out = { text: "" }
    const over = <A, E, R>(
      use: (chosen: Models.Chosen) => Effect.Effect<A, E, R>,
      timeout: LlmTimeout.Options = { first: "10 seconds" }
    ) =>
      Models.choose({ retry: { base: "5 millis", jitter: false }, timeout }).pipe(
        Effect.flatMap((chosen) => Effect.provide(use(chosen), services(chosen.layer))),
        Effect.withConfigProvider(configuration)
      )
    const ask = (timeout?: LlmTimeout.Options) =>
      over(
        (chosen) =>
          Effect.flatMap(agent, (support) =>
            Chat.ask({ agent: support, conversation, printer: printerTo(out, chosen), question })
          ),
        timeout
      )
    return { server, ask, over, out }
  })

  const failure = <E>(exit: Exit.Exit<unknown, E>): E =>
    Exit.isFailure(exit)
      ? Option.getOrThrowWith(Cause.failureOption(exit.cause), () => new Error(Cause.pretty(exit.cause)))
      : assert.fail("it succeeded")

  it.scopedLive("sends system prompt, tools and settings, and the result of a call with the next request", () =>
    Effect.gen(function* () {
      const { ask, out, server } = yield* start
      yield* server.script(calls("lookup_order", { order_id: "1042" }), says("It is with DHL."))
      const response = yield* ask()
      assert.strictEqual(response.message, "It is with DHL.")
      const [first, second] = server.requests
      assert.strictEqual(first?.headers["authorization"], `Bearer ${key}`)
      assert.strictEqual(first?.body.model, "m-1")
      assert.strictEqual(first?.body.stream, true)
      assert.strictEqual(first?.body.temperature, 0.2)
      assert.strictEqual(first?.body.max_tokens, 800)
      assert.strictEqual(first?.body.messages[0].role, "system")
      assert.include(first?.body.messages[0].content, "support desk of Highbeck Outfitters")
      assert.deepStrictEqual(
        first?.body.tools.map((tool: { function: { name: string } }) => tool.function.name),
        ["lookup_order", "track_shipment", "search_products", "start_return", "read_policy"]
      )
      const result = second?.body.messages.at(-1)
      assert.strictEqual(result.role, "tool")
      assert.strictEqual(result.tool_call_id, "call_1")
      assert.include(result.content, "JD014600423")
      assert.include(out.text, "11 tokens in, 7 out")
      assert.include(out.text, "cost: unknown")
      assert.notInclude(out.text, key)
    })
  )

  it.scopedLive("shows text while the server still withholds the rest", () =>
    Effect.gen(function* () {
      const { over, server } = yield* start
      const seen = yield* Deferred.make<void>()
      yield* server.script(
        ChatServer.sse([
          delta({ content: "It is " }),
          ChatServer.wait(Deferred.await(seen)),
          delta({ content: "on its way." }),
          delta({}, "stop"),
          done
        ])
      )
      const texts: Array<string> = []
      yield* over(() =>
        Effect.flatMap(agent, (support) =>
          Stream.runForEach(AgentExecutor.stream(support, question), (event) => {
            if (event._tag !== "TextDelta") return Effect.void
            texts.push(event.text)
            return Deferred.succeed(seen, undefined)
          })
        )
      )
      assert.deepStrictEqual(texts, ["It is ", "on its way."])
    })
  )

  it.scopedLive("fails at once for a rejected key, and shows it nowhere", () =>
    Effect.gen(function* () {
      const { ask, out, server } = yield* start
      yield* server.script(
        ChatServer.json({ error: { message: `Incorrect API key provided: ${key}` } }, { status: 401 })
      )
      const error = failure(yield* Effect.exit(ask()))
      assert.instanceOf(error, LlmError.LlmAuthenticationError)
      assert.strictEqual(server.requests.length, 1)
      assert.notInclude(ErrorRenderings.of(error as LlmError.LlmAuthenticationError), key)
      assert.notInclude(out.text, key)
    })
  )

  it.scopedLive("waits as long as a busy server asks, and says so", () =>
    Effect.gen(function* () {
      const { ask, out, server } = yield* start
      yield* server.script(fails(429, { "retry-after-ms": "60" }), says("Here."))
      yield* ask()
      assert.strictEqual(server.requests.length, 2)
      assert.match(out.text, /attempt 2 in 60 ms: LlmRateLimitError/)
    })
  )

  it.scopedLive("gives up when a server asks for too long a wait", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* start
      yield* server.script(fails(429, { "retry-after": "3600" }))
      const error = failure(yield* Effect.exit(ask()))
      assert.instanceOf(error, LlmError.LlmRateLimitError)
      assert.strictEqual((error as LlmError.LlmRateLimitError).retryAfterMs, 3_600_000)
      assert.strictEqual(server.requests.length, 1)
    })
  )

  it.scopedLive("retries after a failure of the server, at most twice", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* start
      yield* server.script(fails(500), fails(503), says("Here."))
      yield* ask()
      assert.strictEqual(server.requests.length, 3)
      yield* server.script(fails(500), fails(500), fails(500))
      const error = failure(yield* Effect.exit(ask()))
      assert.instanceOf(error, LlmError.LlmUnavailableError)
      assert.strictEqual(server.requests.length, 6)
    })
  )

  it.scopedLive("does not repeat text when the connection breaks midway", () =>
    Effect.gen(function* () {
      const { ask, out, server } = yield* start
      yield* server.script(ChatServer.sse([delta({ content: "It is " }), ChatServer.cut]))
      const error = failure(yield* Effect.exit(ask()))
      assert.instanceOf(error, LlmError.LlmConnectionError)
      assert.strictEqual(server.requests.length, 1)
      assert.strictEqual(out.text.split("It is ").length, 2)
    })
  )

  it.scopedLive("retries an unreadable answer, then fails with the reason", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* start
      const broken = ChatServer.sse(["data: {not json\n\n"])
      yield* server.script(broken, broken, broken)
      const error = failure(yield* Effect.exit(ask()))
      assert.instanceOf(error, LlmError.LlmMalformedResponseError)
      assert.strictEqual(server.requests.length, 3)
    })
  )

  it.scopedLive("abandons a server that does not begin to answer, and retries", () =>
    Effect.gen(function* () {
      const { ask, out, server } = yield* start
      // On a busy machine the second one may be late as well.
      yield* server.script(ChatServer.silence, says("Here."), says("Here."))
      yield* ask({ first: "300 millis" })
      yield* server.left(1)
      assert.isAtLeast(server.requests.length, 2)
      assert.include(out.text, "LlmTimeoutError")
    })
  )
})

describe("the demo's agent", () => {
  const embedded: Models.Chosen = {
    provider: OfflineModel.provider,
    model: OfflineModel.model,
    embedded: true,
    layer: OfflineModel.layer()
  }

  /** Everything the model can see of the shop, under other names. */
  const renamed: ReadonlyArray<readonly [string, string]> = [
    ["lookup_order", "fetch_booking"],
    ["track_shipment", "follow_voyage"],
    ["Looks up", "Fetches"],
    ["order", "booking"],
    ["Order", "Booking"],
    ["tracking", "waybill"],
    ["Tracking", "Waybill"],
    ["carrier", "airline"],
    ["1042", "7731"],
    ["DHL", "Kestrel"],
    ["shipped", "boarded"],
    ["2026-03-14", "2027-08-05"],
    ["Nora Petersen", "Bo Quist"]
  ]
  const replaceAll = (value: unknown, pairs: ReadonlyArray<readonly [string, string]>): any =>
    JSON.parse(pairs.reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(value)))
  const back = renamed.map(([from, to]) => [to, from] as const)

  it.effect("works with the embedded model under other names, with other data", () =>
    Effect.gen(function* () {
      const called: Array<unknown> = []
      const answers: Array<string> = []
      const model = LlmGateway.layerWrapped((inner) =>
        Effect.succeed({
          ...inner,
          complete: (request) => {
            const text = JSON.stringify(request)
            for (const [name] of back) assert.notInclude(text, name)
            return Effect.map(inner.complete(replaceAll(request, renamed)), (response) => {
              called.push(...LlmClient.toolCalls(response).map(({ name, params }) => ({ name, params })))
              answers.push(LlmClient.text(response))
              return replaceAll(response, back)
            })
          }
        })
      ).pipe(Layer.provide(OfflineModel.layer()))
      const response = yield* Effect.provide(AgentExecutor.run(yield* agent, question), services(model))
      assert.deepStrictEqual(called, [{ name: "fetch_booking", params: { booking_id: "7731" } }])
      for (const fact of ["boarded", "Kestrel", "5 August 2027"]) assert.include(answers.at(-1), fact)
      for (const fact of ["shipped", "DHL"]) assert.include(response.message, fact)
    })
  )

  it.effect("tracks the parcel of an order by its tracking number", () =>
    Effect.gen(function* () {
      const asked = AgentExecutor.run(yield* agent, "Where is my order 1043? Please track the parcel too.")
      const response = yield* Effect.provide(asked, services(embedded.layer))
      assert.deepStrictEqual(
        response.toolCalls.map(({ name, params }) => ({ name, params })),
        [
          { name: "lookup_order", params: { order_id: "1043" } },
          { name: "track_shipment", params: { tracking_number: "GL90010431" } }
        ]
      )
      assert.include(response.message, "Zagreb")
    })
  )

  it.effect("reports a missing order to the model instead of failing", () =>
    Effect.gen(function* () {
      const response = yield* Effect.provide(
        AgentExecutor.run(yield* agent, "Where is order 9999?"),
        services(embedded.layer)
      )
      const [call] = response.toolCalls
      assert.strictEqual(call?.isFailure, true)
      assert.include(call?.observation, "There is no order 9999")
      assert.include(response.message, "9999")
    })
  )

  it.effect("continues a conversation after a failed question", () =>
    Effect.gen(function* () {
      const lines = [question, "And the parcel? Track it.", "exit"]
      const out = { text: "" }
      const terminal: Terminal = {
        interactive: false,
        colors: false,
        write: writeTo(out),
        readLine: () => Effect.sync(() => Option.fromNullable(lines.shift())),
        interrupted: Effect.never
      }
      let asked = 0
      const requests: Array<LlmClient.LlmRequest> = []
      const flaky = LlmGateway.layerWrapped((inner) =>
        Effect.succeed({
          ...inner,
          complete: (request, options) => {
            requests.push(request)
            return ++asked === 1
              ? new LlmError.LlmQuotaError({ provider: "test", message: "no credit", hint: "Top it up" })
              : inner.complete(request, options)
          }
        })
      ).pipe(Layer.provide(OfflineModel.layer()))
      lines.unshift("Where is order 1031?")
      const failures = yield* Chat.converse({
        agent: yield* agent,
        conversation,
        printer: printerTo(out, embedded),
        terminal
      }).pipe(Effect.provide(services(flaky)))
      assert.strictEqual(failures, 1)
      assert.include(out.text, "LlmQuotaError (LEX_ERR_LLM_102): no credit\n  Top it up")
      assert.deepStrictEqual(
        requests.at(-2)?.messages.map((message) => message.role),
        ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]
      )
      assert.include(out.text, '→ track_shipment {"tracking_number":"JD014600423"}')
    })
  )
})

describe("the demo's shop", () => {
  const store = Effect.flatMap(OrderStore.shop, OrderStore.make)

  it.effect("accepts a return once, and only in time", () =>
    Effect.gen(function* () {
      const shop = yield* store
      const refused = (orderId: string) =>
        Effect.map(Effect.flip(shop.startReturn(orderId, "too short")), (error) => error.message)
      const accepted = yield* shop.startReturn("1039", "too short")
      assert.strictEqual(accepted.refund, 178.5)
      assert.strictEqual(accepted.send_by, "2026-03-29")
      assert.strictEqual((yield* shop.find("1039")).status, "return requested")
      assert.include(yield* refused("1039"), "return requested")
      assert.include(yield* refused("1031"), "ended on 2026-02-12")
      assert.include(yield* refused("1042"), "it is shipped")
      assert.include(yield* refused("1"), "There is no order 1")
    })
  )

  it.effect("finds products by words, best first, none above a price", () =>
    Effect.gen(function* () {
      const shop = yield* store
      const names = (query: string, maxPrice?: number) =>
        Effect.map(shop.search(query, { maxPrice }), (products) => products.map((product) => product.sku))
      assert.deepStrictEqual(yield* names("jackets"), ["HB-310", "HB-318"])
      assert.deepStrictEqual(yield* names("jackets", 129), ["HB-318"])
      assert.deepStrictEqual(yield* names("submarine"), [])
    })
  )

  it.effect("is consistent: totals add up, parcels belong to orders", () =>
    Effect.gen(function* () {
      const shop = yield* OrderStore.shop
      const service = yield* store
      assert.isAtLeast(shop.orders.length, 12)
      for (const order of shop.orders) {
        const sum = order.items.reduce((total, item) => total + item.quantity * item.price, 0)
        assert.strictEqual(Math.round(sum * 100), Math.round(order.total * 100), order.order_id)
        for (const item of order.items) assert.isTrue(shop.products.some((product) => product.sku === item.sku))
        const tracked = yield* Effect.either(service.track(order.tracking_number ?? "none"))
        assert.strictEqual(Either.isRight(tracked), order.tracking_number !== undefined, order.order_id)
      }
    })
  )
})

describe("the demo's printer", () => {
  it("prints no control characters of models and tools", () => {
    assert.strictEqual(Printer.plain("a\u001b[2Jb\u009b31mc\u0007\r\n\td\u202ee"), "a[2Jb31mc\n\tde")
  })
})
