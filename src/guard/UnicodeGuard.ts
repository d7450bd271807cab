/**
 * Guard against invisible characters: zero-width, control, hidden or stacked ones. It leaves them byte for byte where a
 * script needs them (emoji sequences, Persian and Indic joiners, marks of Arabic and Hebrew, word breaks of Thai,
 * flags).
 *
 * @since 0.1.0
 */
import type * as Guard from "./pipeline/Guard.js"
import * as WindowGuard from "./pipeline/WindowGuard.js"

/**
 * Kinds of characters, also the labels of findings.
 *
 * - `zero_width`: zero-width spaces and joiners, soft hyphens, fillers and other characters without a shape, where no
 *   script needs them
 * - `bidi_control`: direction overrides anywhere, other direction marks far from any right-to-left text
 * - `hidden_text`: letters of the tag block (U+E0000), which models read and people do not see
 * - `tag_characters`: the rest of that block
 * - `variation_selectors`: more than one per character, or one after a character without variants
 * - `control`: C0 and C1 except tab, line feed and carriage return; noncharacters
 * - `private_use`: characters without an agreed meaning
 * - `surrogate`: unpaired surrogates
 * - `combining_marks`: marks on one letter beyond the limit
 *
 * @since 0.1.0
 * @category constants
 */
export const kinds = [
  "zero_width",
  "bidi_control",
  "hidden_text",
  "tag_characters",
  "variation_selectors",
  "control",
  "private_use",
  "surrogate",
  "combining_marks"
] as const

/**
 * @since 0.1.0
 * @category models
 */
export type Kind = (typeof kinds)[number]

/**
 * `strip` removes the characters and passes the rest.
 *
 * @since 0.1.0
 * @category models
 */
export type Action = "strip" | "warn" | "block"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default `unicode`. */
  readonly name?: string | undefined
  /** Default `input` and `toolOutput`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Default `strip`. */
  readonly action?: Action | undefined
  /** Actions for single kinds. Default: `hidden_text` is blocked. */
  readonly actions?: { readonly [K in Kind]?: Action | undefined } | undefined
  /** Kinds to ignore. Default none. */
  readonly allow?: ReadonlyArray<Kind> | undefined
  /** Combining marks allowed on one letter. Default 4; twice that for marks of a single script (Tibetan, Hebrew). */
  readonly maxMarks?: number | undefined
}

const candidates =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single characters are meant
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u2800\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF9-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|\p{Cs}|\p{Co}|\p{Noncharacter_Code_Point}|(?<=\p{M})\p{M}/gu

// Scripts whose spelling requires joiners.
const joining =
  /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Thaana}\p{Script=Adlam}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Javanese}\p{Script=Balinese}\p{Script=Phags_Pa}\p{Script=Meetei_Mayek}]/u
// Scripts without spaces between words.
const unspaced =
  /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Tai_Le}]/u
const rightToLeft = /[\u0590-\u08FF\uFB1D-\uFDCF\uFDF0-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u
const emojiBefore = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)/u
const emoji = /^\p{Extended_Pictographic}/u
const hasEmojiStyle = /^[\p{Emoji}\p{Extended_Pictographic}]/u
const hasVariants =
  /^[\p{Ideographic}\p{Sm}\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Egyptian_Hieroglyphs}\p{Script=Manichaean}0\u3001-\u301C\uFF01-\uFF1F\u2000-\u2BFF]/u
const letter = /^\p{L}/u
const ofOneScript = /^[^\p{Script=Inherited}\p{Script=Common}]/u

/** Largest distance of a direction mark from the text it directs. */
const nearby = 64

/** Runs are split at multiples of this, so that a finding depends only on its surroundings. */
const cut = 64

const codeBefore = (text: string, index: number): string => {
  if (index <= 0) return ""
  const low = text.charCodeAt(index - 1)
  const isPair = low >= 0xdc00 && low <= 0xdfff && index > 1 && (text.charCodeAt(index - 2) & 0xfc00) === 0xd800
  return text.slice(isPair ? index - 2 : index - 1, index)
}

const codeAt = (text: string, index: number): string => {
  const code = text.codePointAt(index)
  return code === undefined ? "" : String.fromCodePoint(code)
}

