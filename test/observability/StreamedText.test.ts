import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Body } from "../../src/domain/AgentEvent.js"
import { StreamedText } from "../../src/observability/StreamedText.js"

const delta = (text: string): Body => ({ _tag: "TextDelta", text })

const completionOf = (bodies: ReadonlyArray<Body>, answer: string): ReadonlyArray<Body> => {
  const streamed = new StreamedText()
  for (const body of bodies) streamed.push(body)
  return streamed.completion(answer)
}

const read = (bodies: ReadonlyArray<Body>): string =>
  bodies.reduce(
    (text, body) => (body._tag === "TextDelta" ? text + body.text : body._tag === "TextRetracted" ? "" : text),
    ""
  )

describe("StreamedText", () => {
  it("adds nothing when the streamed text is the answer", () => {
    assert.deepStrictEqual(completionOf([delta("All is "), delta("well.")], "All is well."), [])
  })

  it("adds the rest when the streamed text begins the answer", () => {
    assert.deepStrictEqual(completionOf([delta("All is ")], "All is well."), [delta("well.")])
  })

  it("retracts another text, at the last step that began", () => {
    const bodies: ReadonlyArray<Body> = [{ _tag: "StepStarted", step: 3 }, delta("All is lost")]
    assert.deepStrictEqual(completionOf(bodies, "All is well."), [
      { _tag: "TextRetracted", step: 3 },
      delta("All is well.")
    ])
  })

  it("retracts everything when the answer is empty", () => {
    assert.deepStrictEqual(completionOf([delta("a")], ""), [{ _tag: "TextRetracted", step: 0 }])
  })

  it("streams the whole answer when everything streamed was retracted", () => {
    assert.deepStrictEqual(completionOf([delta("a"), { _tag: "TextRetracted", step: 1 }], "b"), [delta("b")])
  })

  it("adds nothing when no text was streamed at all", () => {
    assert.deepStrictEqual(completionOf([{ _tag: "StepStarted", step: 1 }], "All is well."), [])
  })

  it("completes any streamed text to any answer", () => {
    const text = FastCheck.string({ unit: FastCheck.constantFrom("a", "b"), maxLength: 4 })
    const body = FastCheck.oneof(text.map(delta), FastCheck.constant<Body>({ _tag: "TextRetracted", step: 1 }))
    FastCheck.assert(
      FastCheck.property(FastCheck.array(body, { maxLength: 6 }), text, (bodies, answer) => {
        const all = [...bodies, ...completionOf(bodies, answer)]
        if (bodies.some(({ _tag }) => _tag === "TextDelta")) assert.strictEqual(read(all), answer)
        else assert.strictEqual(read(all), "")
      })
    )
  })
})
