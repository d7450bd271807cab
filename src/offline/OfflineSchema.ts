/**
 * Tools as the offline model knows them: every parameter with the words that name it, every tool with the words that
 * call for it.
 *
 * @internal
 * @since 0.1.0
 */
import type { ToolDefinition } from "../llm/model/LlmClient.js"
import * as Language from "./OfflineLanguage.js"
import type { Shape } from "./OfflineShape.js"
import * as Shapes from "./OfflineShape.js"

/**
 * What a text parameter is about, read from its name, format and description.
 *
 * @since 0.1.0
 * @category models
 */
export type Topic =
  | "id"
  | "date"
  | "time"
  | "email"
  | "url"
  | "place"
  | "region"
  | "country"
  | "person"
  | "currency"
  | "unit"
  | "color"
  | "language"
  | "content"
  | "any"

/**
 * A parameter of a tool. `key` are the stems of its name, `about` those of its description, `options` the values its
 * description names.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parameter {
  readonly name: string
  readonly shape: Shape
  readonly required: boolean
  readonly key: ReadonlyArray<string>
  readonly about: ReadonlySet<string>
  readonly topic: Topic
  readonly prepositions: ReadonlySet<string>
  readonly options: ReadonlyArray<string>
  readonly fallback: { readonly value: unknown } | undefined
  /** It takes what is searched for in free words; these are the stems of what the search returns. */
  readonly seeks: ReadonlySet<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolProfile {
  readonly name: string
  readonly description: string
  readonly shape: Shape
  readonly parameters: ReadonlyArray<Parameter>
  /** Stems and how much each says about the tool. */
  readonly words: ReadonlyMap<string, number>
  /** Stems of the name and of the description's first sentence. */
  readonly core: ReadonlySet<string>
  /** The tool finds things by free words. */
  readonly searches: boolean
  /** Stems of the options of the only required parameter: each of them asks for the tool. */
  readonly options: ReadonlySet<string>
  /** Stems of the verbs that ask for the tool. */
  readonly acts: ReadonlySet<string>
  /** The tool changes something. */
  readonly mutates: boolean
  /** Stems of the verbs that say so. */
  readonly verbs: ReadonlyArray<string>
}

const any = (found: ReadonlySet<string>, list: string): boolean => list.split(" ").some((word) => found.has(word))

const topicOf = (shape: Shape, name: ReadonlyArray<string>, description: ReadonlySet<string>): Topic => {
  const own = new Set(name)
  const last = name[name.length - 1] ?? ""
  const format = shape.format ?? ""
  if (format === "email" || any(own, "email mail")) return "email"
  if (format === "uri" || format === "url" || any(own, "url uri link website href"))
    return format === "" && last === "website" ? "any" : "url"
  if (format === "uuid" || /^(?:id|ids|identifier|code|number|no|sku|reference|ref|isbn|key|token)$/.test(last))
    return last === "code" && own.has("language") ? "language" : "id"
  if (format === "time" || last === "time") return "time"
  if (format.startsWith("date") || any(own, "date day deadline dob birthday")) return "date"
  if (any(own, "state province region")) return "region"
  if (any(own, "country nation")) return "country"
  if (any(own, "city location place address town destination origin venue departure arrival airport area neighborhood"))
    return "place"
  if (any(own, "currency")) return "currency"
  if (any(own, "unit units")) return "unit"
  if (any(own, "color colour")) return "color"
  if (any(own, "language lang")) return "language"
  if (
    any(
      own,
      "person author player scientist artist actor director customer employee patient recipient assignee owner username user composer"
    )
  )
    return "person"
  if (any(own, "message body content text note comment description summary query question prompt reason subject title"))
    return "content"
  if (description.has("email")) return "email"
  if (description.has("city") || description.has("location")) return "place"
  if (description.has("date") && !description.has("update")) return "date"
  if (description.has("id") || description.has("identifier")) return "id"
  if (description.has("currency")) return "currency"
  return "any"
}

