/**
 * Recognizes email addresses and the labels that can end a domain name.
 *
 * @since 0.1.0
 */
import type * as PiiEntity from "./PiiEntity.js"

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

// Includes the names that RFC 2606 and 6761 reserve for examples and home networks: people write them in real
// addresses.
const reserved = "test example invalid local localhost internal lan home corp intranet"

const known = new Set([...generic.split(" "), ...reserved.split(" ")])

// Two letters are a country code, except common file extensions that are no country's.
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
 * True for a label that can end a domain name: a country code, a widely used top-level domain, or a name reserved for
 * examples and home networks.
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
  // "…@example.com.Then": a sentence continues without a space.
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
 * Email addresses (RFC 5321 lengths, quoted and international ones). An address without a known top-level domain is
 * found only at `high`. User names in URLs, social network handles and `scp` paths do not count.
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
