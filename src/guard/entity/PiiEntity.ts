/**
 * One kind of personal data or secret and how it is recognised: by its shape, a checksum, and the words around it.
 *
 * @since 0.1.0
 */

/**
 * A place that may be one, in the text that `find` was given.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate {
  readonly start: number
  readonly end: number
  /** From 0 to 1, without a look at the words around it. */
  readonly confidence: number
  /**
   * Instead of `confidence` when one of the words of `context` stands near; default: `confidence` and half of what it
   * lacks.
   */
  readonly inContext?: number | undefined
  /** Instead of `confidence` when one of the words of `against` stands nearer; default: at most 0.3. */
  readonly outOfContext?: number | undefined
  /** A checksum, an issuer's own prefix or a numbering plan says that it is one. */
  readonly validated?: boolean | undefined
}

/**
 * What a text must have for `find` to be asked: `digits` that follow each other with nothing but separators between
 * them, or one of these strings, as they are written. It saves time and decides nothing.
 *
 * @since 0.1.0
 * @category models
 */
export interface Needs {
  readonly digits?: number | undefined
  readonly anyOf?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PiiEntity {
  /** What findings are called: `EMAIL`, `AWS_KEY`. */
  readonly type: string
  readonly category: "personal" | "secret"
  /** No finding is longer. */
  readonly maxLength: number
  /**
   * For findings of open length: so many characters from their beginning decide that there is one, and what comes after
   * only how far it goes. Longer ones than `maxLength` are cut there. Default: `maxLength`, and longer ones are none.
   */
  readonly decidedBy?: number | undefined
  /** How many characters before and after a finding `find` looks at. */
  readonly around: number
  readonly needs?: Needs | undefined
  /**
   * Whole words that make it likelier up to `contextBefore` characters before and `contextAfter` behind; `tele*` stands
   * for all words that begin so, `*nummer` for all that end so.
   */
  readonly context?: ReadonlyArray<string> | undefined
  /** Words before it that speak against it. The nearer word counts. */
  readonly against?: ReadonlyArray<string> | undefined
  /** How far before and behind a finding the words of `context` count; default 48 and 24. */
  readonly contextBefore?: number | undefined
  readonly contextAfter?: number | undefined
  /** A word of `against` must end at most so far before a finding; default `contextBefore`. */
  readonly againstBefore?: number | undefined
  /**
   * Every place of a folded text (ASCII digits, plain spaces and hyphens) that may be one. Whether a place is a
   * candidate depends only on its own characters and `around` of them on both sides, never on other candidates: these
   * may overlap. Time linear in the text.
   */
  readonly find: Find
  /**
   * What `find` is made of, where its candidates differ in confidence: what is not certain enough by itself is looked
   * for only beside words of `context`. It saves time and decides nothing. Default: `find`, everywhere.
   */
  readonly finders?: ReadonlyArray<Finder> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Find = (text: string) => ReadonlyArray<Candidate>

/**
 * Some of the candidates of a recogniser: none has a higher confidence than these, without a word beside it and with
 * one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finder {
  readonly confidence: number
  /** Default 1. */
  readonly inContext?: number | undefined
  readonly find: Find
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Pattern {
  /**
   * Tried at every place of the text. It begins with what must not stand before a finding and ends with what must not
   * stand behind it, as lookarounds no longer than `around`; every repetition is bounded. With a group named `value`,
   * the finding is that group, which must end the match.
   */
  readonly pattern: RegExp
  readonly confidence: number
  readonly inContext?: number | undefined
  readonly outOfContext?: number | undefined
  /** A finding goes on with as many of these characters as follow, up to `maxLength`; give `decidedBy`. */
  readonly more?: RegExp | undefined
  /** False: it is none after all. */
  readonly validate?: ((value: string) => boolean) | undefined
  /** The shape alone is proof; default true where there is a `validate`. */
  readonly validated?: boolean | undefined
}

/**
 * How many characters of the text around a place decide whether something is found there.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaults = { around: 12, contextBefore: 48, contextAfter: 24 } as const

const everywhere = (pattern: RegExp): RegExp => new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`)

/**
 * Every match of a pattern, overlapping ones too: what is found at a place does not depend on where the text begins.
 *
 * @since 0.1.0
 * @category combinators
 */
export const matches = (pattern: RegExp): ((text: string) => Generator<RegExpExecArray>) => {
  const regex = everywhere(pattern)
  return function* (text) {
    let from = 0
    while (from <= text.length) {
      regex.lastIndex = from
      const match = regex.exec(text)
      if (match === null) return
      from = match.index + 1
      yield match
    }
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PatternOptions {
  readonly type: string
  /** Default: `personal`. */
  readonly category?: "personal" | "secret" | undefined
  readonly maxLength: number
  readonly decidedBy?: number | undefined
  /** Default 12. */
  readonly around?: number | undefined
  readonly needs?: Needs | undefined
  readonly context?: ReadonlyArray<string> | undefined
  readonly against?: ReadonlyArray<string> | undefined
  readonly contextBefore?: number | undefined
  readonly contextAfter?: number | undefined
  readonly againstBefore?: number | undefined
  readonly patterns: ReadonlyArray<Pattern>
}

/**
 * @since 0.1.0
 * @category constructors
 *
 * @example
 * ```ts
 * import { PiiEntity } from "effect-lexigram/guard"
 *
 * const employee = PiiEntity.fromPatterns({
 *   type: "EMPLOYEE_ID",
 *   maxLength: 8,
 *   context: ["employee", "staff", "personal*"],
 *   patterns: [{ pattern: /(?<![A-Za-z0-9])E-\d{6}(?![A-Za-z0-9])/, confidence: 0.5, inContext: 0.9 }]
 * })
 * ```
 */
export const fromPatterns = (options: PatternOptions): PiiEntity => {
  const finders = options.patterns.map(
    (pattern): Finder => ({
      confidence: pattern.confidence,
      inContext: pattern.inContext,
      find: finderOf(pattern, options.maxLength)
    })
  )
  return {
    type: options.type,
    category: options.category ?? "personal",
    maxLength: options.maxLength,
    decidedBy: options.decidedBy,
    around: options.around ?? defaults.around,
    needs: options.needs,
    context: options.context,
    against: options.against,
    contextBefore: options.contextBefore,
    contextAfter: options.contextAfter,
    againstBefore: options.againstBefore,
    find: (text) => finders.flatMap(({ find }) => find(text)),
    finders
  }
}

const finderOf = (pattern: Pattern, maxLength: number): Find => {
  const { confidence, inContext, outOfContext, validate } = pattern
  const validated = pattern.validated ?? validate !== undefined
  const each = everywhere(pattern.pattern)
  const more = pattern.more === undefined ? undefined : new RegExp(`(?:${pattern.more.source})*`, "y")
  return (text) => {
    const candidates: Array<Candidate> = []
    each.lastIndex = 0
    for (let match = each.exec(text); match !== null; match = each.exec(text)) {
      each.lastIndex = match.index + 1
      const value = match.groups?.["value"] ?? match[0]
      if (value === "" || (validate !== undefined && !validate(value))) continue
      const decided = match.index + match[0].length
      const start = decided - value.length
      let end = decided
      if (more !== undefined) {
        more.lastIndex = 0
        end = decided + more.exec(text.slice(decided, start + maxLength))![0].length
      }
      candidates.push({ start, end, confidence, inContext, outOfContext, validated })
    }
    return candidates
  }
}
