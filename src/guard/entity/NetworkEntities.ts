/**
 * Recognizes IP and hardware addresses.
 *
 * @since 0.1.0
 */
import * as PiiEntity from "./PiiEntity.js"

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

const colon = 58
const isDigitCode = (code: number): boolean => code >= 48 && code <= 57

/** Groups of an IPv6 address: their number, the longest, and whether `::` abbreviates some. */
interface Groups {
  readonly count: number
  readonly longest: number
  readonly isCompressed: boolean
  readonly allOfTwo: boolean
  readonly hasDigit: boolean
}

/** Reads the groups of `address` in one pass. Returns `undefined` for an empty group or a second `::`. */
const readGroups = (address: string): Groups | undefined => {
  let count = 0
  let longest = 0
  let isCompressed = false
  let allOfTwo = true
  let hasDigit = false
  let at = 0
  while (at < address.length) {
    const start = at
    for (; at < address.length && address.charCodeAt(at) !== colon; at++)
      hasDigit ||= isDigitCode(address.charCodeAt(at))
    const length = at - start
    if (length > 0) {
      count++
      longest = Math.max(longest, length)
      allOfTwo &&= length === 2
    } else if (start > 0) return undefined
    if (at === address.length) break
    if (address.charCodeAt(at + 1) === colon) {
      if (isCompressed) return undefined
      isCompressed = true
      at += 2
      if (address.charCodeAt(at) === colon) return undefined
    } else if (length === 0 || ++at === address.length) return undefined
  }
  return { count, longest, isCompressed, allOfTwo, hasDigit }
}

/** Zero means that `value` is not an address. */
const ipv6Confidence = (value: string): number => {
  if (value === "::1") return 0.75
  const slash = value.indexOf("/")
  if (slash >= 0 && Number(value.slice(slash + 1)) > 128) return 0
  const scoped = slash < 0 ? value : value.slice(0, slash)
  const zone = scoped.indexOf("%")
  let address = zone < 0 ? scoped : scoped.slice(0, zone)
  const embedded = address.includes(".") ? /:(\d+\.[\d.]+)$/.exec(address)?.[1] : undefined
  if (embedded !== undefined) {
    if (!isIpv4.test(embedded)) return 0
    address = `${address.slice(0, -embedded.length)}0:0`
  }
  const groups = readGroups(address)
  if (groups === undefined || (groups.isCompressed ? groups.count > 7 : groups.count !== 8)) return 0
  if (embedded !== undefined) return 0.95
  if (!groups.isCompressed) return groups.allOfTwo ? 0.4 : 0.95
  if (address === "::1") return 0.75
  // `a[1::2]`, `dead::beef`: slices and names in code.
  if (groups.count === 0) return 0
  if (!groups.hasDigit) return /(?:^|:)f[cd]/i.test(address) ? 0.5 : 0.3
  return slash >= 0 || groups.count >= 3 || groups.longest >= 3 ? 0.9 : 0.4
}

const ipv4Confidence = (value: string): number => {
  const [address = "", prefix] = value.split("/")
  const [first, second, third, last] = address.split(".").map(Number) as [number, number, number, number]
  if (first === 255) return 0.5
  if (first === 10 || first === 127 || (first === 192 && second === 168) || (first === 169 && second === 254))
    return 0.9
  if (first === 172 && second >= 16 && second <= 31) return 0.9
  if (prefix !== undefined) return 0.9
  // Version and section numbers are made of small numbers.
  const large = [first, second, third, last].filter((part) => part > 31).length
  if (large >= 2) return 0.85
  if (/^(?:8\.8\.8\.8|8\.8\.4\.4|1\.1\.1\.1|1\.0\.0\.1|9\.9\.9\.9)$/.test(address)) return 0.75
  return large === 1 && (first > 31 || last > 31) ? 0.7 : 0.5
}

/**
 * IPv4 addresses (also in CIDR notation) and IPv6 addresses in all forms (shortened, with embedded IPv4, with a zone,
 * in CIDR notation). Four small numbers with dots count only where nearby words announce an address.
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
 * Hardware addresses: pairs with colons or hyphens, groups of four with dots, or twelve digits beside a word that
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
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [ipAddress, macAddress]
