import { useState } from "react"
import { formatDuration, formatNumber } from "../lib/format.js"
import { linkTo, useAction, useQuery } from "../lib/hooks.js"
import { Badge, Confirm, Empty, Facts, Id, Loaded, Panel, Problem, Time, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"

/** Runs that have not ended, and what each of them waits for. */
const Waiting = () => {
  const { api } = useConnection()
  const { act, error, isBusy } = useAction()
  const open = useQuery("open runs", () => api.runs.listRuns({ urlParams: { limit: 200 } }), { every: 3_000 })
  const waits = useQuery("waits", () => api.approvals.listApprovals({ urlParams: { limit: 500 } }), { every: 3_000 })
  const asked = (runId: string) => waits.data?.approvals.filter((request) => request.runId === runId) ?? []
  return (
    <Panel title="Runs that go on">
      <Problem error={error} />
      <Loaded query={open}>
        {({ runs }) => {
          const going = runs.filter(({ endedAt }) => endedAt === undefined)
          return going.length === 0 ? (
            <Empty>All of the newest runs have ended.</Empty>
          ) : (
            <div className="table">
              <table>
                <thead>
                  <tr>
                    <th>Run</th>
                    <th>Agent</th>
                    <th>State</th>
                    <th>Waits for</th>
                    <th>Since</th>
                    <th>Do</th>
                  </tr>
                </thead>
                <tbody>
                  {going.map(({ agent, runId, state, updatedAt }) => (
                    <tr key={runId}>
                      <td>
                        <a href={linkTo("runs", [runId])}>
                          <Id id={runId} />
                        </a>
                      </td>
                      <td>{agent}</td>
                      <td>
                        <Badge>{state}</Badge>
                      </td>
                      <td>
                        {asked(runId).map(({ id, reason, tool }) => (
                          <div key={id}>
                            <a href={linkTo("inbox", [id])}>{reason ?? `approval of ${tool}`}</a>
                          </div>
                        ))}
                      </td>
                      <td>
                        <Time at={updatedAt} />
                      </td>
                      <td className="row">
                        <a className="button quiet" href={linkTo("durable", ["journal", runId])}>
                          Journal
                        </a>
                        <button
                          type="button"
                          className="quiet"
                          disabled={isBusy}
                          onClick={() => act(api.runs.resumeRun({ path: { runId } }), open.refresh)}
                        >
                          Resume
                        </button>
                        <button
                          type="button"
                          className="quiet"
                          disabled={isBusy}
                          onClick={() => act(api.runs.interruptRun({ path: { runId } }), open.refresh)}
                        >
                          Interrupt
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }}
      </Loaded>
    </Panel>
  )
}

const timingOf = (
  timing:
    | { readonly _tag: "Cron"; readonly text?: string | undefined; readonly zone: string }
    | { readonly _tag: "Every"; readonly millis: number }
): string =>
  timing._tag === "Every" ? `every ${formatDuration(timing.millis)}` : `${timing.text ?? "cron"} (${timing.zone})`

const Schedules = () => {
  const { studio } = useConnection()
  const { act, error, isBusy } = useAction()
  const [removed, setRemoved] = useState<string>()
  const schedules = useQuery("schedules", () => studio.durable.schedules({ urlParams: { limit: 200 } }), {
    every: 5_000
  })
  return (
    <Panel title="Schedules">
      <Problem error={error} />
      <Loaded query={schedules}>
        {({ schedules: all }) =>
          all.length === 0 ? (
            <Empty>You have no schedules.</Empty>
          ) : (
            <div className="table">
              <table>
                <thead>
                  <tr>
                    <th>Schedule</th>
                    <th>Agent</th>
                    <th>When</th>
                    <th>State</th>
                    <th>Next</th>
                    <th>Last run</th>
                    <th>Do</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((schedule) => (
                    <tr key={schedule.id}>
                      <td>
                        <Id id={schedule.id} />
                      </td>
                      <td>{schedule.agent}</td>
                      <td>{timingOf(schedule.timing)}</td>
                      <td>
                        <Badge>{schedule.state}</Badge>
                        {schedule.error === undefined ? null : <p className="hint">{schedule.error.message}</p>}
                        {schedule.dropped === undefined ? null : (
                          <p className="hint">
                            left out ({schedule.dropped.reason}) <Time at={schedule.dropped.at} />
                          </p>
                        )}
                      </td>
                      <td>{schedule.nextAt === undefined ? "" : <Time at={schedule.nextAt} />}</td>
                      <td>
                        {schedule.lastRunId === undefined ? null : (
                          <a href={linkTo("runs", [schedule.lastRunId])}>
                            <Id id={schedule.lastRunId} />
                          </a>
                        )}
                      </td>
                      <td className="row">
                        {schedule.state === "paused" ? (
                          <button
                            type="button"
                            className="quiet"
                            disabled={isBusy}
                            onClick={() =>
                              act(
                                studio.durable.resumeSchedule({ path: { scheduleId: schedule.id } }),
                                schedules.refresh
                              )
                            }
                          >
                            Resume
                          </button>
                        ) : schedule.state === "active" ? (
                          <button
                            type="button"
                            className="quiet"
                            disabled={isBusy}
                            onClick={() =>
                              act(
                                studio.durable.pauseSchedule({ path: { scheduleId: schedule.id } }),
                                schedules.refresh
                              )
                            }
                          >
                            Pause
                          </button>
                        ) : null}
                        <button
                          type="button"
                          className="quiet"
                          disabled={isBusy}
                          onClick={() =>
                            act(
                              studio.durable.triggerSchedule({ path: { scheduleId: schedule.id } }),
                              schedules.refresh
                            )
                          }
                        >
                          Run now
                        </button>
                        <button type="button" className="quiet" onClick={() => setRemoved(schedule.id)}>
                          Remove
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
      {removed === undefined ? null : (
        <Confirm
          title="Remove the schedule?"
          action="Remove"
          isBusy={isBusy}
          onCancel={() => setRemoved(undefined)}
          onConfirm={() =>
            act(studio.durable.removeSchedule({ path: { scheduleId: removed } }), () => {
              setRemoved(undefined)
              schedules.refresh()
            })
          }
        >
          <p>
            <code>{removed}</code> starts no more runs. Its runs stay.
          </p>
        </Confirm>
      )}
    </Panel>
  )
}

const Journal = ({ runId }: { readonly runId: string }) => {
  const { studio } = useConnection()
  const [pages, setPages] = useState<ReadonlyArray<{ readonly name: string; readonly attempt: number }>>([])
  const after = pages.at(-1)
  const journal = useQuery(`journal ${runId} ${after?.name} ${after?.attempt}`, () =>
    studio.durable.journal({
      path: { runId },
      urlParams: after === undefined ? {} : { afterName: after.name, afterAttempt: after.attempt }
    })
  )
  return (
    <Panel
      title="Journal"
      actions={
        <a className="button" href={linkTo("runs", [runId])}>
          Open the run
        </a>
      }
    >
      <p>
        What is recorded of <Id id={runId} />: a run that goes on in another process takes it from here, and does not do
        it again.
      </p>
      <Loaded query={journal}>
        {({ activities, bytes, more }) => (
          <>
            <Facts facts={[["Recorded", `${formatNumber(bytes)} bytes`]]} />
            {activities.length === 0 ? (
              <Empty>Nothing is recorded.</Empty>
            ) : (
              <div className="table">
                <table>
                  <caption>By the names of the steps</caption>
                  <thead>
                    <tr>
                      <th>Step</th>
                      <th className="number">Attempt</th>
                      <th>Ended</th>
                      <th className="number">Bytes</th>
                    </tr>
                  </thead>
                  <tbody>
                    {activities.map(({ at, attempt, bytes: size, name }) => (
                      <tr key={`${name} ${attempt}`}>
                        <td>
                          <code>{name}</code>
                        </td>
                        <td className="number">{attempt}</td>
                        <td>
                          <Time at={at} />
                        </td>
                        <td className="number">{formatNumber(size)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            <div className="row">
              {pages.length === 0 ? null : (
                <button type="button" onClick={() => setPages(pages.slice(0, -1))}>
                  Back
                </button>
              )}
              {more ? (
                <button
                  type="button"
                  onClick={() => {
                    const last = activities.at(-1)
                    if (last !== undefined) setPages([...pages, last])
                  }}
                >
                  More
                </button>
              ) : null}
            </div>
          </>
        )}
      </Loaded>
    </Panel>
  )
}

const Durable = ({ route }: ViewProps) => {
  const [what, runId] = route.parts
  return (
    <>
      <ViewHead title="Durable runs">
        {what === "journal" ? (
          <a className="button quiet" href={linkTo("durable")}>
            All
          </a>
        ) : null}
      </ViewHead>
      {what === "journal" && runId !== undefined ? (
        <Journal key={runId} runId={runId} />
      ) : (
        <>
          <Waiting />
          <Schedules />
        </>
      )}
    </>
  )
}

export default Durable
