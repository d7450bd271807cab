import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { problems } from "../scripts/layering.js"
import { filesBelow, root } from "../scripts/layout.js"

const src = Path.join(root, "src")

const check = (files: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  problems(new Map(Object.entries({ "domain/Ids.ts": "", "tool/Tool.ts": "", "agent/Agent.ts": "", ...files })))

const accepts = (files: Readonly<Record<string, string>>): void => assert.deepStrictEqual(check(files), [])

const refuses = (files: Readonly<Record<string, string>>, ...expected: ReadonlyArray<string>): void =>
  assert.deepStrictEqual(check(files), expected)

describe("layering", () => {
  it("src keeps its layers", () => {
    const files = filesBelow(src)
    assert.isAbove(files.length, 5)
    const found = problems(new Map(files.map((file) => [file, Fs.readFileSync(Path.join(src, file), "utf8")])))
    assert.deepStrictEqual(found, [], found.join("\n"))
  })

  it("no test changes the `it` that the tests of a process share", () => {
    const tests = Path.join(root, "test")
    const found = filesBelow(tests).filter((file) =>
      /\bit\.layer\(|import \{[^}]*\blayer\b[^}]*\} from "@effect\/vitest"/.test(
        Fs.readFileSync(Path.join(tests, file), "utf8")
      )
    )
    assert.deepStrictEqual(found, [], "layer of @effect/vitest: use test/support/Shared.ts")
  })

  it("a lower folder, the own folder and other packages' modules may be imported", () => {
    accepts({
      "tool/ToolSet.ts": `
        import * as Effect from "effect/Effect"
        import type * as Prompt from "@effect/ai/Prompt"
        import Ajv from "ajv"
        import * as Path from "node:path"
        import * as Ids from "../domain/Ids.js"
        export * from "./Tool.js"
      `
    })
  })

  it("an index may import what it exports", () => {
    accepts({
      "index.ts": `export * as Agent from "./agent/Agent.js"`,
      "agent/index.ts": `export * as Agent from "./Agent.js"`
    })
  })

  it("a program of a process of its own has timers, and imports Node alone", () => {
    accepts({ "builtin/SqliteProcess.mjs": `import "node:worker_threads"\nsetTimeout(() => {}, 1)` })
    refuses(
      { "builtin/SqliteProcess.mjs": `import * as Ids from "../domain/Ids.js"` },
      `builtin/SqliteProcess.mjs:1: imports "../domain/Ids.js", but a program stands alone`
    )
  })

  const upward = `tool/Bad.ts:1: tool (rank 4) imports agent (rank 7): "../agent/Agent.js"`

  it.each([
    [`import * as Agent from "../agent/Agent.js"`],
    [`import type * as Agent from "../agent/Agent.js"`],
    [`import { type Agent } from "../agent/Agent.js"`],
    [`import "../agent/Agent.js"`],
    [`export * from "../agent/Agent.js"`],
    [`export type { Agent } from "../agent/Agent.js"`],
    [`export const load = () => import("../agent/Agent.js")`],
    ["export const load = () => import(`../agent/Agent.js`)"],
    [`export type Agent = import("../agent/Agent.js").Agent`],
    [`export type Agent = typeof import("../agent/Agent.js")`]
  ])("a higher folder may not be imported: %s", (text) => {
    refuses({ "tool/Bad.ts": text }, upward)
  })

  it("a sibling folder may not be imported", () => {
    refuses(
      { "memory/Bad.ts": `import "../tool/Tool.js"` },
      `memory/Bad.ts:1: memory (rank 4) imports tool (rank 4): "../tool/Tool.js"`
    )
  })

  it("testing is imported by nothing", () => {
    refuses(
      { "testing/TestModel.ts": "", "http/Bad.ts": `import "../testing/TestModel.js"` },
      `http/Bad.ts:1: http (rank 10) imports testing (rank 11): "../testing/TestModel.js"`
    )
  })

  it("a folder needs a rank, and so does the folder of an index", () => {
    refuses(
      { "utils/Text.ts": "", "utils/index.ts": "" },
      "utils/Text.ts: the folder utils has no rank",
      "utils/index.ts: the folder utils has no rank"
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
  ])("a barrel may not be imported: %s", (specifier) => {
    const expected = `tool/Bad.ts:1: imports the barrel "${specifier}"`
    refuses({ "tool/Bad.ts": `import { x } from "${specifier}"` }, expected)
    refuses({ "tool/Bad.ts": `import type { x } from "${specifier}"` }, expected)
    refuses({ "tool/Bad.ts": `export const x = import("${specifier}")` }, expected)
  })

  it("a relative import names a module of src, with .js", () => {
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

  it("module names are unique across folders", () => {
    refuses({ "llm/Tool.ts": "" }, "llm/Tool.ts: tool/Tool.ts has the same name")
  })

  it("modules are PascalCase, in folders that are flat", () => {
    const name = "a module name is PascalCase, its file ends in .ts"
    refuses(
      { "tool/helpers.ts": "", "tool/tool-set.ts": "", "tool/View.tsx": "", "tool/x/Deep.ts": "", "Loose.ts": "" },
      `tool/helpers.ts: ${name}`,
      `tool/tool-set.ts: ${name}`,
      `tool/View.tsx: ${name}`,
      "tool/x/Deep.ts: folders are flat",
      "Loose.ts: a module stands in a folder of src"
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
    [`globalThis.process.env["KEY"]`, "process.env instead of Config"]
  ])("time, randomness, the console and the environment come from services: %s", (expression, problem) => {
    refuses({ "tool/Bad.ts": `export const x = ${expression}` }, `tool/Bad.ts:1: uses ${problem}`)
  })

  it("a comment, a text and a member may have a forbidden name", () => {
    accepts({
      "tool/Fine.ts": `
        /** Like console.log(Date.now()). */
        export const text = "setTimeout(process.env)"
        export interface Timer { readonly setTimeout: () => void }
        export const timer = (t: Timer) => t.setTimeout()
      `
    })
  })

  it("only what waits for a turn of the event loop may use timers, and nothing else that is forbidden", () => {
    accepts({ "internal/EventSink.ts": "export const wake = (f: () => void) => setImmediate(f)" })
    accepts({ "internal/NextTurn.ts": "export const wake = (f: () => void) => setImmediate(f)" })
    refuses(
      { "internal/EventSink.ts": "console.log(1)" },
      "internal/EventSink.ts:1: uses console instead of Effect.log"
    )
    refuses(
      { "internal/Deadline.ts": "export const wake = (f: () => void) => setImmediate(f)" },
      "internal/Deadline.ts:1: uses setImmediate instead of Effect.yieldNow"
    )
  })
})
