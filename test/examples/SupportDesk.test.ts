import { createServer } from "node:http"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as DeskAgents from "../../examples/support-desk/DeskAgents.js"
import * as DeskServer from "../../examples/support-desk/DeskServer.js"
import * as SupportEvals from "../../examples/support-desk/evals/SupportEvals.js"
import * as Orders from "../../examples/support-desk/Orders.js"
import * as ScriptedModel from "../../examples/support-desk/ScriptedModel.js"
import * as Staff from "../../examples/support-desk/Staff.js"
import * as SupportDesk from "../../examples/support-desk/SupportDesk.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as Ids from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as GracefulServer from "../../src/http/request/GracefulServer.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as Chromium from "../support/Chromium.js"

const ada = Ids.UserId.make("ada")

const folder = Effect.provide(
  Effect.flatMap(FileSystem.FileSystem, (files) => files.makeTempDirectoryScoped({ prefix: "support-desk-" })),
  NodeFileSystem.layer
)

const desk = (options: SupportDesk.Options) =>
  Staff.layer.pipe(Layer.provideMerge(SupportDesk.layer(options)), Layer.provide(ScriptedModel.layer))

const start = (userId: string, input: string, sessionId?: string) =>
  Runs.start({ agent: "front-desk", input, userId, sessionId })

const ask = (userId: string, input: string, sessionId?: string) =>
  Effect.flatMap(start(userId, input, sessionId), ({ runId }) => Runs.await(runId, { userId }))

const paidBack = Effect.flatMap(Orders.Orders, (orders) => orders.paidBack)

/** Until the run of the customer asks for an approval. */
const asked = (runId: string) =>
  Effect.raceFirst(
    Effect.flatMap(PendingApprovals.PendingApprovals, ({ changes }) =>
      changes({ userId: ada }).pipe(
        Stream.filter(({ _tag }) => _tag === "Requested"),
        Stream.runHead
      )
    ),
    Effect.flatMap(Runs.await(runId, { userId: ada }), ({ message }) => Effect.dieMessage(`It has ended: ${message}`))
  )

const approveAll = Effect.gen(function* () {
  const staff = yield* Staff.Staff
  const waiting = yield* staff.waiting
  yield* Effect.forEach(waiting, ({ id }) => staff.approve(id, "carla"))
  return waiting
})

const tokens = ConfigProvider.fromMap(
  new Map([["SUPPORT_DESK_TOKENS", "ada=ada-0123456789abcdef,carla:staff=carla-0123456789abcdef"]])
)

/** The server on a free port, with tokens of a customer and of the shop. */
const served = Effect.flatMap(folder, (folder) =>
  DeskServer.layer.pipe(
    Layer.provideMerge(SupportDesk.layer({ folder })),
    Layer.provide(ScriptedModel.layer),
    Layer.provide(Layer.setConfigProvider(tokens)),
    Layer.provideMerge(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })),
    Layer.build
  )
)

