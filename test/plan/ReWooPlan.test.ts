import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as ReWooPlan from "../../src/plan/ReWooPlan.js"
import { PlanError } from "../../src/strategy/definition/StrategyError.js"
import * as Growth from "../support/Growth.js"

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const read = ReWooPlan.readPlan

const plan = (text: string, options?: ReWooPlan.Options) => Either.getOrThrow(ReWooPlan.parse(text, options))

const brief = (text: string) =>
  read(text).plan.evidence.map(({ input, refs, tool, variable }) => [variable, tool, input, refs])

const input = (text: string) => read(text).plan.evidence[0]?.input

const reasons = (text: string, options?: ReWooPlan.Options) =>
  read(text, options).issues.map(({ reason, task }) => [reason, task])

describe("ReWooPlan in lines", () => {
  it("takes a tool that is found though it is not listed", () => {
    const options = { tools: [], findTool: (name: string) => (name === "Search" ? "search" : undefined) }
    assert.strictEqual(plan("#E1 = Search[Alien]", options).evidence[0]?.tool, "search")
    assert.deepStrictEqual(reasons("#E1 = Look[Alien]", options), [["unknown-tool", "#E1"]])
  })

  it("reads thoughts, and evidence with its references", () => {
    const { evidence, plans } = plan(
      lines(
        "Question: How old is the director?",
        "Plan: Find the director.",
        "#E1 = Search[director of Alien] ",
        "Plan: Find the year of birth.",
        "#E2 = Search[year of birth of #E1]",
        "Plan: Reckon.",
        "#E3 = Calculator[(2024 - #E2) ^ 0.34]",
        "#E4 = LLM[Is #E3 right? Given context: #E1, #E2 and #E1]"
      )
    )
    assert.deepStrictEqual(plans, ["Find the director.", "Find the year of birth.", "Reckon."])
    assert.deepStrictEqual(
      evidence.map(({ input, plan, refs, tool, variable }) => ({ variable, tool, input, refs, plan })),
      [
        { variable: "#E1", tool: "Search", input: "director of Alien", refs: [], plan: "Find the director." },
        {
          variable: "#E2",
          tool: "Search",
          input: "year of birth of #E1",
          refs: ["#E1"],
          plan: "Find the year of birth."
        },
        { variable: "#E3", tool: "Calculator", input: "(2024 - #E2) ^ 0.34", refs: ["#E2"], plan: "Reckon." },
        {
          variable: "#E4",
          tool: "LLM",
          input: "Is #E3 right? Given context: #E1, #E2 and #E1",
          refs: ["#E3", "#E1", "#E2"],
          plan: ""
        }
      ]
    )
  })

  it("reads brackets, quotes and several lines inside an input", () => {
    assert.strictEqual(input("#E1 = Search[a [b [c]] d]"), "a [b [c]] d")
    assert.strictEqual(input('#E1 = Search["a ] b"] '), '"a ] b"')
    assert.strictEqual(input("#E1 = Search[a [b]"), "a [b")
    assert.strictEqual(input("#E1 = Search[x] # or [y"), "x")
    assert.strictEqual(input("#E1 = Search[name of Leo's friend]"), "name of Leo's friend")
    assert.strictEqual(
      input('#E1 = Note[{"text": "one ] \\" two",\n "tags": ["a"]}]\nPlan: done'),
      '{"text": "one ] \\" two",\n "tags": ["a"]}'
    )
    assert.strictEqual(
      input("#E1 = LLM[first line\nsecond line\n\nlast]\nSome prose."),
      "first line\nsecond line\n\nlast"
    )
    assert.strictEqual(input("#E1 = Search[]"), "")
    assert.strictEqual(input('#E1 = Search("x (y)")'), '"x (y)"')
  })

  it("reads several spellings of spaces, case, marks, numbers and signs", () => {
    const text = lines(
      "1. **Plan:** one",
      "  #e1=search [a]",
      "Plan 2 : two",
      "- **#E2** = `Web Search` [b #e1]",
      "#Plan3: three",
      "#E3: get.weather-now[c #E2]",
      "plan: four #E10 = Search[d #E3]",
      "E11 = Search[#E10]"
    )
    assert.deepStrictEqual(brief(text), [
      ["#E1", "search", "a", []],
      ["#E2", "Web Search", "b #e1", ["#E1"]],
      ["#E3", "get.weather-now", "c #E2", ["#E2"]],
      ["#E10", "Search", "d #E3", ["#E3"]],
      ["#E11", "Search", "#E10", ["#E10"]]
    ])
    assert.deepStrictEqual(plan(text).plans, ["one", "two", "three", "four"])
  })

  it("distinguishes #E1 and #E10", () => {
    const rows = Array.from({ length: 10 }, (_, i) => `#E${i + 1} = T[x]`)
    assert.deepStrictEqual(
      plan(lines(...rows, "#E11 = T[#E10]", "#E12 = T[#E1, #E01]"))
        .evidence.slice(-2)
        .map(({ refs }) => refs),
      [["#E10"], ["#E1"]]
    )
  })

  it("accepts missing plan lines, and ignores everything after another question", () => {
    const { evidence, plans } = plan("#E1 = T[x]\nQuestion: another\nPlan: p\n#E1 = T[y]")
    assert.deepStrictEqual([evidence.length, plans], [1, []])
  })
})

