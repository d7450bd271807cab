/** A word problem with an irrelevant number: variables extracted, planned, solved step by step, checked, answered. */
import type { LlmClient } from "effect-lexigram"
import { PlanAndSolve } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const textOf = (message: LlmClient.Message | undefined): string =>
  typeof message?.content === "string" ? message.content : ""

/** Value of a variable by name. */
const variable = (text: string, name: string): number => Number(new RegExp(`- ${name} = ([\\d.]+)`).exec(text)?.[1])

const results = (text: string): ReadonlyArray<number> =>
  Array.from(text.matchAll(/<result>\n[\s\S]*?([\d.]+)[^\d]*\n<\/result>/g), (match) => Number(match[1]))

const growth = (text: string) => {
  const percent = variable(text, "rate")
  return `${percent} % are ${percent / 100}; the factor of a year is 1 + ${percent / 100} = ${1 + percent / 100}`
}

export const sample: Sample = {
  why: "the task takes several steps of reasoning, and one mistake or one number taken for another spoils the answer",
  task: "Mia, who is 34, puts 1000 euros into an account that pays 5 % a year. What does it hold after 3 years?",
  strategy: PlanAndSolve.make({ variant: "ps+" }),
  calls: "2 + steps",
  model: (request) => {
    const text = textOf(request.messages.at(-1))
    if (text.includes("This step:")) {
      const step = text.slice(text.indexOf("This step:"))
      const [factor = 1, power = 1] = results(text)
      if (step.includes("factor of one year")) return growth(text)
      if (step.includes("all years")) {
        const years = variable(text, "years")
        return `${factor} to the power of ${years} is ${(factor ** years).toFixed(6)}`
      }
      return `${variable(text, "principal")} times ${power} is ${(variable(text, "principal") * power).toFixed(2)}`
    }
    if (text.includes("Results:")) return `After 3 years the account holds ${results(text).at(-1)?.toFixed(2)} euros.`
    const [, principal, rate, years] = /puts (\d+) euros .* pays (\d+) %.* after (\d+) years/.exec(text) ?? []
    return JSON.stringify({
      variables: [`principal = ${principal}`, `rate = ${rate}`, `years = ${years}`],
      steps: [
        "Work out the factor of one year from the rate.",
        "Raise it to the number of years to get the factor of all years.",
        "Multiply the principal by that factor."
      ]
    })
  }
}

await main(import.meta.url, sample)
