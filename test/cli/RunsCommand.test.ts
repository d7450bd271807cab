import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Agent, Ids, type LlmClient, Tool } from "effect-lexigram"
import { Runs } from "effect-lexigram/agent"
import { Application } from "effect-lexigram/application"
import { CliConfig } from "effect-lexigram/cli"
import { AgentServer, Authentication, GracefulServer } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import * as Commands from "../support/Commands.js"

const lookUp = Tool.make("look_up", {
  description: "Looks up an order",
  parameters: { order: Schema.String },
  handler: ({ order }) => Effect.succeed(`order ${order} is \u001b[31mlate`)
})

const agents = [Agent.make("clerk", { system: "You help.", tools: [lookUp] })]

const answer = ({ messages }: LlmClient.LlmRequest) => {
  const last = messages.at(-1)
  if (last?.role === "tool") return "It is late."
  if (JSON.stringify(last).includes("wait")) return { text: "never", delay: "1 hour" as const }
  return { calls: [{ name: "look_up", params: { order: "17" } }] }
}

/** A desk that keeps its runs from one command to the next. */
const desk = Effect.gen(function* () {
  const system = Layer.provide(Application.layerMemory(agents), TestModel.layer(answer))
  const services = yield* Layer.build(system)
  const config = CliConfig.make({ agents, layer: Layer.succeedContext(services), userId: "ann" })
  return { services, command: (...args: ReadonlyArray<string>) => Commands.runWith(config, args) }
})

describe("lexigram runs", () => {
  it.scopedLive("lists, shows and traces runs of the user, and nothing of others", () =>
    Effect.gen(function* () {
      const { command } = yield* desk
      const { json } = yield* command("run", "Where is 17?", "--session", "talk", "--json")
      const runId: string = json.runId
      const list = yield* command("runs", "list")
      assert.match(list.out, new RegExp(`^RUN .*\\n${runId} +completed .* clerk +talk\\n$`))
      assert.strictEqual((yield* command("runs", "list", "--json")).json.runs[0].runId, runId)
      assert.strictEqual((yield* command("runs", "list", "--agent", "nobody")).out, "No runs.\n")
      assert.strictEqual((yield* command("runs", "list", "--state", "failed")).out, "No runs.\n")
      assert.strictEqual((yield* command("runs", "list", "--session", "other")).out, "No runs.\n")
      assert.strictEqual((yield* command("runs", "list", "--state", "lost")).code, 2)

      const shown = yield* command("runs", "show", runId)
      assert.match(shown.out, /state {4}completed\n[\s\S]*tools {4}look_up\n[\s\S]*It is late\.\n$/)
      assert.strictEqual((yield* command("runs", "show", runId, "--json")).json.run.state, "completed")

      const trace = yield* command("runs", "trace", runId)
      assert.include(trace.out, "look_up")
      assert.notInclude(trace.out, "late")
      const whole = yield* command("runs", "trace", runId, "--content")
      assert.include(whole.out, "late")
      assert.notInclude(whole.out, "\u001b")
      assert.match((yield* command("runs", "trace", runId, "--format", "mermaid")).out, /^sequenceDiagram/)
      assert.match((yield* command("runs", "trace", runId, "--format", "html")).out, /^<!doctype html>/i)

      for (const args of [
        ["show", runId],
        ["trace", runId],
        ["interrupt", runId],
        ["resume", runId]
      ]) {
        const other = yield* command("runs", ...args, "--user", "bob")
        assert.deepStrictEqual([other.code, other.out], [4, ""], args[0])
      }
      assert.strictEqual((yield* command("runs", "list", "--user", "bob")).out, "No runs.\n")
    })
  )

  it.scopedLive("interrupts a run that goes on; one that ended, and one that cannot go on, are refused", () =>
    Effect.gen(function* () {
      const { command, services } = yield* desk
      const { runId } = yield* Effect.provide(
        Runs.start({ agent: "clerk", input: "wait", userId: Ids.UserId.make("ann") }),
        services
      )
      assert.include((yield* command("runs", "trace", runId)).out, "still goes on")
      const unsupported = yield* command("runs", "resume", runId)
      assert.strictEqual(unsupported.code, 3)
      const interrupted = yield* command("runs", "interrupt", runId)
      assert.strictEqual(interrupted.out, `${runId}: interrupted\n`)
      assert.strictEqual((yield* command("runs", "interrupt", runId)).code, 1)
    })
  )

  it.scopedLive("talks to a server with a token, and says when it is refused or not there", () =>
    Effect.gen(function* () {
      const { services } = yield* desk
      const key = "a-long-token-of-ann"
      const server = AgentServer.layer({ agents }).pipe(
        Layer.provide([
          Layer.succeedContext(services),
          Authentication.layerBearer({
            verify: (token) =>
              Effect.succeedSome({ userId: Ids.UserId.make(Redacted.value(token) === key ? "ann" : "bob") })
          })
        ]),
        Layer.provideMerge(
          NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })
        )
      )
      const context = yield* Layer.build(server)
      const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
      const remote = (token: string | undefined, ...args: ReadonlyArray<string>) =>
        Commands.run([...args, "--url", url], { env: token === undefined ? {} : { LEXIGRAM_TOKEN: token } })
      const asked = yield* remote(key, "run", "Where is 17?", "--json")
      assert.strictEqual(asked.json.message, "It is late.")
      const runId: string = asked.json.runId
      assert.include((yield* remote(key, "runs", "list")).out, runId)
      assert.strictEqual((yield* remote("another-token", "runs", "show", runId)).code, 4)
      const refused = yield* remote(undefined, "runs", "list")
      assert.strictEqual(refused.code, 5)
      assert.notInclude(refused.err, key)
      const gone = yield* Commands.run(["runs", "list"], { env: { LEXIGRAM_URL: "http://127.0.0.1:1" } })
      assert.strictEqual(gone.code, 6)
      assert.include(gone.err, "LEXIGRAM_URL")
    })
  )
})
