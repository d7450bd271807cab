import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Family } from "../../scripts/fixtures/check.js"
import { passed } from "../../scripts/fixtures/check.js"
import * as LlmCompiler from "../../scripts/fixtures/llmcompiler.js"
import * as ReWoo from "../../scripts/fixtures/rewoo.js"

const check = (family: Family, ...values: ReadonlyArray<unknown>) =>
  Effect.map(
    family.check(
      `${family.prefix}__own`,
      values.map((value, index) => ({ id: `${index}`, value }))
    ),
    (rows) => rows.map(passed)
  )

const compiled = (change: object = {}) => ({
  question: "How long?",
  plan: 'Thought: first\n1. find("a", ["b"])\n2. find($1)\n3. count("$1 and $2", None)\n4. join()<END_OF_PLAN>',
  expected: [
    { idx: 1, tool: "find", args_raw: '"a", ["b"]', args: ["a", ["b"]], dependencies: [], thought: "first" },
    { idx: 2, tool: "find", args_raw: "$1", args: ["$1"], dependencies: [1], thought: "" },
    {
      idx: 3,
      tool: "count",
      args_raw: '"$1 and $2", None',
      args: ["$1 and $2", null],
      dependencies: [1, 2],
      thought: ""
    },
    { idx: 4, tool: "join", args_raw: "", args: [], dependencies: [1, 2, 3], thought: "" }
  ],
  tasks_in_text: 4,
  dangling_refs: [],
  ...change
})

const solved = (change: object = {}) => ({
  question: "Who?",
  plan: "Plan: find\n#E1 = Find[x [1]]\nPlan: ask\n#E2 = LLM[who is #E1?]\n#E3 = Find[#E2, #E1]",
  expected: {
    plans: ["find", "ask"],
    evidence: [
      { var: "#E1", tool: "Find", input: "x [1]", refs: [] },
      { var: "#E2", tool: "LLM", input: "who is #E1?", refs: ["#E1"] },
      { var: "#E3", tool: "Find", input: "#E2, #E1", refs: ["#E2", "#E1"] }
    ]
  },
  ...change
})

describe("families of plans", () => {
  it.effect("passes valid LLM Compiler plans only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check(LlmCompiler.family, compiled()), [1, 1])
      const [first, ...others] = compiled().expected
      for (const change of [
        { tasks_in_text: 5 },
        { dangling_refs: [2] },
        { expected: [{ ...first, args: ["a"] }, ...others] },
        { expected: [{ ...first, thought: "" }, ...others] },
        { expected: [{ ...first, dependencies: [4] }, ...others] }
      ]) {
        assert.deepStrictEqual(yield* check(LlmCompiler.family, compiled(change)), [0, 1])
      }
    })
  )

  it.effect("rejects a plan with an unreadable call, and names what is missing", () =>
    Effect.gen(function* () {
      const broken = {
        question: "How long?",
        plan: '1. find("a"\n2. count("$1")\n3. join()',
        expected: [
          { idx: 2, tool: "count", args_raw: '"$1"', args: ["$1"], dependencies: [1], thought: "" },
          { idx: 3, tool: "join", args_raw: "", args: [], dependencies: [1, 2], thought: "" }
        ],
        tasks_in_text: 3,
        dangling_refs: [1]
      }
      assert.deepStrictEqual(yield* check(LlmCompiler.family, broken), [1, 1])
    })
  )

  it.effect("passes valid ReWOO plans only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check(ReWoo.family, solved()), [1, 1])
      const { evidence, plans } = solved().expected
      assert.deepStrictEqual(yield* check(ReWoo.family, solved({ expected: { plans: ["find"], evidence } })), [0, 1])
      assert.deepStrictEqual(
        yield* check(ReWoo.family, solved({ expected: { plans, evidence: evidence.slice(0, 2) } })),
        [0, 0]
      )
      assert.deepStrictEqual(yield* check(ReWoo.family, solved({ plan: "#E1 = Find[#E9]" })), [0, 0])
    })
  )
})
