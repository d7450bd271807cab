import { useState } from "react"
import { formatCost, formatDuration, formatNumber } from "../lib/format.js"
import { linkTo, setParams, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Facts, Id, Json, Loaded, Panel, Time, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"

const scoreText = (score: number | undefined): string => (score === undefined ? "–" : score.toFixed(3))

const partText = (part: number | undefined): string => (part === undefined ? "–" : `${(part * 100).toFixed(1)} %`)

const signed = (value: number): string => `${value > 0 ? "+" : ""}${value.toFixed(3)}`

const Experiments = () => {
  const { studio } = useConnection()
  const [cursors, setCursors] = useState<ReadonlyArray<string>>([])
  const cursor = cursors.at(-1)
  const page = useQuery(`experiments ${cursor}`, () =>
    studio.evals.experiments({ urlParams: cursor === undefined ? {} : { cursor } })
  )
  return (
    <Panel title="Experiments">
      <Loaded query={page}>
        {({ experiments, next }) => (
          <>
            {experiments.length === 0 ? (
              <Empty>No experiment was run yet.</Empty>
            ) : (
              <div className="table">
                <table>
                  <thead>
                    <tr>
                      <th>Experiment</th>
                      <th>Began</th>
                      <th>Dataset</th>
                      <th className="number">Cases</th>
                      <th>Variants</th>
                      <th>Scorers</th>
                    </tr>
                  </thead>
                  <tbody>
                    {experiments.map(({ createdAt, dataset, id, name, repetitions, scorers, variants }) => (
                      <tr key={id}>
                        <td>
                          <a href={linkTo("evals", [id])}>{name}</a>
                          <div>
                            <Id id={id} />
                          </div>
                        </td>
                        <td>
                          <Time at={createdAt} />
                        </td>
                        <td>
                          {dataset.name} <code title={dataset.version}>{dataset.version.slice(0, 8)}</code>
                        </td>
                        <td className="number">
                          {formatNumber(dataset.cases)}
                          {repetitions === 1 ? "" : ` × ${repetitions}`}
                        </td>
                        <td>{variants.join(", ")}</td>
                        <td>{scorers.join(", ")}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            <div className="row">
              {cursors.length === 0 ? null : (
                <button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                  Newer
                </button>
              )}
              {next === undefined ? null : (
                <button type="button" onClick={() => setCursors([...cursors, next])}>
                  Older
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </Panel>
  )
}

/** How many cases have a mean score in each tenth. The numbers are its text. */
const Distribution = ({ bins, label }: { readonly bins: ReadonlyArray<number>; readonly label: string }) => {
  const most = Math.max(1, ...bins)
  const text = bins.map((cases, at) => `${at / 10} to ${(at + 1) / 10}: ${cases}`).join("; ")
  return (
    <svg className="bins" viewBox="0 0 100 32" role="img" aria-label={`${label}. Cases by score: ${text}`}>
      <title>{text}</title>
      {bins.map((cases, at) => {
        const height = (cases / most) * 30
        // biome-ignore lint/suspicious/noArrayIndexKey: the bins have no other name
        return <rect key={at} x={at * 10 + 0.5} y={31 - height} width={9} height={Math.max(height, 0.4)} />
      })}
    </svg>
  )
}

const Cases = ({ id, scorers }: { readonly id: string; readonly scorers: ReadonlyArray<string> }) => {
  const { studio } = useConnection()
  const [offset, setOffset] = useState(0)
  const [opened, setOpened] = useState<string>()
  const limit = 50
  const page = useQuery(`cases ${id} ${offset}`, () =>
    studio.evals.experimentCases({ path: { experimentId: id }, urlParams: { offset, limit } })
  )
  return (
    <Panel title="Case by case">
      <Loaded query={page}>
        {({ cases, total }) => (
          <>
            {cases.length === 0 ? (
              <Empty>No trial has ended.</Empty>
            ) : (
              <div className="table">
                <table>
                  <caption>
                    The lowest scores first: {offset + 1} to {offset + cases.length} of {total}
                  </caption>
                  <thead>
                    <tr>
                      <th>Case</th>
                      <th>Variant</th>
                      {scorers.map((scorer) => (
                        <th key={scorer} className="number">
                          {scorer}
                        </th>
                      ))}
                      <th className="number">Took</th>
                      <th className="number">Cost</th>
                      <th>Output</th>
                    </tr>
                  </thead>
                  <tbody>
                    {cases.flatMap(({ caseId, trials }) =>
                      trials.map(({ result, trial }, at) => {
                        const key = JSON.stringify([caseId, trial.variant, trial.repetition])
                        return (
                          <tr key={key}>
                            <td>{at === 0 ? caseId : ""}</td>
                            <td>
                              {trial.variant}
                              {trial.repetition === 1 ? "" : ` (${trial.repetition})`}
                            </td>
                            {scorers.map((scorer) => {
                              const score = result.scores.find((one) => one.scorer === scorer)
                              return (
                                <td key={scorer} className="number" title={score?.reason ?? score?.error?.message}>
                                  {scoreText(score?.value)}
                                </td>
                              )
                            })}
                            <td className="number">{formatDuration(result.durationMs)}</td>
                            <td className="number">{result.costUsd === undefined ? "" : formatCost(result.costUsd)}</td>
                            <td>
                              {result.error === undefined ? null : <Badge tone="bad">{result.error.tag}</Badge>}
                              {opened === key ? (
                                <Json
                                  label={`Output of ${caseId}`}
                                  value={result.error === undefined ? result.output : (result.error.message ?? "")}
                                />
                              ) : (
                                <button type="button" className="quiet" onClick={() => setOpened(key)}>
                                  Show
                                </button>
                              )}
                              {result.runId === undefined ? null : <a href={linkTo("runs", [result.runId])}>Run</a>}
                            </td>
                          </tr>
                        )
                      })
                    )}
                  </tbody>
                </table>
              </div>
            )}
            <div className="row">
              <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - limit))}>
                Lower scores
              </button>
              <button type="button" disabled={offset + limit >= total} onClick={() => setOffset(offset + limit)}>
                Higher scores
              </button>
            </div>
          </>
        )}
      </Loaded>
    </Panel>
  )
}

const ExperimentReport = ({ id, route }: ViewProps & { readonly id: string }) => {
  const { studio } = useConnection()
  const baseline = route.params.get("baseline") ?? undefined
  const others = useQuery("experiments all", () => studio.evals.experiments({ urlParams: { limit: 200 } }))
  const report = useQuery(`experiment ${id} ${baseline}`, () =>
    studio.evals.experiment({ path: { experimentId: id }, urlParams: baseline === undefined ? {} : { baseline } })
  )
  const version = report.data?.header.dataset.version
  const fitting = others.data?.experiments.filter((other) => other.id !== id && other.dataset.version === version) ?? []
  return (
    <Loaded query={report}>
      {({ attempts, comparisons, costUsd, header, missing, variants }) => (
        <>
          <Panel title={header.name}>
            <Facts
              facts={[
                ["Began", <Time key="time" at={header.createdAt} full />],
                ["Dataset", `${header.dataset.name}, ${formatNumber(header.dataset.cases)} cases`],
                ["Version of the dataset", <code key="version">{header.dataset.version}</code>],
                ["Repetitions", formatNumber(header.repetitions)],
                ["Attempts", formatNumber(attempts)],
                ["Trials without a result", formatNumber(missing)],
                ["Cost", formatCost(costUsd)]
              ]}
            />
          </Panel>
          <Panel title="Variants">
            <div className="table">
              <table>
                <thead>
                  <tr>
                    <th>Variant</th>
                    <th>Scorer</th>
                    <th className="number">Mean</th>
                    <th>Interval</th>
                    <th>Distribution</th>
                    <th className="number">Pass</th>
                    <th className="number">pass@k</th>
                    <th className="number">pass^k</th>
                    <th className="number">p50</th>
                    <th className="number">p95</th>
                    <th className="number">Cost</th>
                  </tr>
                </thead>
                <tbody>
                  {variants.flatMap(({ costUsd: cost, failed, latency, scores, variant }) =>
                    scores.map((score, at) => (
                      <tr key={`${variant} ${score.scorer}`}>
                        <td>
                          {at === 0 ? variant : ""}
                          {at === 0 && failed > 0 ? <Badge tone="bad">{`${failed} failed`}</Badge> : null}
                        </td>
                        <td>{score.scorer}</td>
                        <td className="number">{scoreText(score.mean)}</td>
                        <td>
                          {score.interval === undefined
                            ? ""
                            : `${scoreText(score.interval.lower)} to ${scoreText(score.interval.upper)}`}
                        </td>
                        <td>
                          <Distribution bins={score.bins} label={`${variant}, ${score.scorer}`} />
                        </td>
                        <td className="number">{partText(score.passRate)}</td>
                        <td className="number">{partText(score.passAtK)}</td>
                        <td className="number">{partText(score.passHatK)}</td>
                        <td className="number">{latency === undefined ? "" : formatDuration(latency.p50)}</td>
                        <td className="number">{latency === undefined ? "" : formatDuration(latency.p95)}</td>
                        <td className="number">{formatCost(cost)}</td>
                      </tr>
                    ))
                  )}
                </tbody>
              </table>
            </div>
          </Panel>
          <Panel
            title="Compared"
            actions={
              <label>
                With
                <select value={baseline ?? ""} onChange={({ target }) => setParams(route, { baseline: target.value })}>
                  <option value="">its first variant</option>
                  {fitting.map((other) => (
                    <option key={other.id} value={other.id}>
                      {other.name} ({other.id.slice(0, 12)})
                    </option>
                  ))}
                </select>
              </label>
            }
          >
            {comparisons.length === 0 ? (
              <Empty>There is nothing to compare with: one variant, and no other experiment over this dataset.</Empty>
            ) : (
              <div className="table">
                <table>
                  <thead>
                    <tr>
                      <th>Candidate</th>
                      <th>Baseline</th>
                      <th>Scorer</th>
                      <th className="number">Difference</th>
                      <th>Interval</th>
                      <th className="number">p</th>
                      <th className="number">Better</th>
                      <th className="number">Worse</th>
                      <th className="number">Same</th>
                    </tr>
                  </thead>
                  <tbody>
                    {comparisons.map((one) => (
                      <tr key={`${one.candidate} ${one.baseline} ${one.scorer}`}>
                        <td>{one.candidate}</td>
                        <td>{one.baseline}</td>
                        <td>{one.scorer}</td>
                        <td className="number">{signed(one.difference)}</td>
                        <td>
                          {one.interval === undefined
                            ? ""
                            : `${signed(one.interval.lower)} to ${signed(one.interval.upper)}`}
                        </td>
                        <td className="number">{one.pTwoSided.toFixed(4)}</td>
                        <td className="number">{one.wins}</td>
                        <td className="number">{one.losses}</td>
                        <td className="number">{one.ties}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Panel>
          <Cases id={id} scorers={header.scorers} />
        </>
      )}
    </Loaded>
  )
}

const Evals = ({ route }: ViewProps) => {
  const [id] = route.parts
  return (
    <>
      <ViewHead title="Evals">
        {id === undefined ? null : (
          <a className="button quiet" href={linkTo("evals")}>
            All
          </a>
        )}
      </ViewHead>
      {id === undefined ? <Experiments /> : <ExperimentReport key={id} id={id} route={route} />}
    </>
  )
}

export default Evals
