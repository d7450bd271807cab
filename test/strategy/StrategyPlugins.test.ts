import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as StrategyRegistry from "../../src/strategy/definition/StrategyRegistry.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as StrategyPlugins from "../../src/strategy/StrategyPlugins.js"
import * as TestModel from "../../src/testing/TestModel.js"

/** Files of a package by path; a `package.json` that is no text is written as JSON. */
interface Files {
  readonly "package.json": unknown
  readonly [file: string]: unknown
}

/** A strategy without imports: says its name and options. */
const module = (name: string) => `
const answer = (text) => ({ text, reason: "completed", messages: [] })
export const make = (options) => ({ name: ${JSON.stringify(name)}, options, program: () => answer, execute: () => undefined })
export default make({})
export const other = 1
`

const manifest = (strategies: unknown, more: object = {}) => ({
  name: "x",
  "effect-lexigram": { strategies },
  ...more
})

const write = (folder: string, files: { readonly [file: string]: unknown }) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    for (const [file, content] of Object.entries(files)) {
      const at = path.join(folder, file)
      yield* fs.makeDirectory(path.dirname(at), { recursive: true })
      yield* fs.writeFileString(at, typeof content === "string" ? content : JSON.stringify(content))
    }
  })

/** A program in a directory of its own, with these packages installed. */
const app = (packages: { readonly [name: string]: Files }, program?: unknown) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const directory = yield* fs.makeTempDirectoryScoped()
    const dependencies = Object.fromEntries(Object.keys(packages).map((name) => [name, "1.0.0"]))
    yield* write(directory, { "package.json": program ?? { name: "app", dependencies } })
    for (const [name, files] of Object.entries(packages)) {
      yield* write(path.join(directory, "node_modules", name), files)
    }
    return directory
  })

const discover = (
  packages: { readonly [name: string]: Files },
  options: Partial<StrategyPlugins.Options> = {},
  program?: unknown
) =>
  Effect.gen(function* () {
    const directory = yield* app(packages, program)
    const warnings: Array<string> = []
    const logger = Logger.make(({ message }) => void warnings.push(String(message)))
    const report = yield* StrategyPlugins.discover({ directory, ...options }).pipe(Effect.provide(Logger.add(logger)))
    return { ...report, warnings, names: report.plugins.map((plugin) => plugin.name) }
  })

const reasons = (report: StrategyPlugins.Report) =>
  report.problems.map(({ packageName, reason, strategy }) => [packageName, strategy, reason])

const run = <A, E>(effect: Effect.Effect<A, E, FileSystem.FileSystem | Path.Path | Scope.Scope>) =>
  Effect.provide(Effect.scoped(effect), Layer.merge(NodeContext.layer, Logger.remove(Logger.defaultLogger)))

const named = (name: string, options: StrategyRegistry.Options = {}) => ({ _tag: "Named" as const, name, options })

