/** A strict parser of Prometheus text format 0.0.4 and OpenMetrics 1.0.0: anything unknown is an error. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string | undefined
  readonly unit: string | undefined
  readonly samples: ReadonlyArray<Sample>
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*/
const number = /^(?:[+-]?Inf|NaN|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)$/

const toNumber = (text: string): number => {
  if (!number.test(text)) throw new Error(`no number: ${text}`)
  return text.endsWith("Inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text)
}

const unescape = (text: string, quotes: boolean): string =>
  text.replace(/\\(.?)/gs, (whole, escaped) => {
    if (escaped === "\\") return "\\"
    if (escaped === "n") return "\n"
    if (escaped === '"' && quotes) return '"'
    throw new Error(`unknown escape: ${whole}`)
  })

const sampleOf = (line: string): Sample => {
  const name = metricName.exec(line)?.[0]
  if (name === undefined) throw new Error(`no name: ${line}`)
  let rest = line.slice(name.length)
  const labels: Record<string, string> = Object.create(null)
  if (rest.startsWith("{")) {
    rest = rest.slice(1)
    for (let first = true; !rest.startsWith("}"); first = false) {
      if (!first) {
        if (!rest.startsWith(",")) throw new Error(`no comma: ${line}`)
        rest = rest.slice(1)
      }
      const label = labelName.exec(rest)?.[0]
      if (label === undefined || label in labels) throw new Error(`no label, or one twice: ${line}`)
      const value = /^="((?:[^"\\]|\\.)*)"/s.exec(rest.slice(label.length))
      if (value === null) throw new Error(`no value of ${label}: ${line}`)
      labels[label] = unescape(value[1]!, true)
      rest = rest.slice(label.length + value[0].length)
    }
    if (Object.keys(labels).length === 0) throw new Error(`empty braces: ${line}`)
    rest = rest.slice(1)
  }
  if (!rest.startsWith(" ")) throw new Error(`no space before the value: ${line}`)
  return { name, labels: { ...labels }, value: toNumber(rest.slice(1)) }
}

const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  counter: ["_total"],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"]
}

const check = (condition: boolean, message: string): void => {
  if (!condition) throw new Error(message)
}

const rest = ({ labels }: Sample, without: string): string => {
  const { [without]: _, ...others } = labels
  return JSON.stringify(Object.entries(others).sort())
}

const checkPoints = (family: Family, label: "le" | "quantile"): void => {
  const points = family.samples.filter((sample) => label in sample.labels)
  const groups = new Map<string, Array<Sample>>()
  for (const point of points) groups.set(rest(point, label), [...(groups.get(rest(point, label)) ?? []), point])
  for (const [key, group] of groups) {
    const at = group.map((point) => toNumber(point.labels[label]!))
    check(
      at.every((bound, i) => i === 0 || bound > at[i - 1]!),
      `${family.name}: ${label} does not rise`
    )
    const count = family.samples.find((sample) => sample.name.endsWith("_count") && rest(sample, label) === key)
    const sum = family.samples.find((sample) => sample.name.endsWith("_sum") && rest(sample, label) === key)
    check(count !== undefined && sum !== undefined, `${family.name}: no count or sum of ${key}`)
    if (label === "quantile") continue
    check(
      group.every(({ value }, i) => i === 0 || value >= group[i - 1]!.value),
      `${family.name}: not cumulative`
    )
    check(at.at(-1) === Infinity && group.at(-1)?.value === count?.value, `${family.name}: +Inf is not the count`)
  }
}

export const parse = (text: string, format: "text" | "openmetrics"): ReadonlyMap<string, Family> => {
  if (text === "") return new Map()
  check(text.endsWith("\n"), "no line feed at the end")
  const lines = text.slice(0, -1).split("\n")
  if (format === "openmetrics") check(lines.pop() === "# EOF", "no # EOF")
  const families = new Map<string, { -readonly [K in keyof Family]: Family[K] } & { samples: Array<Sample> }>()
  const seen = new Set<string>()
  let current: string | undefined
  for (const line of lines) {
    const comment = /^# (TYPE|HELP|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s.exec(line)
    if (comment !== null) {
      const [, kind, name, value] = comment as unknown as [string, string, string, string]
      if (kind === "TYPE") {
        check(!families.has(name), `${name} twice`)
        check(value in allowed, `unknown type ${value}`)
        families.set(name, { name, type: value, help: undefined, unit: undefined, samples: [] })
        current = name
        continue
      }
      const family = families.get(name)
      check(family !== undefined && current === name && family.samples.length === 0, `${kind} of ${name} out of place`)
      if (kind === "HELP") family!.help = unescape(value, format === "openmetrics")
      else {
        check(format === "openmetrics" && name.endsWith(`_${value}`), `unit of ${name}`)
        family!.unit = value
      }
      continue
    }
    check(!line.startsWith("#") && line !== "", `unknown line: ${JSON.stringify(line)}`)
    const sample = sampleOf(line)
    const family = families.get(current ?? "")
    if (family === undefined) throw new Error(`${sample.name} without a type`)
    const stem = family.type === "counter" && format === "text" ? family.name.replace(/_total$/, "") : family.name
    check(sample.name.startsWith(stem), `${sample.name} is not of ${stem}`)
    check(allowed[family.type]!.includes(sample.name.slice(stem.length)), `${sample.name} is no ${family.type}`)
    const bucket = sample.name.endsWith("_bucket") && family.type === "histogram"
    check(bucket === ("le" in sample.labels && family.type === "histogram"), `${sample.name} and le`)
    check(family.type !== "counter" || sample.value >= 0, `${sample.name} is negative`)
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()])
    check(!seen.has(key), `${key} twice`)
    seen.add(key)
    family.samples.push(sample)
  }
  const names = new Set<string>()
  for (const family of families.values()) {
    check(family.samples.length > 0, `${family.name} is empty`)
    if (family.type === "histogram") checkPoints(family, "le")
    if (family.type === "summary") checkPoints(family, "quantile")
    for (const name of new Set(family.samples.map((sample) => sample.name))) {
      check(!names.has(name), `samples of two families are called ${name}`)
      names.add(name)
    }
  }
  return families
}
