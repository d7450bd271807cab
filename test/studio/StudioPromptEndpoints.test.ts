import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as PromptHistory from "../../src/prompt/PromptHistory.js"
import * as PromptVersions from "../../src/prompt/PromptVersions.js"
import { PromptLibraryError } from "../../src/prompt/template/PromptError.js"
import * as StudioApis from "../support/StudioApis.js"

const { dev, nobody } = StudioApis

const KEY = "sk-1234567890abcdef1234567890"

const step = DefaultPrompts.steps[0]!
const second = DefaultPrompts.steps.find(({ pattern }) => pattern !== step.pattern)!
const name = `${step.pattern}/${step.name}`

const overriding = (system: string) => ({ [step.pattern]: { [step.name]: { system } } })

const versions = (() => {
  const first = PromptVersions.add(PromptVersions.empty, {
    overrides: overriding("You are brief.\nYou are kind."),
    note: `first ${KEY}`,
    createdAt: 1000
  })
  const { versions } = PromptVersions.add(first.versions, {
    overrides: overriding("You are brief.\nYou are loud."),
    instructions: "Say </script>"
  })
  return Either.getOrThrow(PromptVersions.label(versions, "production", 1))
})()

const inUse = CustomPrompts.layer({
  overrides: overriding("You are brief.\nYou are loud."),
  instructions: { [second.pattern]: "Mind the gap." }
})

const helper = Agent.make("helper")

const start = StudioApis.start({
  agents: [helper],
  others: Layer.orDie(Layer.merge(inUse, PromptHistory.layer(versions))) as never
})

type Server = Effect.Effect.Success<typeof start>

const diff = ({ ask }: Server, of: string, query = "") =>
  ask(`/studio/api/prompts/${encodeURIComponent(of)}/diff?${query}`, { user: dev })

describe("prompts of the studio", () => {
  it.scopedLive("are those in use, with their versions and labels, the newest first", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, status, text } = yield* ask("/studio/api/prompts", { user: dev })
      assert.strictEqual(status, 200, text)
      assert.lengthOf(json.prompts, DefaultPrompts.steps.length)
      const found = json.prompts.find((one: any) => one.name === name)
      assert.deepInclude(found, { pattern: step.pattern, step: step.name, isChanged: true })
      assert.strictEqual(found.system, "You are brief.\nYou are loud.")
      const gap = json.prompts.find(({ pattern }: any) => pattern === second.pattern)
      assert.include(gap.instructions, "Mind the gap.")
      assert.isFalse(gap.isChanged)
      assert.deepStrictEqual(
        json.versions.map(({ labels, number }: any) => [number, labels]),
        [
          [2, []],
          [1, ["production"]]
        ]
      )
      assert.deepStrictEqual(json.versions[1].overrides, [name])
      assert.notInclude(text, KEY)
    })
  )

  it.scopedLive("differ between versions, labels, the code and those in use", () =>
    Effect.gen(function* () {
      const server = yield* start
      const changes = (of: string, query: string) =>
        Effect.map(diff(server, of, query), ({ json, status, text }) => {
          assert.strictEqual(status, 200, text)
          return json.changes as ReadonlyArray<PromptVersions.Change>
        })
      const found = yield* changes(name, "from=production&to=2")
      assert.deepStrictEqual(
        found.map(({ where }) => where),
        [`${step.pattern} instructions`, `${name}/system`]
      )
      const change = found[1]
      assert.deepStrictEqual(change?.lines, [
        { kind: "same", text: "You are brief." },
        { kind: "removed", text: "You are kind." },
        { kind: "added", text: "You are loud." }
      ])
      assert.deepStrictEqual(yield* changes(name, "from=1&to=production"), [])
      const current = yield* changes(step.pattern, "")
      assert.deepStrictEqual(
        current.map(({ where }) => where),
        [`${name}/system`]
      )
      const all = yield* changes("*", "from=2&to=current")
      assert.isTrue(all.some(({ where }) => where === `${second.pattern} instructions`))
      assert.deepStrictEqual(yield* changes(`${second.pattern}/${second.name}`, "from=1&to=code"), [])
    })
  )

  it.scopedLive("are not found under names and versions that do not exist", () =>
    Effect.gen(function* () {
      const server = yield* start
      for (const of of ["none", "__proto__", "constructor", `${step.pattern}/`, "\u0000"]) {
        assert.strictEqual((yield* diff(server, of)).status, 404, of)
      }
      assert.strictEqual((yield* diff(server, "x".repeat(300))).status, 400)
      for (const which of ["3", "productoin", "__proto__", "constructor", "999999999999999999999"]) {
        const { json, status, text } = yield* diff(server, name, `from=${which}`)
        assert.strictEqual(status, 404, text)
        assert.isString(json.hint)
      }
      assert.include((yield* diff(server, name, "from=productoin")).json.hint, "production")
      assert.strictEqual((yield* diff(server, name, "from=")).status, 400)
    })
  )

  it.scopedLive("have no versions where the server keeps none, or cannot read them", () =>
    Effect.gen(function* () {
      const server = yield* StudioApis.start({ agents: [helper] })
      const listed = yield* server.ask("/studio/api/prompts", { user: dev })
      assert.notProperty(listed.json, "versions")
      assert.isFalse(listed.json.prompts.some(({ isChanged }: any) => isChanged))
      const missing = yield* diff(server, name, "from=1")
      assert.strictEqual(missing.status, 404)
      assert.include(missing.json.hint, "PromptHistory.layer")
      const failing = PromptHistory.layer(
        Effect.fail(new PromptLibraryError({ where: "file", message: `no file ${KEY}` }))
      )
      const broken = yield* StudioApis.start({ agents: [helper], others: failing as never })
      const refused = yield* broken.ask("/studio/api/prompts", { user: dev })
      assert.strictEqual(refused.status, 503, refused.text)
      assert.notInclude(refused.text, KEY)
    })
  )

  it.scopedLive("are for developers alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      for (const path of ["/studio/api/prompts", "/studio/api/prompts/a/diff"]) {
        assert.strictEqual((yield* ask(path, { user: nobody })).status, 403)
        assert.strictEqual((yield* ask(path, { user: "" })).status, 401)
      }
    })
  )
})
