import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Logger from "effect/Logger"
import * as PiiEntity from "../../../src/guard/entity/PiiEntity.js"
import * as PiiDetector from "../../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../../src/guard/pii/PiiEntities.js"
import * as PiiGuard from "../../../src/guard/pii/PiiGuard.js"
import * as SecretGuard from "../../../src/guard/pii/SecretGuard.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import type * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as WindowGuard from "../../../src/guard/pipeline/WindowGuard.js"
import * as Growth from "../../support/Growth.js"
import * as PiiCorpus from "../../support/PiiCorpus.js"

const at: Guard.GuardContext = { stage: "output" }

const samples = PiiCorpus.types.flatMap((type) => {
  const { negatives, positives } = PiiCorpus.load(type)
  return [...positives, ...negatives.slice(0, 40)].map(({ text }) => text)
})

const texts = FastCheck.array(
  FastCheck.tuple(
    FastCheck.constantFrom(...samples),
    FastCheck.constantFrom(" ", "\n", ", ", ". ", " and ", "\n\n", "; ", " | ")
  ),
  { minLength: 1, maxLength: 8 }
).map((parts) => parts.flat().join(""))

const token = ["gh", "p_", "q7Rb2XcL9vTe4ZmK1sYw8NdP5hJf3GuA6oCi"].join("")

