import { assert, describe, it } from "@effect/vitest"
import * as InjectionDetector from "../../src/guard/injection/InjectionDetector.js"
import { attacks } from "./corpus/attacks.js"
import { ordinary } from "./corpus/ordinary.js"

const detector = InjectionDetector.make()

const found = (text: string, sensitivity: InjectionDetector.Sensitivity): boolean =>
  detector.detect(text).score >= InjectionDetector.thresholds[sensitivity]

const share = (texts: ReadonlyArray<string>, sensitivity: InjectionDetector.Sensitivity): number =>
  texts.filter((text) => found(text, sensitivity)).length / texts.length

const allAttacks = Object.values(attacks).flat()
const allOrdinary = Object.values(ordinary).flat()

describe("injections of the corpus", () => {
  it("the corpora are large enough to say something, and share nothing", () => {
    assert.isAtLeast(allAttacks.length, 150)
    assert.isAtLeast(allOrdinary.length, 450)
    assert.isAtLeast(Object.keys(ordinary).length, 15)
    assert.strictEqual(new Set([...allAttacks, ...allOrdinary]).size, allAttacks.length + allOrdinary.length)
  })

  it("at medium nine of ten are found, and most of each category", () => {
    assert.isAtLeast(share(allAttacks, "medium"), 0.9)
    for (const [category, texts] of Object.entries(attacks)) assert.isAtLeast(share(texts, "medium"), 0.75, category)
  })

  it("at medium at most two of a hundred ordinary texts are flagged", () => {
    const wrong = allOrdinary.filter((text) => found(text, "medium"))
    assert.isAtMost(wrong.length / allOrdinary.length, 0.02, wrong.join("\n"))
  })

  it("low flags less and finds less, high flags more and finds more", () => {
    assert.isAtMost(share(allOrdinary, "low"), 0.01)
    assert.isAtLeast(share(allAttacks, "low"), 0.5)
    assert.isAtMost(share(allOrdinary, "high"), 0.04)
    assert.isAtLeast(share(allAttacks, "high"), 0.95)
  })

  it("an attack is found among ordinary texts, and its place with it", () => {
    const before = ordinary["mails"]!.join("\n\n")
    const after = ordinary["recipes"]!.join("\n\n")
    let both = 0
    for (const attack of attacks["instruction_override"]!) {
      const { matches, score } = detector.detect(`${before}\n\n${attack}\n\n${after}`)
      if (score < InjectionDetector.thresholds.medium) continue
      const end = before.length + 2 + attack.length
      if (matches.some((match) => match.start >= before.length && match.end <= end && match.weight >= 0.4)) both++
    }
    assert.isAtLeast(both / attacks["instruction_override"]!.length, 0.9)
  })
})
