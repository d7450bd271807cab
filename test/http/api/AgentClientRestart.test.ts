import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Agent, Tool } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { AgentClient } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import * as StudioPages from "../../support/StudioPages.js"

const refund = Tool.make("refund", {
  description: "Refunds an amount",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount}`)
})

const agents = [Agent.make("clerk", { system: "You help.", tools: [refund] })]

const model = TestModel.layer(({ messages }) =>
  messages.at(-1)?.role === "tool" ? "done" : { calls: [{ name: "refund", params: { amount: 5 } }] }
)

/** A server of its own, on the database of the others. */
const boot = (file: string, port: number, scope: Scope.Scope) =>
  Effect.gen(function* () {
    const services: Context.Context<any> = yield* Layer.build(
      Layer.provide(Application.layerSqlite(agents, { file }), model)
    )
    return yield* StudioPages.serve({ agents, port, services: Layer.succeedContext(services), drain: 0 })
  }).pipe(Scope.extend(scope))

it.scopedLive("a run that waits is followed across a restart of its server, and goes on when it is decided", () =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-restart-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    )
    const file = Path.join(folder, "runs.db")
    const first = yield* Scope.make()
    const { url } = yield* boot(file, 0, first)
    const client = yield* Effect.provide(AgentClient.make({ baseUrl: url, attempts: 1000 }), FetchHttpClient.layer)
    const asks = yield* Deferred.make<void>()
    const { run } = yield* client.api.runs.startRun({
      headers: {},
      urlParams: {},
      payload: { agent: "clerk", input: "Refund me" }
    })
    const following = yield* client.events(run.runId).pipe(
      Stream.tap(({ _tag }) => (_tag === "ApprovalRequested" ? Deferred.succeed(asks, undefined) : Effect.void)),
      Stream.runCollect,
      Effect.fork
    )
    yield* Deferred.await(asks)
    yield* Scope.close(first, Exit.void)
    yield* boot(file, Number(new URL(url).port), yield* Effect.scope)
    const { approvals } = yield* client.api.approvals.listApprovals({ urlParams: {} })
    assert.lengthOf(approvals, 1)
    yield* client.api.approvals.decideApproval({
      path: { requestId: approvals[0]?.id ?? "" },
      payload: { decision: "approve" }
    })
    const events = Array.from(yield* Fiber.join(following))
    const seqs = events.map(({ seq }) => seq)
    assert.deepStrictEqual(
      seqs,
      [...seqs].sort((a, b) => a - b)
    )
    assert.strictEqual(new Set(seqs).size, seqs.length)
    // The next server asks again, if it takes up the run before the decision.
    const asked = events.filter(({ _tag }) => _tag === "ApprovalRequested")
    assert.include([1, 2], asked.length)
    assert.deepStrictEqual(
      events
        .filter((event) => event._tag !== "ApprovalRequested" || event === asked[0])
        .map(({ _tag }) => _tag)
        .filter((tag) => /Approval|ToolResult|Message|Finished/.test(tag)),
      ["ApprovalRequested", "ApprovalResolved", "ToolResult", "Message", "Finished"]
    )
  })
)
