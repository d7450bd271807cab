/** Writes the tables of `docs/performance.md` from the results. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { names } from "./names.mjs"
import { root } from "./places.mjs"

const shown = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))))

const line = (cells) => `| ${cells.join(" | ")} |`

const tableOf = (heads, rows) => [
  line(heads),
  line(heads.map((_, at) => (at === 0 ? "---" : "---:"))),
  ...rows.map(line)
]

const unitOf = (row, unit) => (row.endsWith(unit) ? row : `${row}, ${unit}`)

const sectionOf = (folder, file) => {
  const { machine, rows } = JSON.parse(Fs.readFileSync(Path.join(folder, file), "utf8"))
  const isShared = (row) => rows.some((one) => one.row === row && one.subject !== "effect-lexigram")
  const all = [...new Set(rows.map(({ row }) => row))]
  const find = (row, subject) => rows.find((one) => one.row === row && one.subject === subject)
  const compared = all.filter(isShared).map((row) => [
    unitOf(row, rows.find((one) => one.row === row).unit),
    ...Object.keys(names).map((subject) => {
      const found = find(row, subject)
      return found === undefined ? "–" : shown(found.median)
    })
  ])
  const own = all
    .filter((row) => !isShared(row))
    .map((row) => {
      const { max, median, min, unit } = find(row, "effect-lexigram")
      return [unitOf(row, unit), shown(median), min === max ? "" : `${shown(min)} to ${shown(max)}`]
    })
  const runs = Math.max(...rows.map((one) => one.runs))
  const elsewhere = rows.filter(({ cpu = machine.cpu }) => cpu !== machine.cpu)
  const others = [...new Set(elsewhere.map(({ cpu }) => cpu))].map(
    (cpu) =>
      ` On another machine (${cpu}): ${[...new Set(elsewhere.filter((one) => one.cpu === cpu).map(({ row }) => `"${row}"`))].join(", ")}.`
  )
  return [
    `### Node.js ${machine.node.slice(1)}`,
    "",
    `${machine.cpu}, ${machine.cores} cores, ${machine.memory}, ${machine.system}. Medians of up to ${runs} processes a figure.${others.join("")}`,
    "",
    `![The rows as multiples of effect-lexigram](../bench/results/${file.replace(/json$/, "svg")})`,
    "",
    ...tableOf(["", ...Object.values(names)], compared),
    "",
    ...(own.length === 0 ? [] : [...tableOf(["effect-lexigram alone", "median", "from, to"], own), ""])
  ]
}

const begin = "<!-- results -->"
const end = "<!-- /results -->"

/** Replaces what is between the marks of the page. */
export const writePage = (folder) => {
  const page = Path.join(root, "docs", "performance.md")
  const text = Fs.readFileSync(page, "utf8")
  const files = Fs.readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
  const results = [begin, "", ...files.flatMap((file) => sectionOf(folder, file)), end].join("\n")
  Fs.writeFileSync(page, text.slice(0, text.indexOf(begin)) + results + text.slice(text.indexOf(end) + end.length))
}
