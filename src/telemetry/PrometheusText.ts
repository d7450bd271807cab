/**
 * Renders Effect's metrics in the text formats of Prometheus (0.0.4) and OpenMetrics (1.0.0).
 *
 * @private
 * @since 0.1.0
 */
import type * as MetricKey from "effect/MetricKey"
import * as MetricKeyType from "effect/MetricKeyType"
import type * as MetricLabel from "effect/MetricLabel"
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

/** Format of a page. */
export type Format = "text" | "openmetrics"

type Kind = "counter" | "gauge" | "histogram" | "summary"

interface Series {
  /** Value of a counter or gauge. */
  readonly value: number | bigint
  readonly count: number
  readonly sum: number
  /** Cumulative counts by upper bound, or values by quantile; ascending, without `+Inf`. */
  readonly points: ReadonlyArray<readonly [number, number]>
}

interface Family {
  readonly base: string
  readonly kind: Kind
  readonly unit: string
  help: string
  /** Keyed by the rendered labels. */
  readonly series: Map<string, Series>
}

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const units: ReadonlyMap<string, string> = new Map([
  ["1", ""],
  ["%", "percent"],
  ["By", "bytes"],
  ["d", "days"],
  ["h", "hours"],
  ["min", "minutes"],
  ["s", "seconds"],
  ["ms", "milliseconds"],
  ["us", "microseconds"],
  ["ns", "nanoseconds"]
])
const written = new Set(units.values())

/** The unit declared by a label, `""` for a unit without a name, `undefined` for an ordinary label. */
export const unitOf = ({ key, value }: Pick<MetricLabel.MetricLabel, "key" | "value">): string | undefined => {
  if (key !== "unit" && key !== "time_unit") return undefined
  if (value.startsWith("{")) return ""
  return units.get(value) ?? (written.has(value) ? value : undefined)
}

const sanitize = (name: string, invalid: RegExp): string => {
  const clean = name.replace(invalid, "_").replace(/__+/g, "_")
  return clean === "" || /^[0-9]/.test(clean) ? `_${clean}` : clean
}

const metricName = (name: string) => sanitize(name, /[^a-zA-Z0-9_:]/g)
const labelName = (name: string) => sanitize(name, /[^a-zA-Z0-9_]/g)

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")

const escapeValue = (text: string): string =>
  wellFormed(text).replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")

const escapeHelp = (text: string, format: Format): string =>
  format === "openmetrics" ? escapeValue(text) : wellFormed(text).replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Names that differ only in characters the format cannot express share their values, as in OpenTelemetry. */
const renderLabels = (labels: Labels, reserved: string | undefined): string => {
  const values = new Map<string, string>()
  for (const [given, value] of labels) {
    const clean = labelName(given)
    const name = clean === reserved ? `exported_${clean}` : clean
    const before = values.get(name)
    values.set(name, before === undefined ? value : `${before};${value}`)
  }
  return Array.from(values)
    .sort(([a], [b]) => byCodeUnit(a, b))
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(",")
}

const single = (value: number | bigint): Series => ({ value, count: 0, sum: 0, points: [] })

/** Kind and series of a metric: several series for a frequency. */
const read = (
  { keyType }: MetricKey.MetricKey.Untyped,
  state: MetricState.MetricState.Untyped
): { readonly kind: Kind; readonly series: ReadonlyArray<readonly [extra: Labels, Series]> } | undefined => {
  if (MetricState.isCounterState(state)) {
    // A value that may decrease is not a Prometheus counter: its rates would treat each decrease as a restart.
    const rises = MetricKeyType.isCounterKey(keyType) && keyType.incremental
    return { kind: rises ? "counter" : "gauge", series: [[[], single(state.count)]] }
  }
  if (MetricState.isGaugeState(state)) return { kind: "gauge", series: [[[], single(state.value)]] }
  if (MetricState.isFrequencyState(state)) {
    return {
      kind: "counter",
      series: Array.from(state.occurrences, ([word, count]) => [[["key", word]], single(count)])
    }
  }
  if (MetricState.isHistogramState(state)) {
    const points = state.buckets.filter(([bound]) => bound < Number.POSITIVE_INFINITY)
    return { kind: "histogram", series: [[[], { value: 0, count: state.count, sum: state.sum, points }]] }
  }
  if (MetricState.isSummaryState(state)) {
    const points = state.quantiles.map(
      ([quantile, value]) => [quantile, Option.getOrElse(value, () => Number.NaN)] as const
    )
    return { kind: "summary", series: [[[], { value: 0, count: state.count, sum: state.sum, points }]] }
  }
  return undefined
}

const plus = (a: number | bigint, b: number | bigint): number | bigint =>
  typeof a === "bigint" && typeof b === "bigint" ? a + b : Number(a) + Number(b)

/** Merges metrics with one name and one set of labels that Effect keeps apart, for example by description. */
const merge = (kind: Kind, a: Series, b: Series): Series => {
  switch (kind) {
    case "gauge":
      return b
    case "counter":
      return single(plus(a.value, b.value))
    case "summary":
      return { ...b, count: a.count + b.count, sum: a.sum + b.sum }
    case "histogram":
      return {
        value: 0,
        count: a.count + b.count,
        sum: a.sum + b.sum,
        points: a.points.map(([bound, count], i) => [bound, count + (b.points[i]?.[1] ?? 0)])
      }
  }
}

