/**
 * A notice with rules that are easy to check and easy to forget: drafted, judged, and revised until no issue is left.
 */
import type { LlmClient } from "effect-lexigram"
import { Reflection } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const textOf = (message: LlmClient.Message | undefined): string =>
  typeof message?.content === "string" ? message.content : ""

const workOf = (text: string): string => /<work>\n([\s\S]*?)\n<\/work>/.exec(text)?.[1] ?? ""

/** Requirements of the task, and whether a notice meets them. */
const judge = (task: string, notice: string) => {
  const points: Array<string> = []
  const limit = Number(/at most (\d+) words/.exec(task)?.[1])
  const words = notice.split(/\s+/).length
  if (words > limit) points.push(`It has ${words} words: leave out what nobody needs to know`)
  for (const [, fact = ""] of task.matchAll(/"([^"]+)"/g)) {
    if (!notice.includes(fact)) points.push(`The fact is missing: say "${fact}"`)
  }
  return { points, score: Math.max(0, 10 - 4 * points.length), needs_refinement: points.length > 0 }
}

export const sample: Sample = {
  why: "one text is wanted, good ones are easier to recognise than to write, and a second look is worth its price",
  task: 'Write a notice of at most 20 words: the lift is out of order. It must say "until Friday" and "use the stairs".',
  strategy: Reflection.make({ maxReflectionCycles: 3 }),
  calls: "1 + 2 * cycles, or 2 when accepted at once",
  model: (request) => {
    const text = textOf(request.messages.at(-1))
    const work = workOf(text)
    if (work === "") {
      const what = /notice of [^:]*: ([^.]*)\./.exec(text)?.[1]
      return `Dear neighbours, we are very sorry to have to tell you all today that ${what} and that it is being mended.`
    }
    if (!text.includes("What is to be changed:")) return JSON.stringify(judge(text, work))
    const changes = text.slice(text.indexOf("What is to be changed:"))
    const facts = Array.from(changes.matchAll(/say "([^"]+)"/g), ([, fact]) => fact)
    const short = changes.includes("leave out")
      ? work.replace(/^.* tell you all today that /, "").replace(/ and that.*/, "")
      : work
    const notice = [short.replace(/\.$/, ""), ...facts].join(", ")
    return `${notice.charAt(0).toUpperCase()}${notice.slice(1)}.`
  }
}

await main(import.meta.url, sample)
