/**
 * Prepares external text for errors and logs: short, one line, without credentials.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"

/**
 * Replaces a credential.
 *
 * @since 0.1.0
 * @category constants
 */
export const replacement = "[REDACTED]"

// Shorter ones are dummies ("ollama", "EMPTY") and occur as words in many messages.
const minSecretLength = 8

// Every quantifier that can be followed by more is bounded, so no input makes a pattern slow.
const patterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(bearer|basic)\s{1,4}[^\s"'<>,;]{4,}/gi, `$1 ${replacement}`],
  [
    /\b((?:x-)?api[-_ ]?key|authorization|access[-_]token|secret)("?\s{0,4}(?:provided)?\s{0,4}[:=]\s{0,4}"?)(?!\[REDACTED\]|bearer |basic )[^\s"'<>,;&]{4,}/gi,
    `$1$2${replacement}`
  ],
  [/([?&][a-z_-]{0,24}(?:key|token|secret|sig|signature|password)=)[^\s"'<>&#]{1,}/gi, `$1${replacement}`],
  [/(:\/\/)[^\s/@"'<>]{1,512}@/g, `$1${replacement}@`],
  [/\b(?:sk|pk|rk|gsk|csk|hf|fw|xai|pplx|nvapi|r8|tgp|ghp|glpat)[-_][A-Za-z0-9_*.-]{6,}/g, replacement],
  [/\b(?:AIza|ya29\.|eyJ[A-Za-z0-9_-]{8,64}\.)[A-Za-z0-9_.-]{8,}/g, replacement],
  [/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]*\*{3}[A-Za-z0-9_*-]*/g, replacement]
]

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")

const variants = (secret: string): ReadonlyArray<string> =>
  Array.from(new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(wellFormed(secret))]))

/**
 * Replaces the given secrets (also JSON-escaped and percent-encoded) and everything shaped like a key: prefixed tokens,
 * bearer values, key parameters and user names of URLs, tokens masked with asterisks. Secrets shorter than 8 characters
 * stay.
 *
 * @since 0.1.0
 * @category combinators
 */
export const redact = (text: string, secrets: ReadonlyArray<Redacted.Redacted<string>> = []): string => {
  let result = text
  for (const secret of secrets) {
    const value = Redacted.value(secret)
    if (value.length < minSecretLength) continue
    for (const variant of variants(value)) result = result.split(variant).join(replacement)
  }
  for (const [pattern, by] of patterns) result = result.replace(pattern, by)
  return result
}

const longest = (secrets: ReadonlyArray<Redacted.Redacted<string>>): number =>
  secrets.reduce((most, secret) => Math.max(most, 3 * Redacted.value(secret).length), 256)

/**
 * Returns one line of at most `maxLength` characters without control characters or credentials. Reads only the
 * beginning of a huge text.
 *
 * @since 0.1.0
 * @category combinators
 */
export const excerpt = (
  text: string,
  options: {
    readonly maxLength: number
    readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
  }
): string => {
  const secrets = options.redact ?? []
  const margin = longest(secrets)
  const read = 8 * options.maxLength + 2 * margin
  let result = redact(text.slice(0, read), secrets)
  // A secret cut by the bound is not recognized: text that could be its beginning is dropped.
  if (text.length > read) result = result.slice(0, -margin)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what goes
  result = result.replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim()
  return wellFormed(result.length <= options.maxLength ? result : `${result.slice(0, options.maxLength - 1)}…`)
}