/** Tells whether right-to-left text is near an index; call with increasing indices. */
const nearRightToLeft = (text: string): ((index: number) => boolean) => {
  const search = new RegExp(rightToLeft.source, "gu")
  let last = Number.NEGATIVE_INFINITY
  let next = -1
  return (index) => {
    while (next <= index + nearby) {
      if (next >= 0) last = next
      search.lastIndex = next < 0 ? Math.max(0, index - nearby) : next + 1
      const match = search.exec(text)
      next = match === null ? Number.POSITIVE_INFINITY : match.index
    }
    return last >= index - nearby
  }
}

// A black flag, two letters of a country, up to three more of a region, the end tag.
const flag = /^\u{1F3F4}[\u{E0061}-\u{E007A}]{2}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{1,3}\u{E007F}/u
const longestFlag = 14

const isInFlag = (text: string, index: number): boolean => {
  for (let start = index - 2; start >= 0 && start >= index - longestFlag; start -= 2) {
    const code = text.codePointAt(start)
    if (code === 0x1f3f4) return start + (flag.exec(text.slice(start, start + longestFlag))?.[0].length ?? 0) > index
    if (code === undefined || code < 0xe0000 || code > 0xe007f) return false
  }
  return false
}

const isMark = /^\p{M}$/u

const marksBefore = (text: string, index: number, most: number): number => {
  let count = 0
  let at = index
  while (count < most) {
    const before = codeBefore(text, at)
    if (!isMark.test(before)) break
    count++
    at -= before.length
  }
  return count
}

interface Place {
  readonly text: string
  readonly index: number
  readonly length: number
  readonly isFirst: boolean
  readonly maxMarks: number
  readonly isNearRightToLeft: (index: number) => boolean
}

const joiner = (place: Place): Kind | undefined => {
  const { index, text } = place
  const before = codeBefore(text, index)
  const isJoiner = text.charCodeAt(index) === 0x200d
  if (isJoiner && emojiBefore.test(before) && emoji.test(codeAt(text, index + 1))) return undefined
  return joining.test(before) ? undefined : "zero_width"
}

const variation = ({ index, text }: Place, code: number): Kind | undefined => {
  const before = codeBefore(text, index)
  if (code === 0xfe0e || code === 0xfe0f) return hasEmojiStyle.test(before) ? undefined : "variation_selectors"
  if (code >= 0xe0100) return /^\p{Ideographic}/u.test(before) ? undefined : "variation_selectors"
  if (code >= 0xfe00) return hasVariants.test(before) ? undefined : "variation_selectors"
  return /^\p{Script=Mongolian}/u.test(before) ? undefined : "variation_selectors"
}

const between = ({ index, length, text }: Place, script: RegExp): Kind | undefined =>
  script.test(codeBefore(text, index)) || script.test(codeAt(text, index + length)) ? undefined : "zero_width"

const isSoftHyphen = ({ index, text }: Place): boolean => {
  const inner = (at: number): boolean => letter.test(codeAt(text, at))
  return index > 1 && inner(index - 1) && inner(index - 2) && inner(index + 1) && inner(index + 2)
}

const mark = ({ index, length, maxMarks, text }: Place): Kind | undefined => {
  const most = ofOneScript.test(text.slice(index, index + length)) ? 2 * maxMarks : maxMarks
  return marksBefore(text, index, most) >= most ? "combining_marks" : undefined
}

const hangul = /^[\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF]/
const braille = /^[\u2801-\u28FF]/
const mongolian = /^\p{Script=Mongolian}/u
const hebrew = /^\p{Script=Hebrew}/u
const khmer = /^\p{Script=Khmer}/u
const music = /^[\u{1D100}-\u{1D1FF}]/u