describe("ReWooPlan in blocks and JSON", () => {
  it("reads blocks with PARAMS over several lines and {name} anywhere in them", () => {
    const { evidence, plans } = plan(
      lines(
        "PLAN: The head of Acme is {head}, and the share costs {price}.",
        "",
        "SOLVER: head",
        "TOOL: search",
        'PARAMS: {"query":',
        '  "head of Acme"}',
        "",
        "SOLVER: {price}",
        "TOOL: `stock`",
        "PARAMS: ```json",
        '{"of": ["{head}", {"note": "for { head } now"}]}',
        "```"
      )
    )
    assert.deepStrictEqual(plans, ["The head of Acme is {head}, and the share costs {price}."])
    assert.deepStrictEqual(
      evidence.map(({ input, refs, tool, variable }) => [variable, tool, input, refs]),
      [
        ["head", "search", { query: "head of Acme" }, []],
        ["price", "stock", { of: ["{head}", { note: "for { head } now" }] }, ["head"]]
      ]
    )
  })

  it("reads JSON bare, fenced or in a sentence", () => {
    const steps =
      '[{"plan": "p", "variable": "#E1", "tool": "Search", "input": "x [1]"}, {"variable": "E2", "tool": "Note", "input": {"text": "#E1 {not a name}"}}]'
    for (const text of [steps, `{"steps": ${steps}}`, `Here:\n\`\`\`json\n{"plan": ${steps}}\n\`\`\``]) {
      assert.deepStrictEqual(
        brief(text),
        [
          ["#E1", "Search", "x [1]", []],
          ["#E2", "Note", { text: "#E1 {not a name}" }, ["#E1"]]
        ],
        text
      )
      assert.deepStrictEqual(plan(text).plans, ["p"])
    }
    assert.deepStrictEqual(plan('{"steps": []}').evidence, [])
  })
})