const labelOf: { readonly [K in Kind]: string | undefined } = {
  counter: undefined,
  gauge: undefined,
  histogram: "le",
  summary: "quantile"
}

const collect = (pairs: Iterable<MetricPair.MetricPair.Untyped>): ReadonlyArray<Family> => {
  const families = new Map<string, Family>()
  for (const { metricKey, metricState } of pairs) {
    const found = read(metricKey, metricState)
    if (found === undefined) continue
    let unit = ""
    const labels: Array<readonly [string, string]> = []
    for (const tag of metricKey.tags) {
      const declared = unitOf(tag)
      if (declared === undefined) labels.push([tag.key, tag.value])
      else unit = declared
    }
    const { kind, series } = found
    const bounds = kind === "histogram" ? series.map(([, { points }]) => points.map(([bound]) => bound)) : []
    const identity = JSON.stringify([metricKey.name, kind, unit, bounds])
    let family = families.get(identity)
    if (family === undefined) {
      const clean = metricName(metricKey.name)
      const stem = kind === "counter" ? clean.replace(/_total$/, "") || "_" : clean
      const base = unit === "" || stem.endsWith(`_${unit}`) ? stem : `${stem}_${unit}`
      family = { base, kind, unit, help: "", series: new Map() }
      families.set(identity, family)
    }
    if (family.help === "") family.help = Option.getOrElse(metricKey.description, () => "")
    for (const [extra, one] of series) {
      const key = renderLabels([...labels, ...extra], labelOf[kind])
      const before = family.series.get(key)
      family.series.set(key, before === undefined ? one : merge(kind, before, one))
    }
  }
  return Array.from(families)
    .sort(([a, one], [b, other]) => byCodeUnit(one.base, other.base) || byCodeUnit(a, b))
    .map(([, family]) => family)
}

const suffixes: { readonly [K in Kind]: ReadonlyArray<string> } = {
  counter: ["", "_total", "_created"],
  gauge: [""],
  histogram: ["", "_bucket", "_sum", "_count", "_created"],
  summary: ["", "_sum", "_count", "_created"]
}

/** Name of a family, chosen so that its samples do not share a name with another family. */
const nameIn = (taken: Set<string>, { base, kind }: Family): string => {
  let name = base
  for (let n = 1; suffixes[kind].some((suffix) => taken.has(name + suffix)); n++) {
    name = n === 1 ? `${base}_${kind}` : `${base}_${kind}_${n}`
  }
  for (const suffix of suffixes[kind]) taken.add(name + suffix)
  return name
}

const numberText = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

/** Bounds and quantiles are floats in OpenMetrics: `1.0`. */
const boundText = (value: number, format: Format): string => {
  const text = numberText(value)
  return format === "openmetrics" && /^-?[0-9]+$/.test(text) ? `${text}.0` : text
}

const braces = (labels: string, more = ""): string => {
  const all = labels === "" ? more : more === "" ? labels : `${labels},${more}`
  return all === "" ? "" : `{${all}}`
}

const lines = (name: string, family: Family, format: Format): ReadonlyArray<string> => {
  const { kind } = family
  const declared = kind === "counter" && format === "text" ? `${name}_total` : name
  const result = [`# TYPE ${declared} ${kind}`]
  if (format === "openmetrics" && family.unit !== "" && name.endsWith(`_${family.unit}`)) {
    result.push(`# UNIT ${name} ${family.unit}`)
  }
  if (family.help !== "") result.push(`# HELP ${declared} ${escapeHelp(family.help, format)}`)
  const sample = (suffix: string, labels: string, value: number | bigint) =>
    result.push(`${name}${suffix}${labels} ${numberText(value)}`)
  const sorted = Array.from(family.series).sort(([a], [b]) => byCodeUnit(a, b))
  for (const [labels, { count, points, sum, value }] of sorted) {
    switch (kind) {
      case "counter":
        sample("_total", braces(labels), value)
        break
      case "gauge":
        sample("", braces(labels), value)
        break
      case "summary":
        for (const [quantile, at] of points) {
          sample("", braces(labels, `quantile="${boundText(quantile, format)}"`), at)
        }
        break
      case "histogram":
        for (const [bound, below] of points) {
          sample("_bucket", braces(labels, `le="${boundText(bound, format)}"`), below)
        }
        sample("_bucket", braces(labels, `le="+Inf"`), count)
        break
    }
    if (kind === "histogram" || kind === "summary") {
      sample("_sum", braces(labels), sum)
      sample("_count", braces(labels), count)
    }
  }
  return result
}

/**
 * Renders a page of all metrics in a stable order of families and series.
 */
export const format = (pairs: Iterable<MetricPair.MetricPair.Untyped>, format: Format): string => {
  const taken = new Set<string>()
  const result: Array<string> = []
  for (const family of collect(pairs)) {
    if (family.series.size > 0) result.push(...lines(nameIn(taken, family), family, format))
  }
  if (format === "openmetrics") result.push("# EOF")
  return result.length === 0 ? "" : `${result.join("\n")}\n`
}
