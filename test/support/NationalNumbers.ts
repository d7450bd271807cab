/**
 * Makes national numbers whose check digits follow their published definitions, written
 * from those under test.
 */

export const digitAt = (digits: string, index: number): number => Number(digits[index])

export const dot = (digits: string, weights: ReadonlyArray<number>): number =>
  weights.reduce((sum, weight, index) => sum + weight * digitAt(digits, index), 0)

const cross = (value: number): number => [...String(value)].reduce((sum, digit) => sum + Number(digit), 0)

const ending = (digits: string, isRight: (value: string) => boolean, endings = "0123456789"): string | undefined => {
  const right = [...endings].filter((character) => isRight(digits + character))
  return right.length === 1 ? digits + right[0] : undefined
}

const luhn = (digits: string): boolean =>
  [...digits].reverse().reduce((sum, digit, index) => sum + cross(Number(digit) * (1 + (index % 2))), 0) % 10 === 0

const turned = [
  "0123456789",
  "1234067895",
  "2340178956",
  "3401289567",
  "4012395678",
  "5987604321",
  "6598710432",
  "7659821043",
  "8765932104",
  "9876543210"
]

const moved = [
  "0123456789",
  "1576283094",
  "5803796142",
  "8916043527",
  "9453126870",
  "4286573901",
  "2793806415",
  "7046913258"
]

const verhoeff = (digits: string): boolean =>
  [...digits]
    .reverse()
    .reduce((check, digit, index) => digitAt(turned[check]!, digitAt(moved[index % 8]!, Number(digit))), 0) === 0

const iso11and10 = (digits: string): boolean => {
  let product = 10
  for (const digit of digits.slice(0, -1)) {
    product = (product + Number(digit)) % 10
    product = ((product === 0 ? 10 : product) * 2) % 11
  }
  return (product + Number(digits.at(-1))) % 10 === 1
}

export interface Numbered {
  readonly type: string
  readonly digits: number
  /** From random digits to an identifier; none where these have none. */
  readonly make: (digits: string) => string | undefined
}

