import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { passed } from "../../scripts/fixtures/check.js"
import * as Skills from "../../scripts/fixtures/skills.js"

const front = (...lines: ReadonlyArray<string>) =>
  ["---", "name: a", "description: Does a.", ...lines, "---", "Do."].join("\n")

const recorded = (text: string, over: { readonly [key: string]: unknown } = {}) => ({
  dir: "a",
  skills_ref_errors: [],
  kinds: [],
  properties: { name: "a", description: "Does a." },
  text,
  ...over
})

/** Each row: what it is for, how many of its cases hold, how many there are. */
const check = (...values: ReadonlyArray<unknown>) =>
  Effect.map(
    Skills.family.check(
      "skills__x",
      values.map((value, i) => ({ id: String(i), value }))
    ),
    (rows) => rows.map((row) => [/\((.*)\)/.exec(row.name)?.[1], passed(row), row.total])
  )

describe("skill fixtures", () => {
  it.effect("requires the recorded verdict and properties", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check(recorded(front())), [["verdict", 1, 1]])
      assert.deepStrictEqual(yield* check(recorded(front(), { dir: "b" })), [["verdict", 0, 1]])
      assert.deepStrictEqual(yield* check(recorded(front(), { skills_ref_errors: ["bad"] })), [["verdict", 0, 1]])
      assert.deepStrictEqual(
        yield* check(recorded(front("version: 1"), { skills_ref_errors: ["version"], properties: null })),
        [["verdict", 1, 1]]
      )
      const over = { properties: { name: "a", description: "Does b." } }
      assert.deepStrictEqual(yield* check(recorded(front(), over)), [["verdict", 0, 1]])
      const tools = (text: string) => ({ properties: { name: "a", description: "Does a.", "allowed-tools": text } })
      assert.deepStrictEqual(
        yield* check(
          recorded(front("allowed-tools: Read, Bash(a b)"), tools("Read, Bash(a b)")),
          recorded(front("allowed-tools: Read"), tools("Write"))
        ),
        [["verdict", 1, 2]]
      )
    })
  )

  it.effect("counts deviations of the format separately, and requires them to be read", () =>
    Effect.gen(function* () {
      const refused = { skills_ref_errors: ["Found ugly disallowed JSONesque flow mapping"], properties: null }
      assert.deepStrictEqual(
        yield* check(
          recorded(front("metadata: {a: b}"), refused),
          recorded(front("metadata: {a: b"), refused),
          recorded(front("metadata:", "  a:", "    - b")),
          recorded(front("license: a --- b"), { skills_ref_errors: ["bad"], properties: null }),
          recorded(front())
        ),
        [
          ["verdict", 1, 1],
          ["flow style: read", 1, 2],
          ["the written format decides: read", 2, 2]
        ]
      )
    })
  )
})
