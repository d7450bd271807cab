import { assert, describe, it } from "@effect/vitest"
import { RunClaims } from "../../../src/eval/online/RunClaims.js"
import type { Entry } from "../../../src/eval/record/ExperimentRecord.js"

const trialOf = (caseId: string) => ({ caseId, variant: "helper", repetition: 1 })
const began = (caseId: string, by: string, at: number): Entry => ({ _tag: "Began", trial: trialOf(caseId), at, by })
const ended = (caseId: string, costUsd: number): Entry => ({
  _tag: "Ended",
  trial: trialOf(caseId),
  at: 0,
  result: { scores: [], durationMs: 1, costUsd: 100, scoring: { costUsd } }
})

const claims = (entries: ReadonlyArray<Entry>, maxPerHour = Number.POSITIVE_INFINITY) => {
  const found = new RunClaims({ lease: 1000, maxPerHour })
  for (const entry of entries) found.push(entry)
  return found
}

describe("RunClaims", () => {
  it("gives a trial to the first who claims it, until the claim no longer holds", () => {
    const first = claims([began("1", "a", 0), began("1", "b", 0), began("1", "b", 1000)])
    assert.deepStrictEqual([first.isOf(trialOf("1"), "a"), first.isOf(trialOf("1"), "b")], [true, false])
    const next = claims([began("1", "a", 0), began("1", "b", 1001), began("1", "a", 1002)])
    assert.deepStrictEqual([next.isOf(trialOf("1"), "a"), next.isOf(trialOf("1"), "b")], [false, true])
  })

  it("gives a trial that ended to nobody, and counts what its first scoring took", () => {
    const found = claims([began("1", "a", 0), ended("1", 0.5), ended("1", 9), began("1", "b", 5000), ended("2", 0.25)])
    assert.deepStrictEqual([found.isOf(trialOf("1"), "a"), found.isOf(trialOf("1"), "b")], [false, false])
    assert.deepStrictEqual([found.isEnded(trialOf("1")), found.isEnded(trialOf("3"))], [true, false])
    assert.strictEqual(found.costUsd, 0.75)
  })

  it("lets so many claims hold in any hour, and refuses the others for good", () => {
    const hour = 3_600_000
    const all = Array.from({ length: 500 }, (_, index) => ({ id: `${index}`, at: index * (hour / 100) }))
    const found = claims(
      all.map(({ at, id }) => began(id, "a", at)),
      10
    )
    const held = all.filter(({ id }) => found.isOf(trialOf(id), "a"))
    assert.lengthOf(held, 50)
    for (const { at } of held) {
      assert.isAtMost(held.filter((other) => other.at > at - hour && other.at <= at).length, 10)
    }
    const refused = claims([began("1", "a", 0), began("2", "a", 0), began("2", "a", 5000)], 1)
    assert.isFalse(refused.isOf(trialOf("2"), "a"))
  })

  it("knows nothing of trials and persons by the names of prototypes", () => {
    const found = claims([{ _tag: "Began", trial: trialOf("1"), at: 0 }])
    for (const name of ["__proto__", "constructor"]) {
      assert.isFalse(found.isEnded(trialOf(name)))
      assert.isFalse(found.isOf(trialOf("1"), name))
    }
  })
})
