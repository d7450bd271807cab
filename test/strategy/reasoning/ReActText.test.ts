import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ReActText from "../../../src/strategy/reasoning/ReActText.js"
import * as Growth from "../../support/Growth.js"

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const action = (text: string, options?: ReActText.Options): ReActText.Action => {
  const result = ReActText.parse(text, options)
  if (result._tag !== "Action") return assert.fail(`${result._tag} for ${JSON.stringify(text)}`)
  return result
}

const answer = (text: string, options?: ReActText.Options): ReActText.FinalAnswer => {
  const result = ReActText.parse(text, options)
  if (result._tag !== "FinalAnswer") return assert.fail(`${result._tag} for ${JSON.stringify(text)}`)
  return result
}

const malformed = (text: string, options?: ReActText.Options): ReActText.Malformed => {
  const result = ReActText.parse(text, options)
  if (result._tag !== "Malformed") return assert.fail(`${result._tag} for ${JSON.stringify(text)}`)
  return result
}

const input = (written: string): unknown => action(`Action: tool\nAction Input: ${written}`).input

describe("ReActText.parse", () => {
  describe("the cut", () => {
    it("takes the action before an invented observation and a final answer", () => {
      const text = lines(
        "Thought: look it up",
        "Action: search",
        'Action Input: {"q": "fjord"}',
        "Observation: a valley under water",
        "Thought: now I know",
        "Final Answer: a valley"
      )
      const result = action(text)
      assert.strictEqual(result.tool, "search")
      assert.deepStrictEqual(result.input, { q: "fjord" })
      assert.deepStrictEqual(result.cut, {
        text: lines("Thought: look it up", "Action: search", 'Action Input: {"q": "fjord"}'),
        inventedObservation: true
      })
    })

    it("takes an action before a final answer without an observation between them", () => {
      const result = action(lines("Action: search", "Action Input: {}", "Final Answer: done"))
      assert.strictEqual(result.tool, "search")
      assert.isFalse(result.cut.inventedObservation)
      assert.notInclude(result.cut.text, "done")
    })

    it("takes the first of two actions", () => {
      const result = action(lines("Action: first", "Action Input: {}", "", "Action: second", "Action Input: {}"))
      assert.strictEqual(result.tool, "first")
      assert.notInclude(result.cut.text, "second")
    })

    it("skips a leading observation", () => {
      const result = answer(lines("Observation: 12", "twelve", "Thought: I know", "Final Answer: 12"))
      assert.deepStrictEqual([result.thought, result.answer], ["I know", "12"])
      assert.deepStrictEqual(result.cut, { text: "Thought: I know\nFinal Answer: 12", inventedObservation: true })
      assert.strictEqual(action(lines("", "Observation 1: x", "Action: a", "Action Input: {}")).tool, "a")
      const alone = malformed(lines("Observation: 12", "so it is"))
      assert.deepStrictEqual(alone.cut, { text: "", inventedObservation: true })
      const later = malformed(lines("I think so.", "Observation: 12", "Final Answer: 12"))
      assert.strictEqual(later.reason, "no-marker")
    })

    it("keeps a line of a final answer that begins like an observation", () => {
      const report = lines("12", "OBSERVATION: the lid was open", "", "Observation: so was the door")
      const result = answer(`Thought: t\nFinal Answer: ${report}`)
      assert.strictEqual(result.answer, report)
      assert.isFalse(result.cut.inventedObservation)
    })

    it("ends a final answer at a complete action, not at a line that only begins like one", () => {
      assert.strictEqual(answer(lines("Final Answer: 12", "Thought: hm", "Action: a", "Action Input: {}")).answer, "12")
      const list = lines("Do this:", "Action: walk", "Action: run")
      assert.strictEqual(answer(`Final Answer: ${list}`).answer, list)
    })

    it("keeps text quoted by a fence after an empty line", () => {
      const quoted = lines("Use this:", "", "```", "Action: a", "Action Input: {}", "", "```", "Good luck.")
      assert.strictEqual(answer(`Final Answer: ${quoted}`).answer, quoted)
      assert.strictEqual(
        answer(lines("Thought: t", "", "```", "Final Answer: 42", "```", "Action: a")).answer,
        "42\n```\nAction: a"
      )
    })

    it("keeps text quoted by a closed fence of the answer, and nothing after an open one", () => {
      const quoted = lines("Use this:", "```", "Action: a", "Action Input: {}", "Observation: b", "```", "Good luck.")
      assert.strictEqual(answer(`Final Answer: ${quoted}`).answer, quoted)
      const open = lines("Final Answer: so", "```text", "Action: a", "Action Input: b", "c")
      assert.strictEqual(answer(open).answerRaw, "so\n```text")
    })
  })

  describe("markers", () => {
    it("are read in every spelling", () => {
      const spellings: ReadonlyArray<readonly [string, string, string]> = [
        ["THOUGHT:", "ACTION:", "ACTION_INPUT:"],
        ["thought:", "action:", "action input:"],
        ["Thought 2:", "Action 2:", "Action Input 2:"],
        ["Thought:", "Action 1:", "Action 1 Input:"],
        ["**Thought:**", "**Action:**", "**Action Input:**"],
        ["**Thought**:", "**Action**:", "**ActionInput**:"],
        ["- Thought:", "- Action:", "- Action-Input:"],
        ["1. Thought:", "2. Action:", "3. Action Input:"],
        ["### Thought:", "### Action:", "### Action Input:"],
        ["  Thought :", "\tAction :", "  Action Input :"],
        ["`Thought:`", "`Action:`", "`Action Input:`"],
        ["Thought：", "Action：", "Action Input："]
      ]
      for (const [thought, act, given] of spellings) {
        const result = action(lines(`${thought} why`, `${act} search`, `${given} {"q": 1}`, "Observation 3: x"))
        const { cut, ...rest } = result
        assert.deepStrictEqual(
          rest,
          { _tag: "Action", thought: "why", tool: "search", input: { q: 1 }, inputRaw: '{"q": 1}' },
          act
        )
        assert.isTrue(cut.inventedObservation)
      }
      for (const final of [
        "Final Answer:",
        "FINAL_ANSWER:",
        "final answer:",
        "**Final Answer:**",
        "FinalAnswer:",
        "Answer:"
      ]) {
        assert.strictEqual(answer(lines("Thought: known", `${final} 42`)).answer, "42", final)
      }
    })

    it("are read after a byte order mark", () => {
      assert.strictEqual(action("\ufeffAction: a\nAction Input: {}").tool, "a")
      assert.strictEqual(answer("\ufeffFinal Answer: 42").answer, "42")
    })

    it("name a tool with a remark after it", () => {
      const tools = ["search", "web_search"]
      for (const name of ["search (to find it)", "**search** (again)", "`search` (q: fjord)", "search (see [1])"]) {
        const result = action(lines(`Action: ${name}`, 'Action Input: {"q": 1}'), { tools })
        assert.deepStrictEqual([result.tool, result.input], ["search", { q: 1 }], name)
      }
      assert.strictEqual(action("Action: Web Search (quick)", { tools }).tool, "web_search")
      assert.strictEqual(action("Action: search (quick)\nAction Input: {}").tool, "search")
      assert.strictEqual(action("Action: book (table)", { tools: ["book (table)"] }).tool, "book (table)")
    })

    it("keep an input that begins with asterisks", () => {
      const read = (input: string) => action(`Action: glob\n${input}`).input
      assert.strictEqual(read("Action Input: **/*.ts"), "**/*.ts")
      assert.strictEqual(read("Action Input:\n**/*.ts"), "**/*.ts")
      assert.strictEqual(read("**Action Input:** **/*.ts"), "**/*.ts")
      assert.strictEqual(read("**Action Input**: **bold** words"), "**bold** words")
      assert.strictEqual(read("Action Input: ** src/*.ts"), "src/*.ts")
    })

    it("name a tool with its input in parentheses", () => {
      const tools = ["search"]
      for (const call of ['search({"q": "a (b)"})', 'Search ({"q": "a (b)"})', '`search({"q": "a (b)"})`']) {
        const result = action(lines("Thought: t", `Action: ${call}`), { tools })
        assert.deepStrictEqual([result.tool, result.input], ["search", { q: "a (b)" }], call)
      }
      assert.deepStrictEqual(action('Action: search({\n  "q": 1\n})').input, { q: 1 })
      assert.strictEqual(action('Action: search("fjord")', { tools }).input, "fjord")
      const labelled = action(lines('Action: search({"q": 1})', 'Action Input: {"q": 2}'), { tools })
      assert.deepStrictEqual([labelled.tool, labelled.input], ["search", { q: 2 }])
      const bare = action(lines("Thought: t", 'search({"q": 1})'), { tools })
      assert.deepStrictEqual([bare.tool, bare.input, bare.inputRaw], ["search", { q: 1 }, '{"q": 1}'])
      assert.strictEqual(malformed(lines("I wrote", 'find({"q": 1})'), { tools }).reason, "no-marker")
      const fenced = lines("For instance", "```", 'search({"q": 1})', "```", "Is that it?")
      assert.strictEqual(malformed(fenced, { tools }).reason, "no-marker")
      assert.strictEqual(action(`Action: search({"q": "${"x".repeat(2000)}"})`, { tools }).tool, "search")
      assert.deepStrictEqual(action("Action: search()\nAction Input: {}", { tools }).input, {})
    })

    it("inside a sentence do not count", () => {
      for (const text of [
        "I would write Action: search here",
        "the words Final Answer: and Observation: are markers",
        lines("Thought: an Action: is next", "so what"),
        "> Action: quoted\n> Action Input: {}",
        "My action: none yet, the answer: unknown"
      ]) {
        assert.strictEqual(malformed(text).reason, "no-marker", text)
      }
      const inside = action(lines("Thought: not Final Answer: yet", "Action: a", "Action Input: about Observation: x"))
      assert.strictEqual(inside.input, "about Observation: x")
    })

    it("after the end of a sentence count only where nothing else does", () => {
      const late = answer(lines("Thought: Done. Final Answer: 42", "and more"))
      assert.strictEqual(late.answer, "42\nand more")
      assert.strictEqual(late.thought, "Done.")
      assert.strictEqual(action(lines("I should look. Action: search", "Action Input: {}")).tool, "search")
      const known = lines("Use it, Action: web search", "Action Input: {}")
      assert.strictEqual(action(known, { tools: ["web_search"] }).tool, "web_search")
      assert.strictEqual(malformed(known).reason, "missing-action")
    })

    it("of the Answer dialect give way to an action and to a final answer", () => {
      assert.strictEqual(action(lines("Answer: maybe", "Action: a", "Action Input: {}")).tool, "a")
      assert.strictEqual(answer(lines("Answer: maybe", "Final Answer: sure")).answer, "sure")
    })
  })

  describe("a tool name", () => {
    it("may be on the next line, in a fence, in backticks, bold, in quotes or brackets", () => {
      for (const written of [
        "search",
        "\nsearch",
        "\n\n  search  ",
        "\n```\nsearch\n```",
        "`search`",
        "**search**",
        '"search"',
        "[search]",
        "search()"
      ]) {
        const result = action(lines(`Action: ${written}`, 'Action Input: {"q": 1}'))
        assert.strictEqual(result.tool, "search", written)
        assert.deepStrictEqual(result.input, { q: 1 }, written)
      }
    })

    it("may share its line with the input", () => {
      const result = action('Thought: t\nAction: search Action Input: {"q": 1}')
      assert.strictEqual(result.tool, "search")
      assert.deepStrictEqual(result.input, { q: 1 })
    })

    it("resolves to the only tool that differs in spelling", () => {
      const tools = ["get_weather", "a_b", "A-B"]
      assert.strictEqual(action("Action: Get Weather", { tools }).tool, "get_weather")
      assert.strictEqual(action("Action: a_b", { tools }).tool, "a_b")
      assert.strictEqual(action("Action: a b", { tools }).tool, "a b")
      assert.strictEqual(action("Action: unknown", { tools }).tool, "unknown")
    })

    it("none is not an action, unless a tool has that name", () => {
      const text = lines("Action: None", "Action Input: None", "Final Answer: 42")
      assert.strictEqual(answer(text).answer, "42")
      assert.strictEqual(action(text, { tools: ["none"] }).tool, "none")
      assert.strictEqual(malformed("Thought: hm\nAction: N/A").reason, "no-marker")
    })

    it("with an argument in brackets is an action, with or without its marker", () => {
      for (const text of ["Action 1: Search[Oslo [city]]", "Action: `Search[Oslo [city]]`", "Search[Oslo [city]]"]) {
        const result = action(text)
        assert.strictEqual(result.tool, "Search")
        assert.strictEqual(result.input, "Oslo [city]")
      }
      assert.deepStrictEqual(action('Action: Search[{"q": "Oslo"}]').input, { q: "Oslo" })
      assert.strictEqual(action("Action: Search[Oslo").input, "Oslo")
      assert.strictEqual(action("so:\nSearch[Oslo]\nok", { tools: ["Search"] }).tool, "Search")
      assert.strictEqual(malformed("so:\nSearch[Oslo]\nok").reason, "no-marker")
    })

    it("Finish ends the run, unless a tool has that name", () => {
      assert.strictEqual(answer("Thought: ok\nAction 3: Finish[Oslo]\nObservation 3: right").answer, "Oslo")
      assert.strictEqual(answer("Action: Finish[see [1]\nand [2]]").answer, "see [1]\nand [2]")
      assert.strictEqual(answer("Finish[Oslo]").answer, "Oslo")
      assert.strictEqual(action("Action: Finish[Oslo]", { tools: ["finish"] }).tool, "finish")
      assert.strictEqual(malformed("Action: Finish[]").reason, "empty-answer")
    })
  })

  describe("an input", () => {
    it("that is missing is the empty object", () => {
      for (const text of [
        "Action: now",
        "Action: now\nAction Input:",
        "Action: now\nAction Input: None",
        "Action: now\nAction Input:\nObservation: x",
        "Action: now\nThought: wait"
      ]) {
        const result = action(text)
        assert.deepStrictEqual(result.input, {}, text)
        assert.strictEqual(result.tool, "now")
      }
    })

    it("is decoded from JSON, fenced, in backticks, starred, introduced, followed by prose, or without its marker", () => {
      const json = '{"q": "Oslo", "n": [1, 2]}'
      for (const written of [
        json,
        `\n${json}\n`,
        `\`\`\`json\n${json}\n\`\`\``,
        `\`\`\`\n${json}\n\`\`\`\nI wait.`,
        `\`${json}\``,
        `** ${json}`,
        `The input is:\n${json}`,
        `${json}\n\nNow I wait for the result.`,
        `${json}\n\`\`\``
      ]) {
        assert.deepStrictEqual(input(written), { q: "Oslo", n: [1, 2] }, written)
      }
      assert.deepStrictEqual(action(`Action: tool\n${json}`).input, { q: "Oslo", n: [1, 2] })
    })

    it("is repaired", () => {
      assert.deepStrictEqual(input("{'q': 'Oslo', n: 3,}"), { q: "Oslo", n: 3 })
      assert.deepStrictEqual(input('{"q": "Oslo"'), { q: "Oslo" })
      assert.deepStrictEqual(input("```json\n{q: 'Oslo'}\n```"), { q: "Oslo" })
    })

    it("remains text where it is not JSON, without enclosing quotes", () => {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["weather in Oslo", "weather in Oslo"],
        ['"weather in Oslo"', "weather in Oslo"],
        ["'weather in Oslo'", "weather in Oslo"],
        ['"what is the weather?', "what is the weather?"],
        ['what is the weather?"', "what is the weather?"],
        ['SELECT "a" FROM t WHERE b = "c"', 'SELECT "a" FROM t WHERE b = "c"'],
        ['"what is "hygge" here?"', 'what is "hygge" here?'],
        ['"a" or "b"', '"a" or "b"'],
        ["<weather in Oslo>", "<weather in Oslo>"],
        ["{weather in Oslo}", "{weather in Oslo}"],
        ["[weather in {Oslo}]", "[weather in {Oslo}]"],
        ["what's this, 'then'?", "what's this, 'then'?"],
        ["first\nsecond", "first\nsecond"],
        ["plain\n```", "plain"]
      ]
      for (const [written, expected] of cases) assert.strictEqual(input(written), expected, written)
    })

    it("that is code stays as it was written, fence included", () => {
      const code = '```python\ndata = {"a": 1}\nif data:\n    print("Action: none")\n```'
      const result = action(`Thought: run it\nAction: python\nAction Input:\n${code}\nObservation: ok`)
      assert.strictEqual(result.input, code)
      assert.strictEqual(result.inputRaw, code)
      assert.isTrue(result.cut.inventedObservation)
      assert.strictEqual(input("function f() { return {} }"), "function f() { return {} }")
    })

    it("in a closed fence is data, including markers", () => {
      const block = "```\nThought: x\nObservation: y\nFinal Answer: z\n```"
      assert.strictEqual(input(block), block)
      assert.strictEqual(input("```\nx = 1\nObservation: y"), "```\nx = 1")
    })

    it("cannot reach a prototype", () => {
      const result = input('{"__proto__": {"admin": true}, "q": 1}') as object
      assert.deepStrictEqual(Object.keys(result), ["q"])
    })
  })

  describe("a thought", () => {
    it("joins the text after its markers", () => {
      assert.strictEqual(
        answer(lines("Thought: one", "two", "", "Thought: three", "Final Answer: x")).thought,
        "one\ntwo\nthree"
      )
    })

    it("falls back to the first line, cut to its bound", () => {
      assert.strictEqual(action(lines("```", "", "I need to look.", "Really.", "Action: a")).thought, "I need to look.")
      assert.strictEqual(action("Action: a").thought, "")
      const long = malformed("y".repeat(500)).thought
      assert.strictEqual(long.length, ReActText.maxImplicitThought)
      assert.strictEqual(malformed(`${"y".repeat(199)}😀`).thought, "y".repeat(199))
    })
  })

  it("returns the answer without the closing fence of a fenced completion, and keeps the raw text", () => {
    const result = answer(lines("```", "Thought: known", "Final Answer: hi", "```"))
    assert.strictEqual(result.answer, "hi")
    assert.strictEqual(result.answerRaw, "hi\n```")
    assert.strictEqual(answer("Final Answer: run\n```sh\nls\n```").answer, "run\n```sh\nls\n```")
  })

  it("says why a completion is malformed, and what to do", () => {
    const cases: ReadonlyArray<readonly [string, ReActText.MalformedReason]> = [
      ["", "empty"],
      [" \n\t", "empty"],
      ["just text", "no-marker"],
      ["Thought: only that", "no-marker"],
      ["Thought: t\nAction Input: {}", "missing-action"],
      ["Thought: t\nAction:\nAction Input: {}", "missing-action"],
      [`Action: ${"long ".repeat(200)}`, "missing-action"],
      ["Final Answer:", "empty-answer"]
    ]
    const messages = new Set<string>()
    for (const [text, reason] of cases) {
      const result = malformed(text)
      assert.strictEqual(result.reason, reason, text)
      assert.include(result.message, "FINAL_ANSWER:")
      messages.add(result.message)
    }
    assert.strictEqual(messages.size, 4)
  })

  describe("properties", () => {
    const fragments = FastCheck.constantFrom(
      "Thought:",
      "Action:",
      "Action Input:",
      "Observation:",
      "Final Answer:",
      "Answer:",
      "**Action:**",
      "Action 1: Search[",
      "Finish[",
      "]",
      "{",
      "}",
      '{"a": "b"}',
      '"',
      "```",
      "\n",
      "\n",
      "\r\n",
      " ",
      "None",
      "search",
      "\\",
      "\u2028",
      "\ud83d"
    )
    const hostile = FastCheck.array(fragments, { maxLength: 40 }).map((parts) => parts.join(""))
    const anyText = FastCheck.oneof(hostile, FastCheck.string())

    it("never throws, and keeps a prefix of the completion, or of the text after a leading observation", () => {
      FastCheck.assert(
        FastCheck.property(
          anyText,
          FastCheck.option(FastCheck.array(FastCheck.constantFrom("search", "Finish", "none"))),
          (text, tools) => {
            const result = ReActText.parse(text, { tools: tools ?? undefined })
            const isPassedOver = /^\s*\S{0,6}observation/i.test(text.replace(/^\ufeff/, ""))
            assert.isTrue(isPassedOver ? text.includes(result.cut.text) : text.startsWith(result.cut.text))
            if (result._tag === "Action") assert.isNotEmpty(result.tool)
          }
        ),
        { numRuns: 2_000 }
      )
    })

    it("ignores everything after an invented observation", () => {
      FastCheck.assert(
        FastCheck.property(hostile, anyText, anyText, (before, behind, other) => {
          const cut = (tail: string) =>
            ReActText.parse(
              `Thought: t\nAction: tool\nAction Input: ${JSON.stringify({ before })}\nObservation: ${tail}`
            )
          assert.deepStrictEqual(cut(behind), cut(other))
        }),
        { numRuns: 500 }
      )
    })

    it("returns an input whose strings contain anything, including raw line breaks", () => {
      FastCheck.assert(
        FastCheck.property(anyText, (data) => {
          const text = data.replace(/[^\P{Cc}\n\r\t]/gu, "")
          const raw = JSON.stringify({ text }).replaceAll("\\n", "\n")
          FastCheck.pre(!text.includes("\\"))
          const result = action(`Action: tool\nAction Input: ${raw}\nObservation: x\nFinal Answer: y`)
          assert.deepStrictEqual(result.input, { text })
          assert.isTrue(result.cut.inventedObservation)
        }),
        { numRuns: 1_000 }
      )
    })

    it("reads no marker in neutralized data", () => {
      FastCheck.assert(
        FastCheck.property(anyText, (data) => {
          const text = ReActText.neutralize(data)
          const result = ReActText.parse(`Action: tool\nAction Input: {"a": 1}\n${text}`)
          assert.strictEqual(result._tag === "Action" ? result.tool : "", "tool")
          assert.isFalse(result.cut.inventedObservation)
          assert.strictEqual(ReActText.neutralize(text), text)
        }),
        { numRuns: 1_000 }
      )
    })

    it("takes time linear in hostile text", () => {
      const parts = [
        "Action:\n",
        "Action: a\nAction Input: {\n",
        "Action: None\n",
        "Action Input: [\n",
        "Thought:\n",
        "Final Answer:\n",
        "Answer: ```\n",
        "Search[a]\n",
        "Search[a\n",
        "a. Final Answer:",
        "*`_",
        "```\n",
        " ",
        "\n",
        '{"a":"',
        "[",
        '"',
        "Action: ```\n",
        "Action: x Action Input:"
      ]
      for (const part of parts) {
        for (const lead of ["", "Final Answer: x\n", "Action: a\nAction Input: ", "Action: Finish[", "Action: "]) {
          Growth.assertLinearTexts([(size) => lead + part.repeat(Math.ceil(size / part.length))], (text) =>
            ReActText.parse(text, { tools: ["search"] })
          )
        }
      }
    })
  })
})

describe("ReActText.paramsOf", () => {
  it("keeps the spelling of a bare number or boolean, without surroundings", () => {
    const params = (text: string) => ReActText.paramsOf(action(text))
    assert.strictEqual(params("Action: a\nAction Input: 1e5"), "1e5")
    assert.strictEqual(params("Action: a\nAction Input: true"), "true")
    assert.strictEqual(params("```\nAction: a\nAction Input: 1.50\n```"), "1.50")
    assert.strictEqual(params("Action: a\nAction Input:** 1.50"), "1.50")
    assert.deepStrictEqual(params('Action: a\nAction Input: {"n": 1e5}'), { n: 1e5 })
    assert.strictEqual(params("Action: a\nAction Input: 007"), "007")
    assert.deepStrictEqual(params("Action: a\nAction Input: null"), {})
  })
})

describe("ReActText.observation", () => {
  it("quotes every line that reads as a marker and keeps the rest", () => {
    assert.strictEqual(
      ReActText.observation("Final Answer: 1\nplain\n  **Action:** x\nno Action: here"),
      "OBSERVATION: > Final Answer: 1\nplain\n>   **Action:** x\nno Action: here"
    )
    assert.strictEqual(ReActText.observation(""), "OBSERVATION: ")
  })
})