describe("PiiGuard", () => {
  it.effect("redacts personal data and secrets and reports types, not values", () =>
    Effect.gen(function* () {
      const guard = yield* PiiGuard.make()
      assert.strictEqual(guard.name, "pii")
      assert.deepStrictEqual(guard.stages, ["input", "output", "toolOutput"])
      const text = `Write to ada@example.org or call +1 212-555-0123; SSN 536-22-8145, ${token}.`
      const result = yield* guard.check(text, at)
      assert.strictEqual(
        result.action === "redact" ? result.redactedContent : "",
        "Write to [REDACTED:EMAIL] or call [REDACTED:PHONE]; SSN [REDACTED:SSN], [REDACTED:GITHUB_TOKEN]."
      )
      assert.deepStrictEqual(
        result.spans?.map(({ label }) => label),
        ["EMAIL", "PHONE", "SSN", "GITHUB_TOKEN"]
      )
      assert.notInclude(JSON.stringify({ ...result, redactedContent: "" }), "ada@")
      assert.strictEqual((yield* guard.check("nothing here", at)).action, "pass")
    })
  )

  it.effect("finds only the requested types, and all types for an empty list", () =>
    Effect.gen(function* () {
      const text = "ada@example.org, +1 212-555-0123"
      const labels = (entities: ReadonlyArray<string>) =>
        Effect.map(
          Effect.flatMap(PiiGuard.make({ entities }), (guard) => guard.check(text, at)),
          (result) => result.spans?.map(({ label }) => label)
        )
      assert.deepStrictEqual(yield* labels(["PHONE"]), ["PHONE"])
      assert.deepStrictEqual(yield* labels(["EMAIL"]), ["EMAIL"])
      assert.deepStrictEqual(yield* labels([]), ["EMAIL", "PHONE"])
    })
  )

  it.effect("rejects a type without a recognizer", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(PiiGuard.make({ name: "mine", entities: ["EMAIL", "E_MAIL", "__proto__"] }))
      assert.strictEqual(error._tag, "GuardConfigurationError")
      assert.strictEqual(error.message, "The guard mine does not recognize E_MAIL, __proto__")
      assert.strictEqual(error.guard, "mine")
    })
  )

  it.effect("blocks or warns when configured", () =>
    Effect.gen(function* () {
      const text = "mail ada@example.org"
      const block = yield* (yield* PiiGuard.make({ action: "block" })).check(text, at)
      assert.isFalse(block.passed)
      assert.notInclude(JSON.stringify(block), "ada@")
      const warn = yield* (yield* PiiGuard.make({ action: "warn" })).check(text, at)
      assert.strictEqual(warn.action, "warn")
    })
  )

  it.effect("uses a custom replacement, and leaves allowed values", () =>
    Effect.gen(function* () {
      const guard = yield* PiiGuard.make({
        replacement: ({ type, value }) => `<${type} …${value.slice(-4)}>`,
        allow: ["desk@example.org"],
        stages: ["input"]
      })
      const result = yield* guard.check("desk@example.org took 4539 5787 6362 1486", { stage: "input" })
      assert.strictEqual(
        result.action === "redact" ? result.redactedContent : "",
        "desk@example.org took <CREDIT_CARD …1486>"
      )
      assert.deepStrictEqual(guard.stages, ["input"])
    })
  )

  it.effect("finds custom entities, and national numbers of the given countries", () =>
    Effect.gen(function* () {
      const badge = PiiEntity.fromPatterns({
        type: "BADGE",
        maxLength: 6,
        patterns: [{ pattern: /(?<![A-Z0-9])B-\d{4}(?![A-Z0-9])/, confidence: 0.9 }]
      })
      const guard = yield* PiiGuard.make({ additional: [badge], entities: ["BADGE", "PHONE"], phoneCountries: ["fr"] })
      const result = yield* guard.check("B-1234, 01 99 00 68 05, 212-555-0123, ada@example.org", at)
      assert.deepStrictEqual(
        result.spans?.map(({ label }) => label),
        ["BADGE", "PHONE"]
      )
    })
  )

  it.effect("changes nothing when redacting twice", () =>
    Effect.gen(function* () {
      const detector = PiiDetector.make({ entities: yield* PiiEntities.make() })
      const redacted = (text: string) =>
        WindowGuard.redactFindings(
          text,
          detector.find(text).map(({ end, start, type }) => ({ start, end, label: type, action: "redact" as const }))
        )
      FastCheck.assert(
        FastCheck.property(texts, (text) => {
          const once = redacted(text)
          assert.strictEqual(redacted(once), once)
        }),
        { numRuns: 300 }
      )
    })
  )

  it.effect("finds the same at a place whatever is beyond the reach", () =>
    Effect.gen(function* () {
      const detector = PiiDetector.make({ entities: yield* PiiEntities.make() })
      const { reach } = detector
      const labels = (text: string): Array<string> => {
        const all = new Array<string>(text.length).fill("")
        for (const { end, start, type } of detector.find(text)) all.fill(type, start, end)
        return all
      }
      FastCheck.assert(
        FastCheck.property(texts, texts, texts, FastCheck.nat(), (one, two, three, at) => {
          const text = one + two + three
          const whole = labels(text)
          const cut = at % text.length
          const settled = Math.max(0, cut - reach)
          assert.deepStrictEqual(labels(text.slice(0, cut)).slice(0, settled), whole.slice(0, settled))
          // A finding that began before the cut is cut with it.
          const from = whole[cut] === "" ? cut : whole.indexOf("", cut)
          if (from < 0 || from + reach >= text.length) return
          assert.deepStrictEqual(labels(text.slice(from)).slice(reach), whole.slice(from + reach))
        }),
        { numRuns: 200 }
      )
    })
  )

  it.effect("redacts a streamed answer like the whole one, however it is split", () =>
    Effect.gen(function* () {
      const pipeline = yield* DefaultGuardPipeline.fromGuards([yield* PiiGuard.make()])
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(texts, { minLength: 1, maxLength: 4 }),
            FastCheck.array(FastCheck.integer({ min: 1, max: 900 }), { minLength: 1 }),
            async (parts, sizes) => {
              const text = parts.join(" ")
              const window = pipeline.openOutput!({})
              let shown = ""
              for (let at = 0, turn = 0; at < text.length; turn++) {
                const size = sizes[turn % sizes.length]!
                shown += window.push(text.slice(at, at + size)).text
                at += size
              }
              shown += window.end().text
              const whole = await Effect.runPromise(pipeline.checkOutput(text, {}))
              assert.strictEqual(shown, whole.finalContent)
            }
          ),
          { numRuns: 100 }
        )
      )
    })
  )

  it.effect("withholds a key longer than the reach until it ends, but not ordinary text", () =>
    Effect.gen(function* () {
      const pipeline = yield* DefaultGuardPipeline.fromGuards([SecretGuard.make()])
      const pick = PiiCorpus.random(7)
      const line = () => Array.from({ length: 64 }, () => "ABCDEFGHabcdefgh01234567+/QRSTUVqrstuv89"[pick(40)]).join("")
      const key = ["-----BEGIN PRIV", "ATE KEY-----\n", ...Array.from({ length: 100 }, () => `${line()}\n`)]
      const text = `${"Some words. ".repeat(400)}${key.join("")}-----END PRIV${"ATE KEY"}-----\n${"More words. ".repeat(400)}`
      const window = pipeline.openOutput!({})
      let shown = ""
      let before = 0
      for (let at = 0; at < text.length; at += 50) {
        shown += window.push(text.slice(at, at + 50)).text
        if (at < 4800) before = shown.length
      }
      shown += window.end().text
      assert.isAbove(before, 2500)
      assert.strictEqual(shown, `${"Some words. ".repeat(400)}[REDACTED:PRIVATE_KEY]\n${"More words. ".repeat(400)}`)
    })
  )
})

