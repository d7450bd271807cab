/** The runs of the caller, the newest first, as they are now. */
import * as Effect from "effect/Effect"
import { useState } from "react"
import type { RunState } from "../../src/agent/record/RunRecord.js"
import type { Run } from "../../src/http/api/ApiModels.js"
import { formatDuration, formatNumber } from "../lib/format.js"
import { linkTo, type Route, setParams, useQuery } from "../lib/hooks.js"
import { usePages } from "../lib/pages.js"
import { Badge, Empty, Id, Panel, Problem, Time, VirtualList } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"

const states: ReadonlyArray<RunState> = ["queued", "running", "waiting", "completed", "failed", "interrupted"]

export const stateTones: Readonly<Record<RunState, string>> = {
  queued: "plain",
  running: "busy",
  waiting: "warn",
  completed: "good",
  failed: "bad",
  interrupted: "warn"
}

/** A time as the browser's field has it, in the zone of the person; none where it is no time. */
const timeOf = (text: string | null): number | undefined => {
  const at = text === null || text === "" ? Number.NaN : new Date(text).getTime()
  return Number.isNaN(at) ? undefined : at
}

const PAGE = 100
/** The most runs that are asked for at once, and are shown as they are now. */
const MOST = 500

const Row = ({
  isChosen,
  onChoose,
  run: { agent, createdAt, endedAt, error, runId, sessionId, state }
}: {
  readonly run: Run
  readonly isChosen: boolean
  readonly onChoose: () => void
}) => (
  <div className="list-row runs-row">
    <input type="checkbox" aria-label={`Compare ${runId}`} checked={isChosen} onChange={onChoose} />
    <a href={linkTo("runs", [runId])}>
      <Id id={runId} />
    </a>
    <span>{agent}</span>
    <span>
      <Badge tone={stateTones[state]}>{state}</Badge>
      {error === undefined ? null : <span className="hint"> {error.tag}</span>}
    </span>
    <Time at={createdAt} />
    <span className="number">{endedAt === undefined ? "" : formatDuration(endedAt - createdAt)}</span>
    <span>{sessionId === undefined ? "" : <Id id={sessionId} />}</span>
  </div>
)

export const RunList = ({ route }: { readonly route: Route }) => {
  const { api } = useConnection()
  const { params } = route
  const given = (name: string): string => params.get(name) ?? ""
  const state = states.find((name) => name === given("state"))
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const agents = useQuery("agents", () => api.agents.listAgents())
  const createdFrom = timeOf(params.get("from"))
  const createdBefore = timeOf(params.get("before"))
  const filter = {
    ...(given("agent") === "" ? {} : { agent: given("agent") }),
    ...(given("session") === "" ? {} : { sessionId: given("session") }),
    ...(state === undefined ? {} : { state }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore })
  }
  const runs = usePages(
    `runs ${JSON.stringify(filter)}`,
    (cursor: string | undefined, loaded) =>
      Effect.map(
        api.runs.listRuns({
          urlParams: {
            ...filter,
            limit: Math.min(MOST, PAGE + loaded),
            ...(cursor === undefined ? {} : { cursor })
          }
        }),
        ({ next, runs }) => ({ items: runs, next })
      ),
    ({ runId }) => runId,
    { every: 2_000 }
  )
  const change = (name: string) => (value: string) => setParams(route, { [name]: value })
  const choose = (runId: string) =>
    setChosen((last) => (last.includes(runId) ? last.filter((id) => id !== runId) : [...last, runId].slice(-2)))
  const [first, second] = chosen
  return (
    <Panel
      title="Runs"
      actions={
        first !== undefined && second !== undefined ? (
          <a className="button" href={linkTo("runs", ["compare", first, second])}>
            Compare the two
          </a>
        ) : (
          <span className="hint">Choose two to compare them</span>
        )
      }
    >
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Agent
          <select value={given("agent")} onChange={({ target }) => change("agent")(target.value)}>
            <option value="">All</option>
            {agents.data?.agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          State
          <select value={state ?? ""} onChange={({ target }) => change("state")(target.value)}>
            <option value="">All</option>
            {states.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Session
          <input value={given("session")} onChange={({ target }) => change("session")(target.value)} />
        </label>
        <label>
          From
          <input type="datetime-local" value={given("from")} onChange={({ target }) => change("from")(target.value)} />
        </label>
        <label>
          Before
          <input
            type="datetime-local"
            value={given("before")}
            onChange={({ target }) => change("before")(target.value)}
          />
        </label>
      </form>
      <Problem error={runs.error} />
      {!runs.isLoaded ? (
        runs.error === undefined ? (
          <Empty>Loading…</Empty>
        ) : null
      ) : runs.items.length === 0 ? (
        <Empty>No run fits.</Empty>
      ) : (
        <>
          <div className="list-head runs-row" aria-hidden="true">
            <span />
            <span>Run</span>
            <span>Agent</span>
            <span>State</span>
            <span>Begun</span>
            <span className="number">Time</span>
            <span>Session</span>
          </div>
          <VirtualList
            label="Runs"
            items={runs.items}
            keyOf={({ runId }) => runId}
            estimate={41}
            onEnd={runs.more}
            render={(run) => <Row run={run} isChosen={chosen.includes(run.runId)} onChoose={() => choose(run.runId)} />}
          />
          <p className="hint" role="status">
            {`${formatNumber(runs.items.length)} runs${runs.hasMore ? ", more are loaded at the end of the list" : ""}`}
          </p>
        </>
      )}
    </Panel>
  )
}
