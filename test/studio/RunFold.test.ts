import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import { shownTo } from "../../studio/runs/conversation.js"
import { type ModelItem, RunFold, searchTextOf } from "../../studio/runs/fold.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"
import * as Growth from "../support/Growth.js"
import * as HostileText from "../trace/HostileText.js"

const foldOf = (events: Iterable<AgentEvent>): RunFold => {
  const fold = new RunFold()
  for (const event of events) fold.push(event)
  return fold
}

const own = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<AgentEvent> =>
  events.filter(({ runId }) => runId === events[0]?.runId)

const eventsOf = (name: string) =>
  Effect.gen(function* () {
    const found = EveryStrategy.cases.find((one) => one.name === name)
    assert.isDefined(found)
    const { events } = yield* EveryStrategy.succeed(found as EveryStrategy.Case)
    return own(events)
  })

describe("the events of a run in the studio", () => {
  for (const sample of EveryStrategy.samples) {
    it.effect(`amount to the totals and the answer of ${sample.name}`, () =>
      Effect.gen(function* () {
        const { answer, events } = yield* EveryStrategy.succeed(sample)
        const mine = own(events)
        const fold = foldOf(mine)
        const response = AgentResponse.fold()
        for (const event of mine) response.push(event)
        const { toolCalls } = response.response()
        assert.strictEqual(fold.message?.text, answer)
        assert.strictEqual(fold.totals.toolCalls, toolCalls.length)
        assert.strictEqual(fold.totals.modelCalls, mine.filter(({ _tag }) => _tag === "UsageReported").length)
        assert.strictEqual(fold.ended?._tag, "Finished")
        const seqs = fold.items.map(({ seq }) => seq)
        assert.deepStrictEqual(
          seqs,
          [...new Set(seqs)].sort((a, b) => a - b)
        )
      })
    )
  }

  it.effect("show what each model call was shown: the input, and what was said and done before it", () =>
    Effect.gen(function* () {
      const fold = foldOf(yield* eventsOf("react"))
      const calls = fold.items.filter((item): item is ModelItem => item.kind === "model")
      assert.isAbove(calls.length, 1)
      const shown = calls.map((call) => shownTo(fold, call))
      assert.deepStrictEqual(
        shown[0]?.map(({ text, who }) => [who, text]),
        [["user", fold.started?.input]]
      )
      for (const [at, call] of calls.entries()) {
        const seqs = shown[at]?.map(({ seq }) => seq) ?? []
        assert.deepStrictEqual(
          seqs,
          [...seqs].sort((a, b) => a - b)
        )
        assert.isTrue(seqs.every((seq) => seq < call.seq))
      }
      const last = shown.at(-1)?.map(({ who }) => who) ?? []
      assert.includeMembers(last, ["user", "call", "tool"])
      assert.isBelow(last.indexOf("call"), last.indexOf("tool"))
    })
  )

  it.effect("show the search tree of LATS, each state under a known one", () =>
    Effect.gen(function* () {
      const { tree } = foldOf(yield* eventsOf("lats"))
      assert.isAbove(tree.size, 2)
      for (const { parent } of tree.values()) assert.isTrue(parent === undefined || tree.has(parent))
      assert.isTrue(Array.from(tree.values()).some(({ label }) => label !== "root" && !label.startsWith("state ")))
    })
  )

  it.effect("show the outline of STORM", () =>
    Effect.gen(function* () {
      const { outline } = foldOf(yield* eventsOf("storm"))
      assert.isAbove(outline?.length ?? 0, 0)
      assert.notStrictEqual(outline?.[0]?.title, "")
    })
  )

  it.effect("show the plan with what was done", () =>
    Effect.gen(function* () {
      const { plan } = foldOf(yield* eventsOf("plan-execute"))
      assert.isTrue(plan?.some(({ status }) => status === "completed"))
    })
  )

  it("show a text once that a reader came too late for", () => {
    const meta = { runId: "r", agent: "a", at: 1 }
    const { items } = foldOf([
      { ...meta, seq: 0, _tag: "StepStarted", step: 1 },
      { ...meta, seq: 1, _tag: "TextDelta", text: "Hel" },
      { ...meta, seq: 1, _tag: "TextRetracted", step: 1 },
      { ...meta, seq: 4, _tag: "TextDelta", text: "Hello" }
    ] as unknown as ReadonlyArray<AgentEvent>)
    const [model] = items
    assert.deepStrictEqual(model?.kind === "model" ? [model.text, model.isRetracted] : [], ["Hello", false])
  })

  it("never fail, whatever they say and in whatever order they come", () => {
    FastCheck.assert(
      FastCheck.property(
        HostileText.text.chain((text) => FastCheck.shuffledSubarray([...HostileText.events(text)])),
        (events) => {
          const fold = foldOf(events)
          assert.strictEqual(fold.events, events.length)
          for (const item of fold.items) assert.isString(searchTextOf(item))
        }
      ),
      { numRuns: 200 }
    )
  })

  it("take values of any shape where a node says what it changed", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue(), FastCheck.jsonValue(), (nodes, sections) => {
        const update = { tree: { nodes }, outline: { sections } }
        const fold = foldOf([
          {
            _tag: "NodeFinished",
            runId: "r",
            agent: "a",
            seq: 0,
            at: 0,
            graph: "__proto__",
            node: "x",
            step: 1,
            update
          }
        ] as unknown as ReadonlyArray<AgentEvent>)
        assert.strictEqual(fold.items.length, 1)
      }),
      { numRuns: 200 }
    )
  })

  it("take the same time each, however many came before", () =>
    Growth.assertLinear({
      name: "folding events",
      size: 32_000,
      input: (size): ReadonlyArray<AgentEvent> =>
        Array.from({ length: size }, (_, seq) => {
          const meta = { runId: "r", agent: "a", at: seq, seq }
          const kind = seq % 4
          return (kind === 0
            ? { ...meta, _tag: "StepStarted", step: seq }
            : kind === 1
              ? { ...meta, _tag: "TextDelta", text: "text" }
              : kind === 2
                ? { ...meta, _tag: "UsageReported", usage: {} }
                : { ...meta, _tag: "ToolCall", step: 1, id: `c${seq}`, name: "t", params: {} }) as unknown as AgentEvent
        }),
      run: (events) => foldOf(events).items.length
    }))
})
