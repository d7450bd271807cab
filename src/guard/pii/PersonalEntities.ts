/**
 * Addresses of people and their machines, and the social security number of the United States.
 *
 * @since 0.1.0
 */
import * as PiiEntity from "./PiiEntity.js"

const local = /[A-Za-z0-9._%+'&\u00c0-\u024f\u0370-\u052f-]/
const ideograph = /[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const domain = /[A-Za-z0-9.\u00c0-\u024f\u0370-\u052f-]/
const foreignLocal = new RegExp(`${local.source}|${ideograph.source}`)
const foreignDomain = new RegExp(`${domain.source}|${ideograph.source}`)

const maxLocal = 64
const maxEmail = 254
const maxDomain = maxEmail - maxLocal

const generic =
  "com net org info biz name pro mobi edu gov mil int aero coop museum jobs travel cat tel asia post arpa app dev page web site online " +
  "store shop tech cloud digital email mail agency studio design media news blog wiki live life world today space website xyz top club " +
  "vip work works team tools software systems solutions services support consulting company business group global network academy " +
  "school university institute education health care clinic dental doctor hospital law legal lawyer finance financial bank insurance " +
  "capital money fund ventures partners holdings energy green eco bio farm garden house home homes estate land properties rentals city " +
  "town london paris berlin hamburg koeln wien tokyo nyc amsterdam moscow swiss bayern ruhr saarland tirol eus gal scot wales bzh africa " +
  "lat art gallery photo photos photography video music band film games game play fun social chat community foundation charity church " +
  "events party wedding love cafe coffee restaurant pizza bar pub beer wine food kitchen fashion style beauty fit fitness yoga sport run " +
  "bike auto car cars taxi express delivery supply parts shopping sale market marketing expert guru engineer engineering science llc ltd " +
  "gmbh inc ngo ong one plus zone link click help support technology computer codes data ai hosting domains cloud google"

// Names that RFC 2606 and 6761 keep for examples and networks at home count too: people write them, and are meant by
// them.
const reserved = "test example invalid local localhost internal lan home corp intranet"

const known = new Set([...generic.split(" "), ...reserved.split(" ")])

// Two letters are a country, unless they are what files of programs end in and no country's.
const noCountry = new Set([
  "js",
  "ts",
  "db",
  "go",
  "ex",
  "kt",
  "xs",
  "vb",
  "ml1",
  "hs",
  "rb",
  "cs",
  "fs",
  "ui",
  "ip",
  "id1"
])

/**
 * Whether a name can end in this label: a country, a top-level domain in wide use, or one that is reserved for examples
 * and for home.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isTopLevel = (label: string): boolean => {
  const lower = label.toLowerCase()
  if (/^[a-z]{2}$/.test(lower)) return !noCountry.has(lower)
  return known.has(lower) || /^xn--[a-z0-9-]{2,}$/.test(lower) || /[\u0080-\uffff]/.test(lower)
}

const isLabel = (label: string): boolean => /^[^-].{0,62}$/.test(label) && !label.endsWith("-")

const domainAt = (text: string, from: number): { readonly end: number; readonly known: boolean } | undefined => {
  const allowed = ideograph.test(text[from] ?? "") ? foreignDomain : domain
  let end = from
  while (end < text.length && end - from < maxDomain && allowed.test(text[end]!)) {
    if (text[end] === "." && (text[end - 1] === "." || text[end - 1] === "-" || text[end - 1] === "@")) break
    end++
  }
  if (end - from >= maxDomain) return undefined
  if (text[end - 1] === ".") end--
  const labels = text
    .slice(from, end)
    .replace(/-{1,2}$/, "")
    .split(".")
  // "…@example.com.Then": a sentence goes on without a space.
  if (labels.length > 2 && !isTopLevel(labels[labels.length - 1]!) && /^\p{Lu}/u.test(labels[labels.length - 1]!)) {
    labels.pop()
  }
  if (labels.length < 2 || !labels.every(isLabel)) return undefined
  const last = labels[labels.length - 1]!
  if (!/^(?:\p{L}{2,24}|xn--[A-Za-z0-9-]{2,59})$/u.test(last)) return undefined
  return { end: from + labels.join(".").length, known: isTopLevel(last) }
}

const localBefore = (text: string, at: number): number | undefined => {
  if (text[at - 1] === '"') {
    const open = text.lastIndexOf('"', at - 2)
    return open >= 0 && at - open <= maxLocal && !/[\n\r@]/.test(text.slice(open, at)) && at - open > 2
      ? open
      : undefined
  }
  const allowed = ideograph.test(text[at - 1] ?? "") ? foreignLocal : local
  let start = at
  while (start > 0 && at - start <= maxLocal && allowed.test(text[start - 1]!)) start--
  if (at - start > maxLocal) return undefined
  const dots = text.slice(start, at).lastIndexOf("..")
  if (dots >= 0) start += dots + 2
  while (start < at && /[.%+'&-]/.test(text[start]!)) start++
  return start === at || /[.']/.test(text[at - 1]!) ? undefined : start
}

/**
 * E-mail addresses (RFC 5321 lengths, quoted and international ones). What ends in no known top-level domain is found
 * at `high` only. User names of URLs, handles of social networks and paths of `scp` are none.
 *
 * @since 0.1.0
 * @category entities
 */
export const email: PiiEntity.PiiEntity = {
  type: "EMAIL",
  category: "personal",
  maxLength: maxEmail,
  around: 66,
  needs: { anyOf: ["@"] },
  find: (text) => {
    const candidates: Array<PiiEntity.Candidate> = []
    for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
      const start = localBefore(text, at)
      if (start === undefined) continue
      const host = domainAt(text, at + 1)
      if (host === undefined || host.end - start > maxEmail) continue
      const before = text.slice(Math.max(0, start - maxLocal), start)
      if (/:\/\/[^\s/@]*$/.test(before) && !/mailto:\/\/$/i.test(before)) continue
      const isForeign = ideograph.test(text[at - 1]!) && !ideograph.test(text[at + 1]!)
      const odd =
        isForeign || /[@/]$/.test(before) || /^:[A-Za-z0-9_.~-]*\//.test(text.slice(host.end, host.end + maxLocal))
      candidates.push({
        start,
        end: host.end,
        confidence: odd ? 0.4 : host.known ? 0.95 : 0.45,
        validated: host.known && !odd
      })
    }
    return candidates
  }
}

const isSocialSecurity = (value: string): boolean => {
  const digits = value.replace(/[^0-9]/g, "")
  if (new Set(digits).size === 1) return false
  // Printed in advertisements and therefore never anyone's.
  return digits !== "078051120" && digits !== "219099999" && digits !== "457555462"
}

/**
 * Social security numbers of the United States: no area 000, 666 or 9xx, no group 00, no serial 0000, none of those
 * known to be invalid.
 *
 * @since 0.1.0
 * @category entities
 */
export const ssn: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "SSN",
  maxLength: 11,
  needs: { digits: 9 },
  context: [
    "ssn*",
    "ssns",
    "*ssn",
    "social security",
    "social sec",
    "soc sec",
    "socialsecurity*",
    "ss#",
    "ss no",
    "ss number",
    "tax id",
    "taxpayer",
    "tin",
    "social"
  ],
  against: [
    "part",
    "parts",
    "p/n",
    "pn",
    "sku",
    "item",
    "model",
    "order",
    "invoice",
    "case",
    "ref",
    "reference",
    "ticket",
    "lot",
    "batch",
    "catalog",
    "catalogue",
    "serial",
    "s/n",
    "tracking",
    "phone",
    "fax",
    "tel",
    "zip",
    "product",
    "component",
    "stock",
    "bin",
    "shipment",
    "asset",
    "form",
    "policy",
    "account",
    "docket",
    "rev",
    "revision",
    "version",
    "ean",
    "isbn"
  ],
  contextBefore: 40,
  contextAfter: 16,
  patterns: [
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9]:)(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9])/,
      confidence: 0.7,
      inContext: 0.98,
      validate: isSocialSecurity
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9][ :])(?!000|666|9)\d{3}([ .])(?!00)\d{2}\1(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9]| \d)/,
      confidence: 0.4,
      inContext: 0.95,
      validate: isSocialSecurity
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9][ :])(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9]| \d)/,
      confidence: 0.15,
      inContext: 0.8,
      validate: isSocialSecurity,
      validated: false
    }
  ]
})