/** Those whose check finds every single wrong digit. */
export const checked: ReadonlyArray<Numbered> = [
  {
    type: "US_ABA_ROUTING",
    digits: 6,
    make: (d) => ending(`12${d}`, (v) => dot(v, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0)
  },
  {
    type: "AU_ABN",
    digits: 9,
    make: (d) => {
      const rest = (89 - (dot(`00${d}`, [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) % 89)) % 89
      return `${rest + 10}${d}`
    }
  },
  {
    type: "AU_TFN",
    digits: 8,
    make: (d) => ending(d, (v) => dot(v, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0)
  },
  {
    type: "AU_MEDICARE",
    digits: 7,
    make: (d) => {
      const stem = `2${d}`
      return `${stem}${dot(stem, [1, 3, 7, 9, 1, 3, 7, 9]) % 10}1`
    }
  },
  { type: "CA_SIN", digits: 7, make: (d) => ending(`1${d}`, luhn) },
  { type: "US_NPI", digits: 8, make: (d) => ending(`1${d}`, (v) => luhn(`80840${v}`)) },
  {
    type: "UK_NHS",
    digits: 9,
    make: (d) => ending(d, (v) => dot(v, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0)
  },
  {
    type: "DE_TAX_ID",
    digits: 9,
    make: (d) => {
      const twice = [...new Set(`5${d}`)].filter((digit) => `5${d}`.split(digit).length > 2)
      const times = `5${d}`.split(twice[0] ?? "-").length - 1
      const isRight = twice.length === 1 && times <= 3 && !`5${d}`.includes((twice[0] ?? "-").repeat(3))
      return isRight ? ending(`5${d}`, iso11and10) : undefined
    }
  },
  {
    type: "DE_VAT_ID",
    digits: 7,
    make: (d) => ending(`3${d}`, iso11and10)?.replace(/^/, "DE")
  },
  {
    type: "DE_HEALTH_INSURANCE",
    digits: 8,
    make: (d) => {
      const sum = [...`03${d}`].reduce((all, digit, index) => all + cross(Number(digit) * (1 + (index % 2))), 0)
      return `C${d}${sum % 10}`
    }
  },
  {
    type: "ES_NIF",
    digits: 8,
    make: (d) => `${d}${"TRWAGMYFPDXBNJZSQVHLCKE"[Number(d) % 23]}`
  },
  {
    type: "ES_NIE",
    digits: 7,
    make: (d) => `Y${d}${"TRWAGMYFPDXBNJZSQVHLCKE"[Number(`1${d}`) % 23]}`
  },
  {
    type: "FI_PERSONAL_IDENTITY_CODE",
    digits: 3,
    // Nobody has 000 or 001.
    make: (d) => (d < "002" ? undefined : `131052-${d}${"0123456789ABCDEFHJKLMNPRSTUVWXY"[Number(`131052${d}`) % 31]}`)
  },
  { type: "IT_VAT_CODE", digits: 8, make: (d) => ending(`${d.slice(0, 7)}05${d.slice(7)}`, luhn) },
  {
    type: "PL_PESEL",
    digits: 4,
    make: (d) => ending(`840229${d}`, (v) => dot(v, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0)
  },
  { type: "SE_PERSONNUMMER", digits: 3, make: (d) => ending(`811228${d}`, luhn) },
  { type: "SE_ORGANISATIONSNUMMER", digits: 6, make: (d) => ending(`556${d}`, luhn) },
  {
    type: "TR_NATIONAL_ID",
    digits: 8,
    make: (d) => {
      const stem = `4${d}`
      const odd = dot(stem, [1, 0, 1, 0, 1, 0, 1, 0, 1])
      const even = dot(stem, [0, 1, 0, 1, 0, 1, 0, 1, 0])
      const tenth = (odd * 7 + even * 9) % 10
      return `${stem}${tenth}${(odd + even + tenth) % 10}`
    }
  },
  { type: "IN_AADHAAR", digits: 10, make: (d) => ending(`3${d}`, verhoeff) },
  { type: "NG_NIN", digits: 10, make: (d) => ending(d, verhoeff) },
  {
    type: "KR_BRN",
    digits: 5,
    make: (d) =>
      ending(
        `2418${d}`,
        (v) => (dot(v, [1, 3, 7, 1, 3, 7, 1, 3, 5, 1]) + Math.floor((digitAt(v, 8) * 5) / 10)) % 10 === 0
      )
  }
]

/** The last digit or letter follows from the others, but some wrong digits stay unseen. */
export const completed: ReadonlyArray<Numbered> = [
  {
    type: "AU_ACN",
    digits: 8,
    make: (d) => ending(d, (v) => (dot(v, [8, 7, 6, 5, 4, 3, 2, 1]) + digitAt(v, 8)) % 10 === 0)
  },
  {
    type: "US_DEA",
    digits: 6,
    make: (d) =>
      `BM${d}${(digitAt(d, 0) + digitAt(d, 2) + digitAt(d, 4) + 2 * (digitAt(d, 1) + digitAt(d, 3) + digitAt(d, 5))) % 10}`
  },
  {
    type: "DE_LANR",
    digits: 6,
    make: (d) => ending(d, (v) => (dot(v, [4, 9, 4, 9, 4, 9]) + digitAt(v, 6)) % 10 === 0)?.concat("07")
  },
  {
    type: "DE_SOCIAL_SECURITY",
    digits: 2,
    make: (d) => {
      const sum = [..."15070649", "0", "3", ...d].reduce(
        (all, digit, index) => all + cross(Number(digit) * [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1][index]!),
        0
      )
      return `15070649C${d}${sum % 10}`
    }
  },
  {
    type: "KR_RRN",
    digits: 6,
    make: (d) => {
      const stem = `9401231${d.slice(0, 5)}`
      return `${stem}${(11 - (dot(stem, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10}`
    }
  },
  {
    type: "TH_TNIN",
    digits: 11,
    make: (d) => {
      const stem = `1${d.replace(/^0/, "1")}`
      return `${stem}${(11 - (dot(stem, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10}`
    }
  },
  {
    type: "SG_FIN",
    digits: 7,
    make: (d) => `S${d}${"ABCDEFGHIZJ"[10 - (dot(d, [2, 7, 6, 5, 4, 3, 2]) % 11)]}`
  },
  { type: "SG_UEN", digits: 8, make: (d) => `${d}${"XMKECAWLJDB"[dot(d, [10, 4, 9, 3, 8, 2, 7, 1]) % 11]}` }
]
