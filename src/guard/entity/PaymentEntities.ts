/**
 * Recognizes payment card numbers, bank accounts and cryptocurrency wallets.
 *
 * @since 0.1.0
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as PiiEntity from "./PiiEntity.js"

/**
 * Verifies the Luhn check digit of cards and many national numbers: every second digit from the right doubled, digits
 * summed, a multiple of ten. ASCII digits only.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isLuhn = (digits: string): boolean => {
  let sum = 0
  for (let index = digits.length - 1, double = false; index >= 0; index--, double = !double) {
    const digit = digits.charCodeAt(index) - 48
    sum += double ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit
  }
  return sum % 10 === 0
}

// First prefix, last prefix, lengths: ISO/IEC 7812 ranges as published by the networks.
const issuers: ReadonlyArray<readonly [from: number, to: number, ...lengths: ReadonlyArray<number>]> = [
  [1, 1, 15],
  [4, 4, 13, 16, 19],
  [51, 55, 16],
  [2221, 2720, 16],
  [34, 34, 15],
  [37, 37, 15],
  [300, 305, 14, 16, 17, 18, 19],
  [3095, 3095, 14, 16, 17, 18, 19],
  [36, 36, 14, 16, 17, 18, 19],
  [38, 39, 14, 16, 17, 18, 19],
  [6011, 6011, 16, 17, 18, 19],
  [644, 649, 16, 17, 18, 19],
  [65, 65, 16, 17, 18, 19],
  [3528, 3589, 16, 17, 18, 19],
  [62, 62, 16, 17, 18, 19],
  [81, 81, 16, 17, 18, 19],
  [2200, 2204, 16, 17, 18, 19],
  [60, 60, 16],
  [508, 508, 16],
  [50, 50, 12, 13, 14, 15, 16, 17, 18, 19],
  [56, 58, 12, 13, 14, 15, 16, 17, 18, 19],
  [6304, 6304, 16, 17, 18, 19],
  [6759, 6763, 12, 13, 14, 15, 16, 17, 18, 19],
  [6331, 6331, 16, 18, 19],
  [6334, 6334, 16, 18, 19],
  [636, 639, 16, 17, 18, 19],
  [9792, 9792, 16]
]

/** Indexed by the first four digits, one bit per length. */
const issued = ((): Uint32Array => {
  const lengthsOf = new Uint32Array(10_000)
  for (const [from, to, ...lengths] of issuers) {
    const unit = 10 ** (4 - String(from).length)
    for (let prefix = from * unit; prefix < (to + 1) * unit; prefix++) {
      for (const length of lengths) lengthsOf[prefix]! |= 1 << length
    }
  }
  return lengthsOf
})()

const isIssued = (digits: string): boolean => (issued[Number(digits.slice(0, 4))]! & (1 << digits.length)) !== 0

/** `4242424242424242` has few distinct digits but is a known test card; `4444444444444448` is filler. */
const isVaried = (digits: string): boolean => {
  for (let index = 1; index < digits.length - 1; index++) if (digits[index] !== digits[0]) return true
  return false
}

const isCard = (value: string): boolean => {
  const digits = /^\d*$/.test(value) ? value : value.replace(/[^0-9]/g, "")
  return isIssued(digits) && isLuhn(digits) && isVaried(digits)
}

/**
 * Payment cards: an issuer's range, one of its lengths and the check digit, in one piece or in the groups printed on
 * cards.
 *
 * @since 0.1.0
 * @category entities
 */
