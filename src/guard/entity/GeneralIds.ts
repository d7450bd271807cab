/**
 * Recognizes web addresses and dates, which belong to no country.
 *
 * @private
 * @since 0.1.0
 */
import * as EmailEntity from "./EmailEntity.js"
import * as NationalId from "./NationalId.js"
import * as PiiEntity from "./PiiEntity.js"

const label = "[\\p{L}\\p{N}](?:[\\p{L}\\p{N}-]{0,61}[\\p{L}\\p{N}])?"
const before = "(?<![\\p{L}\\p{N}_@.-])"
const bare = "(?<![\\p{L}\\p{N}_@./-])"
const scheme = "(?:https?|ftp|wss?):\\/\\/(?:[A-Za-z0-9._~%!$&*+=:-]{1,64}@)?"
const octets = "\\d{1,3}(?:\\.\\d{1,3}){3}"
const named = `(?:${label}\\.){1,6}\\p{L}[\\p{L}\\p{N}-]{1,62}`
const end = "(?![\\p{L}\\p{N}_@-]|\\.[\\p{L}\\p{N}])"
const port = "(?::\\d{1,5})?"
const path = `${port}(?:\\/|[?#](?=[\\p{L}\\p{N}%_/!]))`
const whole = `${port}${end}(?![/]|[?#][\\p{L}\\p{N}%_/!])`
// Punctuation that ends a sentence ends the address, unless the address continues.
const more =
  /[A-Za-z0-9\u00c0-\u1fff\u2c00-\ud7ff/_~=&%#@+*$-]|[.,;:!?()](?=[A-Za-z0-9\u00c0-\u1fff\u2c00-\ud7ff/_~=&%#@+*$-])/

const isNamed = (value: string): boolean => {
  const host = value.replace(/[/?#:].*/s, "")
  return EmailEntity.isTopLevel(host.slice(host.lastIndexOf(".") + 1))
}

const url = PiiEntity.fromPatterns({
  type: "URL",
  maxLength: 2048,
  decidedBy: 512,
  around: 4,
  needs: { anyOf: [".", "localhost"] },
  context: ["url", "website", "web site", "link", "site", "homepage", "visit", "webseite"],
  patterns: [
    {
      pattern: new RegExp(`${before}${scheme}(?:${named}|${octets}|localhost)${path}`, "iu"),
      confidence: 0.95,
      more
    },
    { pattern: new RegExp(`${before}${scheme}(?:${named}|${octets}|localhost)${whole}`, "iu"), confidence: 0.95 },
    {
      pattern: new RegExp(`${bare}${named}${path}`, "iu"),
      confidence: 0.75,
      more,
      validate: isNamed,
      validated: false
    },
    {
      pattern: new RegExp(`${bare}www\\.${named}${whole}`, "iu"),
      confidence: 0.75,
      validate: isNamed,
      validated: false
    },
    {
      pattern: new RegExp(`${bare}${named}${whole}`, "iu"),
      confidence: 0.5,
      inContext: 0.9,
      validate: isNamed,
      validated: false
    }
  ]
})

const day = "(?:0?[1-9]|[12]\\d|3[01])"
const month = "(?:0?[1-9]|1[0-2])"
const name =
  "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
const year = "(?:1[6-9]|2[01])\\d{2}"
const recent = "(?:19|20)\\d{2}"
const time = "(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:[.,]\\d{1,9})?)?(?: ?Z|[+-](?:0\\d|1[0-4]):?[0-5]\\d)?"
const apart = (source: string): RegExp => new RegExp(`(?<!\\d[./-])(?:${source})(?![./-]\\d)`)

const date = NationalId.make({
  type: "DATE",
  maxLength: 40,
  context: ["date*", "born", "birth*", "dob", "birthday", "geboren", "geburtsdatum", "on", "since", "until", "datum"],
  shapes: [
    { pattern: apart(`${year}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])[T ]${time}`), confidence: 0.8 },
    { pattern: apart(`${year}([./-])${month}\\1${day}`), confidence: 0.7 },
    { pattern: apart(`(?:${month}([./-])${day}|${day}([./-])${month})(?:\\1|\\2)(?:${recent})`), confidence: 0.6 },
    { pattern: apart(`(?:${month}([./-])${day}|${day}([./-])${month})(?:\\1|\\2)(?:${year})`), confidence: 0.4 },
    { pattern: apart(`${month}([./-])${day}\\1\\d{2}|${day}([./-])${month}\\2\\d{2}`), confidence: 0.4 },
    { pattern: apart(`${day}([ /-])${name}\\1(?:${year}|\\d{2})`), confidence: 0.7 },
    { pattern: apart(`${day}(?:st|nd|rd|th)?(?: of)? ${name},? ${year}`), confidence: 0.7 },
    { pattern: apart(`${name}\\.? ${day}(?:st|nd|rd|th)?,? ${year}`), confidence: 0.7 },
    { pattern: apart(`${name}[ -]${year}`), confidence: 0.6 },
    { pattern: apart(`${day}-${name}|${name}-${day}`), confidence: 0.5 },
    { pattern: apart(`(?:0?[1-9]|1[0-2])\\/(?:${year}|\\d{2})`), confidence: 0.3, inContext: 0.7 }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const general: ReadonlyArray<PiiEntity.PiiEntity> = [url, date]
