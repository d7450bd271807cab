import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as StormOutline from "../../src/plan/StormOutline.js"
import { PlanError } from "../../src/strategy/definition/StrategyError.js"
import * as Growth from "../support/Growth.js"

const read = (text: string, bounds?: StormOutline.Bounds): StormOutline.StormOutline =>
  Either.getOrThrow(StormOutline.parse(text, bounds))

const shape = (text: string, bounds?: StormOutline.Bounds) =>
  read(text, bounds).sections.map(({ subsections, title }) => [title, ...subsections.map(({ title }) => title)])

/** All three levels: a subsection with points is a list. */
const deep = (text: string, bounds?: StormOutline.Bounds) =>
  read(text, bounds).sections.map(({ subsections, title }) => [
    title,
    ...subsections.map(({ points, title }) => (points.length === 0 ? title : [title, ...points]))
  ])

const refused = (text: string): PlanError => {
  const result = StormOutline.parse(text)
  assert.isTrue(Either.isLeft(result), `accepted: ${text.slice(0, 80)}`)
  const error = Either.getOrThrow(Either.flip(result))
  assert.instanceOf(error, PlanError)
  return error
}

const expected = [
  ["History", "Founding", "Siege"],
  ["Economy", "Salt"]
]

describe("parse", () => {
  it("reads SECTION and SUBSECTION lines, however they are decorated", () => {
    assert.deepStrictEqual(
      shape("SECTION: History\nSUBSECTION: Founding\nSUBSECTION: Siege\nSECTION: Economy\nSUBSECTION: Salt"),
      expected
    )
    assert.deepStrictEqual(
      shape(
        "Here it is:\n\n**Section 1:** History\n  - Subsection 1.1: Founding\n  - subsection: *Siege*\n\n## SECTION 2: Economy\n- SUBSECTION: Salt\nThat's all."
      ),
      expected
    )
  })

  it("reads Markdown headings, lists below them, and a title above them", () => {
    assert.deepStrictEqual(shape("# History\n## Founding\n## Siege\n# Economy\n## Salt"), expected)
    assert.deepStrictEqual(shape("## 1. History\n- Founding\n- Siege\n## 2. Economy ##\n1. Salt"), expected)
    const titled = "# The town\nsome text\n## History\n### Founding\n#### Siege\n## Economy\n### **Salt**"
    assert.strictEqual(read(titled).title, "The town")
    assert.deepStrictEqual(deep(titled), [
      ["History", ["Founding", "Siege"]],
      ["Economy", "Salt"]
    ])
    assert.deepStrictEqual(shape("```markdown\n# History\n## Founding\n## Siege\n# Economy\n## Salt\n```"), expected)
  })

  it("reads numbered and bulleted lists by number and indent", () => {
    assert.deepStrictEqual(shape("1. History\n1.1 Founding\n1.2. Siege\n2. Economy\n2.1 Salt"), expected)
    assert.deepStrictEqual(shape("1) History\n   - Founding\n   - Siege\n2) Economy\n   - Salt"), expected)
    assert.deepStrictEqual(shape("- History\n  - Founding\n  - Siege\n- Economy\n\t- Salt"), expected)
    assert.deepStrictEqual(shape("I. History\n  A. Founding\n  B. Siege\nII. Economy\n  A. Salt"), expected)
    assert.deepStrictEqual(shape("**1. History**\n- Founding\n- Siege\n**2. Economy**\n- Salt"), expected)
  })

  it("keeps three levels in every form", () => {
    const expected = [
      ["History", ["Founding", "The first house", "The wall"], "Siege"],
      ["Economy", ["Salt", "Mines"], ["Trade", "Ships"]],
      ["People"]
    ]
    const json = {
      sections: [
        {
          title: "History",
          subsections: [{ title: "Founding", points: ["The first house", "The wall"] }, "Siege"]
        },
        { title: "Economy", subsections: { Salt: ["Mines"], Trade: [{ name: "Ships" }] } },
        "People"
      ]
    }
    for (const text of [
      "SECTION: History\nSUBSECTION: Founding\nPOINT: The first house\nPOINT: The wall\nSUBSECTION: Siege\nSECTION: Economy\nSUBSECTION: Salt\nPOINT: Mines\nSUBSECTION: Trade\nPOINT: Ships\nSECTION: People",
      "Section 1: History\n  Subsection 1.1: Founding\n    - Sub-subsection 1.1.1: The first house\n    - Subsubsection 1.1.2: The wall\n  Subsection 1.2: Siege\nSection 2: Economy\n  Subsection 2.1: Salt\n    Point 1: Mines\n  Subsection 2.2: Trade\n    Point 1: Ships\nSection 3: People",
      "# History\n## Founding\n### The first house\n### The wall\n## Siege\n# Economy\n## Salt\n### Mines\n## Trade\n### Ships\n# People",
      "# Town\n## History\n### Founding\n#### The first house\n#### The wall\n### Siege\n## Economy\n### Salt\n#### Mines\n### Trade\n#### Ships\n## People",
      "## History\n### Founding\n- The first house\n- The wall\n### Siege\n## Economy\n### Salt\n- Mines\n### Trade\n- Ships\n## People",
      "## History\n- Founding\n  - The first house\n  - The wall\n- Siege\n## Economy\n- Salt\n  - Mines\n- Trade\n  - Ships\n## People",
      "1. History\n1.1 Founding\n1.1.1 The first house\n1.1.2 The wall\n1.2 Siege\n2. Economy\n2.1. Salt\n2.1.1. Mines\n2.2. Trade\n2.2.1. Ships\n3. People",
      "1. History\n   1.1 Founding\n      1.1.1 The first house\n      1.1.2 The wall\n   1.2 Siege\n2. Economy\n   2.1 Salt\n      - Mines\n   2.2 Trade\n      - Ships\n3. People",
      "1. History\n   a. Founding\n      i. The first house\n      ii. The wall\n   b. Siege\n2. Economy\n   a. Salt\n      i. Mines\n   b. Trade\n      i. Ships\n3. People",
      "I. History\n  A. Founding\n    1. The first house\n    2. The wall\n  B. Siege\nII. Economy\n  A. Salt\n    1. Mines\n  B. Trade\n    1. Ships\nIII. People",
      "- History\n  - Founding\n    - The first house\n    - The wall\n  - Siege\n- Economy\n  - Salt\n    - Mines\n  - Trade\n    - Ships\n- People",
      "* History\n\t* Founding\n\t\t* The first house\n\t\t* The wall\n\t* Siege\n* Economy\n\t* Salt\n\t\t* Mines\n\t* Trade\n\t\t* Ships\n* People",
      "1. **History**\n- Founding\n  - The first house\n  - The wall\n- Siege\n2. **Economy**\n- Salt\n  - Mines\n- Trade\n  - Ships\n3. **People**",
      JSON.stringify(json)
    ])
      assert.deepStrictEqual<unknown>(deep(text), expected, text)
    const [history] = read(JSON.stringify(json), { maxPoints: 1 }).sections
    assert.deepStrictEqual(history?.subsections[0]?.points, ["The first house"])
    assert.deepStrictEqual(deep("# A\n## B\n### C\n#### D\n##### E"), [["B", ["C", "D", "E"]]])
    assert.deepStrictEqual(deep("SECTION: A\nPOINT: b\nPOINT: c"), [["A", "b", "c"]])
  })

  it("reads bare lists and numbered lists of sections", () => {
    const flat = [["History"], ["Economy"], ["People"]]
    for (const text of [
      "- History\n- Economy\n- People",
      "Here is the outline:\n\n* History\n* Economy\n* People\n\nThat is all.",
      "1. History\n2. Economy\n3. People",
      "(1) History\n(2) Economy\n(3) People",
      "1) **History**\n\n2) **Economy**\n\n3) **People**",
      "a) History\nb) Economy\nc) People",
      "I. History\nII. Economy\nIII. People",
      "• History\n• Economy\n• People",
      "```\n1. History\n2. Economy\n3. People\n```"
    ])
      assert.deepStrictEqual(deep(text), flat, text)
  })

  it("reads JSON in the shapes models give it", () => {
    const sections = [
      { title: "History", subsections: ["Founding", "Siege"] },
      { title: "Economy", subsections: ["Salt"] }
    ]
    for (const value of [
      { sections },
      sections,
      { title: "The town", sections },
      { outline: { sections } },
      { History: ["Founding", "Siege"], Economy: ["Salt"] },
      {
        sections: [
          { heading: "History", children: [{ title: "Founding" }, { name: "Siege" }] },
          { section: "Economy", items: ["Salt"] }
        ]
      }
    ]) {
      assert.deepStrictEqual(shape(JSON.stringify(value)), expected)
      assert.deepStrictEqual(shape(`\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``), expected)
    }
    assert.strictEqual(read(JSON.stringify({ title: "The town", sections })).title, "The town")
    assert.deepStrictEqual(shape("{sections: [{title: 'History', subsections: ['Founding']}, 'Economy',]}"), [
      ["History", "Founding"],
      ["Economy"]
    ])
  })

  it("merges repeated sections and subsections, and omits those an article has anyway", () => {
    assert.deepStrictEqual(
      shape("# History\n## Founding\n# Sources\n## A book\n# HISTORY\n## founding\n## Siege\n# References\n# See also"),
      [["History", "Founding", "Siege"]]
    )
  })

  it("removes numbers, emphasis, quotes and citations from a title, but not what belongs to it", () => {
    assert.deepStrictEqual(shape('SECTION: 2. **"The `siege`" [3]**:\nSECTION: C. elegans\nSECTION: 1984 and after'), [
      ["The siege"],
      ["C. elegans"],
      ["1984 and after"]
    ])
    assert.isAtMost(read(`SECTION: ${"long ".repeat(60)}`).sections[0]!.title.length, 120)
  })

  it("stays within its bounds for any input", () => {
    const many = Array.from({ length: 500 }, (_, i) => `# Part ${i}\n${"## a\n## b\n## c\n".repeat(3)}`).join("\n")
    const { sections } = read(many)
    assert.strictEqual(sections.length, StormOutline.defaults.maxSections)
    assert.deepStrictEqual([sections[0]!.title, sections[7]!.title], ["Part 0", "Part 7"])
    const wide = `# One\n${Array.from({ length: 50 }, (_, i) => `## sub ${i}`).join("\n")}\n# Two`
    assert.strictEqual(read(wide).sections[0]!.subsections.length, StormOutline.defaults.maxSubsections)
    assert.deepStrictEqual(shape(wide, { maxSections: 1, maxSubsections: 2 }), [["One", "sub 0", "sub 1"]])
    assert.deepStrictEqual(shape(wide, { maxSections: 0, maxSubsections: 0 }), [["One"]])
  })

  it("fails typed without an outline", () => {
    assert.deepInclude(refused(" \n "), { _tag: "PlanError", strategyName: "storm", code: "LEX_ERR_AGT_108" })
    assert.strictEqual(refused("").issues[0].reason, "empty")
    for (const text of [
      "I'm sorry, but I can't help with that.",
      "Sorry - no.\n- I may not write about this.",
      "{}",
      "[]",
      '{"sections": []}',
      '{"sections": [1, null, {"x": "y"}]}',
      "null",
      "# Sources\n# References",
      "SECTION:\nSECTION: ***"
    ]) {
      assert.strictEqual(refused(text).issues[0].reason, "malformed", text)
    }
  })

  it("reads poisonous names as plain titles", () => {
    const outline = read('{"__proto__": ["x"], "constructor": ["a"], "History": ["__proto__"]}')
    assert.deepStrictEqual(
      outline.sections.map(({ title }) => title),
      ["constructor", "History"]
    )
    assert.isUndefined(({} as { readonly x?: unknown }).x)
  })

  it("takes linear time on hostile text", () => {
    Growth.assertLinearTexts(
      [
        "#",
        "# ",
        "[",
        "{",
        (size) => `SECTION: ${" ".repeat(size)}x`,
        "1.",
        "SECTION: a\n",
        "- \n",
        (size) => `${"\t".repeat(size)}- x`,
        `SECTION: ${'"'.repeat(300)}\n`,
        `SECTION: ${"【".repeat(380)}\n`,
        "```"
      ],
      StormOutline.parse,
      200_000
    )
  })

  it("reads back what it wrote", () => {
    const title = FastCheck.oneof(
      FastCheck.string({ maxLength: 60 }),
      FastCheck.stringMatching(/^[#*"'[\]0-9.:) A-Za-z`_-]{1,40}$/)
    )
    const subsection = FastCheck.record({ title, points: FastCheck.array(title, { maxLength: 3 }) })
    const outline = FastCheck.array(
      FastCheck.record({ title, subsections: FastCheck.array(subsection, { maxLength: 4 }) }),
      { minLength: 1, maxLength: 8 }
    )
    FastCheck.assert(
      FastCheck.property(outline, (sections) => {
        const first = StormOutline.parse(JSON.stringify({ sections }))
        if (Either.isLeft(first)) return
        const again = StormOutline.parse(StormOutline.render(first.right))
        assert.deepStrictEqual(Either.getOrThrow(again).sections, first.right.sections)
      }),
      { numRuns: 1000, seed: 11 }
    )
  })

  it("ends in an outline or a typed error for any text", () => {
    const line = FastCheck.oneof(
      FastCheck.string(),
      FastCheck.constantFrom(
        "# ",
        "## ",
        "- ",
        "  - ",
        "1. ",
        "1.1 ",
        "SECTION: ",
        "SUBSECTION:",
        "POINT: ",
        '{"sections": [',
        "```"
      )
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(line, { maxLength: 20 }), FastCheck.constantFrom("", "\n"), (lines, glue) => {
        const result = StormOutline.parse(lines.join(glue))
        if (Either.isLeft(result)) return
        const { sections } = result.right
        assert.isAtLeast(sections.length, 1)
        assert.isAtMost(sections.length, 8)
        for (const section of sections) {
          assert.match(section.title, /[\p{L}\p{N}]/u)
          assert.notInclude(section.title, "\n")
        }
      }),
      { numRuns: 1000, seed: 12 }
    )
  })
})
