/**
 * Recognizes tokens, private keys, credentials in URLs and headers, and values assigned to secret names.
 *
 * @since 0.1.0
 */
import * as RandomText from "../../internal/text/RandomText.js"
import * as PiiEntity from "./PiiEntity.js"

/**
 * Longer tokens and keys are found up to this length.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxLength = 16384

const isJoseHeader = (value: string): boolean => {
  const header = RandomText.decoded(value.slice(0, value.indexOf(".")))
  return header !== undefined && /^\{[\s\S]*"alg"\s*:/.test(header)
}

/**
 * Signed and encrypted tokens (RFC 7519): the first part must be a header that names an algorithm.
 *
 * @since 0.1.0
 * @category entities
 */
export const jwt: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "JWT",
  category: "secret",
  maxLength,
  decidedBy: 440,
  needs: { anyOf: ["eyJ", "ewog", "eyAi"] },
  patterns: [
    {
      pattern: /(?<![A-Za-z0-9_.-])(?:eyJ|ewog|eyAi)[A-Za-z0-9_-]{12,400}\.(?=[A-Za-z0-9_-]{4})/,
      more: /[A-Za-z0-9_-]{1,8}|\.(?=[A-Za-z0-9_-])/,
      confidence: 0.97,
      validate: isJoseHeader
    }
  ]
})

