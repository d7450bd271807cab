import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import type * as GuardPipeline from "../../../src/guard/pipeline/GuardPipeline.js"
import * as WindowGuard from "../../../src/guard/pipeline/WindowGuard.js"

/** Finds what a pattern matches; `reach` must cover the longest match and everything its assertions look at. */
const pattern = (
  name: string,
  regex: RegExp,
  reach: number,
  rest: { readonly action: Guard.Finding["action"] } & Partial<Guard.Finding>
) =>
  WindowGuard.make({
    name,
    stages: ["output"],
    window: {
      reach,
      find: (text) =>
        Array.from(text.matchAll(regex), (match) => ({
          start: match.index,
          end: match.index + match[0].length,
          label: name.toUpperCase(),
          ...rest
        }))
    }
  })

const guards = {
  run: pattern("run", /(?<!a)a{2,4}(?!a)/g, 6, { action: "redact" }),
  digit: pattern("digit", /1/g, 0, { action: "redact", replacement: "*" }),
  near: pattern("near", /(?<=1.{0,4})bb/gsu, 8, { action: "redact", replacement: "" }),
  face: pattern("face", /😀b/gu, 3, { action: "redact", replacement: "é" }),
  odd: pattern("odd", /b \n/g, 3, { action: "warn" }),
  bad: pattern("bad", /a1a1/g, 4, { action: "block" })
}

const open = (all: ReadonlyArray<Guard.Guard>, options?: DefaultGuardPipeline.Options) =>
  Effect.map(DefaultGuardPipeline.fromGuards(all, options), (pipeline) => {
    assert.isDefined(pipeline.openOutput)
    return { pipeline, window: pipeline.openOutput!({}) }
  })

interface Seen {
  readonly text: string
  readonly longestWait: number
  readonly results: ReadonlyArray<Guard.GuardResult>
  readonly blocked: Guard.GuardResult | undefined
  readonly pieces: ReadonlyArray<string>
}

const write = (window: GuardPipeline.OutputWindow, deltas: ReadonlyArray<string>): Seen => {
  const pieces: Array<string> = []
  const results: Array<Guard.GuardResult> = []
  let blocked: Guard.GuardResult | undefined
  let given = 0
  let longestWait = 0
  const take = (released: GuardPipeline.Released) => {
    if (blocked !== undefined) assert.deepStrictEqual(released, { text: "", results: [], blockingResult: blocked })
    blocked = released.blockingResult
    pieces.push(released.text)
    results.push(...released.results)
  }
  for (const delta of deltas) {
    take(window.push(delta))
    given += delta.length
    longestWait = Math.max(longestWait, given - pieces.join("").length)
  }
  take(window.end())
  return { text: pieces.join(""), longestWait, results, blocked, pieces }
}

const split = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let at = 0
  for (let index = 0; at < text.length; index++) {
    const size = sizes.length === 0 ? text.length : (sizes[index % sizes.length] ?? 1)
    out.push(text.slice(at, at + size))
    at += size
  }
  return out
}

const texts = FastCheck.array(
  FastCheck.constantFrom("a", "a", "a", "b", "b", "1", "1", " ", "\n", "\r\n", "é", "e\u0301", "😀", "👩‍👩‍👧", "漢"),
  { maxLength: 120 }
).map((parts) => parts.join(""))
const sizes = FastCheck.array(FastCheck.integer({ min: 1, max: 30 }), { maxLength: 12 })
const chosen = FastCheck.shuffledSubarray(Object.keys(guards) as Array<keyof typeof guards>)

/** The spans of each guard, those that stand end to end taken as one. */
const spansOf = (results: ReadonlyArray<Guard.GuardResult>) => {
  const byGuard: Record<string, Array<readonly [number, number, string | undefined]>> = {}
  for (const result of results) {
    for (const { end, label, start } of result.spans ?? []) {
      byGuard[result.guardName] ??= []
      byGuard[result.guardName]!.push([start, end, label])
    }
  }
  return byGuard
}

/** What may come out at most when some guard blocks. */
const untilBlock = (names: ReadonlyArray<keyof typeof guards>, text: string): string =>
  names.reduce((current, name) => {
    const findings = guards[name].window!.find(current, 0)
    const block = findings.find(({ action }) => action === "block")
    return block === undefined
      ? WindowGuard.redactFindings(current, findings)
      : WindowGuard.redactFindings(
          current.slice(0, block.start),
          findings.filter(({ end }) => end <= block.start)
        )
  }, text)

