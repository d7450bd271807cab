import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Lats from "../../../src/strategy/lats/Lats.js"
import * as Strategies from "../Strategies.js"
import * as LatsWorld from "./LatsWorld.js"

/** A world that a seed decides: what is proposed where, and how it is judged. Eighths keep sums exact. */
interface World {
  readonly propose: (path: ReadonlyArray<string>, sample: number) => string
  readonly score: (path: ReadonlyArray<string>) => number
}

const isAnswer = (action: string) => action.startsWith("final answer")

const world = (seed: number): World => ({
  propose: (path, sample) => {
    const roll = LatsWorld.hash(`${seed}|${path.join("|")}|${sample}`)
    const option = Math.floor(roll * 5)
    return option === 4 ? `final answer: answer ${sample % 2}` : `option ${option}`
  },
  // Solved is rare, so that searches go on.
  score: (path) => {
    const roll = LatsWorld.hash(`score ${seed}|${path.join("|")}`)
    return isAnswer(path.at(-1)!) && roll > 0.93 ? 1 : Math.floor(roll * 8) / 8
  }
})

const model = ({ propose, score }: World) => {
  const count = LatsWorld.counting()
  return (request: LlmClient.LlmRequest): string => {
    const path = LatsWorld.pathOf(request).map(({ action }) => action)
    switch (LatsWorld.kindOf(request)) {
      case "expand": {
        const action = propose(path, count(request))
        return isAnswer(action) ? LatsWorld.answer(action.slice("final answer: ".length)) : LatsWorld.step(action)
      }
      case "evaluate":
        return LatsWorld.score(score(path))
      case "reflect":
        return "Not this way."
      case "final":
        return "Nothing found."
    }
  }
}

interface Ref {
  readonly path: ReadonlyArray<string>
  readonly up: Ref | undefined
  readonly kids: Array<Ref>
  n: number
  w: number
  dead: boolean
  closed: boolean
}

/** UCT in its plainest form: objects that point at each other and are changed in place. */
const uct = (
  { propose, score }: World,
  o: { iterations: number; samples: number; depth: number; c: number; lambda: number; rollout: boolean }
) => {
  const fresh = (path: ReadonlyArray<string>, up?: Ref): Ref => ({
    path,
    up,
    kids: [],
    n: 0,
    w: 0,
    dead: false,
    closed: false
  })
  const root = fresh([])
  const order: Array<Ref> = [root]
  const selected: Array<Ref> = []
  const asked = new Map<string, number>()
  let solved: Ref | undefined
  const close = (node: Ref) => {
    node.closed = true
    if (node.up?.kids.every((kid) => kid.closed)) close(node.up)
  }
  const first = (nodes: ReadonlyArray<Ref>, by: (node: Ref) => number) => {
    let best: Ref | undefined
    for (const node of nodes) if (best === undefined || by(node) > by(best)) best = node
    return best
  }
  const widen = (node: Ref) => {
    const votes = new Map<string, number>()
    for (let i = 0; i < o.samples; i++) {
      const key = node.path.join("|")
      const time = asked.get(key) ?? 0
      asked.set(key, time + 1)
      const action = propose(node.path, time)
      votes.set(action, (votes.get(action) ?? 0) + 1)
    }
    for (const [action, count] of votes) {
      const kid = fresh([...node.path, action], node)
      const judged = score(kid.path)
      kid.n = 1
      kid.w = o.lambda * judged + (1 - o.lambda) * (count / o.samples)
      kid.dead = isAnswer(action) || kid.path.length === o.depth
      node.kids.push(kid)
      order.push(kid)
      if (isAnswer(action) && judged >= 1 && (solved === undefined || kid.w > solved.w)) solved = kid
    }
    for (const kid of node.kids) if (kid.dead) close(kid)
  }
  const average = (node: Ref) => node.w / node.n
  const learn = (leaf: Ref, value: number) => {
    for (let at = leaf.up; at !== undefined; at = at.up) {
      at.n++
      at.w += value
    }
  }
  for (let i = 0; i < o.iterations && !root.closed && solved === undefined; i++) {
    let at = root
    while (at.kids.length > 0) {
      const parent = at
      at = first(
        at.kids.filter((kid) => !kid.closed),
        (kid) => kid.w / kid.n + o.c * Math.sqrt(Math.log(parent.n) / kid.n)
      )!
    }
    selected.push(at)
    widen(at)
    if (!o.rollout) for (const kid of at.kids) learn(kid, average(kid))
    else {
      let end = solved ?? first(at.kids, average)!
      while (!end.dead) {
        widen(end)
        end = solved ?? first(end.kids, average)!
      }
      learn(end, average(end))
    }
  }
  return { order, selected, solved }
}

describe("Lats against a plain UCT", () => {
  for (const rollout of [false, true]) {
    it.effect(`has the same visits, values and selections, node for node (rollout: ${rollout})`, () =>
      Effect.gen(function* () {
        let solutions = 0
        let nodes = 0
        for (let seed = 0; seed < 40; seed++) {
          const o = {
            iterations: 4 + (seed % 9),
            samples: 2 + (seed % 3),
            depth: 2 + (seed % 4),
            c: [0, 0.5, 1.41, 3][seed % 4]!,
            lambda: [0, 0.5, 1][seed % 3]!,
            rollout
          }
          const expected = uct(world(seed), o)
          const ran = yield* Strategies.run(
            Lats.make({
              maxModelCalls: 100_000,
              maxIterations: o.iterations,
              numExpansions: o.samples,
              maxDepth: o.depth,
              explorationWeight: o.c,
              valueWeight: o.lambda,
              rollout,
              maxReflections: 0
            }),
            model(world(seed))
          )
          const { all, selected } = LatsWorld.replay(ran.events)
          nodes += all.length
          if (expected.solved !== undefined) solutions++
          assert.deepStrictEqual(
            all.map(({ data, exhausted, terminal, value, visits }) => [
              data.action === null
                ? ""
                : data.action.kind === "answer"
                  ? `final answer: ${data.action.text}`
                  : data.action.text,
              visits,
              value,
              terminal,
              exhausted
            ]),
            expected.order.map((node) => [node.path.at(-1) ?? "", node.n, node.w, node.dead, node.closed]),
            `seed ${seed}`
          )
          assert.deepStrictEqual(
            selected,
            expected.selected.map((node) => expected.order.indexOf(node)),
            `seed ${seed}`
          )
          const { reason } = yield* ran.exit
          assert.strictEqual(reason, expected.solved === undefined ? "limit" : "completed")
        }
        // Seeds that show something: both outcomes, and trees that have grown.
        assert.isAbove(solutions, 3)
        assert.isBelow(solutions, 37)
        assert.isAbove(nodes, 400)
      })
    )
  }
})
