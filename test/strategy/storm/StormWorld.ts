/** A small library about one town, a search over it, and a model that knows nothing but what its request says. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as StormPrompts from "../../../src/prompt/defaults/StormPrompts.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

export interface Document {
  readonly url: string
  readonly title: string
  readonly text: string
}

export const TOPIC = "The town of Aldhaven"

/** One fact a document; the subject is what a section about it is called. */
export const corpus: ReadonlyArray<Document> = [
  {
    url: "https://a.example/founding",
    title: "Founding",
    text: "History: Aldhaven was founded in 1204 by salt traders."
  },
  { url: "https://a.example/siege", title: "Siege", text: "History: A siege of Aldhaven lasted 40 days in 1611." },
  { url: "https://b.example/salt", title: "Salt", text: "Economy: Aldhaven sells 900 tonnes of salt a year." },
  { url: "https://b.example/ferry", title: "Ferry", text: "Economy: The ferry of Aldhaven carries 3100 people a day." },
  { url: "https://c.example/heron", title: "Herons", text: "Nature: 220 pairs of herons nest near Aldhaven." },
  { url: "https://c.example/marsh", title: "Marsh", text: "Nature: The marsh of Aldhaven covers 17 square kilometres." }
]

/** The statement of a document without its subject: what must stand in the article, with a citation behind it. */
export const factOf = ({ text }: Document): string => text.slice(text.indexOf(":") + 2).replace(/\.$/, "")

const words = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/\p{L}{4,}/gu) ?? [])

/** The documents that share a word with the query. */
export const lookUp = (documents: ReadonlyArray<Document>, query: string): ReadonlyArray<Document> => {
  const asked = words(query.replaceAll("Aldhaven", "").replaceAll("town", ""))
  return documents.filter((document) => [...words(document.text)].some((word) => asked.has(word)))
}

export const search = (documents: ReadonlyArray<Document> = corpus, name = "search") =>
  Tool.make(name, {
    description: "Searches the library",
    parameters: { query: Schema.String },
    success: Schema.Array(Schema.Struct({ url: Schema.String, title: Schema.String, content: Schema.String })),
    handler: ({ query }) =>
      Effect.succeed(lookUp(documents, query).map(({ text, title, url }) => ({ url, title, content: text })))
  })

/** The words that open the system half of each step: how the model sees what it is asked. */
const openings = StormPrompts.steps.map((step) => [step.name, step.system.source.split("\n")[2]!.slice(0, 60)] as const)

export type StepName =
  | "GenerateOutline"
  | "RelatedTopics"
  | "GeneratePerspectives"
  | "GenerateQuestions"
  | "GenerateQueries"
  | "AnswerQuestion"
  | "RefineOutline"
  | "SynthesizeSection"
  | "WriteLead"
  | "CompileReport"
  | "ShapeAnswer"

const contents = (request: LlmClient.LlmRequest, role: "system" | "user"): ReadonlyArray<string> =>
  request.messages.flatMap((message) => (message.role === role ? [String(message.content)] : []))

export const stepOf = (request: LlmClient.LlmRequest): StepName => {
  const system = contents(request, "system").join("\n")
  const found = openings.find(([, opening]) => system.includes(opening))
  if (found === undefined) throw new Error(`no step is known by ${system.slice(0, 200)}`)
  return found[0] as StepName
}

/** The question of the step: the last thing the user said that is not about a reply to it. */
export const user = (request: LlmClient.LlmRequest): string =>
  contents(request, "user").findLast((text) => !text.startsWith("That reply cannot be used")) ?? ""

export const sourcesIn = (text: string): ReadonlyArray<{ readonly id: number; readonly text: string }> =>
  [...text.matchAll(/<source id="(\d+)">\n([\s\S]*?)\n<\/source>/g)].map((match) => ({
    id: Number(match[1]),
    text: match[2]!
  }))