const kindOf = (place: Place, code: number): Kind | undefined => {
  if (code <= 0x1f || (code >= 0x7f && code <= 0x9f)) return "control"
  if (code >= 0xd800 && code <= 0xdfff) return "surrogate"
  if ((code >= 0xe000 && code <= 0xf8ff) || code >= 0xf0000)
    return (code & 0xfffe) === 0xfffe ? "control" : "private_use"
  if ((code & 0xfffe) === 0xfffe || (code >= 0xfdd0 && code <= 0xfdef)) return "control"
  if (code >= 0xe0100 && code <= 0xe01ef) return variation(place, code)
  if (code >= 0xe0000 && code <= 0xe0fff) {
    if (isInFlag(place.text, place.index)) return undefined
    return code >= 0xe0020 && code <= 0xe007e ? "hidden_text" : "tag_characters"
  }
  switch (code) {
    case 0x200c:
    case 0x200d:
      return joiner(place)
    case 0x200b:
      return between(place, unspaced)
    case 0xad:
      return isSoftHyphen(place) ? undefined : "zero_width"
    case 0xfeff:
      return place.isFirst ? undefined : "zero_width"
    case 0x34f:
      return between(place, hebrew)
    case 0x115f:
    case 0x1160:
      return between(place, hangul)
    case 0x17b4:
    case 0x17b5:
      return between(place, khmer)
    case 0x180e:
      return between(place, mongolian)
    case 0x2800:
      return between(place, braille)
    case 0x202d:
    case 0x202e:
      return "bidi_control"
    case 0x61c:
    case 0x200e:
    case 0x200f:
      return place.isNearRightToLeft(place.index) ? undefined : "bidi_control"
  }
  if ((code >= 0xfe00 && code <= 0xfe0f) || (code >= 0x180b && code <= 0x180f)) return variation(place, code)
  if ((code >= 0x202a && code <= 0x202c) || (code >= 0x2066 && code <= 0x2069)) {
    return place.isNearRightToLeft(place.index) ? undefined : "bidi_control"
  }
  if (code >= 0x1d173 && code <= 0x1d17a) return between(place, music)
  if (isMark.test(String.fromCodePoint(code))) return mark(place)
  return "zero_width"
}

/** Reason reported for each kind. */
const reasons: { readonly [K in Kind]: string } = {
  zero_width: "characters without a shape",
  bidi_control: "control of the writing direction",
  hidden_text: "text hidden in tag characters",
  tag_characters: "tag characters",
  variation_selectors: "variation selectors without a character to vary",
  control: "control characters",
  private_use: "characters of private use",
  surrogate: "halves of surrogate pairs",
  combining_marks: "stacked combining marks"
}

/**
 * Builds the window that finds these characters. Each decision needs only the surroundings, so a text can be judged
 * while it is written.
 *
 * @since 0.1.0
 * @category constructors
 */
export const window = (options?: Options | undefined): Guard.Window => {
  const fallback = options?.action ?? "strip"
  const maxMarks = Math.max(1, Math.floor(options?.maxMarks ?? 4))
  const allowed = new Set<Kind>(options?.allow ?? [])
  const actionOf = (kind: Kind): Guard.Finding["action"] => {
    const action = options?.actions?.[kind] ?? (kind === "hidden_text" ? "block" : fallback)
    return action === "strip" ? "redact" : action
  }
  const about = new Map(
    kinds.map((kind) => [
      kind,
      { label: kind, action: actionOf(kind), replacement: "", reason: reasons[kind], confidence: 1 } as const
    ])
  )
  return {
    reach: Math.max(nearby, cut, 4 * maxMarks) + longestFlag,
    find: (text, from) => {
      const findings: Array<Guard.Finding> = []
      const isNearRightToLeft = nearRightToLeft(text)
      const search = new RegExp(candidates.source, "gu")
      let open: { kind: Kind; start: number; end: number } | undefined
      const close = (): void => {
        if (open !== undefined) findings.push({ start: open.start, end: open.end, ...about.get(open.kind)! })
      }
      for (let match = search.exec(text); match !== null; match = search.exec(text)) {
        const index = match.index
        const { length } = match[0]
        const isFirst = from === 0 && index === 0
        const code = match[0].codePointAt(0) as number
        const kind = kindOf({ text, index, length, isFirst, maxMarks, isNearRightToLeft }, code)
        if (kind === undefined || allowed.has(kind)) continue
        if (
          open?.kind === kind &&
          open.end === index &&
          Math.floor((from + index) / cut) === Math.floor((from + open.start) / cut)
        ) {
          open.end = index + length
        } else {
          close()
          open = { kind, start: index, end: index + length }
        }
      }
      close()
      return findings
    }
  }
}

/**
 * @since 0.1.0
 * @category constructors
 *
 * @example
 * ```ts
 * import { UnicodeGuard } from "effect-lexigram/guard"
 *
 * const clean = UnicodeGuard.make()
 * const strict = UnicodeGuard.make({ name: "no invisible text", action: "block", allow: ["private_use"] })
 * ```
 */
export const make = (options?: Options | undefined): Guard.Guard =>
  WindowGuard.make({
    name: options?.name ?? "unicode",
    stages: options?.stages ?? ["input", "toolOutput"],
    window: window(options)
  })
