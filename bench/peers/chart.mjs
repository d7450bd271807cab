/** Draws the rows as bars, as a multiple of the library's own figure, on a logarithmic scale. */
const width = 960
const left = 260
const barHeight = 16
const maxFactor = 100

const escape = (text) => text.replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char])

const format = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2))

/** A factor between 1/100 and 100 as a place on the axis. */
const place = (factor) => {
  const bounded = Math.min(maxFactor, Math.max(1 / maxFactor, factor))
  return left + ((Math.log10(bounded) + 2) / 4) * (width - left - 120)
}

export const draw = (measured) => {
  const groups = Map.groupBy
    ? Map.groupBy(measured, ({ row }) => row)
    : measured.reduce((all, one) => all.set(one.row, [...(all.get(one.row) ?? []), one]), new Map())
  const parts = []
  let y = 40
  for (const [row, subjects] of groups) {
    const own = subjects.find(({ subject }) => subject === "effect-lexigram")
    if (own === undefined || subjects.length < 2) continue
    parts.push(`<text x="8" y="${y + 12}" font-weight="600">${escape(row)} (${escape(own.unit)})</text>`)
    y += 22
    for (const { median, subject } of [...subjects].sort((a, b) => a.median - b.median)) {
      const from = place(1)
      const to = place(median / own.median)
      const color = subject === "effect-lexigram" ? "#2563eb" : "#94a3b8"
      parts.push(
        `<text x="24" y="${y + 12}">${escape(subject)}</text>`,
        `<rect x="${Math.min(from, to)}" y="${y}" width="${Math.max(2, Math.abs(to - from))}" height="${barHeight - 3}" fill="${color}"/>`,
        `<text x="${width - 110}" y="${y + 12}">${format(median)} · ×${format(median / own.median)}</text>`
      )
      y += barHeight
    }
    y += 10
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 8}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="8" y="20" font-size="14" font-weight="700">Less is better. Bars: multiple of effect-lexigram, logarithmic</text>`,
    `<line x1="${place(1)}" x2="${place(1)}" y1="30" y2="${y}" stroke="#2563eb"/>`,
    ...parts,
    "</svg>",
    ""
  ].join("\n")
}
