/** A model that answers from what the request holds: an order of words that a text must have, and a judge that checks it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Prompts from "../../src/prompt/defaults/ReflectionPrompts.js"
import * as Reflection from "../../src/strategy/Reflection.js"
import * as Plans from "./Plans.js"
import * as Strategies from "./Strategies.js"

const all = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove"]

const demanded = (prompt: string): ReadonlyArray<string> => /these words: ([a-z, ]+)\./.exec(prompt)![1]!.split(", ")

const workOf = (prompt: string): string => /<work>\n([\s\S]*?)\n<\/work>/.exec(prompt)![1]!

/** Knows only the first words by itself, and puts in one word each time it is told to. */
const model =
  (text: boolean, patience: number) =>
  (request: LlmClient.LlmRequest): string => {
    const prompt = Plans.user(request)
    switch (Plans.promptOf(Prompts.steps, request)) {
      case "Generate":
        return `A text of ${demanded(prompt)[0]}.`
      case "Reflect": {
        const work = workOf(prompt)
        const missing = demanded(prompt).filter((word) => !work.includes(word))
        const points = missing.slice(0, patience).map((word) => `put in the word ${word}`)
        const score = Math.round((10 * (demanded(prompt).length - missing.length)) / demanded(prompt).length)
        if (!text) return Plans.json({ points, score, needs_refinement: missing.length > 0 })
        return [
          "It reads well, no objections to the style.",
          `NEEDS_REFINEMENT: ${missing.length > 0 ? "yes" : "no"}`,
          `SCORE: ${score}`,
          "POINTS:",
          ...points.map((point) => `- ${point}`)
        ].join("\n")
      }
      default: {
        const words = Array.from(prompt.matchAll(/- put in the word (\w+)/g), (match) => match[1])
        return workOf(prompt).replace(/\.$/, ` ${words.join(" ")}.`)
      }
    }
  }

const solve = (
  seed: number,
  options: { readonly text?: boolean; readonly cycles?: number; readonly reverse?: boolean } = {}
) =>
  Effect.gen(function* () {
    const count = yield* Random.nextIntBetween(1, all.length)
    const words = Array.from(yield* Random.shuffle(all)).slice(0, count)
    const patience = yield* Random.nextIntBetween(1, 4)
    const shown = options.reverse === true ? [...words].reverse() : words
    const ran = yield* Strategies.run(
      Reflection.make({
        maxReflectionCycles: options.cycles ?? 10,
        ...(options.text === true ? { format: "text" } : {})
      }),
      model(options.text ?? false, patience),
      { task: { input: `Write a text with these words: ${shown.join(", ")}.` } }
    )
    const { text } = yield* Effect.orDie(ran.exit)
    return { ran, text, words, needed: Math.ceil((count - 1) / patience) }
  }).pipe(Effect.withRandom(Random.make(seed)))

const seeds = Array.from({ length: 14 }, (_, seed) => seed)

describe("Reflection on a text with demanded words", () => {
  it.effect("ends with all of them as soon as they are present, in either form and order", () =>
    Effect.gen(function* () {
      for (const seed of seeds) {
        for (const options of [{}, { text: true }, { reverse: true }]) {
          const { needed, ran, text, words } = yield* solve(seed, options)
          for (const word of words) assert.include(text, word)
          // A draft and a judgement, and for each time it was mended two calls more.
          assert.strictEqual(ran.requests.length, 2 + 2 * needed)
          const critiques = ran.of("Critique")
          assert.deepStrictEqual(
            critiques.map(({ accepted }) => accepted),
            [...Array.from({ length: needed }, () => false), true]
          )
          assert.strictEqual(critiques.at(-1)!.score, 10)
          assert.deepStrictEqual(
            critiques.map(({ score }) => score),
            critiques.map(({ score }) => score!).sort((a, b) => a - b)
          )
        }
      }
    })
  )

  it.effect("ends with as many as were added when cycles run out, after one call plus two per cycle", () =>
    Effect.gen(function* () {
      let short = 0
      for (const seed of seeds) {
        const { needed, ran, text, words } = yield* solve(seed, { cycles: 1 })
        assert.strictEqual(ran.requests.length, needed === 0 ? 2 : 3)
        const missing = words.filter((word) => !text.includes(word))
        assert.strictEqual(missing.length === 0, needed <= 1)
        if (missing.length > 0) short++
      }
      assert.isAbove(short, 2)
    })
  )
})
