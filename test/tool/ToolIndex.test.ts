import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolIndex from "../../src/tool/ToolIndex.js"
import * as ManyTools from "../support/ManyTools.js"

const tool = (name: string, description: string, parameters: Tool.Parameters = {}) =>
  Tool.make(name, { description, parameters, handler: () => Effect.void }) as unknown as Tool.Any

const found = (tools: ReadonlyArray<Tool.Any>, query: string, limit = 5) =>
  ToolIndex.make(tools)
    .search(query, limit)
    .map(({ name }) => name)

describe("ToolIndex", () => {
  it("finds each of 500 tools among the first five by words of its name in another order and form", () => {
    const tools = ManyTools.office(500)
    const index = ToolIndex.make(tools)
    const missed = tools.filter(({ name }) => {
      const [verb, noun] = name.split("_")
      return !index.search(`The ${noun} 42, could somebody ${verb} that?`, 5).some((one) => one.name === name)
    })
    assert.lengthOf(tools, 500)
    assert.deepStrictEqual(missed, [])
  })

  it("splits names at capitals and underscores, and reads parameters", () => {
    const tools = [
      tool("getUserName", "Reads"),
      tool("send_mail", "Writes"),
      tool("other", "Something", {
        address: Schema.Struct({ street: Schema.String.annotations({ description: "With its house number" }) })
      })
    ]
    assert.deepStrictEqual(found(tools, "the names of users"), ["getUserName"])
    assert.deepStrictEqual(found(tools, "mails"), ["send_mail"])
    assert.deepStrictEqual(found(tools, "on which street"), ["other"])
    assert.deepStrictEqual(found(tools, "house numbers"), ["other"])
  })

  it("finds nothing for an empty query, for unknown words and for a limit of zero", () => {
    const tools = ManyTools.office(50)
    assert.deepStrictEqual([found(tools, ""), found(tools, "qqq"), found(tools, "invoice", 0)], [[], [], []])
    assert.deepStrictEqual(found([], "invoice"), [])
  })

  it("reads the beginning and the end of a long query, and the beginning of a long description", () => {
    const tools = [...ManyTools.office(50), tool("late", `${"x ".repeat(50_000)} unreachable`)]
    assert.include(found(tools, `${"y ".repeat(50_000)} approve the invoice`), "approve_invoice")
    assert.deepStrictEqual(found(tools, "unreachable"), [])
  })
})
