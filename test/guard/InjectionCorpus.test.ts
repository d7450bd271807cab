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
  it("has large and disjoint corpora", () => {
    assert.isAtLeast(allAttacks.length, 150)
    assert.isAtLeast(allOrdinary.length, 450)
    assert.isAtLeast(Object.keys(ordinary).length, 15)
    assert.strictEqual(new Set([...allAttacks, ...allOrdinary]).size, allAttacks.length + allOrdinary.length)
  })

  it("finds nine of ten attacks at medium, and most of each category", () => {
    assert.isAtLeast(share(allAttacks, "medium"), 0.9)
    for (const [category, texts] of Object.entries(attacks)) assert.isAtLeast(share(texts, "medium"), 0.75, category)
  })

  it("flags at most two of a hundred ordinary texts at medium", () => {
    const wrong = allOrdinary.filter((text) => found(text, "medium"))
    assert.isAtMost(wrong.length / allOrdinary.length, 0.02, wrong.join("\n"))
  })

  it("flags and finds less at low, more at high", () => {
    assert.isAtMost(share(allOrdinary, "low"), 0.01)
    assert.isAtLeast(share(allAttacks, "low"), 0.5)
    assert.isAtMost(share(allOrdinary, "high"), 0.04)
    assert.isAtLeast(share(allAttacks, "high"), 0.95)
  })

  it("finds an attack and its place among ordinary texts", () => {
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
