/** Two runs beside each other, step by step. */
import { formatCost, formatDuration, formatJson, formatNumber } from "../lib/format.js"
import { linkTo } from "../lib/hooks.js"
import { Id, Markdown, Panel, Problem, VirtualList } from "../lib/parts.js"
import type { Item, RunFold } from "./fold.js"
import { useFollow } from "./follow.js"

const isStep = (item: Item): boolean => item.kind === "model" || item.kind === "tool"

const wordsOf = (item: Item | undefined): string => {
  if (item === undefined) return ""
  if (item.kind === "model") return `Model: ${item.text === "" ? (item.name ?? "") : item.text}`.slice(0, 400)
  if (item.kind === "tool") return `${item.name} ${formatJson(item.params)}`.slice(0, 400)
  return ""
}

const numbers: ReadonlyArray<readonly [string, (fold: RunFold) => number | undefined, (value: number) => string]> = [
  [
    "Time",
    ({ ended, started }) => (ended === undefined || started === undefined ? undefined : ended.at - started.at),
    formatDuration
  ],
  ["Time to first delta", ({ firstDeltaMs }) => firstDeltaMs, formatDuration],
  ["Model calls", ({ totals }) => totals.modelCalls, formatNumber],
  ["Tool calls", ({ totals }) => totals.toolCalls, formatNumber],
  ["Failures", ({ totals }) => totals.failures, formatNumber],
  ["Tokens in", ({ totals }) => totals.inputTokens, formatNumber],
  ["Tokens out", ({ totals }) => totals.outputTokens, formatNumber],
  ["From the cache", ({ totals }) => totals.cachedTokens, formatNumber],
  ["Cost", ({ totals }) => totals.costUsd, formatCost]
]

const Head = ({ fold, runId }: { readonly runId: string; readonly fold: RunFold }) => (
  <a href={linkTo("runs", [runId])}>
    {fold.started?.agent ?? "Run"} <Id id={runId} />
  </a>
)

export const Compare = ({ left, right }: { readonly left: string; readonly right: string }) => {
  const a = useFollow(left)
  const b = useFollow(right)
  const [stepsA, stepsB] = [a.fold.items.filter(isStep), b.fold.items.filter(isStep)]
  const length = Math.max(stepsA.length, stepsB.length)
  const rows = Array.from({ length }, (_, at) => at)
  return (
    <>
      <Problem error={a.error ?? b.error} />
      <Panel title="Numbers">
        <div className="table" tabIndex={0} role="region" aria-label="Numbers of the runs">
          <table>
            <thead>
              <tr>
                <td />
                <th scope="col">
                  <Head runId={left} fold={a.fold} />
                </th>
                <th scope="col">
                  <Head runId={right} fold={b.fold} />
                </th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">Strategy</th>
                <td>{a.fold.started?.strategy}</td>
                <td>{b.fold.started?.strategy}</td>
              </tr>
              {numbers.map(([name, of, format]) => {
                const [first, second] = [of(a.fold), of(b.fold)]
                return (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>{first === undefined ? "" : format(first)}</td>
                    <td>{second === undefined ? "" : format(second)}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      </Panel>
      <div className="columns">
        {[a, b].map(({ fold }, at) => (
          <Panel key={at === 0 ? "left" : "right"} title={at === 0 ? "Answer of the left" : "Answer of the right"}>
            <Markdown text={fold.message?.text ?? fold.ended?._tag ?? "It goes on."} />
          </Panel>
        ))}
      </div>
      <Panel title="Steps">
        <VirtualList
          label="Steps of both runs"
          items={rows}
          keyOf={(at) => at}
          estimate={60}
          render={(at) => {
            const [first, second] = [wordsOf(stepsA[at]), wordsOf(stepsB[at])]
            return (
              <div className={`pair ${first === second ? "" : "differs"}`}>
                <p>{first === "" ? "—" : first}</p>
                <p>{second === "" ? "—" : second}</p>
                {first === second ? null : <span className="visually-hidden">differs</span>}
              </div>
            )
          }}
        />
      </Panel>
    </>
  )
}
