/** A recurring kind of task: the reasoning structure is discovered once, then only followed. */
import type { LlmClient } from "effect-lexigram"
import { SelfDiscovery } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const steps = [
  "List who must speak before whom.",
  "Order the talks so that each condition holds.",
  "Check the order against every condition."
]

/** Pairs of names, the first before the second. */
const conditions = (text: string): ReadonlyArray<readonly [string, string]> =>
  Array.from(new Set(text.match(/[A-Z]\w+ before [A-Z]\w+/g)), (pair) => pair.split(" before ") as [string, string])

const order = (pairs: ReadonlyArray<readonly [string, string]>): ReadonlyArray<string> => {
  const left = new Set(pairs.flat())
  const done: Array<string> = []
  while (left.size > 0) {
    const next = Array.from(left).find((name) => !pairs.some(([first, then]) => then === name && left.has(first)))
    if (next === undefined) return []
    left.delete(next)
    done.push(next)
  }
  return done
}

const model = (request: LlmClient.LlmRequest): string => {
  const asked = String(request.messages.at(-1)?.content)
  const pairs = conditions(asked)
  switch (request.responseFormat?.type === "json" ? request.responseFormat.name : "") {
    case "selected_modules":
      return JSON.stringify({ selected: ["identify_constraints", "visualization"] })
    case "adapted_modules": {
      const name = /## Module: (\w+)/.exec(asked)?.[1] ?? ""
      return JSON.stringify({ modules: [{ name, strategy: "Write down each pair of talks whose order is fixed." }] })
    }
    case "reasoning_plan":
      return JSON.stringify({ steps })
  }
  const step = /## This step\n\n(.+)/.exec(asked)?.[1]
  if (step === steps[0]) return pairs.map((pair) => pair.join(" < ")).join(", ")
  if (step === steps[1]) return `Order: ${order(pairs).join(", ")}`
  const found = /Order: (.+)/.exec(asked)?.[1] ?? ""
  if (step === steps[2]) {
    const places = found.split(", ")
    const broken = pairs.filter(([first, then]) => places.indexOf(first) > places.indexOf(then))
    return broken.length === 0 ? "All conditions hold." : `Broken: ${broken.join("; ")}`
  }
  return `The order of the talks is ${found}.`
}

export const sample: Sample = {
  why: "tasks of one kind share a way of thinking that is worth finding once",
  task: "Order the talks: Chen before Amara, Dario before Bela, Amara before Dario.",
  strategy: SelfDiscovery.make({ maxSelectedModules: 2 }),
  calls: "1 + modules + 1 + steps + 1; with a structure that is known: steps + 1",
  model
}

await main(import.meta.url, sample)
