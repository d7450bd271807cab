/** One run: what it costs, what it did in its order, its shapes, and what can be done with it. */
import * as Effect from "effect/Effect"
import { useEffect, useState } from "react"
import { formatCost, formatDuration, formatJson, formatNumber } from "../lib/format.js"
import { linkTo, type Route, setParams, useAction, useQuery } from "../lib/hooks.js"
import { Badge, Facts, Id, Json, Markdown, Panel, Problem, Tabs, Time } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Fork } from "./Fork.js"
import type { RunFold } from "./fold.js"
import { useFollow } from "./follow.js"
import { stateTones } from "./RunList.js"
import { Outline, PlanGraph, SearchTree, StrategyGraph } from "./Shapes.js"
import { Timeline } from "./Timeline.js"

/** A run by its record; that of a sub-agent has none. */
const useRecord = (runId: string, isOver: boolean) => {
  const { studio } = useConnection()
  return useQuery(`run ${runId} ${isOver}`, () => studio.studioRuns.studioRun({ path: { runId } }), {
    every: isOver ? undefined : 2_000
  })
}

export const RunFacts = ({ fold }: { readonly fold: RunFold }) => {
  const { ended, firstDeltaMs, started, totals } = fold
  return (
    <Facts
      facts={[
        ["Strategy", started?.strategy],
        ["Model", [started?.provider, started?.model].filter((part) => part !== undefined).join(" / ")],
        [
          "Session",
          started?.sessionId === undefined ? undefined : (
            <a key="session" href={linkTo("sessions", [started.sessionId])}>
              <Id id={started.sessionId} />
            </a>
          )
        ],
        ["Begun", started === undefined ? undefined : <Time key="begun" at={started.at} full />],
        ["Time", started === undefined || ended === undefined ? undefined : formatDuration(ended.at - started.at)],
        ["Time to first delta", firstDeltaMs === undefined ? undefined : formatDuration(firstDeltaMs)],
        ["Model calls", formatNumber(totals.modelCalls)],
        ["Tool calls", formatNumber(totals.toolCalls)],
        ["Failures", formatNumber(totals.failures)],
        ["Tool retries", formatNumber(totals.retries)],
        ["Tokens in", formatNumber(totals.inputTokens)],
        ["Tokens out", formatNumber(totals.outputTokens)],
        [
          "From the cache",
          totals.inputTokens === 0
            ? undefined
            : `${formatNumber(totals.cachedTokens)} (${Math.round((100 * totals.cachedTokens) / totals.inputTokens)} %)`
        ],
        ["Cost", formatCost(totals.costUsd)]
      ]}
    />
  )
}

