import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as DefaultSkillRegistry from "../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillSource from "../../src/skill/folder/SkillSource.js"
import * as ModuleDiscovery from "../../src/skill/ModuleDiscovery.js"
import { named, namesOf } from "./execute/SkillRegistrySuite.js"

const base = new URL("fixtures/discovery/", import.meta.url)
const names = ({ found }: ModuleDiscovery.Scan) => found.map(({ skill }) => skill.definition.name)
const reasons = ({ problems }: ModuleDiscovery.Scan) => problems.map(({ reason, subject }) => [reason, subject])

const first = ["ant", "default_one", "first", "zebra", "in_kit"]

describe("a scan of modules", () => {
  it.effect("finds skills, lists and toolkits among the exports, in order, each once", () =>
    Effect.gen(function* () {
      const scan = yield* ModuleDiscovery.scan(["./skills.ts", "./more.ts", "./skills.ts"], { base })
      assert.deepStrictEqual(names(scan), [...first, "needy"])
      assert.deepStrictEqual(
        scan.found.map(({ module }) => module),
        [...first.map(() => "./skills.ts"), "./more.ts"]
      )
      assert.deepStrictEqual(scan.problems, [])
    })
  )

  it.effect("continues after missing, broken or empty modules, and names them", () =>
    Effect.gen(function* () {
      const scan = yield* ModuleDiscovery.scan(
        ["./missing.ts", "no-such-package-anywhere/at-all", "./broken.ts", "./empty.ts", "./more.ts"],
        { base, name: "my modules" }
      )
      assert.deepStrictEqual(names(scan), ["ant", "needy", "zebra"])
      assert.deepStrictEqual(reasons(scan), [
        ["Unavailable", "./missing.ts"],
        ["Unavailable", "no-such-package-anywhere/at-all"],
        ["Unavailable", "./broken.ts"],
        ["NoSkills", "./empty.ts"]
      ])
      const [, , broken] = scan.problems
      assert.deepStrictEqual(
        [broken?._tag, broken?.code, broken?.source],
        ["SkillSourceError", "LEX_ERR_SKILL_113", "my modules"]
      )
      assert.include(broken?.message, '"./broken.ts" cannot be loaded: it fell apart')
    })
  )

  const refused = [
    "data:text/javascript,export default 1",
    "https://example.com/skills.js",
    "node:fs",
    "/etc/passwd",
    "..",
    ".",
    "",
    "pkg/../../secret",
    "pkg//x",
    "@scope",
    "pkg\\x",
    "C:\\skills.js",
    "pkg\u202e",
    `pkg/${"a".repeat(2000)}`
  ]
  for (const specifier of refused) {
    it.effect(`does not load ${JSON.stringify(specifier.slice(0, 40))}`, () =>
      Effect.gen(function* () {
        const loaded: Array<string> = []
        const load = (specifier: string) => {
          loaded.push(specifier)
          return Promise.resolve({})
        }
        const scan = yield* ModuleDiscovery.scan([specifier], { base, load })
        assert.deepStrictEqual(loaded, [])
        assert.strictEqual(scan.problems[0]?.reason, "Refused")
        assert.isAtMost(scan.problems[0]?.message.length ?? 0, 1200)
      })
    )
  }

  it.effect("loads packages by name, files by URL, and relative paths only with a base", () =>
    Effect.gen(function* () {
      const loaded: Array<string> = []
      const load = (specifier: string) => {
        loaded.push(specifier)
        return Promise.resolve({ a: named(specifier) })
      }
      const specifiers = ["pkg", "@scope/pkg/deep/skills.js", "pkg/skills", "file:///srv/skills.js", "../up.js"]
      const scan = yield* ModuleDiscovery.scan(specifiers, { load })
      assert.deepStrictEqual(loaded, specifiers.slice(0, 4))
      assert.deepStrictEqual(reasons(scan), [["Refused", "../up.js"]])
      const based = yield* ModuleDiscovery.scan(["../up.js"], { load, base: "file:///srv/app/main.js" })
      assert.deepStrictEqual(names(based), ["file:///srv/up.js"])
      const wrong = yield* ModuleDiscovery.scan(["../up.js"], { load, base: "/srv/app" })
      assert.deepStrictEqual(reasons(wrong), [["Refused", "../up.js"]])
    })
  )

  it.effect("stops waiting for a module at the timeout", () =>
    Effect.gen(function* () {
      const load = (specifier: string) =>
        specifier === "slow" ? new Promise<unknown>(() => {}) : Promise.resolve({ a: named("a") })
      const fiber = yield* Effect.fork(ModuleDiscovery.scan(["slow", "fast"], { load, timeout: "3 seconds" }))
      yield* TestClock.adjust("3 seconds")
      const scan = yield* Fiber.join(fiber)
      assert.deepStrictEqual(names(scan), ["a"])
      assert.deepStrictEqual(reasons(scan), [["Unavailable", "slow"]])
      assert.include(scan.problems[0]?.message, "3000 ms")
    })
  )

  it.effect("takes nothing from a value that is not a module", () =>
    Effect.gen(function* () {
      for (const odd of [undefined, null, 5, "text", [], {}, () => {}]) {
        const scan = yield* ModuleDiscovery.scan(["pkg"], { load: () => Promise.resolve(odd) })
        assert.deepStrictEqual(reasons(scan), [["NoSkills", "pkg"]])
      }
    })
  )
})

describe("modules as a source", () => {
  it.effect("fill a registry while its scope is open and omit clashes", () =>
    Effect.gen(function* () {
      const [report] = yield* SkillSource.register(
        ModuleDiscovery.source(["./more.ts", "./missing.ts"], { base, name: "m" })
      )
      assert.deepStrictEqual([report?.source, report?.registered], ["m", ["needy", "zebra"]])
      assert.deepStrictEqual(
        report?.problems.map(({ reason, subject }) => [reason, subject]),
        [
          ["Unavailable", "./missing.ts"],
          ["NotRegistered", "ant"]
        ]
      )
      assert.deepStrictEqual(yield* namesOf(), ["ant", "needy", "zebra"])
    }).pipe(
      Effect.scoped,
      Effect.zipRight(Effect.tap(namesOf(), (names) => assert.deepStrictEqual(names, ["ant"]))),
      Effect.provide(DefaultSkillRegistry.layer(named("ant")))
    )
  )
})
