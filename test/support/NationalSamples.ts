/** Makes identifiers of every optional type in the ways people write them, and texts of a similar shape that are none. */
import { checked, completed, digitAt, dot } from "./NationalNumbers.js"
import type { Random } from "./PiiCorpus.js"

export interface Maker {
  /** Separators between groups of these sizes, besides none at all. */
  readonly groups?: readonly [sizes: ReadonlyArray<number>, separators: string] | undefined
  readonly make: (pick: Random) => string
  /** Similar and no identifier; default: another last digit. */
  readonly broken?: ((pick: Random) => string) | undefined
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/** `#` is a digit, `@` a letter, `^` a consonant, `%` a letter or digit. */
const fill = (pick: Random, shape: string): string =>
  shape.replace(/[#@^%]/g, (kind) => {
    const from =
      kind === "#"
        ? "0123456789"
        : kind === "@"
          ? letters
          : kind === "^"
            ? "BCDFGHJKLMNPRSTVWXYZ"
            : `${letters}0123456789`
    return from[pick(from.length)]!
  })

const oneOf = (pick: Random, values: ReadonlyArray<string> | string): string => values[pick(values.length)]!

const shaped =
  (...shapes: ReadonlyArray<string>) =>
  (pick: Random): string =>
    fill(pick, oneOf(pick, shapes))

const two = (number: number): string => String(number).padStart(2, "0")

/** Year, month and day of two digits each. */
const birth = (pick: Random): readonly [string, string, string] => [
  two(pick(100)),
  two(1 + pick(12)),
  two(1 + pick(28))
]

/** Tries until one is made. */
const until = (make: () => string | undefined): string => {
  for (;;) {
    const value = make()
    if (value !== undefined) return value
  }
}

const numbers = new Map([...checked, ...completed].map((one) => [one.type, one]))

const numbered =
  (type: string) =>
  (pick: Random): string => {
    const { digits, make } = numbers.get(type)!
    return until(() => {
      const value = make(fill(pick, "#".repeat(digits)))
      return value !== undefined && new Set(value.replace(/\D/g, "")).size > 2 ? value : undefined
    })
  }

const document = (first: string) => (pick: Random) => {
  const alphabet = "0123456789CFGHJKLMNPRTVWXYZ"
  const value = until(() => {
    const rest = Array.from({ length: 8 }, () => alphabet[pick(alphabet.length)]).join("")
    return /\d/.test(rest) && /[A-Z]/.test(rest) ? oneOf(pick, first) + rest : undefined
  })
  const sum = [...value].reduce((all, char, index) => all + Number.parseInt(char, 36) * [7, 3, 1][index % 3]!, 0)
  return { value, check: sum % 10 }
}

const documents = (first: string): Maker => ({
  make: (pick) => {
    const { check, value } = document(first)(pick)
    return pick(3) === 0 ? value : `${value}${check}`
  },
  broken: (pick) => {
    const { check, value } = document(first)(pick)
    return `${value}${(check + 1 + pick(9)) % 10}`
  }
})

const italianOdd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

const fiscalCode = (pick: Random): string => {
  const [year, , day] = birth(pick)
  const month = oneOf(pick, "ABCDEHLMPRST")
  const stem = `${fill(pick, "^^^^^^")}${year}${month}${pick(2) === 0 ? day : Number(day) + 40}${fill(pick, "H###")}`
  const sum = [...stem].reduce((all, char, index) => {
    const own = /\d/.test(char) ? Number(char) : letters.indexOf(char)
    return all + (index % 2 === 0 ? italianOdd[own]! : own)
  }, 0)
  return stem + letters[sum % 26]
}

const gstin = (pick: Random): string => {
  const stem = `${two(1 + pick(37))}${fill(pick, "@@@")}${oneOf(pick, "CFGHPT")}${fill(pick, "@####@")}1Z`
  const alphabet = `0123456789${letters}`
  const sum = [...stem].reduce((all, char, index) => {
    const product = alphabet.indexOf(char) * (index % 2 === 0 ? 1 : 2)
    return all + Math.floor(product / 36) + (product % 36)
  }, 0)
  return stem + alphabet[(36 - (sum % 36)) % 36]
}

const korean = (sexes: string, base: number) => (pick: Random) => {
  const [year, month, day] = birth(pick)
  const stem = `${year}${month}${day}${oneOf(pick, sexes)}${fill(pick, "#####")}`
  return `${stem}${(base - (dot(stem, [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10}`
}

const driver = (pick: Random): string => {
  const [year, month, day] = birth(pick)
  const sex = pick(2) === 0 ? month : `${Number(month[0]) + 5}${month[1]}`
  return `${fill(pick, "^^^^^")}${year[0]}${sex}${day}${year[1]}${fill(pick, "^^")}9${fill(pick, "^^")}`
}

const uk = { first: "ABCEGHJKLMOPRSTWXYZ", second: "ABCEGHJKLMNPRSTWXYZ" }

const nino = (pick: Random): string =>
  `${until(() => {
    const pair = oneOf(pick, uk.first) + oneOf(pick, uk.second)
    return /BG|GB|KN|NK|NT|TN|ZZ|O./.test(pair) ? undefined : pair
  })}${fill(pick, "######")}${oneOf(pick, "ABCD")}`

const ssn = (pick: Random): string =>
  `${1 + pick(5)}${two(1 + pick(98))}${two(1 + pick(98))}${fill(pick, "#")}${100 + pick(900)}`

const mbi = (pick: Random): string =>
  shaped("1M##M##MM##", "3MM#MM#MM##", "9M##MM#MM##")(pick).replaceAll("M", () => oneOf(pick, "ACDEFGHJKMNPQRTUVWXY"))

const wrongLetter =
  (make: (pick: Random) => string) =>
  (pick: Random): string => {
    const value = make(pick)
    return value.slice(0, -1) + letters[(letters.indexOf(value.at(-1)!) + 1 + pick(25)) % 26]
  }

const wrongDigit =
  (type: string, at: number) =>
  (pick: Random): string => {
    const value = numbered(type)(pick)
    return `${value.slice(0, at)}${(digitAt(value, at) + 1 + pick(9)) % 10}${value.slice(at + 1)}`
  }

const finnish = (pick: Random): string => {
  const [year, month, day] = birth(pick)
  const stem = `${day}${month}${year}${2 + pick(7)}${fill(pick, "##")}`
  return `${stem.slice(0, 6)}${oneOf(pick, "-A")}${stem.slice(6)}${"0123456789ABCDEFHJKLMNPRSTUVWXY"[Number(stem) % 31]}`
}

/** By type. */
export const makers: { readonly [type: string]: Maker } = {
  AU_ABN: { make: numbered("AU_ABN"), groups: [[2, 3, 3, 3], " -"] },
  AU_ACN: { make: numbered("AU_ACN"), groups: [[3, 3, 3], " -"] },
  AU_TFN: { make: numbered("AU_TFN"), groups: [[3, 3, 3], " -"] },
  AU_MEDICARE: { make: numbered("AU_MEDICARE"), groups: [[4, 5, 1], " -"], broken: wrongDigit("AU_MEDICARE", 8) },
  CA_SIN: { make: numbered("CA_SIN"), groups: [[3, 3, 3], " -"] },
  DE_TAX_ID: { make: numbered("DE_TAX_ID"), groups: [[2, 3, 3, 3], " -"] },
  DE_TAX_NUMBER: {
    make: shaped("21/815/08###", "181/815/08###", "133/8150/8###", "93815/08###", "2893081508###", "9181081508###"),
    broken: shaped("21/81/50###", "1/815/08###", "181/815/###", "289308###", "289318150######")
  },
  DE_VAT_ID: { make: numbered("DE_VAT_ID"), groups: [[2, 3, 3, 3], " -"] },
  DE_ID_CARD: documents("LMNPRTVWXY"),
  DE_PASSPORT: documents("CFGHJK"),
  DE_FUEHRERSCHEIN: {
    make: shaped("B07%RRE###%", "^^########%", "N##%4H####%"),
    broken: shaped("#^^#######%", "^^^########%", "^^#######")
  },
  DE_HEALTH_INSURANCE: { make: numbered("DE_HEALTH_INSURANCE") },
  DE_SOCIAL_SECURITY: { make: numbered("DE_SOCIAL_SECURITY"), groups: [[2, 6, 1, 3], " -"] },
  DE_LANR: { make: numbered("DE_LANR"), broken: wrongDigit("DE_LANR", 6) },
  DE_BSNR: { make: shaped("02#######", "72#######"), broken: shaped("02######", "02########", "02######A") },
  DE_HANDELSREGISTER: {
    make: shaped("HRB 1####", "HRB1####", "HRA 4###", "HRB 2#####"),
    broken: shaped("HRC 1####", "HRB 0", "HRB 1######", "RB 1###")
  },
  DE_KFZ: {
    make: shaped("B-^^ 1##", "M-^^ 1###", "HH-^ 2#", "KA-^^ 3###E", "B ^^ 1##"),
    broken: shaped("ABCD-AB 1#", "B-^^^ 1##", "B-^^ 1####", "B-^^ 01##")
  },
  DE_PLZ: { make: shaped("1####", "042##", "803##"), broken: shaped("1###", "1#####", "001##", "1###A") },
  ES_NIF: { make: numbered("ES_NIF"), groups: [[8, 1], "- "], broken: wrongLetter(numbered("ES_NIF")) },
  ES_NIE: { make: numbered("ES_NIE"), groups: [[1, 7, 1], "- "], broken: wrongLetter(numbered("ES_NIE")) },
  ES_PASSPORT: { make: shaped("@@@######", "XDA######"), broken: shaped("AAAA#####", "AAA#####", "AAA#######") },
  FI_PERSONAL_IDENTITY_CODE: {
    make: finnish,
    broken: shaped("131352-3##T", "321052-3##T", "131052/3##T", "131052G3##T")
  },
  IN_AADHAAR: { make: numbered("IN_AADHAAR"), groups: [[4, 4, 4], " -"] },
  IN_PAN: {
    make: shaped("@@@P@1###@", "@@@C@2###@", "@@@F@3###@"),
    broken: shaped("@@@P1###@", "@@@P@#####", "#@@P@1###@")
  },
  IN_GSTIN: {
    make: gstin,
    broken: shaped("00AAPFU####F1ZA", "45AAPFU####F1ZA", "27AAPFU####F0ZA", "27AAPF0####F1Z5")
  },
  IN_PASSPORT: {
    make: shaped("J3####92", "K8####93", "A1####94"),
    broken: shaped("Q3####92", "A0####92", "A3####90", "AB3#####")
  },
  IN_VEHICLE_REGISTRATION: {
    make: shaped("KA51^^3###", "MH 12 ^^ 1###", "DL3C^^###1", "22BH1###^^", "TN-09-^^-2###"),
    broken: shaped("XX53^^3###", "KA51^^0000", "KA51^^3##", "KA531^^3###", "KA51^^^^3###")
  },
  IN_VOTER: { make: shaped("@@@1######"), broken: shaped("@@1######", "@@@@1######", "@@@1#####", "@@@-1######") },
  IT_FISCAL_CODE: { make: fiscalCode, groups: [[3, 3, 5, 5], " "], broken: wrongLetter(fiscalCode) },
  IT_VAT_CODE: { make: (pick) => (pick(2) === 0 ? "" : "IT") + numbered("IT_VAT_CODE")(pick) },
  IT_DRIVER_LICENSE: {
    make: shaped("@@#######@", "U1^##^###@"),
    broken: shaped("U1A##^###@", "@@######@", "@@########@")
  },
  IT_PASSPORT: {
    make: shaped("@@#######", "YA#######"),
    broken: shaped("@#######", "@@@#######", "@@######", "#######@@")
  },
  IT_IDENTITY_CARD: {
    make: shaped("@@#######", "CA#####@@", "@@ #######"),
    broken: shaped("@#######", "@@######", "CA####@@", "CA######@@")
  },
  KR_RRN: {
    make: korean("1234", 11),
    groups: [[6, 7], "-"],
    broken: shaped("961399-1######", "960132-2######", "960121-1#####")
  },
  KR_FRN: {
    make: korean("5678", 13),
    groups: [[6, 7], "-"],
    broken: shaped("911399-5######", "911132-6######", "911124-5#####")
  },
  KR_BRN: { make: numbered("KR_BRN"), groups: [[3, 2, 5], "-"] },
  KR_DRIVER_LICENSE: {
    make: shaped("11-1#-1#####-##", "28-0#-2#####-##", "13-22-3#####-##", "12221#######"),
    broken: shaped("10-22-1#####-##", "29-22-1#####-##", "11-2-1#####-##", "11/22/1#####/##")
  },
  KR_PASSPORT: {
    make: shaped("M########", "M###A####", "S1#######"),
    broken: shaped("A1#######", "M#######", "M#########", "MM#######")
  },
  NG_NIN: { make: numbered("NG_NIN"), groups: [[4, 3, 4], " -"] },
  NG_VEHICLE_REGISTRATION: {
    make: shaped("@@@-1##@@", "@@@1##@@", "@@@ 1## @@"),
    broken: shaped("@@-1##@@", "@@@@-1##@@", "@@@-1#@@", "@@@-1###@@")
  },
  PH_MOBILE_NUMBER: {
    make: shaped("09171######", "0918 2## ####", "+639173######", "+63 917 4## ####"),
    broken: shaped("08171######", "091719####", "+62 917 1## ####", "+63 817 1## ####")
  },
  PL_PESEL: { make: numbered("PL_PESEL") },
  SE_PERSONNUMMER: { make: numbered("SE_PERSONNUMMER"), groups: [[6, 4], "- "] },
  SE_ORGANISATIONSNUMMER: { make: numbered("SE_ORGANISATIONSNUMMER"), groups: [[6, 4], "-"] },
  SG_FIN: { make: numbered("SG_FIN"), broken: shaped("S######D", "S########D", "SS######D") },
  SG_UEN: { make: numbered("SG_UEN"), broken: wrongLetter(numbered("SG_UEN")) },
  TH_TNIN: { make: numbered("TH_TNIN"), groups: [[1, 4, 5, 2, 1], "- "] },
  TR_NATIONAL_ID: { make: numbered("TR_NATIONAL_ID"), groups: [[3, 3, 3, 2], " "] },
  TR_LICENSE_PLATE: {
    make: shaped("34 TKB 1##", "06 T 1###", "35TK1##", "81 TB 1##"),
    broken: shaped("82 TKB 1##", "00 TKB 1##", "34 TKBL 1#", "34 T 1##", "34 QW 1###")
  },
  UK_NHS: { make: numbered("UK_NHS"), groups: [[3, 3, 4], " -"] },
  UK_NINO: {
    make: nino,
    groups: [[2, 2, 2, 2, 1], " -"],
    broken: shaped("BG1#####A", "QQ1#####C", "DA1#####A", "AB1#####E", "AB1####C")
  },
  UK_POSTCODE: {
    make: shaped("SW1A #AA", "M# #BD", "DN5# #PT", "CR2 #XH", "LS2# #JT"),
    broken: shaped("QA1 #BD", "SW1A #CA", "SWA #BD", "SW111 #BD", "SW1A BDD")
  },
  UK_PASSPORT: { make: shaped("@@#######", "5########"), broken: shaped("@@######", "@@########", "@@@######") },
  UK_DRIVING_LICENCE: {
    make: driver,
    groups: [[5, 6, 5], " "],
    broken: shaped("MORGA673054SM9^^", "MORGA657324SM9^^", "MORGA600054SM9^^")
  },
  UK_VEHICLE_REGISTRATION: {
    make: shaped("BD51^GH", "LR19 BC^", "H1## BCD", "BCD 1##H"),
    broken: shaped("BD01 BCD", "QA51 BCD", "BD51 BIC", "BD511 BCD", "H1### BCD")
  },
  US_ABA_ROUTING: { make: numbered("US_ABA_ROUTING"), groups: [[4, 4, 1], "-"] },
  US_BANK_NUMBER: {
    make: shaped("1#######", "1###########", "2#############"),
    broken: shaped("1######", "1#################", "1######A")
  },
  US_DRIVER_LICENSE: {
    make: shaped("D1######", "1########", "12ABC3####", "F2###########"),
    broken: shaped("1####", "A1#", "AAA1######", "12A3#B5#C7")
  },
  US_ITIN: {
    make: (pick) => `9${fill(pick, "##")}${oneOf(pick, ["52", "65", "70", "88", "94"])}${fill(pick, "####")}`,
    groups: [[3, 2, 4], "- "],
    broken: shaped("911-89-1###", "911-66-1###", "911-93-1###", "811-70-1###")
  },
  US_MBI: {
    make: mbi,
    groups: [[4, 3, 4], "- "],
    broken: shaped("0EG4TE5MK##", "1SG4TE5MK##", "1EG4TE5MK#", "1EGATE5MK##")
  },
  US_NPI: { make: numbered("US_NPI"), groups: [[4, 3, 3], "-"] },
  US_DEA: { make: numbered("US_DEA") },
  US_PASSPORT: { make: shaped("A1#######", "5########"), broken: shaped("1#######", "5#########", "AB1######") },
  US_SSN: {
    make: ssn,
    groups: [[3, 2, 4], "- ."],
    broken: shaped("000-22-1###", "666-22-1###", "936-22-1###", "536-00-1###")
  },
  URL: {
    make: shaped(
      "https://www.example.org/a/b#?c=d#",
      "http://files.example.com:8080/x#",
      "www.example.co.uk",
      "https://docs.example.net/p#/part-2"
    ),
    broken: shaped("https://", "http://example", "file.txt", "a.b", "1.5", "index.html")
  },
  DATE: {
    make: shaped("2021-05-1#", "5/21/202#", "21.05.201#", "May 5, 202#", "5-MAY-202#", "12 March 198#"),
    broken: shaped("202#-13-01", "202#-05-32", "13/32/202#", "33.05.202#")
  }
}

/** A value as somebody writes it: in groups or not, sometimes in small letters. */
const written = (pick: Random, { groups }: Maker, value: string): string => {
  const way = pick(4)
  const cased = way === 3 && /[A-Z]/.test(value) ? value.toLowerCase() : value
  if (groups === undefined || way < 2) return cased
  const [sizes, separators] = groups
  const bare = cased.replace(/-/g, "")
  if (bare.length !== sizes.reduce((sum, size) => sum + size, 0)) return cased
  const starts = sizes.map((_, index) => sizes.slice(0, index).reduce((sum, size) => sum + size, 0))
  return starts.map((start, index) => bare.slice(start, start + sizes[index]!)).join(oneOf(pick, separators))
}

export const valid = (type: string, pick: Random): string => written(pick, makers[type]!, makers[type]!.make(pick))

export const broken = (type: string, pick: Random): string => {
  const maker = makers[type]!
  if (maker.broken !== undefined) return maker.broken(pick)
  const value = maker.make(pick)
  return `${value.slice(0, -1)}${(digitAt(value, value.length - 1) + 1 + pick(9)) % 10}`
}
