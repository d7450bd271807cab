import { assert, describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { Webhook } from "standardwebhooks"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as RunWebhooks from "../../src/http/webhook/RunWebhooks.js"
import * as WebhookSignature from "../../src/http/webhook/WebhookSignature.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SignedWebhooks from "../../src/webhook/SignedWebhooks.js"
import { say, start } from "../durable/DurableProcesses.js"
import * as AgentServers from "../support/AgentServers.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { quickly, receiver } from "../support/WebhookReceivers.js"

const text = `whsec_${Buffer.from("a secret of at least 24 bytes").toString("base64")}`
const secret = Redacted.make(text)

const here = { secret, allowPrivate: ["127.0.0.1"], ports: "any" } as const

const webhooks = (options: Partial<SignedWebhooks.Options> = {}) =>
  Layer.provide(SignedWebhooks.layer({ ...here, ...options }), WorkflowEngine.layerMemory)

const helper = Agent.make("helper")

/** A server with webhooks over runs of the process. */
const serve = (options: Partial<SignedWebhooks.Options> = {}, setup: Partial<AgentServers.Setup> = {}) =>
  AgentServers.start({
    agents: [helper],
    ...setup,
    webhooks: Layer.orDie(webhooks(options))
  })

const begin = (url: string) => ({
  body: { agent: "helper", input: "hello", labels: { for: "test" }, webhook: { url } }
})

describe("a webhook", () => {
  it.scopedLive("tells of the end of a run, signed as Standard Webhooks has it", () =>
    Effect.gen(function* () {
      const { got, url } = yield* receiver()
      const { ask } = yield* serve()
      const { json, status } = yield* ask("/v1/runs", begin(url))
      assert.isBelow(status, 300)
      const { body, headers } = yield* Queue.take(got)
      const told = new Webhook(text).verify(body, headers as Record<string, string>) as any
      const { endedAt, ...data } = told.data
      assert.isNumber(endedAt)
      assert.strictEqual(told.type, "run.ended")
      assert.deepStrictEqual(data, {
        runId: json.run.runId,
        agent: "helper",
        state: "completed",
        labels: { for: "test" }
      })
      yield* WebhookSignature.verify(secret, { body, headers: headers as Record<string, string> })
    })
  )

  it.scopedLive("is repeated until it is taken, with the same id", () =>
    quickly(
      Effect.gen(function* () {
        const { got, url } = yield* receiver(500, 302)
        const { ask } = yield* serve({ delays: ["5 seconds", "5 minutes", "5 minutes"], timeout: "3 hours" })
        yield* ask("/v1/runs", begin(url))
        const messages = [yield* Queue.take(got), yield* Queue.take(got), yield* Queue.take(got)]
        assert.lengthOf(new Set(messages.map(({ headers }) => headers["webhook-id"])), 1)
        assert.lengthOf(new Set(messages.map(({ headers }) => headers["webhook-timestamp"])), 3)
        yield* Effect.sleep("20 minutes")
        assert.strictEqual(yield* Queue.size(got), 0)
      })
    )
  )

  it.scopedLive("is given up after the last delay, and at once where the address is gone (410)", () =>
    quickly(
      Effect.gen(function* () {
        const failing = yield* receiver(...Array.from({ length: 20 }, () => 500))
        const gone = yield* receiver(410)
        const { ask } = yield* serve({ delays: ["1 second", "1 second"], timeout: "3 hours" })
        yield* ask("/v1/runs", begin(failing.url))
        yield* ask("/v1/runs", begin(gone.url))
        for (let n = 0; n < 3; n++) yield* Queue.take(failing.got)
        yield* Queue.take(gone.got)
        yield* Effect.sleep("10 minutes")
        assert.strictEqual(yield* Queue.size(failing.got), 0)
        assert.strictEqual(yield* Queue.size(gone.got), 0)
      })
    )
  )

  it.scopedLive("goes to no address that a caller must not reach, and then no run begins", () =>
    Effect.gen(function* () {
      const { ask } = yield* serve({ allowPrivate: false, ports: "any", resolve: () => Effect.succeed(["10.0.0.7"]) })
      for (const url of [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://internal.example/",
        "file:///etc/passwd",
        "http://user:pass@example.org/",
        "rubbish"
      ]) {
        const { json, status } = yield* ask("/v1/runs", begin(url))
        assert.strictEqual(status, 400, url)
        assert.strictEqual(json.code, "LEX_ERR_HTTP_102", url)
      }
      assert.isEmpty((yield* ask("/v1/runs")).json.runs)
      const { ask: without } = yield* AgentServers.start({ agents: [helper] })
      assert.strictEqual((yield* without("/v1/runs", begin("https://example.org/"))).status, 501)
    })
  )

  it.effect("needs a secret of 24 to 64 bytes, and targets that are some", () =>
    Effect.gen(function* () {
      const failure = (options: Partial<SignedWebhooks.Options>) =>
        Effect.flip(
          Effect.scoped(Layer.build(webhooks(options).pipe(Layer.provide(Layer.succeed(Runs.Runs, {} as never)))))
        )
      for (const options of [
        { secret: Redacted.make("short") },
        { secret: Redacted.make("whsec_not base64!") },
        { secret: Redacted.make(Buffer.alloc(65).toString("base64")) },
        { hosts: ["http://x"] }
      ]) {
        assert.strictEqual((yield* failure(options)).reason, "configuration")
      }
    })
  )
})

describe("the signature of a webhook", () => {
  const signed = (body: string) =>
    Effect.gen(function* () {
      const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const message = { id: "msg_1", timestamp, body }
      const signature = yield* WebhookSignature.sign(WebhookSignature.secretBytes(secret) as Uint8Array, message)
      const headers = { "webhook-id": "msg_1", "webhook-timestamp": String(timestamp), "webhook-signature": signature }
      return { body, headers }
    })
  const reason = (message: { body: string; headers: Record<string, string> }, by = secret) =>
    Effect.map(Effect.flip(WebhookSignature.verify(by, message)), ({ reason }) => reason)

  it.effect("fits its message alone, for five minutes", () =>
    Effect.gen(function* () {
      const message = yield* signed("{}")
      yield* WebhookSignature.verify(secret, message)
      const { headers } = message
      yield* WebhookSignature.verify(secret, {
        ...message,
        headers: { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` }
      })
      for (const wrong of [
        { ...message, body: "{ }" },
        { ...message, headers: { ...headers, "webhook-id": "msg_2" } },
        { ...message, headers: { ...headers, "webhook-timestamp": "1" } },
        { ...message, headers: { ...headers, "webhook-timestamp": "soon" } },
        { ...message, headers: { ...headers, "webhook-signature": "v1," } },
        { body: "{}", headers: {} }
      ]) {
        assert.strictEqual(yield* reason(wrong), "signature")
      }
      assert.strictEqual(yield* reason(message, Redacted.make(Buffer.alloc(32, 1).toString("base64"))), "signature")
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual(yield* reason(message), "signature")
    })
  )
})

SqlBackends.suite("a webhook of a durable run", (backend) => {
  it.scopedLive("is told by another process when that of the run has ended", () =>
    Effect.gen(function* () {
      const { got, url } = yield* receiver()
      const asked = yield* Deferred.make<void>()
      const model = (before: Effect.Effect<unknown>): LlmClient.Service => ({
        provider: "test",
        model: "m",
        complete: () => Effect.as(before, say("hi"))
      })
      const process = (client: typeof backend.layer, before: Effect.Effect<unknown>) =>
        Effect.gen(function* () {
          const { end, within } = yield* start(client, { agents: [helper] }, model(before))
          const scope = yield* Scope.make()
          const context = yield* within(Layer.buildWithScope(SignedWebhooks.layer(here), scope))
          return {
            within,
            hooks: Context.get(context, RunWebhooks.RunWebhooks),
            end: Effect.zipRight(Scope.close(scope, Exit.void), end)
          }
        })
      const one = yield* process(backend.layer, Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never))
      yield* one.within(Runs.start({ agent: "helper", input: "hello", userId: "ann", runId: "run" }))
      yield* one.hooks.tell({ runId: RunId.make("run"), userId: UserId.make("ann"), url })
      yield* Deferred.await(asked)
      yield* one.end
      assert.strictEqual(yield* Queue.size(got), 0)
      const two = yield* process(backend.kept, Effect.void)
      const { body } = yield* Queue.take(got)
      assert.deepInclude(JSON.parse(body).data, { runId: "run", state: "completed" })
      yield* two.end
    })
  )
})
