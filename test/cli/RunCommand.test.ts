import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, LlmError, Tool } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig } from "effect-lexigram/cli"
import { TestModel } from "effect-lexigram/testing"
import * as Commands from "../support/Commands.js"

const refund = Tool.make("refund", {
  description: "Refunds an amount in euros",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount} euros`)
})

const agents = [Agent.make("clerk", { system: "You help.", tools: [refund] }), Agent.make("other", { system: "" })]

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

type Script = Parameters<typeof TestModel.layer>[0]

const desk = (script: Script) =>
  CliConfig.make({ agents, layer: Layer.provide(Application.layerMemory(agents), TestModel.layer(script)) })

describe("lexigram run", () => {
  it.live("writes the answer alone", () =>
    Effect.gen(function* () {
      const ended = yield* Commands.runWith(desk([{ text: ["He", "llo"] }]), ["run", "Hi", "there"])
      assert.deepStrictEqual([ended.code, ended.out, ended.err], [0, "Hello\n", ""])
    })
  )

  it.live("writes the answer as JSON, and the events one a line", () =>
    Effect.gen(function* () {
      const one = yield* Commands.runWith(desk(["Hello"]), ["run", "--json", "Hi"])
      assert.strictEqual(one.json.message, "Hello")
      assert.strictEqual(one.json.agent, "clerk")
      const many = yield* Commands.runWith(desk([{ text: ["He", "llo"] }]), ["run", "--json", "--stream", "Hi"])
      const events = many.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.strictEqual(events[0]._tag, "Started")
      assert.strictEqual(events.at(-1)._tag, "Finished")
      assert.deepStrictEqual(
        events.filter(({ _tag }) => _tag === "TextDelta").map(({ text }) => text),
        ["He", "llo"]
      )
    })
  )

  it.live("asks the agent that is named, with the session and for the user", () =>
    Effect.gen(function* () {
      const args = ["run", "Hi", "-a", "other", "--session", "talk", "--user", "ann", "--json", "--stream"]
      const { out } = yield* Commands.runWith(desk(["Hello"]), args)
      const started = JSON.parse(out.split("\n", 1)[0] ?? "")
      assert.deepInclude(started, { agent: "other", sessionId: "talk", userId: "ann" })
      const unknown = yield* Commands.runWith(desk([]), ["run", "Hi", "--agent", "clark"])
      assert.strictEqual(unknown.code, 4)
      assert.include(unknown.err, "clerk")
    })
  )

  it.live("denies calls where nobody is asked, and approves them with --yes", () =>
    Effect.gen(function* () {
      const script: Script = [
        { calls: [{ name: "refund", params: { amount: 5 } }] },
        ({ messages }) => (JSON.stringify(messages.at(-1)).includes("refunded 5 euros") ? "done" : "denied")
      ]
      assert.strictEqual((yield* Commands.runWith(desk(script), ["run", "Refund"])).out, "denied\n")
      assert.strictEqual((yield* Commands.runWith(desk(script), ["run", "Refund", "--yes"])).out, "done\n")
    })
  )

  it.live("says why a run failed, and ends by the family of its error", () =>
    Effect.gen(function* () {
      const failing = (fail: LlmError.LlmError) => desk([{ fail }])
      const authentication = new LlmError.LlmAuthenticationError({
        provider: "test",
        message: "The key sk-12345678 is wrong"
      })
      const ended = yield* Commands.runWith(failing(authentication), ["run", "Hi"])
      assert.strictEqual(ended.code, 3)
      assert.include(ended.err, "LlmAuthenticationError (LEX_ERR_LLM_100): The key [REDACTED] is wrong")
      const asJson = yield* Commands.runWith(failing(authentication), ["run", "Hi", "--json"])
      assert.strictEqual(JSON.parse(asJson.err).error.code, "LEX_ERR_LLM_100")
      assert.strictEqual(asJson.json.error.code, "LEX_ERR_LLM_100")
    })
  )

  it.live("shows what others wrote without what would move the cursor", () =>
    Effect.gen(function* () {
      const text = "a\u001b[2Jb\u202ec\u0007d\r\ne"
      const plain = yield* Commands.runWith(desk([text]), ["run", "Hi"])
      assert.strictEqual(plain.out, "a\\u{001b}[2Jb\\u{202e}c\\u{0007}d\ne\n")
      const json = yield* Commands.runWith(desk([text]), ["run", "Hi", "--json"])
      assert.notMatch(json.out, obeyed)
      assert.strictEqual(json.json.message, text)
      const events = yield* Commands.runWith(desk([text]), ["run", "Hi", "--json", "--stream"])
      assert.notMatch(events.out, obeyed)
    })
  )

  it.live("runs an agent of a module without a configuration, on the model that is named", () =>
    Effect.gen(function* () {
      const modules = { "clerk.ts": { default: Agent.make("lone", { system: "You help." }) }, "none.ts": { a: 1 } }
      const ended = yield* Commands.run(["run", "--agent", "./clerk.ts", "--model", "offline", "--json", "Hi"], {
        modules
      })
      assert.deepInclude(ended.json, { agent: "lone" })
      const fromEnvironment = yield* Commands.run(["run", "--agent", "./clerk.ts", "Hi"], {
        modules,
        env: { LEXIGRAM_MODEL: "nobody/x" }
      })
      assert.strictEqual(fromEnvironment.code, 3)
      assert.include(fromEnvironment.err, 'The provider "nobody" is unknown')
      const none = yield* Commands.run(["run", "--agent", "./none.ts", "Hi"], { modules })
      assert.strictEqual(none.code, 3)
      assert.include(none.err, "exports no agent")
    })
  )

  it.live("says what a configuration lacks", () =>
    Effect.gen(function* () {
      const missing = yield* Commands.run(["run", "Hi"])
      assert.strictEqual(missing.code, 3)
      assert.include(missing.err, "lexigram init")
      const wrong = yield* Commands.runWith({ agents } as never, ["run", "Hi"])
      assert.include(wrong.err, "CliConfig.make")
      const empty = yield* Commands.runWith(CliConfig.make({ ...desk([]), agents: [] }), ["run", "Hi"])
      assert.include(empty.err, "no agents")
      const model = yield* Commands.runWith(desk([]), ["run", "Hi", "--model", "offline"])
      assert.strictEqual(model.code, 2)
      assert.include(model.err, "a function of `{ model }`")
      const thrown = CliConfig.make({
        agents,
        layer: () => {
          throw new Error("no")
        }
      })
      assert.strictEqual((yield* Commands.runWith(thrown, ["run", "Hi"])).code, 3)
    })
  )

  it.live("refuses flags that it does not have, and says how it is used", () =>
    Effect.gen(function* () {
      const wrong = yield* Commands.run(["run", "Hi", "--colour"])
      assert.strictEqual(wrong.code, 2)
      const help = yield* Commands.run(["run", "--help"])
      assert.strictEqual(help.code, 0)
      assert.include(help.out, "--session")
      assert.notInclude(help.out, "\u001b")
      const nothing = yield* Commands.runWith(desk([]), ["run", " "])
      assert.strictEqual(nothing.code, 2)
      const given = yield* Commands.runWith(desk([({ messages }) => JSON.stringify(messages.at(-1))]), ["run"], {
        input: "--from the input\n"
      })
      assert.include(given.out, "--from the input")
    })
  )
})
