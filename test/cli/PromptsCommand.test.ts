import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent } from "effect-lexigram"
import { CliConfig } from "effect-lexigram/cli"
import * as Yaml from "yaml"
import * as PromptText from "../../src/cli/data/PromptText.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as ReActPrompts from "../../src/prompt/defaults/ReActPrompts.js"
import * as PromptVersions from "../../src/prompt/PromptVersions.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Commands from "../support/Commands.js"

const helper = Agent.make("helper", { system: "You help." })

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

const base = AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>

const [step] = ReActPrompts.steps
const pattern = step?.pattern ?? ""
const name = step?.name ?? ""
const system = `${step?.system.source}\nSay \u001b[2J {{this}}.\u202e`

const options = { overrides: { [pattern]: { [name]: { system } } }, instructions: "Be kind." }

const plain = CliConfig.make({ agents: [helper], layer: base })
const custom = CliConfig.make({
  agents: [helper],
  layer: Layer.merge(base, Layer.orDie(CustomPrompts.layer(options)))
})

const temporary = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-prompts-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

describe("lexigram prompts", () => {
  it.live("exports all prompts in use as YAML and JSON, from which the same prompts can be made", () =>
    Effect.gen(function* () {
      const text = yield* Commands.runWith(custom, ["prompts", "export"])
      assert.strictEqual(text.code, 0, text.err)
      assert.notMatch(text.out, obeyed)
      const { json, out } = yield* Commands.runWith(custom, ["prompts", "export", "--json"])
      assert.notMatch(out, obeyed)
      assert.deepStrictEqual(Yaml.parse(text.out), json)
      for (const { name, pattern, ...halves } of DefaultPrompts.steps) {
        if (pattern === step?.pattern && name === step.name) continue
        assert.deepStrictEqual(json.overrides[pattern][name], {
          system: halves.system.source,
          user: halves.user.source
        })
      }
      assert.strictEqual(json.overrides[pattern][name].system, system)
      assert.strictEqual(json.instructions[pattern], "Be kind.")
      const again = Either.getOrThrow(CustomPrompts.make(json))
      const before = Either.getOrThrow(CustomPrompts.make(options))
      assert.deepStrictEqual(PromptText.fromLibrary(again), PromptText.fromLibrary(before))
      const none = (yield* Commands.runWith(plain, ["prompts", "export", "--json"])).json
      assert.notProperty(none, "instructions")
      assert.strictEqual(none.overrides[pattern][name].system, step?.system.source)
    })
  )

  it("writes any text so that YAML reads the same", () => {
    const text = FastCheck.oneof(
      FastCheck.fullUnicodeString(),
      FastCheck.string(),
      FastCheck.stringOf(
        FastCheck.constantFrom("a", " ", "\n", "\t", "#", ":", "-", "|", "'", '"', "\r", "{", "\u2028")
      )
    )
    const key = FastCheck.oneof(FastCheck.constantFrom("a", "no", "__proto__", "1", "a b"), FastCheck.string())
    FastCheck.assert(
      FastCheck.property(
        FastCheck.dictionary(key, FastCheck.dictionary(key, FastCheck.record({ user: text }))),
        (overrides) => {
          const yaml = PromptText.toYaml({ overrides })
          assert.deepStrictEqual(JSON.stringify(Yaml.parse(yaml, { maxAliasCount: 0 })), JSON.stringify({ overrides }))
        }
      ),
      { numRuns: 500 }
    )
  })

  it.scopedLive("shows what changed between files, and from a file to the prompts in use", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const [before, after] = [Path.join(folder, "before.json"), Path.join(folder, "after.json")]
      Fs.writeFileSync(before, (yield* Commands.runWith(plain, ["prompts", "export", "--json"])).out)
      Fs.writeFileSync(after, (yield* Commands.runWith(custom, ["prompts", "export", "--json"])).out)
      const files = yield* Commands.runWith(plain, ["prompts", "diff", before, after])
      assert.strictEqual(files.code, 0, files.err)
      assert.include(files.out, `${pattern}/${name}/system\n`)
      assert.include(files.out, "\n+Say \\u{001b}[2J {{this}}.\\u{202e}\n")
      assert.include(files.out, "\n+Be kind.\n")
      assert.notMatch(files.out, obeyed)
      const inUse = yield* Commands.runWith(custom, ["prompts", "diff", before, "--json"])
      const places = inUse.json.changes.map(({ where }: { where: string }) => where)
      assert.include(places, `${pattern}/${name}/system`)
      assert.strictEqual((yield* Commands.runWith(plain, ["prompts", "diff", before])).out, "No differences.\n")
    })
  )

  it.scopedLive("shows what changed between versions, by numbers and labels", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporary, "versions.json")
      const one = PromptVersions.add(PromptVersions.empty, { instructions: "Be brief." })
      const two = PromptVersions.add(one.versions, { instructions: "Be kind." })
      const labelled = Either.getOrThrow(PromptVersions.label(two.versions, "production", 2))
      Fs.writeFileSync(file, Schema.encodeSync(PromptVersions.Json)(labelled))
      const diff = (...args: ReadonlyArray<string>) =>
        Commands.runWith(plain, ["prompts", "diff", ...args, "--versions", file])
      assert.strictEqual((yield* diff("1", "production")).out, "instructions\n-Be brief.\n+Be kind.\n")
      const unknown = yield* diff("1", "prodution")
      assert.notStrictEqual(unknown.code, 0)
      assert.include(unknown.err, "Did you mean production?")
      assert.include((yield* diff("1", "__proto__")).err, "There is no version")
    })
  )

  it.scopedLive("says that a file is missing or has no prompts", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporary, "other.json")
      const missing = yield* Commands.runWith(plain, ["prompts", "diff", file])
      assert.strictEqual(missing.code, 1)
      assert.include(missing.err, "cannot be read")
      for (const text of ["", "{", "[]", '{"overrides":{"a":1}}', "[".repeat(100_000)]) {
        Fs.writeFileSync(file, text)
        const ended = yield* Commands.runWith(plain, ["prompts", "diff", file])
        assert.strictEqual(ended.code, 1, text.slice(0, 20))
        assert.include(ended.err, "prompts export --json")
        const versions = yield* Commands.runWith(plain, ["prompts", "diff", "1", "2", "--versions", file])
        assert.include(versions.err, "has no prompts")
      }
    })
  )
})