const keyHeader = PiiEntity.matches(
  /-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nr]){1,4}(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\r\n\\"]{1,80}){0,4}/
)
// A `+` that joins two literals is followed by a space or a quotation mark; otherwise it belongs to the key.
const keyBody =
  /(?:\s|\\[nr]|["']|\+(?=[\s"'])){0,40}(?:[A-Za-z0-9+/=]{32,}|[A-Za-z0-9+/=]{1,31}(?=(?:\s|\\[nr]|["']|\+(?=[\s"'])){0,12}(?:=[A-Za-z0-9+/]{4}(?:\s|\\[nr]){1,4})?-----END))/y
const keyEnd = /(?:\s|\\[nr]|["']|\+(?=[\s"'])|=[A-Za-z0-9+/]{4}){0,40}-----END [A-Z0-9 ]{1,40}-----/y

/**
 * Private keys in text (PEM, OpenSSH, PGP), multi-line or escaped, complete or cut off. Certificates and public keys do
 * not count.
 *
 * @since 0.1.0
 * @category entities
 */
export const privateKey: PiiEntity.PiiEntity = {
  type: "PRIVATE_KEY",
  category: "secret",
  maxLength,
  decidedBy: 512,
  around: 24,
  needs: { anyOf: ["-----BEGIN"] },
  find: (text) => {
    const candidates: Array<PiiEntity.Candidate> = []
    for (const header of keyHeader(text)) {
      const begin = header.index + header[0].length
      let end = begin
      for (let next = end; next - header.index < maxLength; ) {
        keyBody.lastIndex = next
        if (!keyBody.test(text)) break
        next = keyBody.lastIndex
        end = next
      }
      if (end === begin) continue
      keyEnd.lastIndex = end
      if (keyEnd.test(text)) end = keyEnd.lastIndex
      candidates.push({
        start: header.index,
        end: Math.min(end, header.index + maxLength),
        confidence: 0.99,
        validated: true
      })
    }
    return candidates
  }
}

const isFiller = (value: string): boolean =>
  /^(?:\*+|x+|\.+|-+|password|passwd|pass|secret|token|changeme|change_me|your.*|<.*|\$.*|%.*|\{.*|\[.*|example.*|redacted|null|none|undefined|true|false)$/i.test(
    value
  )

const isBasic = (value: string): boolean => {
  const text = RandomText.decoded(value)
  return text !== undefined && /^[\x20-\x7e][\x20-\x39\x3b-\x7e]*:[\x20-\x7e]+$/.test(text)
}

const isUserAndPassword = (value: string): boolean => {
  const password = value.slice(value.indexOf(":") + 1)
  return !isFiller(password) && !isFiller(value.slice(0, value.indexOf(":")).replace(/^user.*$/i, ""))
}

/**
 * A user and a password in a URL, and the value of a `Basic` header.
 *
 * @since 0.1.0
 * @category entities
 */
export const basicAuth: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "BASIC_AUTH",
  category: "secret",
  maxLength: 256,
  around: 24,
  needs: { anyOf: ["://", "asic "] },
  patterns: [
    {
      pattern:
        /(?<=[A-Za-z][A-Za-z0-9+.-]{1,15}:\/\/)[^\s/?#:@"'<>[\]{}]{0,64}:[^\s/?#@"'<>[\]]{1,128}(?=@[A-Za-z0-9[])/,
      confidence: 0.9,
      validate: isUserAndPassword
    },
    {
      pattern: /(?<=\b[Bb]asic\s{1,4})[A-Za-z0-9+/]{8,250}={0,2}(?![A-Za-z0-9+/=])/,
      confidence: 0.9,
      validate: isBasic
    }
  ]
})

/**
 * Values of `Bearer` headers.
 *
 * @since 0.1.0
 * @category entities
 */
export const bearer: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "BEARER_TOKEN",
  category: "secret",
  maxLength,
  decidedBy: 80,
  around: 16,
  needs: { anyOf: ["earer", "EARER"] },
  patterns: [
    {
      pattern: /(?<=\b(?:[Bb]earer|BEARER)\s{1,4})(?=[A-Za-z0-9._~+/-]{0,40}\d)[A-Za-z0-9._~+/-]{16,64}/,
      more: /[A-Za-z0-9._~+/=-]/,
      confidence: 0.85,
      validate: RandomText.isRandom,
      validated: false
    }
  ]
})

const isReference = /^(?:process\.|os\.|env\.|config\.|self\.|this\.|secrets?\.|var\.|vault)/i

const isPassword = (value: string): boolean => {
  if (isFiller(value) || isReference.test(value)) return false
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(value)).length
  return kinds >= 2 && new Set(value).size >= 5 && (/\d/.test(value) || /[A-Za-z0-9][!@#$%^&*?][A-Za-z0-9]/.test(value))
}

const isOpaque = (value: string): boolean =>
  isPassword(value) &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  RandomText.isRandom(value) &&
  RandomText.entropyOf(value) >= 3

/**
 * Values assigned to a password name (`password=`), except placeholder words.
 *
 * @since 0.1.0
 * @category entities
 */
export const password: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "SECRET",
  category: "secret",
  maxLength: 128,
  around: 40,
  needs: { anyOf: [":", "=", "：", " is", " es"] },
  patterns: [
    {
      pattern:
        /(?<=[:=："'`\s>])(?<=(?:passw(?:or)?d|passwort|passphrase|pwd|contraseña|mot de passe|senha|пароль|密码)["'`]?(?:\s{0,3}(?:=>|:=|[:=：])\s{0,3}|\s{1,2}(?:is|ist|es|est):?\s{1,2})["'`]?)(?<!["'`]["'`])(?:[^\s"'`<>,;&|(){}[\]\\.]|\.(?=[^\s"'`<>,;&|(){}[\]\\.])|&(?![A-Za-z_.-]{1,24}=)){6,128}/i,
      confidence: 0.7,
      validate: isPassword,
      validated: false
    }
  ]
})

/**
 * Values assigned to a key or token name (`"api_key": "…"`) that look random.
 *
 * @since 0.1.0
 * @category entities
 */
export const assigned: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "SECRET",
  category: "secret",
  maxLength,
  decidedBy: 128,
  around: 40,
  needs: { anyOf: [":", "="] },
  patterns: [
    {
      pattern:
        /(?<=[:="'`\s>])(?<=(?:secret(?:[_-]?key)?|token|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?)["'`]?\s{0,3}(?:=>|:=|[:=])\s{0,3}["'`]?)[A-Za-z0-9_.~+/-]{12,64}/i,
      more: /[A-Za-z0-9_.~+/-]|={1,2}(?![A-Za-z0-9=])/,
      confidence: 0.7,
      validate: isOpaque,
      validated: false
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [jwt, privateKey, basicAuth, bearer, password, assigned]