const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = PiiEntity.matches(
  new RegExp(
    `(?<![A-Za-z0-9_.])(?<![A-Za-z0-9]-|[=~<>^]=|[~^])${octet}(?:\\.${octet}){3}(?:/(?:3[0-2]|[12]?\\d)(?![0-9./]))?(?![A-Za-z0-9_])(?!\\.[A-Za-z0-9]|-[A-Za-z])`
  )
)
const ipv6 = PiiEntity.matches(
  /(?<![A-Za-z0-9_:.])(?<![A-Za-z0-9_]\[)(?=[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:])(?:(?:[0-9A-Fa-f]{0,4}:){2,7}\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})(?:%[A-Za-z0-9_-]{1,16})?(?:\/\d{1,3}(?!\d))?(?![A-Za-z0-9_:])(?!\.\d)/
)

const isIpv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

const groupsOf = (side: string): ReadonlyArray<string> => (side === "" ? [] : side.split(":"))

/** 0: no address. */
const ipv6Confidence = (value: string): number => {
  const [scoped = "", prefix] = value.split("/")
  if (prefix !== undefined && Number(prefix) > 128) return 0
  let address = scoped.split("%")[0]!
  const embedded = /:(\d+\.[\d.]+)$/.exec(address)?.[1]
  if (embedded !== undefined) {
    if (!isIpv4.test(embedded)) return 0
    address = `${address.slice(0, -embedded.length)}0:0`
  }
  const sides = address.split("::")
  if (sides.length > 2) return 0
  const groups = sides.flatMap(groupsOf)
  if (groups.some((group) => group === "") || (sides.length === 2 ? groups.length > 7 : groups.length !== 8)) return 0
  if (embedded !== undefined) return 0.95
  const digits = groups.join("")
  if (sides.length === 1) return groups.every((group) => group.length === 2) ? 0.4 : 0.95
  if (address === "::1") return 0.75
  // `a[1::2]`, `dead::beef`: slices and names of code.
  if (digits === "") return 0
  if (!/\d/.test(digits)) return groups.some((group) => /^(?:fe80|fc|fd)/i.test(group)) ? 0.5 : 0.3
  return prefix !== undefined || groups.length >= 3 || groups.some((group) => group.length >= 3) ? 0.9 : 0.4
}