const download = (name: string, type: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

const Actions = ({ isOver, runId }: { readonly runId: string; readonly isOver: boolean }) => {
  const { api, studio } = useConnection()
  const action = useAction()
  const [line, setLine] = useState<string>()
  return (
    <>
      <div className="actions">
        {isOver ? null : (
          <button
            type="button"
            className="danger"
            disabled={action.isBusy}
            onClick={() => void action.act(api.runs.interruptRun({ path: { runId } }))}
          >
            Interrupt
          </button>
        )}
        <button
          type="button"
          disabled={!isOver || action.isBusy}
          onClick={() =>
            void action.act(studio.studioRuns.studioCase({ path: { runId }, urlParams: {} }), (text) =>
              setLine(text ?? "")
            )
          }
        >
          Make it an eval case
        </button>
        <button
          type="button"
          disabled={action.isBusy}
          onClick={() =>
            void action.act(
              Effect.map(studio.studioRuns.studioTrace({ path: { runId } }), (page) =>
                download(`trace-${runId}.html`, "text/html", page)
              )
            )
          }
        >
          Save the trace page
        </button>
      </div>
      <Problem error={action.error} />
      {line === undefined ? null : (
        <Panel
          title="Eval case"
          actions={
            <button type="button" onClick={() => download("case.jsonl", "application/x-ndjson", line)}>
              Save as JSON lines
            </button>
          }
        >
          <Json value={line} label="Eval case" />
        </Panel>
      )}
    </>
  )
}

const Answer = ({ fold }: { readonly fold: RunFold }) =>
  fold.message === undefined ? null : (
    <Panel title="Answer">
      <Markdown text={fold.message.text} />
      {fold.message.output === undefined ? null : <Json value={fold.message.output} label="Output" />}
    </Panel>
  )

/** Has what is shown of a run announced once, when it ends. */
const Ended = ({ fold }: { readonly fold: RunFold }) => {
  const { ended } = fold
  return (
    <p className="visually-hidden" role="status">
      {ended === undefined ? "" : ended._tag === "Finished" ? "The run finished" : "The run failed"}
    </p>
  )
}

export const RunPage = ({ route, runId }: { readonly route: Route; readonly runId: string }) => {
  const { error, fold, isOver } = useFollow(runId)
  const record = useRecord(runId, isOver)
  const agent = fold.started?.agent ?? record.data?.run.agent
  const [search, setSearch] = useState(route.params.get("search") ?? "")
  useEffect(() => {
    const timer = setTimeout(() => {
      if ((route.params.get("search") ?? "") !== search) setParams(route, { search })
    }, 300)
    return () => clearTimeout(timer)
  }, [search, route])
  const state = record.data?.run.state
  const failure = record.data?.run.error
  const tabs = [
    {
      id: "timeline",
      title: "Timeline",
      render: () => <Timeline runId={runId} fold={fold} search={search} onSearch={setSearch} />
    },
    { id: "strategy", title: "Strategy", render: () => <StrategyGraph fold={fold} /> },
    ...(fold.plan === undefined ? [] : [{ id: "plan", title: "Plan", render: () => <PlanGraph fold={fold} /> }]),
    ...(fold.tree.size === 0 ? [] : [{ id: "search", title: "Search tree", render: () => <SearchTree fold={fold} /> }]),
    ...(fold.outline === undefined
      ? []
      : [{ id: "outline", title: "Outline", render: () => <Outline sections={fold.outline ?? []} /> }]),
    ...(agent === undefined || record.data === undefined
      ? []
      : [
          {
            id: "fork",
            title: "Fork",
            render: () => <Fork agent={agent} fold={fold} route={route} runId={runId} />
          }
        ]),
    { id: "input", title: "Input", render: () => <pre className="text">{fold.started?.input ?? ""}</pre> }
  ]
  return (
    <>
      <Panel
        title={agent === undefined ? "Run" : `Run of ${agent}`}
        actions={state === undefined ? undefined : <Badge tone={stateTones[state]}>{state}</Badge>}
      >
        <p>
          <code>{runId}</code>
        </p>
        {fold.started?.parentRunId === undefined ? null : (
          <p>
            Inside of <a href={linkTo("runs", [fold.started.parentRunId])}>another run</a>
          </p>
        )}
        {record.data?.run.forkedFrom === undefined ? null : (
          <p>
            Goes on from <a href={linkTo("runs", [record.data.run.forkedFrom.runId])}>another run</a>, before step{" "}
            {record.data.run.forkedFrom.step + 1}
          </p>
        )}
        <Problem error={error} />
        {failure === undefined ? null : (
          <div className="problem" role="note">
            <p>
              <code>{failure.tag}</code> {failure.message}
            </p>
            {failure.hint === undefined ? null : <p className="hint">{failure.hint}</p>}
          </div>
        )}
        <RunFacts fold={fold} />
        {record.data?.run.labels === undefined || Object.keys(record.data.run.labels).length === 0 ? null : (
          <p className="hint">Labels: {formatJson(record.data.run.labels)}</p>
        )}
        <Actions runId={runId} isOver={isOver} />
        <Ended fold={fold} />
      </Panel>
      <Answer fold={fold} />
      <Tabs
        label="Parts of the run"
        tabs={tabs}
        selected={route.params.get("tab") ?? "timeline"}
        onSelect={(tab) => setParams(route, { tab: tab === "timeline" ? undefined : tab })}
      />
    </>
  )
}