describe("a window over guards in order", () => {
  it.effect("releases in total what a check makes of the whole text, however it is split", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(texts, sizes, chosen, (text, sizes, names) =>
          Effect.gen(function* () {
            const { pipeline, window } = yield* open(names.map((name) => guards[name]))
            const whole = yield* pipeline.checkOutput(text, {})
            const seen = write(window, split(text, sizes))
            assert.strictEqual(seen.blocked !== undefined, whole.blocked)
            if (whole.blocked) {
              assert.isTrue(untilBlock(names, text).startsWith(seen.text), `${seen.text} of ${text}`)
            } else {
              assert.strictEqual(seen.text, whole.finalContent)
              assert.deepStrictEqual(spansOf(seen.results), spansOf(whole.results))
            }
          }).pipe(Effect.runPromise)
        ),
        { numRuns: 1500 }
      )
    )
  )

  it.effect("splits no surrogate pair, and few composed characters", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(texts, sizes, (text, sizes) =>
          Effect.gen(function* () {
            const { window } = yield* open([pattern("never", /zz/g, 4, { action: "redact" })])
            const { pieces } = write(window, split(text, sizes))
            for (const piece of pieces) assert.notMatch(piece, /\p{Surrogate}/u)
            const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" })
            const ends = new Set([0, text.length])
            for (const { index } of segmenter.segment(text)) ends.add(index)
            let at = 0
            for (const piece of pieces) {
              at += piece.length
              assert.isTrue(ends.has(at), JSON.stringify(pieces))
            }
          }).pipe(Effect.runPromise)
        ),
        { numRuns: 300 }
      )
    )
  )

  it.effect("withholds at most three times its reach", () =>
    Effect.gen(function* () {
      const reach = 40
      for (const size of [1, 3, 7, 100]) {
        const { window } = yield* open([pattern("word", /b{1,20}/g, reach, { action: "redact", replacement: "b" })])
        const seen = write(window, split("plain text, nothing in it. ".repeat(100), [size]))
        assert.isAtMost(seen.longestWait, 3 * reach)
        assert.isAtMost(Math.max(...seen.pieces.map(({ length }) => length)), Math.max(2 * reach, size))
      }
    })
  )

  it.effect("replaces a finding longer than declared once, without withholding the rest", () =>
    Effect.gen(function* () {
      const greedy = pattern("long", /x+/g, 10, { action: "redact" })
      const { window } = yield* open([greedy])
      const seen = write(window, split(`begin ${"x".repeat(5000)} end`, [7]))
      assert.strictEqual(seen.text, "begin [REDACTED:LONG] end")
      const spans = seen.results.flatMap(({ spans }) => spans ?? [])
      assert.strictEqual(spans[0]?.start, 6)
      assert.strictEqual(spans.at(-1)?.end, 5006)
      for (const [index, span] of spans.entries()) {
        if (index > 0) assert.strictEqual(span.start, spans[index - 1]?.end)
      }
    })
  )

  it.effect("continues a redaction in the next text when nothing may follow it", () =>
    Effect.gen(function* () {
      const { window } = yield* open([pattern("word", /\bsecret\b/g, 7, { action: "redact" })])
      const seen = write(window, ["my se", "cre", "t", " is secret", "s, my secret"])
      assert.strictEqual(seen.text, "my [REDACTED:WORD] is secrets, my [REDACTED:WORD]")
    })
  )

  it.effect("releases nothing after a block, and repeats the block on later calls", () =>
    Effect.gen(function* () {
      const { window } = yield* open([guards.digit, pattern("bad", /bad/g, 3, { action: "block", reason: "no" })])
      assert.strictEqual(window.push("one 1 two ").text + window.push("three ").text, "one * two thr".slice(0, 13))
      const blocked = window.push("bad and more")
      assert.strictEqual(blocked.text, "")
      assert.strictEqual(blocked.blockingResult?.details.reason, "no")
      assert.deepStrictEqual(blocked.blockingResult?.spans, [{ start: 16, end: 19, label: "BAD" }])
      assert.deepStrictEqual(window.push("more"), { text: "", results: [], blockingResult: blocked.blockingResult })
      assert.deepStrictEqual(window.end(), { text: "", results: [], blockingResult: blocked.blockingResult })
    })
  )

  it.effect("releases nothing after its end", () =>
    Effect.gen(function* () {
      const { window } = yield* open([guards.digit])
      assert.strictEqual(window.push("a1").text, "a*")
      assert.strictEqual(window.end().text, "")
      assert.deepStrictEqual(window.push("more"), { text: "", results: [] })
      assert.deepStrictEqual(window.end(), { text: "", results: [] })
    })
  )

  it.effect("uses a new window per text", () =>
    Effect.gen(function* () {
      const { pipeline, window } = yield* open([pattern("word", /secret/g, 6, { action: "redact" })])
      const other = pipeline.openOutput!({})
      window.push("sec")
      other.push("ret")
      assert.strictEqual(window.end().text + other.end().text, "secret")
    })
  )

  it.effect("receives the number of characters before its text", () =>
    Effect.gen(function* () {
      const limit = 50
      const cut = WindowGuard.make({
        name: "cut",
        stages: ["output"],
        window: {
          reach: 3,
          find: (text, from) =>
            text.length + from <= limit
              ? []
              : [
                  {
                    start: Math.max(0, limit - from),
                    end: text.length,
                    label: "LONG",
                    action: "redact",
                    replacement: ""
                  }
                ]
        }
      })
      const { window } = yield* open([cut])
      assert.strictEqual(write(window, split("0123456789".repeat(20), [3, 8])).text, "0123456789".repeat(5))
    })
  )

  it.effect("scans each part of the text a bounded number of times, even for tiny deltas", () =>
    Effect.gen(function* () {
      let looked = 0
      const counting = WindowGuard.make({
        name: "counting",
        stages: ["output"],
        window: {
          reach: 300,
          find: (text) => {
            looked += text.length
            return []
          }
        }
      })
      const { window } = yield* open([counting])
      const seen = write(window, split("word ".repeat(8000), [4]))
      assert.strictEqual(seen.text.length, 40_000)
      assert.isAtMost(looked, 4 * 40_000)
      // A finding without end is not looked at again as a whole either.
      looked = 0
      const endless = WindowGuard.make({
        name: "endless",
        stages: ["output"],
        window: {
          reach: 300,
          find: (text) => {
            looked += text.length
            return [{ start: 0, end: text.length, label: "ALL", action: "redact", replacement: "" }]
          }
        }
      })
      assert.strictEqual(write((yield* open([endless])).window, split("word ".repeat(8000), [4])).text, "")
      assert.isAtMost(looked, 6 * 40_000)
      // Nor one that may be as long as the text: the longer it gets, the more has to come before it is looked at again.
      looked = 0
      const patient = { ...endless, window: { ...endless.window!, longest: 40_000 } }
      assert.strictEqual(write((yield* open([patient])).window, split("word ".repeat(8000), [4])).text, "")
      assert.isAtMost(looked, 6 * 40_000)
    })
  )
})

