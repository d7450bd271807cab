import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { bars, problems, repositorySources } from "../scripts/layering.js"
import { filesBelow, floorOf, root } from "../scripts/layout.js"

const check = (files: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  problems(
    new Map(
      Object.entries({ "domain/Ids.ts": "", "tool/definition/Tool.ts": "", "agent/AgentExecutor.ts": "", ...files })
    )
  )

const accepts = (files: Readonly<Record<string, string>>): void => assert.deepStrictEqual(check(files), [])

const refuses = (files: Readonly<Record<string, string>>, ...expected: ReadonlyArray<string>): void =>
  assert.deepStrictEqual(check(files), expected)

describe("layering", () => {
  it("the rules hold in src", () => {
    const sources = repositorySources()
    assert.isAbove(sources.size, 5)
    const found = problems(sources)
    assert.deepStrictEqual(found, [], found.join("\n"))
  })

  it("has one level of rooms, which entries export", () => {
    assert.deepStrictEqual(
      [...floorOf.keys()].filter((folder) => folder.split("/").length > 2),
      []
    )
  })

  it("no test changes the `it` shared by the tests of a process", () => {
    const tests = Path.join(root, "test")
    const found = filesBelow(tests).filter((file) =>
      /\bit\.layer\(|import \{[^}]*\blayer\b[^}]*\} from "@effect\/vitest"/.test(
        Fs.readFileSync(Path.join(tests, file), "utf8")
      )
    )
    assert.deepStrictEqual(found, [], "layer of @effect/vitest: use test/support/Shared.ts")
  })

  it("allows imports of a lower folder, the own folder and other packages", () => {
    accepts({
      "tool/ToolSet.ts": `
        import * as Effect from "effect/Effect"
        import type * as Prompt from "@effect/ai/Prompt"
        import Ajv from "ajv"
        import type * as Path from "node:path"
        import * as Ids from "../domain/Ids.js"
        export * from "./definition/Tool.js"
      `
    })
  })

  it("allows an index to import what it exports", () => {
    accepts({
      "index.ts": `export * as Tool from "./tool/definition/Tool.js"`,
      "tool/index.ts": `export * as Tool from "./definition/Tool.js"`
    })
  })

  it("allows a child process program timers, and imports of Node only", () => {
    accepts({ "builtin/sql/SqliteProcess.mjs": `import "node:worker_threads"\nsetTimeout(() => {}, 1)` })
    refuses(
      { "builtin/sql/SqliteProcess.mjs": `import * as Ids from "../../domain/Ids.js"` },
      `builtin/sql/SqliteProcess.mjs:1: imports "../../domain/Ids.js", but a program stands alone`
    )
  })

  const at = (folder: string): string => `${folder} (floor ${floorOf.get(folder)})`

  const upward = `tool/Bad.ts:1: ${at("tool")} imports ${at("agent")}: "../agent/AgentExecutor.js"`

  it.each([
    [`import * as Agent from "../agent/AgentExecutor.js"`],
    [`import type * as Agent from "../agent/AgentExecutor.js"`],
    [`import { type Agent } from "../agent/AgentExecutor.js"`],
    [`import "../agent/AgentExecutor.js"`],
    [`export * from "../agent/AgentExecutor.js"`],
    [`export type { Agent } from "../agent/AgentExecutor.js"`],
    [`export const load = () => import("../agent/AgentExecutor.js")`],
    ["export const load = () => import(`../agent/AgentExecutor.js`)"],
    [`export type Agent = import("../agent/AgentExecutor.js").Agent`],
    [`export type Agent = typeof import("../agent/AgentExecutor.js")`]
  ])("rejects an import of a higher folder: %s", (text) => {
    refuses({ "tool/Bad.ts": text }, upward)
  })

  it("rejects an import of a folder on the same floor", () => {
    assert.strictEqual(floorOf.get("telemetry"), floorOf.get("internal/fiber"))
    refuses(
      { "internal/fiber/Deadline.ts": "", "telemetry/Bad.ts": `import "../internal/fiber/Deadline.js"` },
      `telemetry/Bad.ts:1: ${at("telemetry")} imports ${at("internal/fiber")}: "../internal/fiber/Deadline.js"`
    )
  })

  it("rejects any import of testing", () => {
    refuses(
      { "testing/TestModel.ts": "", "http/session/Bad.ts": `import "../../testing/TestModel.js"` },
      `http/session/Bad.ts:1: ${at("http/session")} imports ${at("testing")}: "../../testing/TestModel.js"`
    )
  })

  it("requires a floor for a folder and for the folder of an index", () => {
    refuses(
      { "utils/Text.ts": "", "utils/index.ts": "" },
      "utils/Text.ts: the folder utils has no floor",
      "utils/index.ts: the folder utils has no floor"
    )
  })

  it.each([
    ["effect"],
    ["@effect/ai"],
    ["@effect/platform"],
    ["effect-lexigram"],
    ["effect-lexigram/tool"],
    ["./index.js"],
    ["../index.js"],
    ["../domain/index.js"]
  ])("rejects an import of a barrel: %s", (specifier) => {
    const expected = `tool/Bad.ts:1: imports the barrel "${specifier}"`
    refuses({ "tool/Bad.ts": `import { x } from "${specifier}"` }, expected)
    refuses({ "tool/Bad.ts": `import type { x } from "${specifier}"` }, expected)
    refuses({ "tool/Bad.ts": `export const x = import("${specifier}")` }, expected)
  })

  it("requires a relative import to name a module of src, with .js", () => {
    refuses(
      {
        "tool/Bad.ts": `import "../domain/Ids"\nimport "../domain/Missing.js"\nimport "../../test/Doubles.js"\nimport ".."`
      },
      `tool/Bad.ts:1: imports "../domain/Ids" without .js`,
      `tool/Bad.ts:2: imports "../domain/Missing.js", which is no module of src`,
      `tool/Bad.ts:3: imports "../../test/Doubles.js", which is no module of src`,
      `tool/Bad.ts:4: imports ".." without .js`
    )
  })

  it("requires unique module names across folders", () => {
    refuses({ "llm/Tool.ts": "" }, "llm/Tool.ts: tool/definition/Tool.ts has the same name")
  })

  it("requires PascalCase modules in folders of the table", () => {
    const name = "a module name is PascalCase, its file ends in .ts"
    refuses(
      { "tool/helpers.ts": "", "tool/tool-set.ts": "", "tool/View.tsx": "", "tool/x/Deep.ts": "", "Loose.ts": "" },
      `tool/helpers.ts: ${name}`,
      `tool/tool-set.ts: ${name}`,
      `tool/View.tsx: ${name}`,
      "tool/x/Deep.ts: the folder tool/x has no floor",
      "Loose.ts: a module belongs into a folder of src"
    )
  })

  it.each([
    ["Date.now()", "Date.now instead of Clock"],
    ["[1].map(Date.now)", "Date.now instead of Clock"],
    ["new Date()", "Date instead of Clock and DateTime"],
    ["new Date(0)", "Date instead of Clock and DateTime"],
    ["Math.random()", "Math.random instead of Random"],
    ["setTimeout(() => {}, 1)", "setTimeout instead of Effect.sleep"],
    ["globalThis.setTimeout(() => {}, 1)", "setTimeout instead of Effect.sleep"],
    ["{ wake: setImmediate }", "setImmediate instead of Effect.yieldNow"],
    ["setInterval(() => {}, 1)", "setInterval instead of Schedule"],
    ["console.log(1)", "console instead of Effect.log"],
    ["process.env.KEY", "process.env instead of Config"],
    ["Effect.makeSemaphore(1)", "Effect.makeSemaphore instead of Permits"],
    ["Effect.unsafeMakeSemaphore(1)", "Effect.unsafeMakeSemaphore instead of Permits"],
    [`globalThis.process.env["KEY"]`, "process.env instead of Config"]
  ])("requires services for time, randomness, the console and the environment: %s", (expression, problem) => {
    refuses({ "tool/Bad.ts": `export const x = ${expression}` }, `tool/Bad.ts:1: uses ${problem}`)
  })

  it("allows forbidden names in comments, texts and members", () => {
    accepts({
      "tool/Fine.ts": `
        /** Like console.log(Date.now()). */
        export const text = "setTimeout(process.env)"
        export interface Timer { readonly setTimeout: () => void }
        export const timer = (t: Timer) => t.setTimeout()
      `
    })
  })

  it("allows timers only to modules that wait for a turn of the event loop, and nothing else forbidden", () => {
    accepts({ "internal/fiber/EventSink.ts": "export const wake = (f: () => void) => setImmediate(f)" })
    accepts({ "internal/fiber/NextTurn.ts": "export const wake = (f: () => void) => setImmediate(f)" })
    refuses(
      { "internal/fiber/EventSink.ts": "console.log(1)" },
      "internal/fiber/EventSink.ts:1: uses console instead of Effect.log"
    )
    refuses(
      { "internal/fiber/Deadline.ts": "export const wake = (f: () => void) => setImmediate(f)" },
      "internal/fiber/Deadline.ts:1: uses setImmediate instead of Effect.yieldNow"
    )
  })

  const cycle = {
    "tool/A.ts": `import type { B } from "./B.js"\nexport type A = B`,
    "tool/B.ts": `import { A } from "./A.js"\nexport type B = A`
  }

  it("rejects modules that import each other, types included", () => {
    refuses(cycle, "a cycle: tool/A.ts tool/B.ts")
  })

  const lines = (count: number): string => Array.from({ length: count }, (_, i) => `  ${i}`).join("\n")
  const body = (name: string, count: number): string => `export const ${name} = () => {\n${lines(count - 2)}\n}\n`
  const above = `a function above ${bars.function} lines (make: ${bars.make})`

  it("bounds the lines of functions, and gives a make more", () => {
    accepts({ "tool/A.ts": body("run", bars.function), "tool/B.ts": body("makeRun", bars.make) })
    refuses(
      { "tool/A.ts": body("run", bars.function + 1), "tool/B.ts": body("make", bars.make + 1) },
      `tool/A.ts run: ${above}: ${bars.function + 1}`,
      `tool/B.ts make: ${above}: ${bars.make + 1}`
    )
  })

  it("bounds the lines of modules and the modules of a folder", () => {
    accepts({ "tool/A.ts": `${lines(bars.module)}\n` })
    refuses(
      { "tool/A.ts": `${lines(bars.module + 1)}\n` },
      `tool/A.ts: a module above ${bars.module} lines: ${bars.module + 1}`
    )
    const many = Object.fromEntries(Array.from({ length: bars.folder + 1 }, (_, i) => [`tool/Module${i}.ts`, ""]))
    refuses(many, `tool: ${bars.folder + 1} modules`)
  })

  it("finds record checks that repeat Effect's", () => {
    refuses(
      {
        "tool/A.ts": `export const isFields = (u: unknown) =>\n  typeof u === "object" && u !== null && !Array.isArray(u)`
      },
      "tool/A.ts:2: repeats Predicate.isReadonlyRecord"
    )
    accepts({ "tool/A.ts": `export const isObject = (u: unknown) => typeof u === "object" && u !== null` })
  })

  it("keeps Node modules out of browser bundles, except types and dynamic imports", () => {
    const node = `import type { Hash } from "node:crypto"\nexport const load = () => import("node:crypto")`
    accepts({ "internal/Hash.ts": node, "tool/definition/Tool.ts": `import "../../internal/Hash.js"` })
    refuses(
      { "internal/Hash.ts": `import "node:crypto"`, "tool/definition/Tool.ts": `import "../../internal/Hash.js"` },
      "tool/definition/Tool.ts: must bundle for the browser, but loads internal/Hash.ts > node:crypto"
    )
  })

  it("bounds the modules that load with a tag, not those that load with what implements it", () => {
    const parts = Array.from({ length: bars.port }, (_, index) => `Part${index}`)
    const modules = Object.fromEntries(parts.map((name) => [`tool/${name}.ts`, "export const a = 1\n"]))
    const imports = (kind: string) => parts.map((name) => `${kind} { a as ${name} } from "./${name}.js"`).join("\n")
    const tag = `export class Port extends Context.Tag("port")<Port, string>() {}`
    accepts({ ...modules, "tool/Port.ts": `${imports("import type")}\n${tag}` })
    accepts({ ...modules, "tool/Port.ts": tag, "tool/DefaultPort.ts": `import "./Port.js"\n${imports("import")}` })
    refuses(
      { ...modules, "tool/Port.ts": `${imports("import")}\n${tag}` },
      `tool/Port.ts: a tag loads ${bars.port + 1} modules, at most ${bars.port}: move what implements it to another module`
    )
  })

  it("bounds the columns of comments, not of code", () => {
    const text = "x".repeat(bars.column)
    accepts({ "tool/A.ts": `export const a = "${text}"\n` })
    refuses({ "tool/A.ts": `// ${text}\n` }, `tool/A.ts: comment lines above ${bars.column} columns: 1`)
  })
})
