import { assert, describe, it } from "@effect/vitest"
import * as EmailEntity from "../../../src/guard/entity/EmailEntity.js"
import * as PaymentEntities from "../../../src/guard/entity/PaymentEntities.js"
import * as PersonalEntities from "../../../src/guard/entity/PersonalEntities.js"
import * as PiiEntity from "../../../src/guard/entity/PiiEntity.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"

const entities = [...PersonalEntities.all, ...PaymentEntities.all]

const shown = (detector: PiiDetector.PiiDetector, text: string) =>
  detector.find(text).map(({ end, start, type }) => `${type} ${text.slice(start, end)}`)

const badge = (options?: Partial<PiiEntity.PatternOptions>) =>
  PiiEntity.fromPatterns({
    type: "BADGE",
    maxLength: 6,
    patterns: [{ pattern: /(?<![A-Z0-9])B-\d{4}(?![A-Z0-9])/, confidence: 0.5, inContext: 0.9 }],
    ...options
  })

describe("PiiDetector", () => {
  it("raises the confidence over the threshold for a nearby word", () => {
    const detector = PiiDetector.make({ entities: [badge({ context: ["badge", "*ausweis*"] })] })
    assert.deepStrictEqual(shown(detector, "see B-1234"), [])
    assert.deepStrictEqual(shown(detector, "badge B-1234"), ["BADGE B-1234"])
    assert.deepStrictEqual(shown(detector, "B-1234 (badge)"), ["BADGE B-1234"])
    assert.deepStrictEqual(shown(detector, "Dienstausweisnummer: B-1234"), ["BADGE B-1234"])
    assert.deepStrictEqual(shown(detector, "badges B-1234"), [])
    assert.deepStrictEqual(shown(detector, `badge ${"-".repeat(60)} B-1234`), [])
  })

  it("prefers the nearer of a supporting and an opposing word", () => {
    const detector = PiiDetector.make({ entities: [badge({ context: ["badge"], against: ["bolt"] })] })
    assert.deepStrictEqual(shown(detector, "bolt, badge B-1234"), ["BADGE B-1234"])
    assert.deepStrictEqual(shown(detector, "badge, bolt B-1234"), [])
  })

  it("ignores context words within redacted text, and finds values after a partial mark", () => {
    const detector = PiiDetector.make({ entities: [badge({ context: ["badge"] })] })
    assert.deepStrictEqual(shown(detector, "[REDACTED:BADGE] B-1234"), [])
    assert.deepStrictEqual(shown(detector, "badge [REDACTED:BADGE] B-1234"), [])
    assert.deepStrictEqual(shown(detector, "[REDACTED:EMAIL], badge B-1234"), ["BADGE B-1234"])
    assert.deepStrictEqual(shown(detector, "badge [REDACTED: B-1234"), ["BADGE B-1234"])
  })

  it("requires the certainty of the sensitivity", () => {
    const entities = [badge({ context: ["badge"] })]
    const of = (sensitivity: PiiDetector.Sensitivity) =>
      shown(PiiDetector.make({ entities, sensitivity }), "B-1234, which nobody announces; but the badge B-9999")
    assert.deepStrictEqual(of("high"), ["BADGE B-1234", "BADGE B-9999"])
    assert.deepStrictEqual(of("medium"), ["BADGE B-9999"])
    assert.deepStrictEqual(of("low"), ["BADGE B-9999"])
  })

  it("uses a custom threshold instead of the sensitivity", () => {
    assert.deepStrictEqual(shown(PiiDetector.make({ entities: [badge()], threshold: 0.5 }), "B-1234"), ["BADGE B-1234"])
  })

  it("prefers validated, then longer, then more certain findings, and leaves nothing found uncovered", () => {
    const of = (type: string, pattern: RegExp, confidence: number, validated = false) =>
      PiiEntity.fromPatterns({ type, maxLength: 20, patterns: [{ pattern, confidence, validated }] })
    const long = of("LONG", /a{3}b{3}/, 0.7)
    const sure = of("SURE", /b{3}/, 0.9)
    const valid = of("VALID", /b{3}c{3}/, 0.6, true)
    assert.deepStrictEqual(shown(PiiDetector.make({ entities: [sure, long] }), "xaaabbbccc"), ["LONG aaabbb"])
    assert.deepStrictEqual(shown(PiiDetector.make({ entities: [sure, long, valid] }), "xaaabbbccc"), [
      "LONG aaa",
      "VALID bbbccc"
    ])
    assert.deepStrictEqual(shown(PiiDetector.make({ entities: [long, of("SAME", /a{3}b{3}/, 0.7)] }), "aaabbb"), [
      "LONG aaabbb"
    ])
  })

  it("never reports allowed values", () => {
    const detector = PiiDetector.make({
      entities: [EmailEntity.email],
      allow: ["support@example.com", /@example\.org$/g]
    })
    const text = "support@example.com, press@example.org, help@example.org, jane@example.com"
    assert.deepStrictEqual(shown(detector, text), ["EMAIL jane@example.com"])
    assert.deepStrictEqual(shown(detector, text), ["EMAIL jane@example.com"])
  })

  it("reads digits of other scripts, full-width and invisible characters as people see them", () => {
    const detector = PiiDetector.make({ entities })
    for (const value of [
      "４１１１ １１１１ １１１１ １１１１",
      "4111\u00a01111\u00a01111\u00a01111",
      "4111\u20111111\u20111111\u20111111",
      "4\u200b1\u200b1\u200b1111111111111",
      "٤١١١١١١١١١١١١١١١"
    ]) {
      assert.deepStrictEqual(shown(detector, `card ${value}.`), [`CREDIT_CARD ${value}`])
    }
    assert.deepStrictEqual(shown(detector, "ada\u200b@exa\u00admple.com"), ["EMAIL ada\u200b@exa\u00admple.com"])
  })

  it("extends a finding of open length up to its maximum", () => {
    const open = PiiEntity.fromPatterns({
      type: "OPEN",
      maxLength: 20,
      decidedBy: 6,
      patterns: [{ pattern: /(?<![a-z0-9_])key_[a-z]{2}/, more: /[a-z]/, confidence: 0.9 }]
    })
    const detector = PiiDetector.make({ entities: [open] })
    assert.deepStrictEqual(shown(detector, "key_ab key_abcdef!"), ["OPEN key_ab", "OPEN key_abcdef"])
    assert.deepStrictEqual(shown(detector, `key_${"x".repeat(40)}`), [`OPEN key_${"x".repeat(16)}`])
    assert.isAtMost(detector.reach, 6 + 5 * open.around)
    assert.strictEqual(detector.longest, 20)
  })

  it("treats names of prototypes as text", () => {
    const detector = PiiDetector.make({ entities, allow: ["__proto__"] })
    assert.deepStrictEqual(shown(detector, "__proto__ constructor toString"), [])
    assert.deepStrictEqual(shown(detector, "__proto__@example.com"), ["EMAIL __proto__@example.com"])
  })

  it("searches only beside context words for what counts only there", () => {
    let read = 0
    const counting = (confidence: number): PiiEntity.Finder => ({
      confidence,
      inContext: 0.9,
      find: (text) => {
        read += text.length
        return Array.from(text.matchAll(/(?<![0-9])[0-9]{9}(?![0-9])/g), ({ index }) => ({
          start: index,
          end: index + 9,
          confidence,
          inContext: 0.9
        }))
      }
    })
    const detector = (confidence: number, sensitivity: PiiDetector.Sensitivity) =>
      PiiDetector.make({
        entities: [
          {
            type: "NINE",
            category: "personal",
            maxLength: 9,
            around: 2,
            context: ["tax"],
            find: () => [],
            finders: [counting(confidence)]
          }
        ],
        sensitivity
      })
    const fill = "219099999 and more. ".repeat(500)
    const text = `${fill}tax 123456789 ${fill}987654321 is tax, ${fill}`
    const found = detector(0.4, "medium")
      .find(text)
      .map(({ end, start }) => text.slice(start, end))
    assert.includeMembers(found, ["123456789", "987654321"])
    assert.isBelow(found.length, 16)
    assert.isBelow(read, 1000)
    // As certain without the word as with it, it is looked for everywhere.
    read = 0
    assert.lengthOf(detector(0.4, "high").find(text), 1502)
    assert.strictEqual(read, text.length)
    read = 0
    assert.lengthOf(detector(0.4, "medium").find(fill), 0)
    assert.strictEqual(read, 0)
  })
})
