import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as PlanText from "../../src/plan/PlanText.js"
import * as Growth from "../support/Growth.js"
import * as PlanCorpus from "./PlanCorpus.js"

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const parsed = (text: string): PlanText.PlanText => Either.getOrThrow(PlanText.parse(text))

const described = (text: string): ReadonlyArray<string> => parsed(text).steps.map((step) => step.description)

const numbers = (text: string) => parsed(text).steps.map((step) => [step.id, step.number])

describe("PlanText.parse", () => {
  it.each([
    ["numbers with dots", lines("1. one", "2. two")],
    ["numbers with brackets", lines("1) one", "2) two")],
    ["numbers in brackets", lines("(1) one", "(2) two")],
    ["numbers with colons", lines("1: one", "2: two")],
    ["numbers in bold", lines("**1.** one", "**2.** two")],
    ["numbers in bold with the dot outside", lines("**1**. one", "**2**. two")],
    ["items in bold", lines("**1. one**", "**2. two**")],
    ["steps", lines("Step 1: one", "Step 2: two")],
    ["steps of another case", lines("STEP 1 - one", "step 2. two")],
    ["steps in bold", lines("**Step 1:** one", "**Step 2**: two")],
    ["steps that are headings", lines("### Step 1: one", "### Step 2: two")],
    ["steps on lines of their own", lines("## Step 1", "one", "", "## Step 2", "two")],
    ["steps behind bullets", lines("- Step 1: one", "- Step 2: two")],
    ["steps behind numbers", lines("1. Step 1: one", "2. Step 2: two")],
    ["dashes", lines("- one", "- two")],
    ["stars", lines("* one", "* two")],
    ["dots", lines("• one", "• two")],
    ["boxes", lines("- [ ] one", "- [x] two")],
    ["headings", lines("# Plan", "## one", "## two")],
    ["numbered headings", lines("## 1. one", "## 2. two")],
    ["tags alone", lines("[REASON] one", "[Reasoning]: two")],
    ["a fence around all", lines("Here:", "```markdown", "1. one", "2. two", "```")],
    ["indentation", lines("   1. one", "   2. two")],
    ["blank lines", lines("1. one", "", "", "2. two", "")],
    ["carriage returns", "1. one\r\n2. two\r\n"],
    ["a first step behind the marker", lines("PLAN: 1. one", "2. two")]
  ])("reads %s", (_name, text) => {
    assert.deepStrictEqual(described(text), ["one", "two"])
  })

  it("distinguishes tools from reasoning, whatever surrounds the tag", () => {
    const { steps } = parsed(
      lines(
        "PLAN:",
        "1. [TOOL:search] Find the capital",
        "2. **[tool: `get weather`]** Ask for it",
        "3. [REASON] Compare",
        "4. Sum up [TOOL:none]",
        "5. [TOOL:]",
        "6. [TOOL:clock]"
      )
    )
    assert.deepStrictEqual(
      steps.map(({ description, kind, tool }) => [kind, tool, description]),
      [
        ["tool", "search", "Find the capital"],
        ["tool", "get weather", "Ask for it"],
        ["reason", undefined, "Compare"],
        ["reason", undefined, "Sum up [TOOL:none]"],
        ["reason", undefined, "[TOOL:]"],
        ["tool", "clock", "Use clock"]
      ]
    )
  })

  it("renumbers the steps and keeps the written numbers", () => {
    assert.deepStrictEqual(numbers(lines("1. a", "1. b", "7. c")), [
      ["1", "1"],
      ["2", "1"],
      ["3", "7"]
    ])
    assert.deepStrictEqual(numbers("- a\n- b"), [
      ["1", undefined],
      ["2", undefined]
    ])
  })

  it("joins sub-items and further lines to their step", () => {
    assert.deepStrictEqual(
      described(
        lines(
          "1. Gather",
          "   - prices",
          "   - dates",
          "goes on",
          "2. Add",
          "- all",
          "- of them",
          "",
          "   later",
          "3. End"
        )
      ),
      [lines("Gather", "- prices", "- dates", "goes on"), lines("Add", "- all", "- of them", "later"), "End"]
    )
  })

  it("joins numbers below a step to it, and reads them as steps without one", () => {
    assert.deepStrictEqual(described(lines("1. A", "1.1 B", "1.2. C", "2. D", "   2.1 E", "   1. F")), [
      lines("A", "1.1 B", "1.2. C"),
      lines("D", "2.1 E", "1. F")
    ])
    assert.deepStrictEqual(numbers(lines("1.1 A", "1.2 B", "2.1 C")), [
      ["1", "1.1"],
      ["2", "1.2"],
      ["3", "2.1"]
    ])
  })

  it("keeps the text before and after apart from the plan", () => {
    const text = lines(
      "I would do this.",
      "- it is easy",
      "",
      "**Plan:**",
      "1. one",
      "2. two",
      "",
      "Shall I?",
      "- yes",
      "- no"
    )
    assert.deepStrictEqual(
      [parsed(text).preamble, described(text), parsed(text).epilogue],
      [lines("I would do this.", "- it is easy"), ["one", "two"], lines("Shall I?", "- yes", "- no")]
    )
    const fenced = parsed(lines("So:", "```", "1. one", "```", "Done."))
    assert.deepStrictEqual([fenced.preamble, fenced.steps.length, fenced.epilogue], ["So:", 1, "Done."])
  })

  it("ends where the work begins", () => {
    const plan = ["Plan:", "1. Find the price", "2. Add the tax"]
    for (const marker of [
      "Calculations:",
      "**Calculation:**",
      "## Solution",
      "Solution:",
      "Let's carry out the plan:",
      "Now, let’s carry out the plan step by step.",
      "Now we will execute the plan."
    ]) {
      for (const work of [
        lines("1. 3 + 4 = 7", "2. 7 * 1.1 = 7.7"),
        lines("Step 1: 3 + 4", "Step 2: 7.7"),
        "- 3 + 4 = 7"
      ]) {
        const result = parsed(lines(...plan, "", marker, work, "", "Answer: 7.7"))
        assert.deepStrictEqual(
          result.steps.map(({ description }) => description),
          ["Find the price", "Add the tax"],
          `${marker} ${work}`
        )
        assert.include(result.epilogue, "Answer: 7.7")
      }
    }
    const kept = ["Write the solution: a function", "Carry out the plan of last week"]
    assert.deepStrictEqual(described(lines(`1. ${kept[0]}`, `2. ${kept[1]}`)), kept)
  })

  it("ends where the numbers start over, unless a title separates them or all have one number", () => {
    const two = ["one", "two"]
    assert.deepStrictEqual(described(lines("1. one", "2. two", "", "1. 3 + 4", "2. 7")), two)
    assert.deepStrictEqual(described(lines("Step 1: one", "Step 2: two", "", "Step 1: 3 + 4", "Step 2: 7")), two)
    assert.deepStrictEqual(described(lines("Plan:", "1. one", "2. two", "", "Step 1: 3 + 4", "Step 2: 7")), two)
    assert.lengthOf(described(lines("# A", "1. one", "2. two", "# B", "1. three", "2. four")), 4)
    assert.lengthOf(described(lines("1. one", "1. two", "1. three")), 3)
    assert.lengthOf(described(lines("Step 1: one", "1. a", "2. b", "Step 2: two", "1. c")), 2)
  })

  it("ends a numbered plan at the first step of its work, and a plan in steps at numbers after it", () => {
    const two = ["one", "two"]
    const done = parsed(lines("1. one", "2. two", "", "Step 1: 3 + 4", "Step 2: 7", "", "Answer: 7"))
    assert.deepStrictEqual(
      done.steps.map(({ description }) => description),
      two
    )
    assert.strictEqual(done.epilogue, lines("Step 1: 3 + 4", "Step 2: 7", "", "Answer: 7"))
    assert.deepStrictEqual(described(lines("Step 1: one", "Step 2: two", "", "1. 3 + 4", "2. 7")), two)
    // Lists of steps are theirs, and what is known is no plan.
    assert.deepStrictEqual(described(lines("Step 1: one", "- a", "Step 2: two", "", "1. b", "2. c")), [
      lines("one", "- a"),
      lines("two", "1. b", "2. c")
    ])
    assert.deepStrictEqual(described(lines("Step 1: one", "", "1. a", "2. b", "", "Step 2: two")), [
      lines("one", "1. a", "2. b"),
      "two"
    ])
    for (const facts of ["Given:", "We know the following facts:", "**Required information:**"]) {
      assert.deepStrictEqual(described(lines(facts, "1. a price", "2. a tax", "", "Step 1: one", "Step 2: two")), two)
    }
  })

  it("reads every output of a generated corpus of plans with work after them", () => {
    const outputs = PlanCorpus.outputs()
    const wrong = outputs.filter(({ steps, text }) => {
      const result = PlanText.parse(text)
      return (
        Either.isLeft(result) ||
        JSON.stringify(result.right.steps.map(({ description }) => description)) !== JSON.stringify(steps)
      )
    })
    assert.isAbove(outputs.length, 5000)
    assert.deepStrictEqual(
      wrong.slice(0, 3).map(({ text }) => text),
      [],
      `${wrong.length} of ${outputs.length}`
    )
  })

  it("reads prose after its marker as one step per sentence", () => {
    const found = ["Find the price, e.g. 3.50 euros.", "Then add the tax."]
    for (const text of [
      `Plan: ${found.join(" ")}`,
      lines("Plan:", ...found, "", "Calculations:", "3.5 * 1.2 = 4.2"),
      lines("Let me see.", "", `**Plan:** ${found.join(" ")}`, "", "Solution:", "1. 3.5 * 1.2", "2. 4.2"),
      lines(`Plan: ${found.join(" ")}`, "", "The answer is 4.2.")
    ]) {
      assert.deepStrictEqual(described(text), found, text)
    }
    assert.deepStrictEqual(described("Plan: follow these steps.\n1. one\n2. two"), ["one", "two"])
    assert.isTrue(Either.isLeft(PlanText.parse("I cannot plan that. Ask somebody else.")))
  })

  it("joins a paragraph between two steps to the first, and a title to none", () => {
    assert.deepStrictEqual(described(lines("1. one", "", "Why: because", "", "2. two")), [
      lines("one", "Why: because"),
      "two"
    ])
    assert.deepStrictEqual(described(lines("## A", "1. one", "## B", "More:", "2. two", "## Notes", "- none")), [
      "one",
      "two"
    ])
  })

  it("takes the last marker followed by a plan", () => {
    assert.deepStrictEqual(
      described(lines("Plan:", "1. old", "", "Revised plan:", "1. new", "2. newer", "", "Plan: complete")),
      ["new", "newer"]
    )
  })

  it("reads a fence inside a step as its text, and numbers in it not as steps", () => {
    assert.deepStrictEqual(described(lines("1. Run", "```py", "1. no", "  - no", "", "x", "```", "2. Next")), [
      lines("Run", "```py", "1. no", "  - no", "", "x", "```"),
      "Next"
    ])
    assert.deepStrictEqual(described(lines("1. Run", "   ```", "   1. no", "2. Next")), [
      lines("Run", "```", "1. no"),
      "Next"
    ])
    assert.deepStrictEqual(described(lines("1. Run", "```", "2. no")), [lines("Run", "```", "2. no")])
  })

  it("omits empty steps", () => {
    assert.deepStrictEqual(described(lines("1. one", "2.", "3. three")), ["one", "three"])
  })

  it.each([
    ["nothing", "", "empty"],
    ["white space", " \n\t\n", "empty"],
    ["a sentence", "I am sorry, but I cannot help with that.", "empty"],
    ["a year", "In 2023. it was 1.5 litres", "empty"],
    ["a number and what it counts", "1.5 litres are enough.\n\nDrink them.", "empty"],
    ["a year at the start", "1969. In that year it began.", "empty"],
    ["emphasis", "*one* and **two**", "empty"],
    ["a title", "# Answer\n\nIt is 3.", "empty"],
    ["rules", "---\n***\n- - -", "empty"],
    ["bare numbers", "1.\n2.\n3)", "malformed"]
  ])("finds no plan in %s", (_name, text, reason) => {
    const result = PlanText.parse(text)
    assert.isTrue(Either.isLeft(result))
    if (Either.isLeft(result)) {
      assert.deepStrictEqual(
        [result.left._tag, result.left.issues.map((issue) => issue.reason)],
        ["PlanError", [reason]]
      )
      assert.notInclude(result.left.message, "sorry")
    }
  })

  it("reads names of prototypes as names", () => {
    const { steps } = parsed(lines("1. [TOOL:__proto__] x", "2. __proto__", "3. [TOOL:constructor] y"))
    assert.deepStrictEqual(
      steps.map((step) => [step.tool, step.description]),
      [
        ["__proto__", "x"],
        [undefined, "__proto__"],
        ["constructor", "y"]
      ]
    )
    assert.isUndefined(({} as { readonly tool?: unknown }).tool)
  })

  it("reads 500 steps as 500 steps", () => {
    const text = Array.from({ length: 500 }, (_, i) => `${i + 1}. do ${i}`).join("\n")
    assert.deepStrictEqual(numbers(text).at(-1), ["500", "500"])
  })

  const hostile: ReadonlyArray<readonly [string, (n: number) => string]> = [
    ["spaces", (n) => `1.${" ".repeat(n)}x`],
    ["stars", (n) => `1. ${"*".repeat(n)}`],
    ["emphasis", (n) => "**".repeat(n)],
    ["brackets", (n) => `1. ${"[".repeat(n)}`],
    ["open tags", (n) => `1. ${"[TOOL:".repeat(n)}`],
    ["digits", (n) => "1".repeat(n)],
    ["nested numbers", (n) => "1.".repeat(n)],
    ["fences", (n) => "```\n".repeat(n)],
    ["backticks", (n) => `${"``` ".repeat(n)}\n1. x`],
    ["hashes", (n) => "# \n".repeat(n)],
    ["dashes", (n) => "- ".repeat(n)],
    ["blank lines", (n) => `1. x${"\n".repeat(n)}2. y`],
    ["steps", (n) => "1. x\n".repeat(n)],
    ["lines of one step", (n) => `1. x\n${"y\n".repeat(n)}`],
    ["paragraphs of one step", (n) => `1. x\n\n${"y\n".repeat(n)}\n2. z`],
    ["markers", (n) => "PLAN:\n".repeat(n)],
    ["marker words", (n) => `plan${" ".repeat(n)}`],
    ["labels", (n) => "Step ".repeat(n)],
    ["tabs", (n) => "\t".repeat(n)],
    ["one line", (n) => `1. ${"word ".repeat(n)}`],
    ["numbers behind steps", (n) => `Step 1: x\nStep 2: y\n${"\n1. z\n".repeat(n)}`],
    ["steps behind numbers", (n) => `1. x\n2. y\n# T\n${"Step 1: z\n".repeat(n)}`],
    ["what is given", (n) => `${"\n".repeat(n)}Given ${"given ".repeat(n)}:\n1. x`]
  ]

  it.each(hostile)("reads %s in time linear in the text", (_name, make) => {
    Growth.assertLinearTexts([make], PlanText.parse, 96_000)
  })
})

describe("PlanText.print", () => {
  const line = FastCheck.oneof(
    { weight: 3, arbitrary: FastCheck.string({ maxLength: 40 }) },
    FastCheck.constantFrom(
      "1. x",
      "Step 2: y",
      "- z",
      "## h",
      "```",
      "~~~ts",
      "PLAN:",
      "[TOOL:x] y",
      "[REASON]",
      ": z",
      "---",
      "__proto__",
      "**Step 1:** b",
      "1.1 n"
    )
  ).map((text) => text.replace(/[\r\n\u2028\u2029]/g, " ").trim())
  const description = FastCheck.array(
    line.filter((text) => text !== ""),
    { minLength: 1, maxLength: 4 }
  ).map((rows) => rows.join("\n"))
  const tool = FastCheck.option(FastCheck.stringMatching(/^[A-Za-z_][\w.-]{0,20}$/), { nil: undefined })
  const plan = FastCheck.array(FastCheck.record({ description, tool }), { minLength: 1, maxLength: 12 })
  const marker = FastCheck.constantFrom<(index: number) => string>(
    (i) => `${i + 1}.`,
    (i) => `${i + 1})`,
    (i) => `(${i + 1})`,
    () => "1.",
    (i) => `Step ${i + 1}:`,
    (i) => `**Step ${i + 1}:**`,
    (i) => `### Step ${i + 1}:`,
    (i) => `## ${i + 1}.`,
    () => "-",
    () => "*",
    () => "•",
    () => ""
  )
  const around = FastCheck.constantFrom(
    (text: string) => text,
    (text: string) => `Well.\n\nPLAN:\n${text}`,
    (text: string) => `${text}\n\nThat is all.`,
    (text: string) => text.replaceAll("\n", "\r\n")
  )

  it("prints text that reads back the same, whatever the bullets and surroundings", () => {
    FastCheck.assert(
      FastCheck.property(plan, marker, around, (steps, marker, around) => {
        const text = around(PlanText.print(steps, { marker }))
        assert.deepStrictEqual(
          parsed(text).steps.map(({ description, id, kind, tool }) => ({ description, id, kind, tool })),
          steps.map(({ description, tool }, i) => ({
            description,
            id: String(i + 1),
            kind: tool === undefined ? ("reason" as const) : ("tool" as const),
            tool
          }))
        )
      }),
      { numRuns: 400 }
    )
  })

  it("reads any text as a plan with non-empty steps, or fails with issues", () => {
    const piece = FastCheck.constantFrom(
      "1. ",
      "- ",
      "\n",
      "  ",
      "```",
      "#",
      "**",
      "[TOOL:",
      "]",
      "PLAN:",
      "Step 1",
      ":",
      "x",
      "1.1",
      "\t"
    )
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.oneof(piece, FastCheck.string({ maxLength: 5 })), { maxLength: 40 }),
        (pieces) => {
          const result = PlanText.parse(pieces.join(""))
          if (Either.isLeft(result)) assert.isAbove(result.left.issues.length, 0)
          else {
            assert.isAbove(result.right.steps.length, 0)
            for (const step of result.right.steps) {
              assert.strictEqual(step.description, step.description.trim())
              assert.notStrictEqual(step.description, "")
              assert.strictEqual(step.kind === "tool", step.tool !== undefined)
            }
          }
        }
      ),
      { numRuns: 500 }
    )
  })
})