describe("StrategyPlugins", () => {
  it.live("finds what dependencies declare, by file and export", () =>
    run(
      Effect.gen(function* () {
        const report = yield* discover({
          "plugin-a": {
            "package.json": manifest({ alpha: "./lib/alpha.mjs#make", "beta.v2": "./lib/alpha.mjs" }),
            "lib/alpha.mjs": module("alpha")
          },
          "@scope/plugin-b": {
            "package.json": manifest({ gamma: "./index.mjs#default" }),
            "index.mjs": module("gamma")
          },
          "no-plugin": { "package.json": { name: "no-plugin" } }
        })
        assert.deepStrictEqual(report.problems, [])
        assert.deepStrictEqual(report.warnings, [])
        assert.deepStrictEqual(
          report.plugins.map(({ entry, name, packageName }) => [name, packageName, entry]),
          [
            ["alpha", "plugin-a", "./lib/alpha.mjs#make"],
            ["beta.v2", "plugin-a", "./lib/alpha.mjs"],
            ["gamma", "@scope/plugin-b", "./index.mjs#default"]
          ]
        )
        const options = { deep: 3 }
        const made = report.plugins.map(({ factory }) => factory(options) as unknown as { options: unknown })
        assert.deepStrictEqual(
          made.map((strategy) => strategy.options),
          [options, {}, {}]
        )
      })
    )
  )

  it.live("omits a broken plugin with a warning that names it, and keeps the others", () =>
    run(
      Effect.gen(function* () {
        const report = yield* discover({
          good: { "package.json": manifest({ good: "./a.mjs#make" }), "a.mjs": module("good") },
          throwing: {
            "package.json": manifest({ throwing: "./a.mjs#make" }),
            "a.mjs": 'throw new Error("no licence")'
          },
          broken: { "package.json": manifest({ broken: "./a.mjs" }), "a.mjs": "export const = 1" },
          importing: { "package.json": manifest({ importing: "./a.mjs" }), "a.mjs": 'import "nowhere-to-be-found"' },
          missing: { "package.json": manifest({ missing: "./nowhere.mjs" }) },
          folder: { "package.json": manifest({ folder: "./lib" }), "lib/index.mjs": module("folder") },
          exporting: {
            "package.json": manifest({
              absent: "./a.mjs#absent",
              number: "./a.mjs#other",
              inherited: "./a.mjs#toString",
              none: "./a.mjs#"
            }),
            "a.mjs": module("exporting")
          }
        })
        assert.deepStrictEqual(report.names, ["good"])
        assert.deepStrictEqual(reasons(report), [
          ["throwing", "throwing", "import"],
          ["broken", "broken", "import"],
          ["importing", "importing", "import"],
          ["missing", "missing", "import"],
          ["folder", "folder", "import"],
          ["exporting", "absent", "export"],
          ["exporting", "number", "export"],
          ["exporting", "inherited", "export"],
          ["exporting", "none", "export"]
        ])
        assert.lengthOf(report.warnings, report.problems.length)
        report.problems.forEach((problem, index) => {
          assert.include(report.warnings[index]!, problem.packageName)
          assert.include(report.warnings[index]!, problem.strategy!)
        })
        assert.include(report.warnings[0]!, "no licence")
      })
    )
  )

  it.live("loads nothing outside the package", () =>
    run(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const outside = yield* fs.makeTempDirectoryScoped()
        yield* write(outside, { "evil.mjs": "globalThis.lexigramEvil = true; export default () => ({})" })
        const evil = path.join(outside, "evil.mjs")
        const packages = {
          escape: {
            "package.json": manifest({
              parent: "../evil.mjs",
              hidden: "./lib/../../evil.mjs",
              windows: ".\\..\\evil.mjs",
              mixed: "./..\\evil.mjs",
              absolute: evil,
              url: `file://${evil}`,
              data: "data:text/javascript,export default () => ({})",
              node: "node:fs",
              bare: "effect/Effect",
              nul: "./a\u0000.mjs",
              empty: "",
              link: "./link.mjs",
              linked: "./linked/evil.mjs"
            }),
            "evil.mjs": module("evil")
          },
          "escape-too": { "package.json": manifest({ sibling: "./link/evil.mjs" }) }
        }
        const directory = yield* app(packages)
        const root = path.join(directory, "node_modules", "escape")
        yield* fs.symlink(evil, path.join(root, "link.mjs"))
        yield* fs.symlink(outside, path.join(root, "linked"))
        // A folder whose name begins like the package's own is not in it.
        yield* fs.symlink(root, path.join(directory, "node_modules", "escape-too", "link"))
        const report = yield* StrategyPlugins.discover({ directory })
        assert.deepStrictEqual(report.plugins, [])
        assert.deepStrictEqual(
          report.problems.map(({ reason, strategy }) => [strategy, reason]),
          [...Object.keys((packages.escape["package.json"] as any)["effect-lexigram"].strategies), "sibling"].map(
            (name) => [name, "path"]
          )
        )
        assert.isUndefined((globalThis as { lexigramEvil?: unknown }).lexigramEvil)
      })
    )
  )

  it.live("accepts a linked package", () =>
    run(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const elsewhere = yield* fs.makeTempDirectoryScoped()
        yield* write(elsewhere, { "package.json": manifest({ linked: "./a b.mjs#make" }), "a b.mjs": module("linked") })
        const directory = yield* app({ other: { "package.json": {} } }, { dependencies: { linked: "*" } })
        yield* fs.symlink(elsewhere, path.join(directory, "node_modules", "linked"))
        const report = yield* StrategyPlugins.discover({ directory })
        assert.deepStrictEqual(
          report.plugins.map((plugin) => plugin.name),
          ["linked"]
        )
      })
    )
  )

  it.live("resolves packages as Node does, also in parent folders", () =>
    run(
      Effect.gen(function* () {
        const path = yield* Path.Path
        const root = yield* app({
          shared: { "package.json": manifest({ shared: "./a.mjs" }), "a.mjs": module("shared") }
        })
        const directory = path.join(root, "apps", "one")
        yield* write(directory, { "package.json": { dependencies: { shared: "*" } } })
        const report = yield* StrategyPlugins.discover({ directory })
        assert.deepStrictEqual(
          report.plugins.map((plugin) => plugin.name),
          ["shared"]
        )
      })
    )
  )

  it.live("reports unusable manifests", () =>
    run(
      Effect.gen(function* () {
        const report = yield* discover({
          text: { "package.json": "not JSON {" },
          list: { "package.json": "[]" },
          huge: { "package.json": `{"x": "${"x".repeat(1024 * 1024)}"}` },
          field: { "package.json": { "effect-lexigram": "./a.mjs" } },
          strategies: { "package.json": { "effect-lexigram": { strategies: ["./a.mjs"] } } },
          entry: { "package.json": manifest({ a: 1, b: { path: "./a.mjs" }, c: null, d: `./${"x".repeat(2000)}` }) },
          empty: { "package.json": { "effect-lexigram": {} } }
        })
        assert.deepStrictEqual(report.names, [])
        assert.deepStrictEqual(reasons(report), [
          ["text", undefined, "manifest"],
          ["list", undefined, "manifest"],
          ["huge", undefined, "manifest"],
          ["field", undefined, "declaration"],
          ["strategies", undefined, "declaration"],
          ["entry", "a", "declaration"],
          ["entry", "b", "declaration"],
          ["entry", "c", "declaration"],
          ["entry", "d", "declaration"]
        ])
        for (const { message } of report.problems) assert.isBelow(message.length, 300)
      })
    )
  )

  it.live("rejects invalid names and touches no prototype", () =>
    run(
      Effect.gen(function* () {
        const strategies = `{"__proto__": "./a.mjs#make", "": "./a.mjs#make", " x": "./a.mjs#make", "${"x".repeat(65)}": "./a.mjs#make", "a/b": "./a.mjs#make", "constructor": "./a.mjs#make"}`
        const report = yield* discover({
          names: {
            "package.json": `{"effect-lexigram": {"strategies": ${strategies}}, "__proto__": {"dependencies": {}}}`,
            "a.mjs": module("names")
          },
          inherits: { "package.json": `{"__proto__": {"effect-lexigram": {"strategies": {"evil": "./a.mjs"}}}}` }
        })
        assert.deepStrictEqual(report.names, ["constructor"])
        assert.deepStrictEqual(
          report.problems.map((problem) => problem.reason),
          ["name", "name", "name", "name", "name"]
        )
        assert.isUndefined(({} as { program?: unknown }).program)
      })
    )
  )

  it.live("keeps the first of two plugins with the same name", () =>
    run(
      Effect.gen(function* () {
        const two = (name: string) => ({
          "package.json": manifest({ same: "./a.mjs" }),
          "a.mjs": module(name)
        })
        const report = yield* discover({ zeta: two("zeta"), alpha: two("alpha") })
        assert.deepStrictEqual(
          report.plugins.map(({ packageName }) => packageName),
          ["zeta"]
        )
        assert.deepStrictEqual(reasons(report), [["alpha", "same", "duplicate"]])
        const chosen = yield* discover({ zeta: two("zeta"), alpha: two("alpha") }, { packages: ["alpha", "zeta"] })
        assert.deepStrictEqual(
          chosen.plugins.map(({ packageName }) => packageName),
          ["alpha"]
        )
      })
    )
  )

  it.live("keeps built-in strategies unless `override` allows replacing them", () =>
    run(
      Effect.gen(function* () {
        const packages = {
          taking: {
            "package.json": manifest({ react: "./a.mjs", function_calling: "./a.mjs" }),
            "a.mjs": module("taken")
          }
        }
        const kept = yield* discover(packages)
        assert.deepStrictEqual(kept.names, [])
        assert.deepStrictEqual(reasons(kept), [
          ["taking", "react", "duplicate"],
          ["taking", "function_calling", "duplicate"]
        ])
        assert.deepStrictEqual((yield* discover(packages, { override: ["react"] })).names, ["react"])
        assert.deepStrictEqual((yield* discover(packages, { override: true })).names, ["react", "function_calling"])
        assert.deepStrictEqual((yield* discover(packages, { override: false })).names, [])
      })
    )
  )

  it.live("restricts discovery to `packages` and reports missing ones", () =>
    run(
      Effect.gen(function* () {
        const one = (name: string) => ({ "package.json": manifest({ [name]: "./a.mjs" }), "a.mjs": module(name) })
        const report = yield* discover(
          { one: one("one"), two: one("two") },
          { packages: ["two", "three", "../one", "/etc", "", "@scope", "two"] }
        )
        assert.deepStrictEqual(report.names, ["two"])
        assert.deepStrictEqual(
          report.problems.map(({ packageName, reason }) => [packageName, reason]),
          [
            ["three", "manifest"],
            ["../one", "manifest"],
            ["/etc", "manifest"],
            ["", "manifest"],
            ["@scope", "manifest"]
          ]
        )
        // A dependency that is not installed, an optional one say, is nobody's fault.
        const optional = yield* discover(
          { one: one("one") },
          {},
          {
            dependencies: { gone: "*" },
            optionalDependencies: { one: "*", fsevents: "*" },
            devDependencies: { two: "*" }
          }
        )
        assert.deepStrictEqual([optional.names, optional.problems], [["one"], []])
      })
    )
  )

  it.live("reports a program without a usable package.json, which has no plugins", () =>
    run(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const empty = yield* StrategyPlugins.discover({ directory: yield* fs.makeTempDirectoryScoped() })
        assert.deepStrictEqual(reasons(empty), [[".", undefined, "manifest"]])
        const odd = yield* discover({}, {}, { dependencies: ["a"], optionalDependencies: "b" })
        assert.deepStrictEqual([odd.plugins, odd.problems], [[], []])
      })
    )
  )

  it.live("omits a module that does not finish loading", () =>
    run(
      Effect.gen(function* () {
        const report = yield* discover(
          {
            slow: {
              "package.json": manifest({ slow: "./a.mjs" }),
              "a.mjs": "await new Promise((resolve) => setTimeout(resolve, 60_000).unref()); export default () => ({})"
            }
          },
          { timeout: "50 millis" }
        )
        assert.deepStrictEqual(reasons(report), [["slow", "slow", "import"]])
        assert.include(report.problems[0]!.message, "50 ms")
      })
    )
  )

  it.live("layers built-in strategies, plugins and given strategies in this order", () =>
    run(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const directory = yield* app({
          plugins: {
            "package.json": manifest({ mine: "./a.mjs#make", echo: "./echo.mjs#make", bad: "./a.mjs#bad" }),
            "a.mjs": `${module("mine")}\nexport const bad = () => ({ name: "bad" })`,
            "echo.mjs": `
import * as Effect from "effect/Effect"
export const make = ({ prefix = "" }) => {
  const program = (task) => Effect.succeed({ text: prefix + task.input, reason: "completed", messages: [] })
  return { name: "echo", program, execute: () => undefined }
}`
          }
        })
        yield* fs.symlink(path.resolve("node_modules/effect"), path.join(directory, "node_modules", "effect"))
        const layer = StrategyPlugins.layer({ directory, strategies: { mine: FunctionCalling.make } })
        const registry = yield* Effect.provide(StrategyRegistry.StrategyRegistry, layer)
        assert.includeMembers([...registry.names], ["react", "function_calling", "mine", "echo", "bad"])
        assert.strictEqual((yield* registry.resolve(named("mine"))).name, "function_calling")
        assert.include(yield* Effect.flip(registry.resolve(named("bad"))), "does not make a strategy")

        // An agent that names it runs it, with its options.
        const agent = Agent.make("clerk").pipe(Agent.withStrategy("echo", { prefix: "> " }))
        const response = yield* AgentExecutor.run(agent, "hello").pipe(
          Effect.provide(Agents.layerWith({ strategies: layer }).pipe(Layer.provide(TestModel.layer([]))))
        )
        assert.strictEqual(response.message, "> hello")
      })
    )
  )
})