describe("a window over guards at once", () => {
  it.effect("releases in total what a check makes of the whole text", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(texts, sizes, chosen, (text, sizes, names) =>
          Effect.gen(function* () {
            const { pipeline, window } = yield* open(
              names.map((name) => guards[name]),
              { parallel: true }
            )
            const whole = yield* pipeline.checkOutput(text, {})
            const seen = write(window, split(text, sizes))
            assert.strictEqual(seen.blocked !== undefined, whole.blocked)
            if (whole.blocked) return
            assert.strictEqual(seen.text, whole.finalContent)
            assert.deepStrictEqual(spansOf(seen.results), spansOf(whole.results))
          }).pipe(Effect.runPromise)
        ),
        { numRuns: 1000 }
      )
    )
  )
})

describe("GuardPipeline.openOutput", () => {
  it.effect("is absent if an output guard needs the whole text, regardless of other stages", () =>
    Effect.gen(function* () {
      const whole = (stage: Guard.GuardStage) =>
        Guard.make({ name: "whole", stages: [stage], check: () => Effect.succeed(Guard.pass("whole")) })
      assert.isUndefined((yield* DefaultGuardPipeline.fromGuards([guards.digit, whole("output")])).openOutput)
      assert.isDefined((yield* DefaultGuardPipeline.fromGuards([guards.digit, whole("input")])).openOutput)
    })
  )

  it.effect("releases everything at once without output guards", () =>
    Effect.gen(function* () {
      const window = (yield* DefaultGuardPipeline.fromGuards([])).openOutput!({})
      assert.deepStrictEqual(window.push("text"), { text: "text", results: [] })
      assert.deepStrictEqual(window.end(), { text: "", results: [] })
    })
  )
})
