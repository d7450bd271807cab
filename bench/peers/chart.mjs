/** Draws the rows as bars, as a multiple of the library's own figure, on a logarithmic scale. */
import { names } from "./names.mjs"

const width = 960
const left = 190
const right = 150
const barHeight = 15
const most = 100
const least = 1 / 10

const escape = (text) => text.replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char])

const short = (value) =>
  value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(value >= 100 ? 3 : 2)))

/** A factor as a place on the axis, within its ends. */
const place = (factor) => {
  const bounded = Math.min(most, Math.max(least, factor))
  return left + ((Math.log10(bounded) - Math.log10(least)) / Math.log10(most / least)) * (width - left - right)
}

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 14px; font-weight: 700 }
  .row { font-weight: 600 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  .own { fill: #2f6feb }
  .peer { fill: #8c959f }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .axis, .peer { fill: #6e7681; stroke: #6e7681 } }
`

const bar = ({ median, subject }, own, y) => {
  const from = Math.min(place(1), place(median / own.median))
  const length = Math.max(2, Math.abs(place(median / own.median) - place(1)))
  const isOwn = subject === own.subject
  const factor = isOwn ? "" : ` (×${short(median / own.median)})`
  return [
    `<text x="20" y="${y + 11}">${escape(names[subject] ?? subject)}</text>`,
    `<rect class="${isOwn ? "own" : "peer"}" x="${from.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${barHeight - 3}"/>`,
    `<text x="${width - right + 8}" y="${y + 11}">${short(median)}${factor}</text>`
  ]
}

/** One chart of the rows that have both the library and a peer. */
export const draw = (measured, title) => {
  const parts = []
  let y = 44
  for (const row of new Set(measured.map((one) => one.row))) {
    const all = measured.filter((one) => one.row === row)
    const own = all.find(({ subject }) => subject === "effect-lexigram")
    // Of a rate, more is better.
    if (own === undefined || all.length < 2 || own.unit === "a second") continue
    parts.push(`<text class="row" x="8" y="${y + 11}">${escape(row)} (${escape(own.unit)})</text>`)
    y += 19
    for (const one of [...all].sort((a, b) => a.median - b.median)) {
      parts.push(...bar(one, own, y))
      y += barHeight
    }
    y += 12
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${style}</style>`,
    `<text class="title" x="8" y="20">${escape(title)}: less is better</text>`,
    `<text x="${place(1)}" y="34" text-anchor="middle">effect-lexigram = 1, scale logarithmic</text>`,
    `<line class="axis" x1="${place(1)}" x2="${place(1)}" y1="40" y2="${y - 8}"/>`,
    ...parts,
    "</svg>",
    ""
  ].join("\n")
}