describe("SecretGuard", () => {
  it.effect("redacts keys and leaves people", () =>
    Effect.gen(function* () {
      const guard = SecretGuard.make()
      assert.strictEqual(guard.name, "secrets")
      assert.deepStrictEqual(guard.stages, ["input", "output", "toolOutput"])
      const result = yield* guard.check(`ada@example.org has ${token}`, at)
      assert.strictEqual(
        result.action === "redact" ? result.redactedContent : "",
        "ada@example.org has [REDACTED:GITHUB_TOKEN]"
      )
    })
  )

  it.effect("can check tool parameters, allow a value, and block", () =>
    Effect.gen(function* () {
      const guard = SecretGuard.make({ stages: ["toolInput"], action: "block", allow: [token] })
      const context: Guard.GuardContext = { stage: "toolInput", toolName: "http" }
      assert.isTrue((yield* guard.check(`{"key":"${token}"}`, context)).passed)
      assert.isFalse((yield* guard.check(`{"key":"${token}b"}`, context)).passed)
    })
  )
})

describe("without libphonenumber-js", () => {
  const phoneMetadata = () => Promise.reject(new Error("Cannot find package"))
  const context: Guard.GuardContext = { stage: "output" }

  it.effect("fails with the package name when PHONE is named", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(PiiGuard.make({ entities: ["EMAIL", "PHONE"], phoneMetadata }))
      assert.strictEqual(error._tag, "GuardConfigurationError")
      assert.include(error.message, "libphonenumber-js")
      assert.include(error.hint, "npm install libphonenumber-js")
    })
  )

  it.effect("skips telephone numbers with one warning when no types are named", () =>
    Effect.gen(function* () {
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel._tag === "Warning") warnings.push(message)
      })
      const guard = yield* Effect.provide(
        PiiGuard.make({ phoneMetadata }),
        Logger.replace(Logger.defaultLogger, logger)
      )
      const result = yield* guard.check("ada@example.org, +1 212-555-0123", context)
      assert.deepStrictEqual(
        result.spans?.map(({ label }) => label),
        ["EMAIL"]
      )
      assert.lengthOf(warnings, 1)
      assert.include(String(warnings[0]), "libphonenumber-js")
    })
  )

  it.effect("does not load the package when other types are named", () =>
    Effect.gen(function* () {
      const guard = yield* PiiGuard.make({ entities: ["EMAIL"], phoneMetadata })
      assert.strictEqual((yield* guard.check("ada@example.org", context)).action, "redact")
    })
  )
})

describe("hostile texts", () => {
  // What is not linear takes minutes for so much.
  const size = 50_000
  const filled = (part: string) => part.repeat(Math.ceil(size / part.length)).slice(0, size)
  const hostile = [
    "a",
    "1",
    "@",
    "a@",
    "a.",
    "a@a.",
    "-",
    "+",
    "(",
    ":",
    "=",
    "0x",
    " 1",
    "1 2",
    "12 ",
    "1-2.",
    "+1 ",
    "+1212",
    "4111 ",
    "4111111111111111 ",
    "536-22-8145 ",
    "1.1.1.1.",
    "::1:",
    "::1 ",
    "[::1]",
    "1::2,",
    "::ffff:1.2.3.4 ",
    "fe80:",
    "00:1b:",
    "DE89 ",
    "GB29NWBK",
    "1BoatSLRHtKNngkdXEeobR76b53LETtpyT ",
    `0x${"aB3".repeat(14).slice(0, 40)} `,
    "bc1q",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "AKIA",
    "sk-",
    "gh" + "p_",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN RSA PRIVATE KEY-----\\n",
    `-----BEGIN PRIVATE KEY-----\n${"Ab3".repeat(12)}\n`,
    "://a:b@",
    "://:",
    "Bearer a1",
    "Basic QQ",
    "password=",
    "password=a1B2!c",
    "token=a1",
    "api_key: ",
    "AccountKey=",
    "sig=%2B",
    '""@',
    "\u200b",
    "4\u200b",
    "\u0661",
    "１",
    "\ud83d",
    "[REDACTED:",
    "[REDACTED:PHONE] 2125550147 ",
    "phone order ",
    "__proto__.",
    "\n",
    "AAAA/",
    "Ab1_",
    "8Q~"
  ]

  it.effect("a text made against one recognizer takes all of them linear time", () =>
    Effect.gen(function* () {
      const detector = PiiDetector.make({ entities: yield* PiiEntities.make(), sensitivity: "high" })
      Growth.assertLinearTexts(hostile, (text) => detector.find(text))
      for (const part of hostile) {
        const text = filled(part)
        const found = detector.find(text)
        let last = 0
        for (const { end, start } of found) {
          assert.isAtLeast(start, last)
          assert.isAbove(end, start)
          last = end
        }
        assert.isAtMost(last, text.length)
      }
    })
  )
})
