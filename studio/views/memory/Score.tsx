import type { Explanation } from "../../../src/memory/entry/MemoryEntry.js"
import { Stacked, Swatch } from "../../lib/Stacked.js"

const round = (value: number): string => value.toFixed(3)

const names = ["relevance", "recency", "importance"] as const

/** How a score was computed: its parts with their weights, as a bar and as numbers. */
export const Score = ({
  explanation,
  relevance,
  score
}: {
  readonly score: number
  readonly relevance: number
  readonly explanation: Explanation | undefined
}) => {
  if (explanation === undefined) {
    return (
      <p>
        Score {round(score)}, relevance {round(relevance)}
      </p>
    )
  }
  const parts = names.map((name) => ({ name, value: explanation[name] * explanation.weights[name] }))
  const ranks = Object.entries(explanation.ranks)
  return (
    <div className="score-parts">
      <p className="score-value">
        Score <strong>{round(score)}</strong>
      </p>
      <Stacked parts={parts} whole={1} />
      <div className="table" role="region" aria-label="How the score was computed" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" className="number">
                Value
              </th>
              <th scope="col" className="number">
                Weight
              </th>
              <th scope="col" className="number">
                Adds
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map(({ name, value }, at) => (
              <tr key={name}>
                <th scope="row">
                  <Swatch at={at} /> {name}
                </th>
                <td className="number">{round(explanation[name])}</td>
                <td className="number">{round(explanation.weights[name])}</td>
                <td className="number">{round(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="hint">
        Found by{" "}
        {[
          ...(explanation.lexical === undefined ? [] : [`words ${round(explanation.lexical)}`]),
          ...(explanation.vector === undefined ? [] : [`vectors ${round(explanation.vector)}`]),
          ...ranks.map(([index, rank]) => `rank ${rank} in ${index}`),
          `fused ranks ${round(explanation.fused)}`
        ].join(", ")}
        .
      </p>
    </div>
  )
}
