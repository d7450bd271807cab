import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { PCGRandom } from "effect/Utils"
import * as Gate from "../../../src/eval/report/Gate.js"
import * as Experiments from "../../support/Experiments.js"

/*
 * Simulated experiments of 200 cases. How often an agent solves a case is drawn from a beta distribution with mean 0.78
 * and a + b = 2: most cases are nearly always or nearly never solved. Both runs of a case have it in common. They are
 * worlds of our own; those without a drop say how often the gate fails by noise.
 */
const cases = 200
const mean = 0.78

/** A draw from Beta(a, b) with a, b at most 2, by Jöhnk's method. */
const beta = (random: PCGRandom, a: number, b: number): number => {
  for (;;) {
    const [x, y] = [random.number() ** (1 / a), random.number() ** (1 / b)]
    if (x + y <= 1 && x + y > 0) return x / (x + y)
  }
}

const alarms = (experiments: number, meanAfter: number) =>
  Effect.gen(function* () {
    const random = new PCGRandom(7)
    const draw = (chance: number) => [random.number() < chance ? 1 : 0]
    let alarms = 0
    for (let experiment = 0; experiment < experiments; experiment++) {
      const chances = Array.from({ length: cases }, () => beta(random, 2 * mean, 2 * (1 - mean)))
      const before = Experiments.results({ variants: { a: chances.map(draw) } })
      const after = Experiments.results({ variants: { a: chances.map((chance) => draw((chance * meanAfter) / mean)) } })
      // The chances of scores of 0 and 1 are exact: the samples are those of the interval, which no gate asks for.
      const exit = yield* Effect.exit(Gate.check(after, { noWorseThan: before, samples: 100 }))
      if (Exit.isFailure(exit)) alarms++
    }
    return alarms / experiments
  })

describe("a gate over 200 cases", () => {
  it.effect("is silent on noise: at most 5 % of 1,000 experiments alarm", () =>
    Effect.map(alarms(1000, mean), (share) => assert.isAtMost(share, 0.05))
  )

  it.effect("finds a drop of 10 points in at least 80 % of 1,000 experiments", () =>
    Effect.map(alarms(1000, mean - 0.1), (share) => assert.isAtLeast(share, 0.8))
  )
})