describe("issues of a ReWOO plan", () => {
  it("are reported together, in an error with a code", () => {
    const text = lines(
      "#E1 = Search[#E1]",
      "#E2 = Search[#E9]",
      "#E2 = Search[again]",
      "#E3 = Search[#E4]",
      "#E4 = Search[#E3]",
      "#E5 = Fly[home]",
      "#E6 = Search[no end",
      "#E7 = nothing at all"
    )
    const error = Either.getOrThrow(Either.flip(ReWooPlan.parse(text, { tools: ["Search"] })))
    assert.instanceOf(error, PlanError)
    assert.deepStrictEqual(
      error.issues.map(({ reason, task }) => [reason, task]),
      [
        ["duplicate", "#E2"],
        ["unknown-tool", "#E5"],
        ["malformed", "#E6"],
        ["malformed", "#E7"],
        ["missing-reference", "#E2"],
        ["cycle", "#E1"],
        ["cycle", "#E3"]
      ]
    )
    for (const { message } of error.issues) assert.include(error.message, message)
  })

  it("include a reply without a plan", () => {
    for (const text of ["", "I cannot.", "Plan: think hard", "{}", "[1, 2"]) {
      assert.deepStrictEqual(reasons(text), [["empty", undefined]], text)
    }
  })

  it("include a name in braces without a solver in blocks, but not in JSON", () => {
    const block = 'SOLVER: a\nTOOL: t\nPARAMS: {"x": "{b}"}'
    assert.deepStrictEqual(reasons(block), [["missing-reference", "a"]])
    assert.deepStrictEqual(reasons('[{"variable": "#E1", "tool": "t", "input": "f(x) = {x}"}]'), [])
    assert.deepStrictEqual(reasons('[{"variable": "#E1", "tool": "t", "input": "#E2"}]'), [
      ["missing-reference", "#E1"]
    ])
    assert.deepStrictEqual(
      reasons(`SOLVER: two words\nTOOL: t\nSOLVER: b\nSOLVER: c\nTOOL: t\nPARAMS: ${"[".repeat(300)}`),
      [
        ["malformed", "two words"],
        ["malformed", "b"],
        ["malformed", "c"]
      ]
    )
  })

  it("include too much evidence once, but not the case of tool names", () => {
    const text = Array.from({ length: 501 }, (_, i) => `#E${i + 1} = T[x]`).join("\n")
    assert.deepStrictEqual(reasons(text), [["too-long", "#E501"]])
    assert.deepStrictEqual(reasons(text, { maxEvidence: 2 }), [["too-long", "#E3"]])
    assert.strictEqual(plan("#E1 = web search[x]", { tools: ["web_search"] }).evidence[0]?.tool, "web_search")
  })

  const hostile: { readonly [name: string]: (n: number) => string } = {
    "open brackets": (n) => `#E1 = T[${"[".repeat(n)}`,
    "open inputs": (n) => "#E1 = T[\n".repeat(n / 6.66667),
    "brackets without end and one at last": (n) => `${"#E1 = T[[\n".repeat(n / 10)}]`,
    "closing brackets": (n) => `#E1 = T[${"]".repeat(n)}`,
    backticks: (n) => "`".repeat(n),
    stars: (n) => `${"*".repeat(n)}Plan`,
    "spaces after plan": (n) => `Plan${" ".repeat(n)}x`,
    "spaces after a number": (n) => `#E1${" ".repeat(n)}x`,
    "plans without end": (n) => "Plan: ".repeat(n / 4),
    "a long chain": (n) => Array.from({ length: n / 400 }, (_, i) => `#E${i + 1} = T[#E${i}]`).join("\n"),
    "many that need each other": (n) =>
      Array.from(
        { length: Math.sqrt(n) },
        (_, i) => `#E${i + 1} = T[${Array.from({ length: Math.sqrt(n) }, (_, j) => `#E${j + 1}`).join(" ")}]`
      ).join("\n"),
    "open JSON": (n) => '[{"a":'.repeat(n / 6.66667),
    "blocks of nothing": (n) => "SOLVER: a\n".repeat(n / 6.66667),
    "a block of white space": (n) => `SOLVER: a\nTOOL: t${" ".repeat(n / 2)}x\nPARAMS: ${"\n ".repeat(n / 2)}x`
  }
  for (const [name, text] of Object.entries(hostile)) {
    it(`are found in time linear in the text for ${name}`, () => {
      const refused = name !== "closing brackets" && !name.startsWith("a block")
      Growth.assertLinearTexts(
        [text],
        (given) => {
          const isRefused = Either.isLeft(ReWooPlan.parse(given))
          if (refused && given.length > 100_000) assert.isTrue(isRefused)
        },
        200_000
      )
    })
  }
})

describe("ReWooPlan.resolve", () => {
  const results = new Map<string, unknown>([
    ["#E1", { a: 1 }],
    ["#E10", "ten #E1"],
    ["ceo", "Ada"]
  ])
  const resolved = (text: string, index = 0) => ReWooPlan.resolve(read(text).plan.evidence[index]!, results)

  it("replaces whole references by values and others by text, without searching evidence", () => {
    assert.deepStrictEqual(Either.getOrThrow(resolved("#E2 = T[ #e1 ]")), { a: 1 })
    assert.deepStrictEqual(Either.getOrThrow(resolved("#E2 = T[#E10, #E1]")), 'ten #E1, {"a":1}')
    const blocks = 'SOLVER: ceo\nTOOL: t\nPARAMS: {}\nSOLVER: x\nTOOL: t\nPARAMS: {"q": ["{ceo}", "of {ceo}"]}'
    assert.deepStrictEqual(Either.getOrThrow(resolved(blocks, 1)), { q: ["Ada", "of Ada"] })
  })

  it("fails on a reference without evidence", () => {
    const error = Either.getOrThrow(Either.flip(resolved("#E2 = T[see #E7]")))
    assert.deepStrictEqual([error.issues[0].reason, error.issues[0].task], ["missing-reference", "#E2"])
  })
})