export const creditCard: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "CREDIT_CARD",
  maxLength: 23,
  needs: { digits: 12 },
  context: [
    "card*",
    "credit",
    "debit",
    "visa",
    "mastercard",
    "amex",
    "american express",
    "discover",
    "diners",
    "jcb",
    "unionpay",
    "maestro",
    "cc",
    "ccnum*",
    "pan",
    "*karte",
    "*kartennummer",
    "carte",
    "tarjeta",
    "carta",
    "cartão",
    "карт*",
    "卡号",
    "信用卡",
    "カード",
    "payment*",
    "cvv",
    "cvc",
    "exp*"
  ],
  against: [
    "imei",
    "iccid",
    "isbn",
    "ean",
    "gtin",
    "tracking",
    "timestamp",
    "ts",
    "epoch",
    "trace*",
    "span*",
    "serial"
  ],
  patterns: [
    {
      pattern: /(?<![A-Za-z0-9_])(?<![0-9][.:/+-])\d{14,19}(?![A-Za-z0-9_])(?![.:/-][0-9]|-[A-Za-z])/,
      confidence: 0.8,
      inContext: 0.99,
      validate: isCard
    },
    {
      pattern: /(?<![A-Za-z0-9_])(?<![0-9][.:/+-])\d{12,13}(?![A-Za-z0-9_])(?![.:/-][0-9]|-[A-Za-z])/,
      confidence: 0.4,
      inContext: 0.9,
      validate: isCard
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![0-9]{4}[ ./-]{1,3}|[A-Za-z0-9][-/])\d{4}([ .\t/-]| {2}| - )\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?(?![A-Za-z0-9_])(?![ ./-]{1,3}\d{4}(?!\d)|[-/][A-Za-z0-9])/,
      confidence: 0.95,
      inContext: 0.99,
      outOfContext: 0.5,
      validate: isCard
    },
    // Several in a row: any four of these groups may match by chance.
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][-/])\d{4}([ .-])\d{4}\1\d{4}\1\d{4}(?![A-Za-z0-9_])(?![-/][A-Za-z0-9])/,
      confidence: 0.6,
      inContext: 0.9,
      outOfContext: 0.3,
      validate: isCard
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![0-9][.,:/+-]|[A-Za-z]-)\d{4}([ .-])\d{6}\1\d{4,5}(?![A-Za-z0-9_])(?![./-][A-Za-z0-9])/,
      confidence: 0.92,
      inContext: 0.99,
      outOfContext: 0.5,
      validate: isCard
    }
  ]
})

// Countries in the ISO 13616 registry and the length of their numbers.
const ibanLengths: ReadonlyMap<string, number> = new Map(
  (
    "NO15 BE16 BI27 DJ27 DK18 FI18 FK18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 MN20 CH21 CR22 HR21 LI21 LV21 " +
    "BG22 BH22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 TN24 " +
    "VG24 LY25 PT25 ST25 IS26 TR26 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 SV28 BR29 EG29 PS29 " +
    "QA29 UA29 JO30 KW30 MU30 YE30 HN28 MT31 SC31 LC32 RU33"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))])
)

const isIbanChecked = (iban: string): boolean => {
  const turned = iban.slice(4) + iban.slice(0, 4)
  let rest = 0
  for (let index = 0; index < turned.length; index++) {
    const code = turned.charCodeAt(index)
    rest = code > 57 ? (rest * 100 + code - 55) % 97 : (rest * 10 + code - 48) % 97
  }
  return rest === 1
}

const ibanStart = PiiEntity.matches(/(?<![A-Za-z0-9_])[A-Za-z]{2} ?[0-9]{2}(?=[ .-]{0,2}[A-Za-z0-9])/)
const ibanRest = /[A-Za-z0-9]/
const ibanGap = /[ .-]/

/**
 * Bank accounts (ISO 13616): country, length and remainder modulo 97; in one piece or in groups parted by spaces,
 * hyphens or dots, in any case.
 *
 * @since 0.1.0
 * @category entities
 */
export const iban: PiiEntity.PiiEntity = {
  type: "IBAN",
  category: "personal",
  maxLength: 44,
  around: 12,
  needs: { digits: 2 },
  find: (text) => {
    const candidates: Array<PiiEntity.Candidate> = []
    for (const start of ibanStart(text)) {
      const country = start[0].slice(0, 2)
      const length = ibanLengths.get(country.toUpperCase())
      if (length === undefined) continue
      let value = ""
      let end = start.index
      let group = 0
      for (; value.length < length && end < text.length; end++) {
        const character = text[end]!
        if (ibanRest.test(character)) {
          value += character
          group++
        } else if (ibanGap.test(character) && group > 1 && ibanRest.test(text[end + 1] ?? "")) group = 0
        else if (character === " " && text[end + 1] === " " && group > 1) continue
        else break
        if (end - start.index >= 44) break
      }
      if (value.length !== length || /[A-Za-z0-9_]/.test(text[end] ?? "")) continue
      if (!isIbanChecked(value.toUpperCase())) continue
      // The remainder matches by chance once in 97, so mixed case does not count.
      const uniform = value === value.toUpperCase() || value === value.toLowerCase()
      candidates.push({ start: start.index, end, confidence: uniform ? 0.98 : 0.5, validated: true })
    }
    return candidates
  }
}

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

