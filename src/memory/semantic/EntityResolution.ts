/**
 * Decides whether two mentions name the same person or thing, by rules and by aliases that somebody declared.
 *
 * Rules, of which the first with a result decides: the same name or a declared alias; first and last name without the
 * middle ones; initial and last name (`R. Miller`); one word that is the first or the last name, with or without a
 * title (`Robert`, `Mr Miller`). All ignore case, diacritics, titles and possessives. A mention that fits several names
 * is ambiguous, and they stay apart. Nicknames are no rule: `Bob` is Robert only if that was declared.
 *
 * @since 0.1.0
 */
import * as TextFolding from "../text/TextFolding.js"

/**
 * A name with the other ones that were declared for it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Known {
  readonly name: string
  readonly aliases: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export type Resolution =
  | { readonly _tag: "One"; readonly name: string }
  /** The mention fits several names. */
  | { readonly _tag: "Ambiguous"; readonly names: ReadonlyArray<string> }
  | { readonly _tag: "None" }

const maxChars = 200

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const titles = wordSet("mr mrs ms miss mx dr prof professor sir madam")
/** A name with one of these is no first and last name. */
const impersonal = wordSet(
  "the of and for de new north south east west upper lower great saint san santa los las el port lake mount fort old bank university " +
    "college school institute street road avenue square park city county inc ltd llc gmbh corp corporation company co group hotel " +
    "restaurant cafe museum airport station river island team department project"
)