const ipv4Confidence = (value: string): number => {
  const [address = "", prefix] = value.split("/")
  const [first, second, third, last] = address.split(".").map(Number) as [number, number, number, number]
  if (first === 255) return 0.5
  if (first === 10 || first === 127 || (first === 192 && second === 168) || (first === 169 && second === 254))
    return 0.9
  if (first === 172 && second >= 16 && second <= 31) return 0.9
  if (prefix !== undefined) return 0.9
  // Versions and numbers of sections count up from small numbers.
  const large = [first, second, third, last].filter((part) => part > 31).length
  if (large >= 2) return 0.85
  if (/^(?:8\.8\.8\.8|8\.8\.4\.4|1\.1\.1\.1|1\.0\.0\.1|9\.9\.9\.9)$/.test(address)) return 0.75
  return large === 1 && (first > 31 || last > 31) ? 0.7 : 0.5
}

/**
 * Addresses of version 4 (also with the length of a network) and of version 6 in all its forms (shortened, with version
 * 4 inside, with a zone, with the length of a network). Four small numbers with dots are found where the words around
 * them speak of addresses.
 *
 * @since 0.1.0
 * @category entities
 */
export const ipAddress: PiiEntity.PiiEntity = {
  type: "IP_ADDRESS",
  category: "personal",
  maxLength: 68,
  around: 8,
  contextBefore: 32,
  contextAfter: 12,
  needs: undefined,
  context: [
    "ip",
    "ips",
    "*ip",
    "ipv4",
    "ipv6",
    "ip*",
    "host*",
    "server*",
    "address*",
    "addr*",
    "adresse*",
    "dirección",
    "indirizzo",
    "client",
    "gateway",
    "subnet",
    "dns",
    "resolver",
    "nameserver",
    "ping",
    "ssh",
    "curl",
    "http",
    "https",
    "proxy",
    "router",
    "peer",
    "from",
    "remote*",
    "connect*",
    "listen*",
    "bind",
    "inet",
    "inet6",
    "cidr",
    "firewall",
    "адрес*",
    "地址"
  ],
  against: [
    "version*",
    "ver",
    "v",
    "release*",
    "build",
    "firmware",
    "section",
    "chapter",
    "clause",
    "paragraph",
    "driver",
    "upgrade*",
    "update*",
    "downgrade*",
    "kapitel",
    "abschnitt",
    "figure",
    "table",
    "oid",
    "assemblyversion*",
    "fileversion*",
    "netmask",
    "chrome",
    "patch",
    "rev",
    "sdk",
    "版本",
    "версия",
    "версии"
  ],
  find: (text) => {
    const candidates: Array<PiiEntity.Candidate> = []
    for (const match of ipv4(text)) {
      const before = text.slice(Math.max(0, match.index - 2), match.index)
      // `Chrome/1.2.3.4`, `pkg@1.2.3.4`; not `http://1.2.3.4`.
      const own = ipv4Confidence(match[0])
      const confidence = /[A-Za-z0-9]\/$/.test(before) || (own < 0.8 && before.endsWith("@")) ? 0.3 : own
      candidates.push({
        start: match.index,
        end: match.index + match[0].length,
        confidence,
        inContext: confidence < 0.5 ? confidence : 0.9,
        outOfContext: confidence >= 0.9 && !match[0].startsWith("10.") ? 0.6 : 0.4,
        validated: confidence >= 0.9
      })
    }
    for (const match of ipv6(text)) {
      const confidence = ipv6Confidence(match[0])
      if (confidence === 0) continue
      candidates.push({
        start: match.index,
        end: match.index + match[0].length,
        confidence,
        outOfContext: confidence,
        validated: confidence >= 0.9
      })
    }
    return candidates
  }
}