const roles: ReadonlyArray<readonly [names: string, prepositions: string]> = [
  ["from source origin start starting begin departure base initial sender", "from between starting"],
  ["to target destination end arrival recipient final receiver", "to into towards toward onto and"],
  ["by author maker artist composer director creator", "by"],
  ["location city place country state venue region area address", "in at near of around"],
  ["date day year season deadline", "on in during for since"],
  ["topic subject about theme", "about on"],
  ["until till end", "until till"],
  ["habitat environment room", "in"],
  ["type model method algorithm platform tool medium", "using with on as"]
]

const nameWords = (name: string): ReadonlyArray<string> => Language.words(name)

const prepositionsOf = (name: ReadonlyArray<string>): ReadonlySet<string> => {
  for (const [names, prepositions] of roles) if (any(new Set(name), names)) return new Set(prepositions.split(" "))
  return new Set()
}

const cleanOption = (text: string): string =>
  text
    .trim()
    .replace(/^['"`]|['"`.]$/g, "")
    .trim()

/** The values a description names: quoted, or listed after "such as", "e.g.", "like", "options:", "one of". */
const optionsOf = (description: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const match of description.matchAll(/(?<![\p{L}\p{N}])['"`]([^'"`]{1,40})['"`]/gu))
    found.add(cleanOption(match[1]!))
  const list =
    /(?:such as|e\.g\.?,?|like|options?(?: are)?:?|one of|either|can be|possible values(?: are)?:?)\s+([^.()]{1,200})/i.exec(
      description
    )
  if (list !== null && found.size === 0) {
    for (const option of list[1]!.split(/,|\bor\b|\band\b/)) {
      const clean = cleanOption(option)
      if (clean !== "" && clean !== "etc" && clean.split(/\s+/).length <= 3) found.add(clean)
    }
  }
  return Array.from(found)
    .filter((option) => option !== "")
    .slice(0, 40)
}

const defaultOf = (shape: Shape): { readonly value: unknown } | undefined => {
  if (Object.hasOwn(shape, "default"))
    return Shapes.conforms(shape, shape.default) ? { value: shape.default } : undefined
  const stated =
    /defaults?(?: value)?(?: is set to| is| to|s to|:)?:?\s+['"`]?([\p{L}\p{N}_.:/ -]{1,40}?)['"`]?(?=[.,;)]?(?:\s|$))/iu.exec(
      shape.description
    )
  if (stated === null) return undefined
  const text = stated[1]!.trim()
  const value =
    shape.type === "boolean"
      ? /^true$/i.test(text)
        ? true
        : /^false$/i.test(text)
          ? false
          : undefined
      : shape.type === "number" || shape.type === "integer"
        ? text === ""
          ? undefined
          : Number(text)
        : text
  return value !== undefined && Shapes.conforms(shape, value) ? { value } : undefined
}

const queries = new Set(["query", "q", "search", "keyword", "keywords", "term", "terms"])

const finding = new Set(
  "search searches find finds browse browses list lists look looks discover explore query lookup seek suggest suggests recommend".split(
    " "
  )
)

const isFreeText = (shape: Shape): boolean =>
  shape.type === "string" &&
  shape.enum === undefined &&
  shape.format === undefined &&
  !Object.hasOwn(shape.raw, "pattern")

/**
 * @since 0.1.0
 * @category constructors
 */
export const parameter = (name: string, shape: Shape, required: boolean): Parameter => {
  const own = nameWords(name)
  const described = Language.words(shape.description)
  return {
    name,
    shape,
    required,
    key: own.map(Language.stem),
    about: new Set(
      described
        .filter((word) => !Language.isStopWord(word) || /^(?:first|second|third|last)$/.test(word))
        .map(Language.stem)
    ),
    topic: topicOf(shape, own, new Set(described)),
    prepositions: prepositionsOf(own),
    options: shape.enum === undefined ? optionsOf(shape.description) : [],
    fallback: defaultOf(shape),
    seeks: isFreeText(shape) && own.some((word) => queries.has(word)) ? new Set() : undefined
  }
}

/**
 * The parameters of an object's schema.
 *
 * @since 0.1.0
 * @category constructors
 */
export const parameters = (shape: Shape): ReadonlyArray<Parameter> =>
  shape.properties.map(([name, inner]) => parameter(name, inner, shape.required.includes(name)))

const mutating = new Set(
  "cancel delete remove create send pay book buy order transfer update set add post submit refund reset close approve write schedule purchase insert start open renew extend request issue register file reschedule change prolong".split(
    " "
  )
)

/** `Cancels` is `cancel`. */
const infinitive = (word: string): string =>
  mutating.has(word) ? word : word.replace(/(?<=(?:s|x|z|ch|sh))es$|s$/, "")

const isSought = (param: Parameter): boolean =>
  isFreeText(param.shape) && (param.topic === "any" || param.topic === "content")

const identifying = new Set(["id", "identifi", "code", "number", "no", "ref", "referenc", "key"])

/**
 * The stems of an id's name that say whose it is: `tracking_number` is of tracking.
 *
 * @since 0.1.0
 * @category getters
 */
export const specific = (param: Parameter): ReadonlyArray<string> => param.key.filter((word) => !identifying.has(word))

/**
 * The stem is of a verb that changes something.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isChange = (stem: string): boolean => changes.has(stem)

const changes = new Set(Array.from(mutating, Language.stem))

const profiles = new WeakMap<ToolDefinition, ToolProfile>()

/**
 * What the offline model knows of a tool. Remembered by the identity of the definition.
 *
 * @since 0.1.0
 * @category constructors
 */
export const profile = (tool: ToolDefinition): ToolProfile => {
  const known = profiles.get(tool)
  if (known !== undefined) return known
  const shape = Shapes.shapeOf(tool.parameters)
  const name = Language.words(tool.name)
  const description = tool.description.slice(0, 800)
  const first = Language.sentences(description)[0] ?? ""
  const opening = Language.words(first)[0] ?? ""
  const mutates = mutating.has(name[0] ?? "") || mutating.has(infinitive(opening))
  const searches = !mutates && [name[0] ?? "", name[name.length - 1] ?? "", opening].some((word) => finding.has(word))
  const declared = parameters(shape)
  const needed = declared.filter((param) => param.required)
  const nouns = new Set(name.filter((word) => !Language.isStopWord(word) && !finding.has(word)).map(Language.stem))
  const params = declared.map((param) =>
    param.seeks !== undefined || (searches && needed.length === 1 && needed[0] === param && isSought(param))
      ? { ...param, seeks: nouns }
      : param
  )
  const found = new Map<string, number>()
  const add = (list: Iterable<string>, weight: number, whole = false) => {
    for (const word of list) {
      if (Language.isStopWord(word) || word.length < 2) continue
      const key = Language.stem(word)
      const generic = Language.isGeneric(word) || (word === opening && Language.isGeneric(infinitive(word)))
      const worth = generic && !whole ? weight * 0.15 : weight
      if ((found.get(key) ?? 0) < worth) found.set(key, worth)
    }
  }
  add(name.slice(0, 1), 2)
  for (const word of name.slice(1)) add([word], 2, word === "return" || word === "order")
  add(Language.words(first), 1.2)
  add(Language.words(description), 0.6)
  for (const param of params) {
    add(Language.words(param.name), 0.7)
    add(Language.words(param.shape.description), 0.35)
    for (const option of param.shape.enum ?? param.options)
      if (typeof option === "string")
        add(Language.words(option), needed.length === 1 && needed[0] === param ? 0.9 : 0.6, true)
  }
  const core = [...name, ...Language.words(first)].filter(
    (word) => !Language.isStopWord(word) && !Language.isGeneric(word)
  )
  const result: ToolProfile = {
    name: tool.name,
    description,
    shape,
    parameters: params,
    words: found,
    core: new Set(core.map(Language.stem)),
    options: new Set(
      (needed.length === 1 ? (needed[0]!.shape.enum ?? []) : [])
        .flatMap((option) => (typeof option === "string" ? Language.words(option) : []))
        .filter((word) => !Language.isStopWord(word))
        .map(Language.stem)
    ),
    verbs: name
      .concat(infinitive(opening))
      .filter((word) => mutating.has(word))
      .map(Language.stem),
    acts: new Set(
      [...name, infinitive(opening)]
        .filter(
          (word, index) => !Language.isStopWord(word) && (!Language.isGeneric(word) || (word === "return" && index > 0))
        )
        .map(Language.stem)
    ),
    searches: searches && params.some((param) => param.required && param.seeks !== undefined),
    mutates
  }
  profiles.set(tool, result)
  return result
}
