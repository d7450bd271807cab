/**
 * Recognizer of one kind of personal data or secret, by its shape, a checksum and the words around it.
 *
 * @since 0.1.0
 */

/**
 * A possible finding in the text that `find` received.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate {
  readonly start: number
  readonly end: number
  /** From 0 to 1, regardless of the words around it. */
  readonly confidence: number
  /** Replaces `confidence` when a word of `context` is near; default: halfway from `confidence` to 1. */
  readonly inContext?: number | undefined
  /** Replaces `confidence` when a word of `against` is nearer; default: at most 0.3. */
  readonly outOfContext?: number | undefined
  /** Confirmed by a checksum, an issuer's prefix or a numbering plan. */
  readonly validated?: boolean | undefined
}

/**
 * What a text must contain before `find` is called: a number of `digits` in sequence with only separators between them,
 * or one of these strings, case-sensitive. An optimization: it never changes the result.
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
  /** Label of findings: `EMAIL`, `AWS_KEY`. */
  readonly type: string
  readonly category: "personal" | "secret"
  /** Longest finding. */
  readonly maxLength: number
  /**
   * For findings of open length: this many characters from the start decide that there is a finding; the rest only
   * decides its end. Findings longer than `maxLength` are cut there. Default: `maxLength`, and longer ones do not
   * count.
   */
  readonly decidedBy?: number | undefined
  /** Characters before and after a finding that `find` reads. */
  readonly around: number
  readonly needs?: Needs | undefined
  /**
   * Whole words that raise the confidence, up to `contextBefore` characters before and `contextAfter` after; `tele*`
   * matches words with that prefix, `*nummer` words with that suffix.
   */
  readonly context?: ReadonlyArray<string> | undefined
  /** Words before it that lower the confidence. The nearer word counts. */
  readonly against?: ReadonlyArray<string> | undefined
  /** Distance before and after a finding in which words of `context` count; default 48 and 24. */
  readonly contextBefore?: number | undefined
  readonly contextAfter?: number | undefined
  /** Largest distance between a word of `against` and a finding; default `contextBefore`. */
  readonly againstBefore?: number | undefined
  /**
   * Returns all candidates in a folded text (ASCII digits, plain spaces and hyphens). Whether a place is a candidate
   * depends only on its own characters and `around` characters on both sides, never on other candidates, which may
   * overlap. Takes time linear in the text.
   */
  readonly find: Find
  /**
   * Parts of `find` whose candidates differ in confidence: candidates too uncertain by themselves are searched for only
   * beside words of `context`. An optimization: it never changes the result. Default: `find`, everywhere.
   */
  readonly finders?: ReadonlyArray<Finder> | undefined
  /**
   * In a short text that is nothing but a candidate of the sensitivity `high`, the candidate counts as if a word of
   * `context` were beside it: the field of a form or a cell of a table needs no label. Default false.
   */
  readonly standsAlone?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Find = (text: string) => ReadonlyArray<Candidate>

/**
 * Finds some of the candidates of a recognizer. None has a higher confidence than these, without and with a word beside
 * it.
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
   * Tried at every index of the text. It begins with a lookbehind for what must not precede a finding and ends with a
   * lookahead for what must not follow it, both no longer than `around`; every repetition is bounded. With a group
   * named `value`, the finding is that group, which must end the match.
   */
  readonly pattern: RegExp
  readonly confidence: number
  readonly inContext?: number | undefined
  readonly outOfContext?: number | undefined
  /** A finding continues with any of these characters, up to `maxLength`; requires `decidedBy`. */
  readonly more?: RegExp | undefined
  /** False rejects the candidate. */
  readonly validate?: ((value: string) => boolean) | undefined
  /** The shape alone is proof; default true with a `validate`. */
  readonly validated?: boolean | undefined
}

/**
 * Characters around a place that decide whether it is a finding.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaults = { around: 12, contextBefore: 48, contextAfter: 24 } as const

const everywhere = (pattern: RegExp): RegExp => new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`)

/**
 * Returns every match of a pattern, including overlapping ones: a match does not depend on where the text begins.
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
  readonly standsAlone?: boolean | undefined
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
    standsAlone: options.standsAlone,
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
