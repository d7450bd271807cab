/**
 * Outputs of Plan-and-Solve prompts, made up: every way we know of to write a plan and the work on it behind each other, in all combinations
 * that tell where the plan ends. The texts are ours, not a model's.
 */

const plan = [
  "Find the price of one book.",
  "Multiply the price by the number of books.",
  "Subtract the discount of 3.5 euros.",
  "Add the tax (19 percent).",
  "State the total."
]

const work = [
  "One book costs 36 / 3 = 12 euros.",
  "12 * 5 = 60 euros.",
  "60 - 3.5 = 56.5 euros.",
  "56.5 * 1.19 = 67.235 euros.",
  "The total is 67.24 euros."
]

type Form = (items: ReadonlyArray<string>) => string

const each =
  (mark: (n: number) => string, glue = "\n"): Form =>
  (items) =>
    items.map((item, i) => `${mark(i + 1)}${item}`).join(glue)

const numbered: Readonly<Record<string, Form>> = {
  "1.": each((n) => `${n}. `),
  "1)": each((n) => `${n}) `),
  "(1)": each((n) => `(${n}) `),
  "**1.**": each((n) => `**${n}.** `),
  "1. apart": each((n) => `${n}. `, "\n\n")
}

const labelled: Readonly<Record<string, Form>> = {
  "Step 1:": each((n) => `Step ${n}: `),
  "Step 1.": each((n) => `Step ${n}. `),
  "**Step 1:**": each((n) => `**Step ${n}:** `, "\n\n"),
  "### Step 1:": each((n) => `### Step ${n}: `, "\n\n"),
  "Step 1: apart": each((n) => `Step ${n}: `, "\n\n")
}

const bulleted: Readonly<Record<string, Form>> = { "-": each(() => "- "), "*": each(() => "* ") }

const prose: Form = (items) => items.join(" ")

const openings = [
  "",
  "Let's first understand the problem and devise a plan to solve it.\n\n",
  "To solve this problem, we need to find what five books cost.\n\n"
]

const announcements = ["Plan:\n", "**Plan:**\n", "## Plan\n\n", "Here is the plan:\n", "The plan:\n\n"]

const transitions = [
  "Calculations:",
  "**Calculations:**",
  "Calculation:",
  "Solution:",
  "### Solution",
  "Let's carry out the plan:",
  "Now, let's carry out the plan and solve the problem step by step:",
  "Then, let’s carry out the plan.",
  "Carrying out the plan:",
  "Execution:",
  "Let's calculate the total:"
]

export interface Output {
  readonly name: string
  readonly text: string
  readonly steps: ReadonlyArray<string>
}

/** All of them, in one order. */
export const outputs = (): ReadonlyArray<Output> => {
  const found: Array<Output> = []
  const add = (name: string, count: number, parts: ReadonlyArray<string>): void => {
    found.push({ name, text: parts.join(""), steps: plan.slice(0, count) })
  }
  const worked: ReadonlyArray<readonly [string, Form]> = Object.entries({
    ...numbered,
    ...labelled,
    ...bulleted,
    prose
  })
  const end = "\n\nTherefore, the answer is 67.24."
  for (const count of [2, 5]) {
    const steps = plan.slice(0, count)
    const done = work.slice(0, count)
    for (const opening of openings) {
      for (const announced of ["", ...announcements]) {
        for (const [mark, form] of Object.entries({ ...numbered, ...labelled })) {
          const head = [opening, announced, form(steps), "\n\n"]
          for (const [way, does] of worked) {
            for (const transition of transitions)
              add(`${announced}${mark} ${transition} ${way}`, count, [...head, transition, "\n", does(done), end])
          }
          // Without a word between them numbers tell: those that begin again.
          for (const [way, does] of Object.entries({ ...numbered, ...labelled })) {
            add(`${announced}${mark} ${way}`, count, [...head, does(done), end])
          }
        }
      }
      for (const announced of ["Plan: ", "Plan:\n", "**Plan:** "]) {
        for (const [way, does] of worked) {
          for (const transition of transitions)
            add(`${announced}prose ${transition} ${way}`, count, [
              opening,
              announced,
              prose(steps),
              "\n\n",
              transition,
              "\n",
              does(done),
              end
            ])
        }
      }
    }
  }
  return found
}
