/**
 * Finds the recorded exchange that answers a request, and says what differs where there is none.
 *
 * @private
 * @since 0.1.0
 */
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import { isPlainObject } from "../../internal/text/PlainObject.js"
import type { Body, Exchange } from "./CassetteFile.js"

/** How requests are compared. */
export interface Rules {
  readonly match: "strict" | "lenient" | "order"
  readonly ignore: ReadonlyArray<string>
  readonly volatile: ReadonlyArray<RegExp>
}

type Request = Exchange["request"]

/** A place where two requests differ. */
interface Difference {
  readonly path: string
  readonly recorded: unknown
  readonly sent: unknown
}

const ABSENT = Symbol("absent")

/** Parts of texts that no two runs have in common. */
const rules: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  // With a digit: `run_analysis` is the name of a tool.
  [/\b(?:call|chatcmpl|fc|msg|req|resp|rs|run|srvtoolu|thread|toolu)[_-](?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{8,}\b/g, "<id>"]
]

const settled = (text: string, volatile: ReadonlyArray<RegExp>): string => {
  let result = text
  for (const pattern of volatile) result = result.replaceAll(pattern, "<volatile>")
  for (const [pattern, by] of rules) result = result.replace(pattern, by)
  return result
}

/** The places that do not count: names of fields, `*` for any, from the begin of a body. */
const isIgnored = (path: ReadonlyArray<string>, ignore: ReadonlyArray<ReadonlyArray<string>>): boolean =>
  ignore.some((one) => one.length === path.length && one.every((name, at) => name === "*" || name === path[at]))

const printed = (path: ReadonlyArray<string>): string =>
  path.reduce((text, name) => (/^\d+$/.test(name) ? `${text}[${name}]` : text === "" ? name : `${text}.${name}`), "")

/** Collects differences. */
class Comparison {
  readonly found: Array<Difference> = []
  private readonly ignore: ReadonlyArray<ReadonlyArray<string>>

  constructor(private readonly rules: Rules) {
    this.ignore = rules.ignore.map((path) => path.replace(/\[(\w+|\*)\]/g, ".$1").split("."))
  }

  compare(recorded: unknown, sent: unknown, path: ReadonlyArray<string>): void {
    if (isIgnored(path, this.ignore)) return
    if (Array.isArray(recorded) && Array.isArray(sent)) {
      for (let at = 0; at < Math.max(recorded.length, sent.length); at++) {
        this.compare(
          at < recorded.length ? recorded[at] : ABSENT,
          at < sent.length ? sent[at] : ABSENT,
          path.concat(String(at))
        )
      }
    } else if (isPlainObject(recorded) && isPlainObject(sent)) {
      for (const name of new Set([...Object.keys(recorded), ...Object.keys(sent)])) {
        const [before, now] = [recorded, sent].map((one) =>
          Object.hasOwn(one, name) ? (one as Record<string, unknown>)[name] : ABSENT
        )
        if (this.rules.match === "lenient" && (before === ABSENT || now === ABSENT)) continue
        this.compare(before, now, path.concat(name))
      }
    } else if (this.textOf(recorded) !== this.textOf(sent)) {
      this.found.push({ path: printed(path), recorded, sent })
    }
  }

  private textOf(value: unknown): string {
    if (typeof value === "string") return JSON.stringify(settled(value, this.rules.volatile))
    return value === ABSENT ? "" : CanonicalJson.stringify(value)
  }
}

const valueOf = (body: Body | undefined): unknown => {
  if (body === undefined) return ABSENT
  if ("json" in body) return body.json
  return "text" in body ? body.text : "form" in body ? Object.fromEntries(body.form) : body.base64
}

/** A recorded address may be a path alone. */
const partsOf = (url: string): { readonly origin: string; readonly path: string; readonly query: unknown } => {
  const { origin, pathname, searchParams } = new URL(url, "relative:///")
  return { origin: url.startsWith("/") ? "" : origin, path: pathname, query: Object.fromEntries(searchParams) }
}

const differences = (recorded: Request, sent: Request, rules: Rules): ReadonlyArray<Difference> => {
  const comparison = new Comparison(rules)
  const [before, now] = [partsOf(recorded.url), partsOf(sent.url)]
  comparison.compare(recorded.method.toUpperCase(), sent.method.toUpperCase(), ["(method)"])
  comparison.compare(before.path, now.path, ["(path)"])
  if (rules.match === "strict" && before.origin !== "") comparison.compare(before.origin, now.origin, ["(origin)"])
  if (rules.match !== "order") {
    comparison.compare(before.query, now.query, ["(query)"])
    comparison.compare(valueOf(recorded.body), valueOf(sent.body), [])
  }
  return comparison.found
}

const MOST = 20

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text
}

const line = ({ path, recorded, sent }: Difference): string => {
  const place = path === "" ? "(body)" : path
  if (recorded === ABSENT) return `  ${place}: only sent: ${shown(sent)}`
  return sent === ABSENT
    ? `  ${place}: only recorded: ${shown(recorded)}`
    : `  ${place}:\n    recorded ${shown(recorded)}\n    sent     ${shown(sent)}`
}

/** One at another address is further away than any at the same. */
const distance = (found: ReadonlyArray<Difference>): number =>
  found.length + (found.some(({ path }) => path === "(path)") ? 1_000_000 : 0)

/**
 * The exchange that answers a request, by its place among all, or why there is none in words for a person. Those that
 * are `used` answer no more.
 *
 * @category destructors
 */
export const find = (
  exchanges: ReadonlyArray<Exchange>,
  used: ReadonlySet<number>,
  sent: Request,
  rules: Rules
): number | string => {
  const free = exchanges.flatMap((_, at) => (used.has(at) ? [] : [at]))
  let closest: { readonly at: number; readonly found: ReadonlyArray<Difference> } | undefined
  for (const at of rules.match === "order" ? free.slice(0, 1) : free) {
    const found = differences(exchanges[at]!.request, sent, rules)
    if (found.length === 0) return at
    if (closest === undefined || distance(found) < distance(closest.found)) closest = { at, found }
  }
  if (closest === undefined) {
    return exchanges.length === 0 ? "Nothing is recorded." : `Each of its ${exchanges.length} exchanges has answered.`
  }
  const { at, found } = closest
  const more = found.length > MOST ? [`  and ${found.length - MOST} more`] : []
  return [
    `${rules.match === "order" ? "Next" : "The closest"} is exchange ${at + 1} of ${exchanges.length}, which differs:`,
    ...found.slice(0, MOST).map(line),
    ...more
  ].join("\n")
}
