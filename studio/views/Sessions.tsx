import * as Schema from "effect/Schema"
import { useState } from "react"
import { SessionId } from "../../src/domain/Ids.js"
import { ApiError } from "../../src/http/api/ApiError.js"
import type { SessionInfo } from "../../src/http/api/SessionModels.js"
import { formatNumber } from "../lib/format.js"
import { linkTo, setParams, useAction, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Id, Loaded, Problem, Time, ViewHead, VirtualList } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"
import { SessionDetail } from "./sessions/SessionDetail.js"
import { titleOf } from "./sessions/title.js"

const statuses = ["active", "suspended", "closed", "expired"] as const

type Status = (typeof statuses)[number]

const Row = ({ session }: { readonly session: SessionInfo }) => {
  const title = titleOf(session)
  return (
    <div className="entry">
      <div className="row">
        <a href={linkTo("sessions", [session.id])}>{title === undefined ? <Id id={session.id} /> : title}</a>
        <Badge>{session.status}</Badge>
        {session.parentSessionId === undefined ? null : <Badge tone="busy">branch</Badge>}
      </div>
      <p className="hint">
        {title === undefined ? null : (
          <>
            <Id id={session.id} />,{" "}
          </>
        )}
        {session.depth === 1 ? "1 turn" : `${formatNumber(session.depth)} turns`}, {formatNumber(session.totalTokens)}{" "}
        tokens, last change <Time at={session.updatedAt} />
      </p>
    </div>
  )
}

interface Page {
  readonly sessions: ReadonlyArray<SessionInfo>
  readonly next?: { readonly at: number; readonly id: SessionId } | undefined
}

const SIZE = 100

const SessionList = ({ route }: ViewProps) => {
  const { api } = useConnection()
  const status = statuses.find((one) => one === route.params.get("status"))
  const filter = { order: "updated" as const, limit: SIZE, ...(status === undefined ? {} : { status }) }
  const key = `sessions ${status ?? "all"}`
  const [more, setMore] = useState<{ readonly key: string; readonly pages: ReadonlyArray<Page> }>({ key, pages: [] })
  const query = useQuery(key, () => api.sessions.listSessions({ urlParams: filter }), { every: 5_000 })
  const { act, error, isBusy } = useAction()
  return (
    <>
      <ViewHead title="Sessions">
        <label className="inline">
          Status
          <select
            value={status ?? "all"}
            onChange={({ target }) => setParams(route, { status: target.value === "all" ? undefined : target.value })}
          >
            {["all", ...statuses].map((name: Status | string) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </ViewHead>
      <Loaded query={query}>
        {(first: Page) => {
          const pages = [first, ...(more.key === key ? more.pages : [])]
          const sessions = Array.from(
            new Map(pages.flatMap((page) => page.sessions).map((session) => [session.id, session])).values()
          )
          const next = pages.at(-1)?.next
          return sessions.length === 0 ? (
            <Empty>You have no sessions{status === undefined ? "" : ` that are ${status}`}.</Empty>
          ) : (
            <>
              <VirtualList
                label="Sessions"
                items={sessions}
                keyOf={({ id }) => id}
                estimate={72}
                render={(session) => <Row session={session} />}
              />
              <Problem error={error} />
              {next === undefined ? null : (
                <div>
                  <button
                    type="button"
                    disabled={isBusy}
                    onClick={() =>
                      void act(api.sessions.listSessions({ urlParams: { ...filter, cursor: next } }), (page) =>
                        setMore({ key, pages: [...pages.slice(1), page] })
                      )
                    }
                  >
                    Show older ones
                  </button>
                </div>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

const isSessionId = Schema.is(SessionId)

const unknown = new ApiError({ reason: "unknown", message: "No session has this id" })

const Sessions = ({ route }: ViewProps) => {
  const [id] = route.parts
  if (id === undefined) return <SessionList route={route} />
  return isSessionId(id) ? <SessionDetail key={id} id={id} route={route} /> : <Problem error={unknown} />
}

export default Sessions
