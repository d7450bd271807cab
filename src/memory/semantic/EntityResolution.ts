/**
 * Decides whether two mentions name the same person or thing, by rules and by aliases that somebody declared.
 *
 * Rules, of which the first with a result decides: the same name or a declared alias; first and last name without the
 * middle ones; initial and last name (`R. Miller`); one word that is the first or the last name, with or without a
 * title (`Robert`, `Mr Miller`). All ignore case, diacritics, titles and possessives. With a title, a mention is a
 * person (`Mr London` is Jack London and not the city). A word for places is a last name after a common given name, or
 * if a relation was declared (`Kim Park is my colleague`). A mention that fits several names is ambiguous, and they
 * stay apart. Nicknames are no rule: `Bob` is Robert only if that was declared.
 *
 * @since 0.1.0
 */
import * as GivenNames from "../text/GivenNames.js"
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

/** Words for places that are last names as well. */
const ofBoth = wordSet("park lake north south east west street square port fort mount river bank island")

/** The words of a name without case, diacritics, titles and a possessive. */
const wordsOf = (name: string): ReadonlyArray<string> =>
  rawWords(name).filter((word, at, all) => all.length === 1 || at > 0 || !titles.has(word))

const rawWords = (name: string): ReadonlyArray<string> =>
  TextFolding.fold(name, maxChars)
    .toLowerCase()
    .replace(/['’]s\b/g, "")
    .match(/[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu) ?? []

const hasTitle = (name: string): boolean => {
  const [first = "", second] = rawWords(name)
  return second !== undefined && titles.has(first)
}

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

/** `isKnown`: something else says that it is a person, so that its last word may be one for places. */
const isPerson = (words: Words, isKnown: boolean): boolean =>
  words.length >= 2 &&
  words.length <= 4 &&
  words.every(
    (word, at) =>
      !/\p{N}/u.test(word) &&
      (!impersonal.has(word) ||
        (at > 0 && at === words.length - 1 && ofBoth.has(word) && (isKnown || GivenNames.has(first(words)))))
  )

/** `my colleague` and the like are declared of people. */
const isRelated = ({ aliases }: Known): boolean => aliases.some((alias) => alias.startsWith("my "))

/** Middle names agree if one of both has none, or each is the other or its initial. */
const agree = (a: Words, b: Words): boolean => {
  const [x, y] = [a.slice(1, -1), b.slice(1, -1)]
  if (x.length === 0 || y.length === 0) return true
  return x.length === y.length && x.every((word, at) => isSame(word, y[at] ?? ""))
}

const isSame = (a: string, b: string): boolean =>
  a === b || (a.length === 1 && b.startsWith(a)) || (b.length === 1 && a.startsWith(b))

type Rule = (mention: Words, name: Words) => boolean

const rules: ReadonlyArray<Rule> = [
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
  const isTitled = hasTitle(mention)
  const exact = known.filter((one) => [one.name, ...one.aliases].some((name) => keyOf(name) === key))
  const named = decided(exact.map(({ name }) => name))
  if (named !== undefined && !isTitled) return named
  const people = peopleIn(known)
  // A mention may end in any word that a person of that name may have as the last one.
  if (words.length > 1 && !isPerson(words, true)) return named ?? { _tag: "None" }
  const applied = words.length > 1 ? rules : isTitled ? [byLast, byEither] : [byEither]
  for (const rule of applied) {
    const found = decided(people.filter((one) => rule(words, one.words)).map(({ name }) => name))
    if (found !== undefined) return found
  }
  return named ?? { _tag: "None" }
}

const peopleIn = (known: ReadonlyArray<Known>) =>
  known
    .map((one) => ({ name: one.name, words: wordsOf(one.name), isKnown: isRelated(one) }))
    .filter(({ isKnown, words }) => isPerson(words, isKnown))

const byLast: Rule = ([word], name) => last(name) === word
const byEither: Rule = ([word], name) => first(name) === word || last(name) === word

/** Names that the rules leave undecided for one mention, at most. */
const MAX_CANDIDATES = 8

/** Whether two words may be forms of one name: a short form, or another spelling. */
const isAlike = (a: string, b: string): boolean => {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  if (short.length < 2 || short === long) return false
  if (long.startsWith(short)) return true
  return short.length >= 4 && long.length - short.length <= 1 && differences(short, long) <= 1
}

/** Letters that differ, up to 2; the texts differ by one letter in length at most. */
const differences = (short: string, long: string): number => {
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1) ? 1 : 2
  if (at === short.length) return 0
  const [rest, other] = [short.slice(at + 1), long.slice(at + 1)]
  if (rest === other) return 1
  return rest.slice(1) === other.slice(1) && short[at] === long[at + 1] && short[at + 1] === long[at] ? 1 : 2
}

/** Near: the same last name and first names alike or with the same initial; one word alike; or the order reversed. */
const isNear = (mention: Words, name: Words): boolean => {
  if (mention.length === 1) return name.some((word) => isAlike(word, first(mention)))
  if (mention.length !== name.length && Math.min(mention.length, name.length) < 2) return false
  if (first(mention) === last(name) && last(mention) === first(name)) return true
  const [a, b] = [first(mention), first(name)]
  if (last(mention) === last(name)) return a !== b && a.charAt(0) === b.charAt(0) && agree(mention, name)
  return a === b && isAlike(last(mention), last(name))
}

/**
 * Names that a mention may mean where the rules decide nothing: the several ones that it fits, else those that are near
 * it (short forms, other spellings, first names with the same initial, a reversed order). Empty where the rules decide.
 *
 * @since 0.1.0
 * @category combinators
 */
export const undecided = (mention: string, known: ReadonlyArray<Known>): ReadonlyArray<string> => {
  const words = wordsOf(mention)
  const key = words.join(" ")
  const others = known.filter(({ name }) => keyOf(name) !== key)
  const found = resolve(mention, others)
  if (found._tag === "One" || key === "") return []
  if (found._tag === "Ambiguous") return found.names.slice(0, MAX_CANDIDATES)
  const near = others.filter(({ name }) => isNear(words, wordsOf(name)))
  return near.slice(0, MAX_CANDIDATES).map(({ name }) => name)
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
