import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ReActMarker from "../../../src/plan/react/ReActMarker.js"
import * as ReActStream from "../../../src/plan/react/ReActStream.js"
import * as ReActText from "../../../src/strategy/reasoning/ReActText.js"
import * as Growth from "../../support/Growth.js"
import * as ReActCompletions from "../../support/ReActCompletions.js"

const read = (pieces: ReadonlyArray<string>) => {
  let reasoning = ""
  let answer = ""
  const stream = ReActStream.make({
    reasoning: (text) => {
      reasoning += text
    },
    answer: (text) => {
      answer += text
    }
  })
  for (const piece of pieces) stream.push(piece)
  return { reasoning, answer, stream }
}

const letters = (text: string) => Array.from(text)

describe("ReActStream", () => {
  it("emits reasoning and the answer while they are written", () => {
    const { answer, reasoning } = read(letters("Thought: I know it\nFinal Answer: forty two, or"))
    assert.strictEqual(reasoning, "Thought: I know it\n")
    assert.strictEqual(answer, "forty two, or")
  })

  it("waits only as long as a line may still become a marker", () => {
    const at = (text: string) => read(letters(text)).reasoning
    assert.strictEqual(at("Fin"), "")
    assert.strictEqual(at("Find"), "Find")
    assert.strictEqual(at("  - **Act"), "")
    assert.strictEqual(at("  - **Actor"), "  - **Actor")
    assert.strictEqual(at(`Answer ${"a".repeat(100)}`).length, 107)
  })

  it("reads markers as the parser does: numbered, emphasized, never quoted", () => {
    assert.strictEqual(read(letters("1. **Final Answer:** x")).answer, "x")
    assert.strictEqual(read(letters("Final Answer 2: x")).answer, "x")
    assert.strictEqual(read(letters("> Final Answer: x")).answer, "")
  })

  it("emits nothing after an action, an orphaned input, an observation or another answer", () => {
    for (const before of ["Action: search", "Action Input: {}", "Observation: o", "Answer: a"]) {
      assert.strictEqual(read(letters(`${before}\nFinal Answer: x`)).answer, "")
    }
  })

  it("continues at a line that begins like an observation, and stops before an action that an input completes", () => {
    assert.strictEqual(read(letters("Final Answer: x\nObservation: y\nz")).answer, "x\nObservation: y\nz")
    assert.strictEqual(read(letters("Final Answer: x\nAction: a\nAction Input: {}")).answer, "x\n")
    assert.strictEqual(read(letters("Final Answer: x\nAction: a Action Input: {}\nz")).answer, "x\n")
    assert.strictEqual(read(letters("Final Answer: x\nAction: a\nThought")).answer, "x\n")
    assert.strictEqual(
      read(letters("Final Answer: x\nAction: a\nFinal Answer: b c")).answer,
      "x\nAction: a\nFinal Answer: b c"
    )
  })

  it("holds text quoted by a fence of the answer until the fence is closed", () => {
    const quoted = "Do:\n\n```\nAction: o\nAction Input: {}\nmore"
    assert.strictEqual(read(letters(`Final Answer: ${quoted}`)).answer, "Do:\n\n")
    assert.strictEqual(read(letters(`Final Answer: ${quoted}\n\`\`\`\nok `)).answer, `${quoted}\n\`\`\`\nok `)
  })

  it("emits the beginning of what the parser reads of the whole", () => {
    FastCheck.assert(
      FastCheck.property(ReActCompletions.inPieces, ([text, pieces]) => {
        const { answer, reasoning, stream } = read(pieces)
        const whole = ReActText.parse(text)
        const final = whole._tag === "FinalAnswer" ? whole.answer : ""
        assert.isTrue(final.startsWith(answer.trimEnd()), JSON.stringify({ answer, final }))
        assert.isTrue(text.startsWith(reasoning))
        assert.strictEqual(stream.answered(), answer.length)
        assert.strictEqual(stream.reasoned(), reasoning.length)
      }),
      { numRuns: 4000 }
    )
  })

  it("emits the same for any pieces, except what waits for the end of a line", () => {
    FastCheck.assert(
      FastCheck.property(ReActCompletions.inPieces, ([text, pieces]) => {
        const whole = `${text}\n`
        const a = read([...pieces, "\n"])
        const b = read([whole])
        assert.strictEqual(a.answer, b.answer)
        assert.strictEqual(a.reasoning, b.reasoning)
      }),
      { numRuns: 2000 }
    )
  })

  it("takes time linear in a long line, a long run of blanks or backticks, letter by letter", () => {
    Growth.assertLinearTexts(
      [
        (size) => `Final Answer: ${"word ".repeat(size / 5)}`,
        (size) => `Final Answer: x\`\`\`${" ".repeat(size)}`,
        "a"
      ],
      (text) => read(letters(text)),
      100_000
    )
  })
})

describe("ReActMarker.isDecided", () => {
  it("keeps a decided marker or fence, whatever text follows", () => {
    FastCheck.assert(
      FastCheck.property(ReActCompletions.completion, ReActCompletions.completion, (a, b) => {
        const line = (a + b).split("\n").find((l) => l.length > 1) ?? ""
        for (let n = 1; n < line.length; n++) {
          const start = line.slice(0, n)
          if (!ReActMarker.isDecided(start)) continue
          const before = ReActMarker.at(start, 0)
          const after = ReActMarker.at(line, 0)
          assert.deepStrictEqual([before?.kind, before?.content], [after?.kind, after?.content], line)
          const fence = (text: string) => ReActMarker.isFence(text.slice(0, ReActMarker.window).trim())
          assert.strictEqual(fence(start), fence(line), line)
        }
      }),
      { numRuns: 3000 }
    )
  })
})
