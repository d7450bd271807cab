import * as Http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Agent, LlmClient, LlmError } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig, ModelName } from "effect-lexigram/cli"
import { AgentServer, Authentication } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import * as Packages from "../../src/cli/config/Packages.js"
import * as Commands from "../support/Commands.js"

const agents = [Agent.make("clerk", { system: "You help." })]

type Script = Parameters<typeof TestModel.layer>[0]

const memory = (script: Script = [], options?: Parameters<typeof TestModel.layer>[1]) =>
  CliConfig.make({
    agents,
    userId: "ann",
    layer: Layer.provideMerge(Application.layerMemory(agents), TestModel.layer(script, options))
  })

const find = ({ json }: Commands.Ended, name: string) =>
  json.checks.find((check: { readonly name: string }) => check.name === name)

const setting = ({ json }: Commands.Ended, name: string) =>
  json.settings.find((setting: { readonly name: string }) => setting.name === name)

describe("lexigram doctor", () => {
  it.live("finds nothing wrong with a set-up that works, and says what it found", () =>
    Effect.gen(function* () {
      const ended = yield* Commands.runWith(memory(), ["doctor", "--json"])
      assert.deepStrictEqual([ended.code, ended.err], [0, ""])
      assert.isTrue(ended.json.ok)
      assert.include(find(ended, "node").detail, process.versions.node)
      assert.include(find(ended, "effect").detail, "is in ^3")
      assert.deepInclude(find(ended, "configuration"), { state: "ok", detail: "It loads, with clerk" })
      assert.strictEqual(find(ended, "layer").state, "ok")
      assert.deepInclude(find(ended, "model"), { state: "ok", detail: "test, test-model" })
      assert.strictEqual(find(ended, "database").state, "skipped")
      assert.strictEqual(find(ended, "health of sessions").state, "ok")
      const text = yield* Commands.runWith(memory(), ["doctor"])
      assert.match(text.out, /✓ model: test, test-model\n/)
    })
  )

  it.live("says where each setting comes from, and shows no secret", () =>
    Effect.gen(function* () {
      const ended = yield* Commands.runWith(memory(), ["doctor", "--json"], {
        env: { LEXIGRAM_TOKEN: "a-token-that-nobody-may-see" }
      })
      assert.deepInclude(setting(ended, "config"), { value: "lexigram.config.ts", source: "flag" })
      assert.deepInclude(setting(ended, "user"), { value: "ann", source: "file" })
      assert.deepInclude(setting(ended, "url"), { value: null, source: "default" })
      assert.deepInclude(setting(ended, "token"), { value: "(set)", source: "environment" })
      assert.notInclude(ended.out, "nobody-may-see")
      const flags = yield* Commands.runWith(memory(), ["doctor", "--json", "--user", "ben"], {
        env: { LEXIGRAM_USER: "eve", LEXIGRAM_MODEL: "offline" }
      })
      assert.deepInclude(setting(flags, "user"), { value: "ben", source: "flag" })
      assert.deepInclude(setting(flags, "model"), { value: "offline", source: "environment" })
    })
  )

  it.live("calls the model with --ping alone", () =>
    Effect.gen(function* () {
      const limit = new LlmError.LlmAuthenticationError({ provider: "test", message: "The key sk-12345678 is wrong" })
      const quiet = yield* Commands.runWith(memory([{ fail: limit }], { exhausted: false }), ["doctor", "--json"])
      assert.strictEqual(quiet.code, 0)
      const ended = yield* Commands.runWith(memory([{ fail: limit }]), ["doctor", "--json", "--ping"])
      assert.strictEqual(ended.code, 3)
      assert.strictEqual(find(ended, "model").state, "wrong")
      assert.include(find(ended, "model").detail, "is wrong")
      assert.notInclude(ended.out, "12345678")
      const answers = yield* Commands.runWith(memory(["ok"]), ["doctor", "--json", "--ping"])
      assert.include(find(answers, "model").detail, "answers a call")
    })
  )

  it.live("names the variable of a key, and says that it is missing", () =>
    Effect.gen(function* () {
      const config = CliConfig.make({
        agents,
        layer: ({ model = "offline" }) => Layer.provide(Application.layerMemory(agents), ModelName.layer(model))
      })
      const args = ["doctor", "--json", "--model", "openai/gpt-4.1-mini"]
      const missing = yield* Commands.runWith(config, args)
      assert.strictEqual(missing.code, 3)
      assert.strictEqual(find(missing, "layer").state, "wrong")
      assert.include(find(missing, "model").hint, "OPENAI_API_KEY")
      const present = yield* Commands.runWith(config, args, { env: { OPENAI_API_KEY: "sk-abcdefghijklmnop" } })
      assert.strictEqual(present.code, 0)
      assert.strictEqual(find(present, "model").detail, "openai, gpt-4.1-mini, with the key in OPENAI_API_KEY")
      assert.notInclude(present.out, "abcdefgh")
      // It is hidden by the layer, and has no name here.
      assert.strictEqual(find(yield* Commands.runWith(config, ["doctor", "--json"]), "model").state, "skipped")
    })
  )

  it.live("looks at the database: its kind, its tables, and whether it can be written", () =>
    Effect.gen(function* () {
      const config = CliConfig.make({
        agents,
        layer: Layer.provide(Application.layerSqlite(agents, { file: ":memory:" }), TestModel.layer([]))
      })
      const ended = yield* Commands.runWith(config, ["doctor", "--json"])
      assert.strictEqual(ended.code, 0)
      assert.match(find(ended, "database").detail, /^sqlite, tables of version \d+, can be written$/)
    })
  )

  it.live("says what is wrong with a configuration that does not load or whose layer is not built", () =>
    Effect.gen(function* () {
      const missing = yield* Commands.run(["doctor", "--json"])
      assert.strictEqual(missing.code, 3)
      assert.include(find(missing, "configuration").hint, "lexigram init")
      const failing = CliConfig.make({
        agents,
        layer: Layer.fail(new LlmError.LlmConfigurationError({ message: "No \u001b[2J provider", hint: "Set it" }))
      })
      const ended = yield* Commands.runWith(failing, ["doctor"])
      assert.strictEqual(ended.code, 3)
      assert.match(ended.out, /✗ layer: No \\u\{001b\}\[2J provider\n {4}Set it\n/)
      assert.include(ended.err, "1 thing is wrong")
      const dying = CliConfig.make({ agents, layer: Layer.die(new Error("out of memory")) })
      assert.include(find(yield* Commands.runWith(dying, ["doctor", "--json"]), "layer").detail, "out of memory")
    })
  )

  it.live("says which part is not healthy", () =>
    Effect.gen(function* () {
      const model = Layer.effect(
        LlmClient.LlmClient,
        Effect.map(LlmClient.LlmClient, (client) => ({
          ...client,
          health: Effect.fail(new LlmError.LlmConnectionError({ provider: "test", message: "It does not answer" }))
        }))
      )
      const config = CliConfig.make({
        agents,
        layer: Application.layerMemory(agents).pipe(Layer.provide(model), Layer.provide(TestModel.layer([])))
      })
      const ended = yield* Commands.runWith(config, ["doctor", "--json"])
      assert.strictEqual(ended.code, 3)
      assert.deepInclude(find(ended, "health of llm"), { state: "wrong" })
      assert.include(find(ended, "health of llm").detail, "It does not answer")
    })
  )

  it.scopedLive("looks at the server where one is named, and whether the token is taken", () =>
    Effect.gen(function* () {
      const authentication = Authentication.layerBearer({
        verify: (token) => Effect.succeed(Redacted.value(token) === "open-sesame" ? Option.some({}) : Option.none())
      })
      const server = AgentServer.toWebHandler(
        { agents },
        Layer.merge(Layer.provide(Application.layerMemory(agents), TestModel.layer([])), authentication)
      )
      const listener = yield* Effect.acquireRelease(
        Effect.async<Http.Server>((resume) => {
          const made = Http.createServer((request, response) => {
            const { authorization = "" } = request.headers
            void server
              .handler(new Request(`http://localhost${request.url}`, { headers: { authorization } }))
              .then((answer) =>
                answer
                  .text()
                  .then((text) => response.writeHead(answer.status, { "content-type": "application/json" }).end(text))
              )
          }).listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
        }),
        (made) =>
          Effect.zipRight(
            Effect.sync(() => made.close()),
            Effect.promise(server.dispose)
          )
      )
      const address = listener.address()
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
      const doctor = (token: string) =>
        Commands.run(["doctor", "--json", "--url", url], { env: { LEXIGRAM_TOKEN: token } })
      const known = yield* doctor("open-sesame")
      assert.strictEqual(known.code, 0, known.out)
      assert.deepInclude(find(known, "server"), { state: "ok", detail: "healthy" })
      assert.deepInclude(find(known, "access"), { state: "ok", detail: "It shows clerk" })
      assert.isUndefined(find(known, "configuration"))
      const unknown = yield* doctor("close-sesame")
      assert.deepStrictEqual(
        [unknown.code, find(unknown, "server").state, find(unknown, "access").state],
        [3, "ok", "wrong"]
      )
    })
  )

  it.live("says that a server is not there, without the password of its address", () =>
    Effect.gen(function* () {
      const ended = yield* Commands.run(["doctor", "--json", "--url", "http://ann:secret-password@127.0.0.1:1"])
      assert.strictEqual(ended.code, 3)
      assert.strictEqual(find(ended, "server").state, "wrong")
      assert.notInclude(ended.out + ended.err, "secret-password")
    })
  )
})

describe("ranges of packages", () => {
  it("have the versions from their lowest one to their next line", () => {
    const cases: ReadonlyArray<readonly [string, string, boolean]> = [
      ["3.22.4", "^3.22.4", true],
      ["3.23.0", "^3.22.4", true],
      ["3.22.3", "^3.22.4", false],
      ["4.0.0", "^3.22.4", false],
      ["3.22.4-beta.1", "^3.22.4", false],
      ["0.77.9", "^0.77.2", true],
      ["0.78.0", "^0.77.2", false],
      ["12.0.0", ">=12.0.0", true],
      ["13.1.0", ">=12.0.0", true],
      ["11.9.9", ">=12.0.0", false],
      ["20.11.0", ">=20", true],
      ["5.9.9", "~5.9.3", true],
      ["5.10.0", "~5.9.3", false],
      ["none", "^1.0.0", false]
    ]
    for (const [version, range, isIn] of cases)
      assert.strictEqual(Packages.isIn(version, range), isIn, `${version} ${range}`)
  })
})