describe("support desk", () => {
  it.scopedLive("pays back once after an approval that comes after a restart", () =>
    Effect.gen(function* () {
      const options = { folder: yield* folder }
      const runId = yield* Effect.gen(function* () {
        const run = yield* start("ada", "Refund order 1043", "lamp")
        yield* asked(run.runId)
        assert.strictEqual(yield* paidBack, 0)
        return run.runId
      }).pipe(Effect.provide(desk(options)))

      yield* Effect.gen(function* () {
        const [request] = yield* approveAll
        assert.deepStrictEqual(request?.params, { order: "1043", cents: 12_900 })
        assert.strictEqual(request?.customer, "ada")
        assert.include((yield* Runs.await(runId, { userId: "ada" })).message, "RF-1043")
        assert.strictEqual(yield* paidBack, 12_900)

        // The same again is the same refund, and a part of it is another one.
        const orders = yield* Orders.Orders
        assert.strictEqual((yield* orders.refund(ada, "1043", 12_900)).reference, "RF-1043")
        assert.strictEqual((yield* Effect.flip(orders.refund(ada, "1043", 100)))._tag, "RefundRefused")
        assert.strictEqual(yield* paidBack, 12_900)
      }).pipe(Effect.provide(desk(options)))
    })
  )

  it.scopedLive("shows customers nothing of each other, and the model nothing of a card", () =>
    Effect.gen(function* () {
      const application = desk({ folder: yield* folder })
      yield* Effect.gen(function* () {
        const { runId } = yield* start("ada", "Where is order 1042? My card is 4111 1111 1111 1111", "kettle")
        yield* Runs.await(runId, { userId: "ada" })
        assert.include((yield* ask("ben", "Where is order 1042?")).message, "no order 1042")
        assert.include((yield* ask("ben", "Refund order 1042")).message, "no order 1042")
        assert.strictEqual((yield* Effect.flip(Runs.await(runId, { userId: "ben" })))._tag, "RunError")
        const log = yield* RunLog.RunLog
        const events = yield* SystemAccess.grant(log.read(Ids.RunId.make(runId), { from: 0, limit: 1000 }))
        assert.isAbove(events.length, 0)
        assert.notInclude(JSON.stringify(events), "4111")
        // The address of a note is left out of the answer.
        assert.notInclude((yield* ask("ada", "Read the note of order 1042")).message, "ada@example.org")
        assert.strictEqual(yield* paidBack, 0)
      }).pipe(Effect.provide(application))
    })
  )

  it.scopedLive("pays nothing because a note says so, whether the guards know the words or not", () =>
    Effect.gen(function* () {
      const application = desk({ folder: yield* folder })
      yield* Effect.gen(function* () {
        assert.include((yield* ask("ada", "Read the note of order 1044", "notes")).message, "cannot be shown")
        // This one comes through, and the model obeys: its desk has no tool that pays.
        const { message } = yield* ask("ada", "Read the note of order 1045", "notes")
        assert.include(message, "pay back")
        assert.include(message, "I could not do what it says")

        // In the same conversation the desk that has the tool obeys too, and a person is asked.
        const { runId } = yield* start("ada", "Refund order 1042", "notes")
        yield* asked(runId)
        const staff = yield* Staff.Staff
        for (const { id, params } of yield* staff.waiting) {
          assert.deepStrictEqual(params, { order: "1043", cents: 12_900 })
          yield* staff.deny(id, "carla", "Nobody asked for it")
        }
        yield* Runs.await(runId, { userId: "ada" })
        assert.strictEqual(yield* paidBack, 0)
      }).pipe(Effect.provide(application))
    })
  )

  it.scopedLive("ends a run that would cost too much with the error of the budget", () =>
    Effect.gen(function* () {
      const application = desk({ folder: yield* folder, maxRequestCost: 0.0001 })
      const { error } = yield* ask("ada", "Where is order 1042?").pipe(
        Effect.catchTag("RunFailedError", Effect.succeed),
        Effect.filterOrDieMessage((outcome) => "error" in outcome && outcome.error !== undefined, "it had an answer"),
        Effect.provide(application)
      )
      assert.strictEqual(error?.tag, "BudgetExceededError")
    })
  )

  it.scopedLive("passes its gate, and fails it when refunds need no approval any more", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(SupportEvals.run(), SupportEvals.check)
      const careless = yield* SupportEvals.run({ ...DeskAgents.policy, approvalAbove: 1_000_000 })
      const failure = yield* Effect.flip(SupportEvals.check(careless))
      assert.strictEqual(failure._tag, "GateError")
      assert.include(failure.message, "money")
    }).pipe(Effect.provide(Layer.provideMerge(SupportDesk.layerEvals(), ScriptedModel.layer)))
  )

  it.scopedLive("lets the shop approve, and no customer", () =>
    Effect.gen(function* () {
      const context = yield* served
      const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
      const call = (who: string | undefined, path: string, body?: unknown, headers: Record<string, string> = {}) =>
        Effect.promise(async () => {
          const response = await fetch(`${url}${path}`, {
            method: body === undefined ? "GET" : "POST",
            headers: {
              ...headers,
              ...(who === undefined ? {} : { authorization: `Bearer ${who}-0123456789abcdef` }),
              ...(body === undefined ? {} : { "content-type": "application/json" })
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
          const text = await response.text()
          return { status: response.status, text, cookie: response.headers.getSetCookie()[0]?.split(";")[0] ?? "" }
        })

      assert.strictEqual((yield* call(undefined, "/v1/agents")).status, 401)
      assert.strictEqual((yield* call("ben", "/v1/agents")).status, 401)
      const { cookie } = yield* call("ada", "/sign-in", {})
      assert.include((yield* call(undefined, "/v1/agents", undefined, { cookie })).text, "front-desk")
      assert.include((yield* call(undefined, "/")).text, "desk.js")

      const started = yield* call("ada", "/v1/runs", { agent: "front-desk", input: "Refund order 1043" })
      assert.strictEqual(started.status, 202)
      // The refunds desk is not for callers.
      assert.strictEqual((yield* call("ada", "/v1/runs", { agent: "refunds", input: "Refund order 1043" })).status, 404)
      const { runId } = JSON.parse(started.text).run
      yield* Effect.provide(asked(runId), context)

      assert.strictEqual((yield* call("ada", "/staff/waiting")).status, 403)
      const [request] = JSON.parse((yield* call("carla", "/staff/waiting")).text).waiting
      assert.strictEqual(request.customer, "ada")
      const own = yield* call("ada", `/v1/approvals/${request.id}/decision`, { decision: "approve" })
      assert.strictEqual(own.status, 403)
      assert.strictEqual((yield* call("ada", `/staff/waiting/${request.id}`, { decision: "approve" })).status, 403)
      assert.strictEqual((yield* call("carla", `/staff/waiting/${request.id}`, { decision: "maybe" })).status, 400)
      assert.strictEqual((yield* call("carla", `/staff/waiting/${request.id}`, { decision: "approve" })).status, 204)

      const { message } = yield* Effect.provide(Runs.await(runId, { userId: "ada" }), context)
      assert.include(message, "RF-1043")
      assert.strictEqual((yield* call("carla", `/staff/waiting/${request.id}`, { decision: "approve" })).status, 404)
    })
  )
})

Chromium.suite((open) => {
  it.scopedLive("has a page on which the customer waits, and one on which the shop decides", () =>
    Effect.gen(function* () {
      const url = yield* Effect.flatMap(served, (context) =>
        Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
      )
      const customer = yield* open
      const shop = yield* open
      yield* Effect.promise(async () => {
        for (const [{ page }, who] of [
          [customer, "ada"],
          [shop, "carla"]
        ] as const) {
          await page.goto(url)
          await page.getByLabel("Token").fill(`${who}-0123456789abcdef`)
          await page.getByRole("button", { name: "Sign in" }).click()
        }
        await customer.page.getByLabel("Message", { exact: true }).fill("Refund order 1043")
        await customer.page.getByRole("button", { name: "Send" }).click()
        const messages = customer.page.getByRole("log")
        await messages.getByText("A colleague looks at it").waitFor()

        await shop.page.getByRole("button", { name: "Look again" }).click()
        await shop.page.getByRole("heading", { name: "refund_order for ada" }).waitFor()
        // The customer may leave the page meanwhile.
        await customer.page.reload()
        await messages.getByText("A colleague looks at it").waitFor()
        await shop.page.getByRole("button", { name: "Approve" }).click()
        await shop.page.getByText("Nothing waits.").waitFor()
        await messages.getByText("RF-1043").waitFor()
      })
    })
  )
})