const isVariedMac = (value: string): boolean => new Set(value.toLowerCase().replace(/[^0-9a-f]/g, "")).size > 1

/**
 * Hardware addresses: pairs with colons or hyphens, fours with dots, and twelve digits in one piece beside a word that
 * announces them.
 *
 * @since 0.1.0
 * @category entities
 */
export const macAddress: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "MAC_ADDRESS",
  maxLength: 17,
  context: [
    "mac",
    "macs",
    "*mac",
    "mac addr*",
    "macaddr*",
    "hwaddr",
    "ether",
    "ethernet",
    "bssid",
    "wlan*",
    "wi-fi",
    "wifi",
    "bluetooth",
    "nic",
    "lladdr",
    "arp",
    "physical address",
    "hardware address",
    "physikalische*",
    "dhcp*"
  ],
  against: ["sha", "sha1", "sha256", "md5", "fingerprint", "hash", "digest", "checksum", "guid", "uuid", "thumbprint"],
  patterns: [
    {
      pattern: /(?<![A-Za-z0-9_:.-])[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![A-Za-z0-9_])(?![:.-][A-Za-z0-9])/,
      confidence: 0.9,
      inContext: 0.98,
      validate: isVariedMac
    },
    {
      pattern:
        /(?<![A-Za-z0-9_:.-])(?=[0-9-]{0,16}[A-Fa-f])[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}(?![A-Za-z0-9_])(?![:.-][A-Za-z0-9])/,
      confidence: 0.85,
      inContext: 0.98,
      validate: isVariedMac
    },
    {
      pattern: /(?<![A-Za-z0-9_:.-])\d{2}(?:-\d{2}){5}(?![A-Za-z0-9_])(?![:.-][A-Za-z0-9])/,
      confidence: 0.4,
      inContext: 0.9,
      validate: isVariedMac
    },
    {
      pattern:
        /(?<![A-Za-z0-9_:.-])(?=[0-9.]{0,13}[A-Fa-f])(?=[A-Fa-f.]{0,13}[0-9])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![A-Za-z0-9_])(?![:.-][A-Za-z0-9])/,
      confidence: 0.75,
      inContext: 0.95,
      validate: isVariedMac
    },
    {
      pattern:
        /(?<![A-Za-z0-9_:.-])(?=[0-9]{0,11}[A-Fa-f])(?=[A-Fa-f]{0,11}[0-9])[0-9A-Fa-f]{12}(?![A-Za-z0-9_])(?![:.-][A-Za-z0-9])/,
      confidence: 0.2,
      inContext: 0.8,
      validate: isVariedMac,
      validated: false
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [email, ssn, ipAddress, macAddress]