const lineAfter = (text: string, label: string): string =>
  text
    .split("\n")
    .find((line) => line.startsWith(label))
    ?.slice(label.length)
    .trim() ?? ""

const statements = (text: string, subject?: string | undefined): ReadonlyArray<string> =>
  sourcesIn(text).flatMap((source) =>
    source.text.split("\n").flatMap((line) => {
      const match = /^(\w+): (\S.*)\.$/.exec(line)
      if (match === null || match[1] === "Title" || match[1] === "Address") return []
      return subject === undefined || match[1] === subject ? [`${match[2]} [${source.id}].`] : []
    })
  )

const subjects = ["History", "Economy", "Nature"]

const json = (request: LlmClient.LlmRequest, value: object, text: string): string =>
  request.responseFormat?.type === "json" ? JSON.stringify(value) : text

/** Answers from the request alone. */
export const model = (request: LlmClient.LlmRequest): TestModel.Turn | string => {
  const asked = user(request)
  switch (stepOf(request)) {
    case "GenerateOutline":
      return json(
        request,
        {
          sections: subjects
            .slice(0, 2)
            .map((title) => ({ title, subsections: [{ title: "Overview", points: ["The first"] }] }))
        },
        subjects
          .slice(0, 2)
          .map((title) => `SECTION: ${title}\nSUBSECTION: Overview\nPOINT: The first`)
          .join("\n")
      )
    case "RelatedTopics":
      return json(request, { topics: ["Nature of marsh towns"] }, "TOPIC: Nature of marsh towns")
    case "GeneratePerspectives": {
      // Somebody for each subject that the related material speaks of, else the first that is often useful.
      const found = subjects.filter((subject) => new RegExp(`: ${subject}: `).test(asked))
      const chosen =
        found.length === 0
          ? [{ name: /^- (\w+): /m.exec(asked)![1]!, description: "whatever there is" }]
          : found.map((subject) => ({ name: `Reader of ${subject}`, description: subject }))
      return json(
        request,
        { perspectives: chosen },
        chosen.map(({ description, name }) => `PERSPECTIVE: ${name} | ${description}`).join("\n")
      )
    }
    case "GenerateQuestions": {
      const own = lineAfter(asked, "You ask about:")
      const wanted = subjects.includes(own) ? [own] : subjects
      const said = asked.slice(asked.indexOf("<conversation>"))
      const next = wanted.find((subject) => !said.includes(`Question: What about the ${subject.toLowerCase()}`))
      return next === undefined
        ? json(request, { done: true, question: "" }, "DONE")
        : json(
            request,
            { done: false, question: `What about the ${next.toLowerCase()} of Aldhaven?` },
            `QUESTION: What about the ${next.toLowerCase()} of Aldhaven?`
          )
    }
    case "GenerateQueries": {
      const query = lineAfter(asked, "Question:").replace(/What about the |\?/g, "")
      return json(request, { queries: [query] }, `QUERY: ${query}`)
    }
    case "AnswerQuestion":
      return statements(asked).join(" ") || "The sources say nothing about it."
    case "RefineOutline": {
      const known = subjects.filter((subject) => asked.includes(`the ${subject.toLowerCase()} of`))
      return json(
        request,
        { sections: known.map((title) => ({ title, subsections: [] })) },
        known.map((title) => `## ${title}`).join("\n")
      )
    }
    case "SynthesizeSection":
      return statements(asked, lineAfter(asked, "Your section:")).join(" ") || "Nothing is known."
    case "WriteLead":
      return `Aldhaven is a town. ${asked.match(/[^\n.]*\[\d+\]\./)?.[0].trim() ?? ""}`
    case "CompileReport":
      return asked.slice(asked.indexOf("<article>") + 9, asked.indexOf("</article>")).trim()
    case "ShapeAnswer":
      return JSON.stringify({ n: (asked.match(/^## /gm) ?? []).length })
  }
}