/** The words of a name without case, diacritics, titles and a possessive. */
const wordsOf = (name: string): ReadonlyArray<string> =>
  (
    TextFolding.fold(name, maxChars)
      .toLowerCase()
      .replace(/['’]s\b/g, "")
      .match(/[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu) ?? []
  ).filter((word, at, all) => all.length === 1 || at > 0 || !titles.has(word))

/**
 * Equal for spellings of one name.
 *
 * @since 0.1.0
 * @category conversions
 */
export const keyOf = (name: string): string => wordsOf(name).join(" ")

type Words = ReadonlyArray<string>

const first = (words: Words): string => words[0] ?? ""
const last = (words: Words): string => words[words.length - 1] ?? ""

const isPerson = (words: Words): boolean =>
  words.length >= 2 && words.length <= 4 && words.every((word) => !impersonal.has(word) && !/\p{N}/u.test(word))

/** Middle names agree if one of both has none, or each is the other or its initial. */
const agree = (a: Words, b: Words): boolean => {
  const [x, y] = [a.slice(1, -1), b.slice(1, -1)]
  if (x.length === 0 || y.length === 0) return true
  return x.length === y.length && x.every((word, at) => isSame(word, y[at] ?? ""))
}

const isSame = (a: string, b: string): boolean =>
  a === b || (a.length === 1 && b.startsWith(a)) || (b.length === 1 && a.startsWith(b))

const rules: ReadonlyArray<(mention: Words, name: Words) => boolean> = [
  (mention, name) => first(mention) === first(name) && last(mention) === last(name) && agree(mention, name),
  (mention, name) => last(mention) === last(name) && isSame(first(mention), first(name)) && agree(mention, name)
]

const decided = (names: Iterable<string>): Resolution | undefined => {
  const distinct = new Map([...names].map((name) => [keyOf(name), name] as const))
  const [one] = distinct.values()
  if (one === undefined) return undefined
  return distinct.size === 1 ? { _tag: "One", name: one } : { _tag: "Ambiguous", names: [...distinct.values()] }
}

/**
 * The known name that a mention means.
 *
 * @since 0.1.0
 * @category combinators
 */
export const resolve = (mention: string, known: ReadonlyArray<Known>): Resolution => {
  const words = wordsOf(mention)
  const key = words.join(" ")
  if (key === "") return { _tag: "None" }
  const exact = known.filter((one) => [one.name, ...one.aliases].some((name) => keyOf(name) === key))
  const named = decided(exact.map(({ name }) => name))
  if (named !== undefined) return named
  const people = known.map(({ name }) => ({ name, words: wordsOf(name) })).filter(({ words }) => isPerson(words))
  const applied = words.length === 1 ? [(_: Words, name: Words) => first(name) === key || last(name) === key] : rules
  if (words.length > 1 && !isPerson(words)) return { _tag: "None" }
  for (const rule of applied) {
    const found = decided(people.filter((one) => rule(words, one.words)).map(({ name }) => name))
    if (found !== undefined) return found
  }
  return { _tag: "None" }
}

/**
 * An alias that a text declares.
 *
 * @since 0.1.0
 * @category models
 */
export interface Declared {
  readonly name: string
  readonly alias: string
}

/** Words are bounded, so that no text takes more than linear time. */
const NAME = "(\\p{Lu}[\\p{L}\\p{M}'’-]{0,30}(?: \\p{Lu}[\\p{L}\\p{M}.'’-]{0,30}){0,3})"
const RELATION =
  "([Mm]y (?:(?:older|younger|big|little|best|ex) ?-?)?(?:brother|sister|mother|father|mom|mum|dad|wife|husband|partner|girlfriend|boyfriend|son|daughter|boss|manager|colleague|friend|cousin|uncle|aunt|grandmother|grandfather|neighbou?r|dentist|doctor|roommate|teacher))"

/** A pattern with the places of the name and of the alias in it; place 0 is the speaker. */
const patterns: ReadonlyArray<readonly [pattern: RegExp, name: number, alias: number]> = [
  [new RegExp(`\\b(?:[Cc]alls? me|I go by|[Mm]y nickname is) ${NAME}`, "gu"), 0, 1],
  [new RegExp(`\\b${NAME} is ${RELATION}(?![\\p{L}\\p{N}'’-])(?! (?:and|or)\\b)`, "gu"), 1, 2],
  [new RegExp(`\\b${RELATION}(?:['’]s name is| is (?:called|named)| is|,)? ${NAME}`, "gu"), 2, 1],
  [new RegExp(`\\b${NAME}(?:,? (?:is )?(?:also|better) known as| aka| a\\.k\\.a\\.) ${NAME}`, "gu"), 1, 2],
  [new RegExp(`\\b${NAME} is short for ${NAME}`, "gu"), 2, 1],
  [new RegExp(`\\b${NAME}['’]s (?:full|real) name is ${NAME}`, "gu"), 2, 1]
]

/** What somebody asks, denies, supposes or reports declares nothing. */
const doubtful =
  /[?？]|\b(?:not|never|no longer|isn['’]t|wasn['’]t|if|suppose|imagine|pretend|maybe|perhaps|says?|said|claims?|don['’]t)\b/i

/** Without the punctuation of its sentence. */
const trimmed = (name = ""): string => {
  let end = name.length
  while (end > 0 && ".'’-".includes(name.charAt(end - 1))) end--
  return name.slice(0, end)
}

/**
 * The aliases that a text of a speaker declares: `call me Bob`, `Bob is my brother`, `my boss is called Ann Lee`,
 * `Robert Miller, also known as Bob`, `Bob is short for Robert`. Questions, negations, suppositions and reports declare
 * none. Reads up to 4,000 characters.
 *
 * @since 0.1.0
 * @category conversions
 */
export const declared = (text: string, speaker: string): ReadonlyArray<Declared> =>
  text
    .slice(0, 4_000)
    .split(/(?<=[!?？])|(?<=[\p{Ll}\p{N}]{2}\.)\s|[\n;。]/u)
    .filter((sentence) => !doubtful.test(sentence))
    .flatMap((sentence) =>
      patterns.flatMap(([pattern, name, alias]) =>
        Array.from(sentence.matchAll(pattern), (match) => ({
          name: name === 0 ? speaker : trimmed(match[name]),
          alias: trimmed(match[alias]).replace(/^My /, "my ")
        }))
      )
    )
    .filter(({ alias, name }) => keyOf(name) !== "" && keyOf(alias) !== "" && keyOf(name) !== keyOf(alias))