/** Returns the bytes of an address without its checksum, or `undefined` if the checksum is wrong. */
const base58Payload = (value: string): Uint8Array | undefined => {
  const bytes = new Uint8Array(25)
  for (let index = 0; index < value.length; index++) {
    let carry = base58.indexOf(value[index]!)
    for (let place = 24; place >= 0; place--) {
      carry += bytes[place]! * 58
      bytes[place] = carry & 255
      carry >>= 8
    }
    if (carry !== 0) return undefined
  }
  const payload = bytes.subarray(0, 21)
  const twice = Sha256.bytes(Sha256.bytes(payload))
  for (let index = 0; index < 4; index++) if (twice[index] !== bytes[21 + index]) return undefined
  return payload
}

// Bitcoin, Litecoin, Dogecoin, Dash and Tron; no test networks, whose coins are nobody's.
const versions = new Set([0x00, 0x05, 0x30, 0x32, 0x1e, 0x16, 0x4c, 0x10, 0x41])

const isBase58Address = (value: string): boolean => {
  const payload = base58Payload(value)
  return payload !== undefined && versions.has(payload[0]!)
}

const bech32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
const bech32Generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

const isBech32Address = (value: string): boolean => {
  if (value !== value.toLowerCase() && value !== value.toUpperCase()) return false
  const address = value.toLowerCase()
  let check = 1
  const step = (digit: number): void => {
    const top = check >>> 25
    check = ((check & 0x1ffffff) << 5) ^ digit
    for (let bit = 0; bit < 5; bit++) if ((top >>> bit) & 1) check ^= bech32Generator[bit]!
  }
  const start = address.indexOf("1") + 1
  const prefix = address.slice(0, start - 1)
  for (const char of prefix) step(char.charCodeAt(0) >> 5)
  step(0)
  for (const char of prefix) step(char.charCodeAt(0) & 31)
  for (let index = start; index < address.length; index++) {
    const digit = bech32.indexOf(address[index]!)
    if (digit < 0) return false
    step(digit)
  }
  // Version 0 uses the constant of BIP 173, later versions that of BIP 350.
  return check >>> 0 === (address[start] === "q" ? 1 : 0x2bc830a3)
}

const isEthereumAddress = (value: string): boolean => {
  const hex = value.slice(2)
  const lower = hex.toLowerCase()
  if (new Set(lower).size < 6) return false
  if (hex === lower || hex === hex.toUpperCase()) return true
  const hash = bytesToHex(keccak_256(utf8ToBytes(lower)))
  for (let index = 0; index < 40; index++) {
    const character = hex[index]!
    if (character <= "9") continue
    if (hash.charCodeAt(index) > 55 !== character < "a") return false
  }
  return true
}

/**
 * Addresses of Bitcoin, Litecoin, Dogecoin, Dash and Tron (base58check, bech32 and bech32m with their checksums) and
 * Ethereum (with the EIP-55 checksum if the case is mixed).
 *
 * @since 0.1.0
 * @category entities
 */
export const cryptoAddress: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "CRYPTO_ADDRESS",
  maxLength: 90,
  patterns: [
    {
      pattern: /(?<![A-Za-z0-9_+/=-])[1379ADLMTX][1-9A-HJ-NP-Za-km-z]{25,34}(?![A-Za-z0-9_+/=])/,
      confidence: 0.97,
      validate: isBase58Address
    },
    {
      pattern:
        /(?<![A-Za-z0-9_-])(?:(?:bc|ltc)1[02-9ac-hj-np-z]{39,59}|(?:BC|LTC)1[02-9AC-HJ-NP-Z]{39,59})(?![A-Za-z0-9_])/,
      confidence: 0.98,
      validate: isBech32Address
    },
    {
      pattern: /(?<![A-Za-z0-9_])0x[0-9a-fA-F]{40}(?![A-Za-z0-9_])/,
      confidence: 0.9,
      validate: isEthereumAddress
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [creditCard, iban, cryptoAddress]
