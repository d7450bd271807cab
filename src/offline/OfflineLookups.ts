/**
 * Values that a text offers beside its mentions: options, currencies, places, units, flags, and what stands after a
 * parameter's name.
 *
 * @internal
 * @since 0.1.0
 */
import type { Candidate, Scope } from "./OfflineCandidates.js"
import { inScope } from "./OfflineCandidates.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Mention } from "./OfflineMentions.js"
import type * as Schema from "./OfflineSchema.js"
import * as Wishes from "./OfflineWishes.js"

/**
 * All words of the option, in order and together, or all of them within the scope for options of several words.
 *
 * @since 0.1.0
 * @category getters
 */
export const findOption = (option: string, { scene, segments }: Scope): Candidate | undefined => {
  const wanted = Language.words(option).map(Language.stem)
  if (wanted.length === 0) return undefined
  for (let i = 0; i + wanted.length <= scene.tokens.length; i++) {
    if (segments !== undefined && !segments.has(scene.tokens[i]!.segment)) continue
    const stems = (index: number) => Language.words(scene.tokens[index]!.lower).map(Language.stem)
    const here = stems(i)
    if (!here.includes(wanted[0]!)) continue
    if (wanted.every((word) => here.includes(word))) return { value: option, score: 4, from: i, to: i + 1 }
    if (wanted.every((word, offset) => scene.tokens[i + offset] !== undefined && stems(i + offset).includes(word))) {
      return { value: option, score: 4.5, from: i, to: i + wanted.length }
    }
  }
  return undefined
}

/**
 * Currencies the scope names, as codes; a counted one is the source, one after "to" the target.
 *
 * @since 0.1.0
 * @category getters
 */
export const findCurrencies = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  for (let i = 0; i < scene.tokens.length; i++) {
    const token = scene.tokens[i]!
    if (segments !== undefined && !segments.has(token.segment)) continue
    for (let length = 3; length >= 1; length--) {
      const text = scene.tokens
        .slice(i, i + length)
        .map((word) => word.lower)
        .join(" ")
      const code =
        length === 1 && Lexicon.currencySigns.has(token.text)
          ? Lexicon.currencySigns.get(token.text)
          : Lexicon.currencies.get(text)
      if (code === undefined) continue
      const previous = scene.tokens[i - 1]
      const counted = previous?.kind === "number" || Lexicon.currencySigns.has(token.text)
      const into = previous !== undefined && /^(?:to|into|in)$/.test(previous.lower)
      const source = param.prepositions.has("from")
      const target = param.prepositions.has("to")
      const score =
        3 +
        (counted ? (source ? 2 : target ? -2 : 0) : 0) +
        (into ? (target ? 2 : source ? -2 : 0) : 0) +
        (previous?.lower === "from" && source ? 2 : 0)
      found.push({ value: code, score, from: i, to: i + length })
      i += length - 1
      break
    }
  }
  return found
}

/**
 * States or countries the scope names, or that its cities lie in.
 *
 * @since 0.1.0
 * @category getters
 */
export const findPlaceFacts = (param: Schema.Parameter, scope: Scope): ReadonlyArray<Candidate> => {
  const facts = param.topic === "region" ? Lexicon.states : Lexicon.countries
  const known = new Set(facts.values())
  const found: Array<Candidate> = []
  for (const mention of scope.scene.mentions) {
    if (mention.kind !== "name" || !inScope(scope, mention.segment)) continue
    const fact = facts.get(mention.text.toLowerCase())
    if (mention.region !== undefined)
      found.push({ value: mention.region, score: 3.5, from: mention.to, to: mention.to })
    else if (known.has(mention.text) && fact !== undefined && param.topic === "region")
      found.push({ value: mention.text, score: 2, from: mention.to, to: mention.to })
    else if (known.has(mention.text))
      found.push({ value: mention.text, score: 4, from: mention.from, to: mention.to, mention })
    else if (fact !== undefined) found.push({ value: fact, score: 2.2, from: mention.to, to: mention.to })
  }
  return found
}

/**
 * Units the scope asks for.
 *
 * @since 0.1.0
 * @category getters
 */
export const findUnits = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  scene.tokens.forEach((token, index) => {
    if (
      (segments !== undefined && !segments.has(token.segment)) ||
      token.kind !== "word" ||
      !Lexicon.units.has(token.lower) ||
      token.lower === "in"
    )
      return
    const stated = scene.tokens[index - 1]?.lower === "in"
    if (stated || (token.lower.length > 2 && param.required))
      found.push({ value: token.lower, score: stated ? 4 : 1.5, from: index, to: index + 1 })
  })
  return found
}

const isNumbered = (mention: Mention, span: Wishes.Span): boolean =>
  mention.kind === "code" && mention.from >= span.from && mention.to <= span.to && /\d{4}/.test(mention.text)

/**
 * What the scope is looking for, clause by clause. A quotation says it better.
 *
 * @since 0.1.0
 * @category getters
 */
