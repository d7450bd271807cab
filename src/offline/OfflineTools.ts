/**
 * Tools as the embedded model knows them: each tool and parameter with the words that name it.
 *
 * @private
 * @since 0.1.0
 */
import type { ToolDefinition } from "../llm/model/LlmClient.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"

/** Kind of value a parameter takes, read from its name, format and description. */
type Topic = "id" | "date" | "email" | "url" | "name" | "query" | "text" | "any"

/**
 * `key` holds the stems of the name, `about` those of the description.
 *
 * @category models
 */
export interface Parameter {
  readonly name: string
  readonly shape: Schema.Shape
  readonly required: boolean
  readonly key: ReadonlyArray<string>
  readonly about: ReadonlySet<string>
  readonly topic: Topic
}

/**
 * @category models
 */
export interface Tool {
  readonly name: string
  readonly shape: Schema.Shape
  readonly parameters: ReadonlyArray<Parameter>
  /** Stems, and their weight for the tool. */
  readonly words: ReadonlyMap<string, number>
  /** Stems of the name and of the first word of the description. */
  readonly verbs: ReadonlyArray<string>
  /** The tool changes something, so the request must contain its verb. */
  readonly mutates: boolean
  readonly searches: boolean
}

const topics: ReadonlyArray<readonly [Topic, RegExp]> = [
  ["email", /\b(?:email|mail)\b/],
  ["url", /\b(?:url|uri|link)\b/],
  ["id", /\b(?:id|code|number|no|sku|reference|ref|uuid|key)$/],
  ["date", /\b(?:date|day|deadline)\b/],
  ["query", /^(?:query|search|term|terms|keywords?|phrase|wish|q)$/],
  ["name", /\b(?:city|place|address|town|country|port|airport|person|author|customer|guest|owner|user|name|maker)\b/],
  ["text", /\b(?:message|body|content|text|note|comment|reason|subject|title|summary|why)\b/]
]

/**
 * @category constructors
 */
export const parameter = (name: string, shape: Schema.Shape, required: boolean): Parameter => {
  const { format = "" } = shape.raw
  const label = `${Text.words(name).join(" ")} ${format}`.trim()
  return {
    name,
    shape,
    required,
    key: Text.words(name).map(Text.stem),
    about: new Set(Text.contentStems(shape.description)),
    topic: topics.find(([, pattern]) => pattern.test(label))?.[0] ?? "any"
  }
}

/**
 * @category constructors
 */
export const parameters = (shape: Schema.Shape): ReadonlyArray<Parameter> =>
  shape.properties.map(([name, inner]) => parameter(name, inner, shape.required.includes(name)))

const changes = new Set(
  (
    "cancel send start delete remove create book order update extend request pay return add set buy reserve transfer refund post close open " +
    "change move rename assign submit"
  )
    .split(" ")
    .map(Text.stem)
)

/**
 * True if a verb stem means a change.
 *
 * @category predicates
 */
export const isChange = (stem: string): boolean => changes.has(stem)

const isSearch = new Set("find search browse discover".split(" ").map(Text.stem))

/**
 * @category constructors
 */
export const make = ({ description, name, parameters: schema }: ToolDefinition): Tool => {
  const shape = Schema.fromJsonSchema(schema)
  const own = parameters(shape)
  const weights = new Map<string, number>()
  const weigh = (stems: Iterable<string>, weight: number) => {
    for (const stem of stems) weights.set(stem, Math.max(weights.get(stem) ?? 0, weight))
  }
  for (const { key, shape } of own) {
    weigh(key, 0.5)
    for (const option of shape.enum ?? []) weigh(Text.contentStems(String(option)), 1)
  }
  weigh(Text.contentStems(description.slice(0, 2_000)), 1)
  weigh(Text.words(name).filter(Text.isContent).map(Text.stem), 2)
  const nouns = new Set(own.flatMap(({ key }) => key))
  const verbs = [...Text.words(name), ...Text.words(description).slice(0, 1)]
    .slice(0, 8)
    .map(Text.stem)
    .filter((stem, at) => at === 0 || !nouns.has(stem))
  return {
    name,
    shape,
    parameters: own,
    words: weights,
    verbs,
    mutates: verbs.some((verb) => changes.has(verb)),
    searches: own.some(({ topic }) => topic === "query") || verbs.some((verb) => isSearch.has(verb))
  }
}
