import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, Agents } from "effect-lexigram"
import { Task } from "effect-lexigram/eval"
import { TestModel } from "effect-lexigram/testing"
import { keyOf, stepOf, textOf } from "../../test/strategy/EveryStrategyForms.js"
import * as C from "./Comparison.js"
import * as Solver from "./Solver.js"
import * as Worlds from "./Worlds.js"

const [name = "", set = "0", index = "0", long] = process.argv.slice(2)
const all = await Effect.runPromise(Worlds.datasets(40))
const one = all[Number(set)]!.cases[Number(index)]!
console.log(
  one.input.question,
  one.input.faults,
  one.input.facts.map((f) => `${f.of}>${f.value}`).join(" "),
  one.expected
)
const opened = Worlds.open(one.input)
const tools: any = name !== "supervisor" ? opened.tools : C.toolsFor(name, opened.tools)
const solve = Solver.make(C.rates, 1)
const model = (r: any) => {
  const turn = solve(r)
  const s = stepOf(r)
  console.log(
    ">>",
    s && keyOf(s),
    r.tools?.length ?? 0,
    long ? textOf(r.messages.at(-1)) : textOf(r.messages.at(-1)).slice(-200).replace(/\n/g, "|")
  )
  console.log("   <<", JSON.stringify(turn.text ?? ""), JSON.stringify(turn.calls ?? ""))
  return turn
}
const out = (await Effect.runPromise(
  Task.agent(Agent.make(name, { system: "You answer questions about records.", tools, strategy: C.strategies[name]! }))
    .run(one.input.question)
    .pipe(Effect.provide(Agents.layer({ enableMetrics: false }).pipe(Layer.provide(TestModel.layer(model))))) as any
)) as any
console.log(out._tag, out.output, out.cause && String(out.cause).slice(0, 800))