export const findSought = (scope: Scope, nouns: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  const { scene } = scope
  if (scene.mentions.some((mention) => mention.kind === "quoted" && inScope(scope, mention.segment))) return []
  const found: Array<Candidate> = []
  for (let index = 0; index < scene.segments.length && found.length < 8; index++) {
    const span = inScope(scope, index) ? Wishes.sought(scene, index, nouns) : undefined
    if (span === undefined || scene.mentions.some((mention) => isNumbered(mention, span))) continue
    const mention = scene.mentions.find(({ from, to }) => from === span.from && to === span.to)
    found.push({
      value: span.text,
      score: Wishes.isWish(scene, index) ? 3.5 : 2.5,
      from: span.from,
      to: span.to,
      ...(mention === undefined ? {} : { mention })
    })
  }
  return found
}

const connectors =
  /^(?:is|are|was|be|being|of|as|to|named|called|titled|:|=|-|on|for|about|that|says|saying|reads|the|a|an|named)$/

/**
 * `subject: Hello`, `title is X`, `a note saying X`: the words after the parameter's own.
 *
 * @since 0.1.0
 * @category getters
 */
export const findSpans = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  const content = param.topic === "content"
  const { tokens } = scene
  const last = param.key[param.key.length - 1]
  for (let i = 0; i < tokens.length - 1 && found.length < 8; i++) {
    const token = tokens[i]!
    if (segments !== undefined && !segments.has(token.segment)) continue
    const [head = "", tail] = token.kind === "word" ? token.text.split("-") : []
    if (tail !== undefined && head !== "" && param.key.includes(Language.stem(tail.toLowerCase())))
      found.push({ value: head, score: 3, from: i, to: i + 1 })
    const own = (token.kind === "word" || token.kind === "quoted") && Language.stem(token.lower) === last
    const speech = content && /^(?:saying|says|telling|asking|reads)$/.test(token.lower)
    if (!own && !speech) continue
    let from = i + 1
    while (
      from < tokens.length &&
      from < i + 4 &&
      tokens[from]!.sentence === token.sentence &&
      connectors.test(tokens[from]!.lower) &&
      !(content && /^(?:the|a|an)$/.test(tokens[from]!.lower))
    )
      from++
    if (from >= tokens.length || tokens[from]!.sentence !== token.sentence) continue
    const linked = from > i + 1 || speech
    const first = tokens[from]!
    if (first.kind === "quoted") {
      found.push({ value: first.text, score: linked ? 5 : 3.5, from, to: from + 1 })
      continue
    }
    if (!linked || first.kind === "symbol") continue
    let to = from
    while (to < tokens.length && tokens[to]!.sentence === first.sentence) {
      const word = tokens[to]!
      if (
        !content &&
        (word.segment !== first.segment ||
          word.kind === "symbol" ||
          (to > from && (Language.isPreposition(word.lower) || word.lower === "and")))
      )
        break
      if (to - from > 60) break
      to++
    }
    while (to > from && (tokens[to - 1]!.kind === "symbol" || tokens[to - 1]!.lower === "and")) to--
    if (to > from)
      found.push({
        value: scene.text.slice(tokens[from]!.start, tokens[to - 1]!.end),
        score: speech ? 4 : content ? 3.5 : 2.4,
        from,
        to
      })
  }
  return found
}

const negations =
  /^(?:not|no|without|don't|doesn't|never|exclude|excluding|except|skip|avoid|avoiding|disable|disabled|off|false)$/

/**
 * A flag whose words the scope says, off where they are negated.
 *
 * @since 0.1.0
 * @category getters
 */
export const findFlag = (param: Schema.Parameter, { scene, segments }: Scope): Candidate | undefined => {
  const auxiliary = new Set([
    "is",
    "has",
    "with",
    "include",
    "includ",
    "should",
    "show",
    "enabl",
    "use",
    "only",
    "need",
    "want",
    "option",
    "allow",
    "if",
    "do",
    "can"
  ])
  const wanted = param.key.filter((word) => !auxiliary.has(word) && !Language.isStopWord(word))
  if (wanted.length === 0) return undefined
  const hits = scene.tokens.flatMap((token, index) =>
    (segments === undefined || segments.has(token.segment)) &&
    Language.words(token.lower).some((word) => wanted.includes(Language.stem(word)))
      ? [index]
      : []
  )
  const matched = new Set(
    hits
      .flatMap((index) => Language.words(scene.tokens[index]!.lower).map(Language.stem))
      .filter((word) => wanted.includes(word))
  )
  if (hits.length === 0 || matched.size < Math.ceil(wanted.length / 2)) return undefined
  const first = hits[0]!
  const own = new Set(Language.words(param.name))
  let negated = false
  for (let i = Math.max(0, first - 4); i < first; i++) {
    const token = scene.tokens[i]!
    if (token.segment === scene.tokens[first]!.segment && negations.test(token.lower) && !own.has(token.lower))
      negated = true
  }
  return { value: !negated, score: 3, from: first, to: first }
}
