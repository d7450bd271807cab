import { useState } from "react"
import { setParams, useQuery } from "../lib/hooks.js"
import { Empty, Loaded, Panel, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Decide } from "../runs/Decide.js"
import type { ViewProps } from "./index.js"

const MOST = 100

const Inbox = ({ route }: ViewProps) => {
  const { api } = useConnection()
  const sessionId = route.params.get("session") ?? ""
  const filter = { limit: MOST, ...(sessionId === "" ? {} : { sessionId }) }
  const waiting = useQuery(
    `approvals ${JSON.stringify(filter)}`,
    () => api.approvals.listApprovals({ urlParams: filter }),
    { every: 2_000 }
  )
  const [done, setDone] = useState<ReadonlySet<string>>(new Set())
  const decided = (id: string) => {
    setDone((last) => new Set(last).add(id))
    waiting.refresh()
  }
  return (
    <>
      <ViewHead title="Inbox">
        <label className="inline">
          Session
          <input value={sessionId} onChange={({ target }) => setParams(route, { session: target.value })} />
        </label>
      </ViewHead>
      <Loaded query={waiting}>
        {({ approvals }) => {
          const open = approvals.filter(({ id }) => !done.has(id))
          return (
            <>
              <p role="status" className="hint">
                {open.length === 0
                  ? done.size === 0
                    ? ""
                    : "Nothing waits any more."
                  : `${open.length}${open.length === MOST ? " or more" : ""} waiting`}
              </p>
              {open.length === 0 ? (
                <Empty>No call and no question waits for a person.</Empty>
              ) : (
                <ul className="plain inbox">
                  {open.map((request) => (
                    <li key={request.id}>
                      <Panel title={request.question === undefined ? `Call of ${request.tool}` : "Question"}>
                        <Decide request={request} onDone={decided} />
                      </Panel>
                    </li>
                  ))}
                </ul>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

export default Inbox
