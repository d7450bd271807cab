/**
 * Reads the replies to the questions of STORM, as JSON or in the text form of their step.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as StormOutline from "../../plan/StormOutline.js"
import * as ReplyForm from "../definition/ReplyForm.js"
import type { Perspective } from "./StormArticle.js"

const LINE_MAX = 500

const oneLine = (text: string): string =>
  text
    .slice(0, LINE_MAX * 4)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, LINE_MAX)
    .replace(/[\ud800-\udbff]$/, "")

/** The text after a marker, for each line that begins with it. */
const marked = (text: string, marker: RegExp): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => {
    const match = marker.exec(line.slice(0, LINE_MAX * 4))
    return match === null ? [] : [line.slice(match[0].length)]
  })

const item = /^[ \t]{0,16}(?:[-*+•–]|\d{1,3}[.)])[ \t]{1,8}(?=\S)/

/** The texts after a marker; without any, the items of a numbered or bulleted list. */
const itemsOf = (text: string, marker: RegExp): ReadonlyArray<string> => {
  const found = marked(text, marker)
  return found.length > 0 ? found : marked(text, item)
}

const markerOf = (name: string): RegExp =>
  new RegExp(`^\\s*(?:[-*+] |\\d{1,3}[.)] )?[*_]{0,2}${name}(?: \\d{1,3})?[*_]{0,2} ?:[*_]{0,2}`, "i")

const topicMarker = markerOf("topic")
const perspectiveMarker = markerOf("perspective")
const questionMarker = markerOf("question")
const queryMarker = markerOf("query")

const unique = (texts: ReadonlyArray<string>, max: number): ReadonlyArray<string> => {
  const found = new Map<string, string>()
  for (const text of texts) {
    if (found.size >= max) break
    const line = oneLine(text)
    const key = StormOutline.keyOf(line)
    if (key !== "" && !found.has(key)) found.set(key, line)
  }
  return [...found.values()]
}

/** A form whose value must also satisfy a condition. */
const refine = <A, B>(
  form: ReplyForm.ReplyForm<A>,
  f: (value: A) => Either.Either<B, string>
): ReplyForm.ReplyForm<B> => ({
  ...form,
  read: (text) => Effect.flatMap(form.read(text), f)
})

const list = (options: {
  readonly name: string
  readonly field: string
  readonly marker: RegExp
  readonly line: string
}) =>
  ReplyForm.make({
    name: options.name,
    schema: Schema.Struct({ [options.field]: Schema.Array(Schema.String) }),
    text: (text) => {
      const lines = itemsOf(text, options.marker)
      return lines.length === 0
        ? Either.left(`there is no line that begins with ${options.line}`)
        : Either.right({ [options.field]: lines })
    }
  })

const topicList = list({ name: "related_topics", field: "topics", marker: topicMarker, line: "TOPIC:" })

/** At most `max` topics other than that of the article. */
export const topics = (topic: string, max: number): ReplyForm.ReplyForm<ReadonlyArray<string>> =>
  refine(topicList, (value) => {
    const own = StormOutline.keyOf(oneLine(topic))
    const found = unique(
      (value["topics"] ?? []).filter((one) => StormOutline.keyOf(oneLine(one)) !== own),
      max
    )
    return found.length === 0 ? Either.left("it names no other topic") : Either.right(found)
  })

const queryList = list({ name: "queries", field: "queries", marker: queryMarker, line: "QUERY:" })

/** At most `max` different queries. */
export const queries = (max: number): ReplyForm.ReplyForm<ReadonlyArray<string>> =>
  refine(queryList, (value) => {
    const found = unique(value["queries"] ?? [], max)
    return found.length === 0 ? Either.left("it holds no query") : Either.right(found)
  })

const perspectiveList = ReplyForm.make({
  name: "perspectives",
  schema: Schema.Struct({
    perspectives: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.String }))
  }),
  text: (text) => {
    const perspectives = itemsOf(text, perspectiveMarker).map((line) => {
      const at = line.search(/[|–]|: | - /)
      return at < 0
        ? { name: line, description: "" }
        : { name: line.slice(0, at), description: line.slice(at + 1).replace(/^[\s|–-]+/, "") }
    })
    return perspectives.length === 0
      ? Either.left("there is no line that begins with PERSPECTIVE:")
      : Either.right({ perspectives })
  }
})

/** At most `max` perspectives that are not among `taken`. */
export const perspectives = (
  taken: ReadonlyArray<Perspective>,
  max: number
): ReplyForm.ReplyForm<ReadonlyArray<Perspective>> =>
  refine(perspectiveList, (value) => {
    const seen = new Set(taken.map((one) => StormOutline.keyOf(one.name)))
    const found: Array<Perspective> = []
    for (const one of value.perspectives) {
      const name = oneLine(one.name.replace(/[*_`]/g, ""))
      const key = StormOutline.keyOf(name)
      if (key === "" || seen.has(key) || found.length >= max) continue
      seen.add(key)
      found.push({ name, description: oneLine(one.description) || name })
    }
    return found.length === 0 ? Either.left("it names no perspective") : Either.right(found)
  })

const doneToken = /^[\s*_`]*done[\s*_`.!]*$/i

const questionForm = ReplyForm.make({
  name: "question",
  schema: Schema.Struct({ done: Schema.Boolean, question: Schema.String }),
  text: (text) => {
    if (text.length < 40 && doneToken.test(text)) return Either.right({ done: true, question: "" })
    const [first] = marked(text, questionMarker)
    return first === undefined
      ? Either.left("it is neither a line that begins with QUESTION: nor the word DONE alone")
      : Either.right({ done: false, question: first })
  }
})

/** The next question; `undefined` if the writer has none. */
export const question: ReplyForm.ReplyForm<string | undefined> = refine(questionForm, (value) => {
  if (value.done) return Either.right(undefined)
  const text = oneLine(value.question)
  return text === "" ? Either.left("the question is empty, and the conversation is not done") : Either.right(text)
})

const outlineSchema = ReplyForm.make({
  name: "outline",
  schema: Schema.Struct({
    sections: Schema.Array(StormOutline.Section)
  })
})

/** An outline within these bounds, in any form that `StormOutline` reads. */
export const outline = (bounds: StormOutline.Bounds): ReplyForm.ReplyForm<StormOutline.StormOutline> => ({
  ...outlineSchema,
  read: (text) => Either.mapLeft(StormOutline.parse(text, bounds), (error) => error.message)
})
