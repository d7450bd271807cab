/** The runs of the caller, the newest first, as they are now. */
import { useState } from "react"
import type { RunState } from "../../src/agent/record/RunRecord.js"
import { formatDuration } from "../lib/format.js"
import { linkTo, type Route, setParams, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Id, Loaded, Panel, Time } from "../lib/parts.js"
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

export const RunList = ({ route }: { readonly route: Route }) => {
  const { api } = useConnection()
  const { params } = route
  const given = (name: string): string => params.get(name) ?? ""
  const state = states.find((name) => name === given("state"))
  const cursor = params.get("cursor") ?? undefined
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const agents = useQuery("agents", () => api.agents.listAgents())
  const createdFrom = timeOf(params.get("from"))
  const createdBefore = timeOf(params.get("before"))
  const filter = {
    limit: PAGE,
    ...(given("agent") === "" ? {} : { agent: given("agent") }),
    ...(given("session") === "" ? {} : { sessionId: given("session") }),
    ...(state === undefined ? {} : { state }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
    ...(cursor === undefined ? {} : { cursor })
  }
  const runs = useQuery(`runs ${JSON.stringify(filter)}`, () => api.runs.listRuns({ urlParams: filter }), {
    every: cursor === undefined ? 2_000 : undefined
  })
  const change = (name: string) => (value: string) => setParams(route, { [name]: value, cursor: undefined })
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
      <Loaded query={runs}>
        {({ next, runs }) => (
          <>
            {runs.length === 0 ? (
              <Empty>No run fits.</Empty>
            ) : (
              <div className="table" tabIndex={0} role="region" aria-label="Runs">
                <table>
                  <thead>
                    <tr>
                      <th>
                        <span className="visually-hidden">Compare</span>
                      </th>
                      <th>Run</th>
                      <th>Agent</th>
                      <th>State</th>
                      <th>Begun</th>
                      <th className="number">Time</th>
                      <th>Session</th>
                    </tr>
                  </thead>
                  <tbody>
                    {runs.map(({ agent, createdAt, endedAt, error, runId, sessionId, state }) => (
                      <tr key={runId}>
                        <td>
                          <input
                            type="checkbox"
                            aria-label={`Compare ${runId}`}
                            checked={chosen.includes(runId)}
                            onChange={() => choose(runId)}
                          />
                        </td>
                        <td>
                          <a href={linkTo("runs", [runId])}>
                            <Id id={runId} />
                          </a>
                        </td>
                        <td>{agent}</td>
                        <td>
                          <Badge tone={stateTones[state]}>{state}</Badge>
                          {error === undefined ? null : <span className="hint"> {error.tag}</span>}
                        </td>
                        <td>
                          <Time at={createdAt} />
                        </td>
                        <td className="number">{endedAt === undefined ? "" : formatDuration(endedAt - createdAt)}</td>
                        <td>{sessionId === undefined ? "" : <Id id={sessionId} />}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            <div className="actions">
              {cursor === undefined ? null : (
                <button type="button" onClick={() => setParams(route, { cursor: undefined })}>
                  The newest
                </button>
              )}
              {next === undefined ? null : (
                <button type="button" onClick={() => setParams(route, { cursor: next })}>
                  Older ones
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </Panel>
  )
}
