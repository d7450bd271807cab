/**
 * `storm`: an article researched in a library from several perspectives at once, in which every statement cites its
 * source.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type LlmClient, Tool } from "effect-lexigram"
import { Storm } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const library = [
  ["Chronicle", "History: The lighthouse of Skerry was lit in 1811 after two ships had sunk."],
  ["Builder's notes", "History: Its tower of granite is 34 metres high."],
  ["Keeper's log", "Work: Two keepers burned nine barrels of oil a month."],
  ["Harbour office", "Work: Since 1984 the light runs without keepers."],
  ["Bird survey", "Nature: Forty pairs of petrels nest below the tower."],
  ["Tide table", "Nature: At spring tide the island is cut off for six hours."]
].map(([title, text]) => ({ title: title!, url: `https://library.example/${title!.length}`, content: text! }))

const search = Tool.make("library_search", {
  description: "Searches the library of the island",
  idempotent: true,
  parameters: { query: Schema.String },
  success: Schema.Array(Schema.Struct({ title: Schema.String, url: Schema.String, content: Schema.String })),
  handler: ({ query }) =>
    Effect.succeed(library.filter(({ content }) => query.toLowerCase().includes(content.split(":")[0]!.toLowerCase())))
})

/** Statements of the sources in a request, with the numbers of the sources. */
const statements = (text: string, subject = "\\w+") =>
  [...text.matchAll(/<source id="(\d+)">\n([\s\S]*?)\n<\/source>/g)].flatMap(([, id, source]) =>
    [...source!.matchAll(new RegExp(`^${subject}: (.*)\\.$`, "gm"))].map(([, fact]) => `${fact} [${id}].`)
  )

const line = (text: string, label: string) => text.split(`${label} `)[1]?.split("\n")[0] ?? ""

/** Asks about its interests until they are covered, answers from sources, and writes what they say. */
const model = ({ messages, responseFormat }: LlmClient.LlmRequest) => {
  const asked = String(messages.at(-1)!.content)
  const system = String(messages[0]!.content)
  switch (responseFormat?.type === "json" ? responseFormat.name : "text") {
    case "outline": {
      const found = ["History", "Work", "Nature"].filter((title) => asked.includes(`the ${title.toLowerCase()} of`))
      return JSON.stringify({
        sections: (found.length > 0 ? found : ["History"]).map((title) => ({ title, subsections: [] }))
      })
    }
    case "related_topics":
      return JSON.stringify({ topics: ["Nature of rocky islands", "Work on remote coasts"] })
    case "perspectives": {
      const sides = [...new Set([...asked.matchAll(/: (Nature|Work): /g)].map(([, side]) => side!))]
      return JSON.stringify({
        perspectives: sides.map((side) => ({ name: `Reader about ${side}`, description: side }))
      })
    }
    case "question": {
      const side = line(asked, "You ask about:")
      const wanted = ["Nature", "Work"].includes(side) ? side.toLowerCase() : "history"
      const question = `What is known about the ${wanted} of the place?`
      return JSON.stringify({ done: asked.includes(`Question: ${question}`), question })
    }
    case "queries":
      return JSON.stringify({ queries: [line(asked, "Question:")] })
    default:
      if (system.includes("one section")) return statements(asked, line(asked, "Your section:")).join(" ")
      if (system.includes("You are an expert")) return statements(asked).join(" ")
      if (system.includes("the lead of an article")) return `In short: ${/^\S.*?\[\d+\]\./m.exec(asked)?.[0] ?? ""}`
      return asked.split("<article>\n")[1]!.split("\n</article>")[0]!
  }
}

export const sample: Sample = {
  why: "the article is to be broad and every statement of it to be checked against a source",
  task: "The lighthouse of Skerry",
  strategy: Storm.make({ maxTurns: 2, maxSections: 3 }),
  tools: [search],
  model,
  calls: "6 + 3 * perspectives * turns + sections at most"
}

await main(import.meta.url, sample)
