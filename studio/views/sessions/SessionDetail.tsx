import { useCallback, useState } from "react"
import type { SessionId } from "../../../src/domain/Ids.js"
import type { Checkpoint, SessionInfo, Tree } from "../../../src/http/api/SessionModels.js"
import type { WholeSession } from "../../../src/studio/api/StudioSessionApi.js"
import { formatCost, formatNumber } from "../../lib/format.js"
import { linkTo, type Query, type Route, setParams, useAction, useQuery } from "../../lib/hooks.js"
import { Badge, Dialog, Facts, Id, Json, Loaded, Panel, Problem, Tabs, Time, ViewHead } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"
import { BranchList } from "./BranchList.js"
import { Checkpoints } from "./Checkpoints.js"
import { Fork } from "./Fork.js"
import { Merge } from "./Merge.js"
import { Turns } from "./Turns.js"
import { titleOf } from "./title.js"

/** What the parts of the view know of a session. */
export interface Opened {
  readonly session: SessionInfo
  readonly route: Route
  readonly tree: Query<Tree>
  readonly checkpoints: Query<{ readonly checkpoints: ReadonlyArray<Checkpoint> }>
  /** Reads all of it again, after something was done, and says what. */
  readonly changed: (said: string) => void
  /** Counts the changes. */
  readonly round: number
}

const State = ({ session }: { readonly session: WholeSession }) => (
  <div className="columns">
    <Panel title="Variables">
      <Json label="Variables" value={session.variables} />
    </Panel>
    <Panel title="Metadata">
      <Json label="Metadata" value={session.metadata} />
    </Panel>
    <Panel title="Prompt and tools">
      {session.systemPrompt === undefined ? (
        <p className="empty">It has no prompt of its own.</p>
      ) : (
        <Json label="System prompt" value={session.systemPrompt} />
      )}
      <Facts
        facts={[
          ["Tools", session.activeTools.join(", ")],
          ["Skills", session.activeSkills.join(", ")],
          ["Cost of its turns", formatCost(session.totalCost)]
        ]}
      />
    </Panel>
  </div>
)

const WholeState = ({ id, round }: { readonly id: SessionId; readonly round: number }) => {
  const { studio } = useConnection()
  const query = useQuery(`state ${id} ${round}`, () => studio.sessions.wholeSession({ path: { sessionId: id } }))
  return <Loaded query={query}>{(session) => <State session={session} />}</Loaded>
}

const Keep = ({
  id,
  onClose,
  onKept
}: {
  readonly id: SessionId
  readonly onClose: () => void
  readonly onKept: (said: string) => void
}) => {
  const { api } = useConnection()
  const [name, setName] = useState("")
  const { act, error, isBusy } = useAction()
  return (
    <Dialog title="Keep a checkpoint" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void act(
            api.sessions.createCheckpoint({ path: { sessionId: id }, payload: name === "" ? {} : { name } }),
            () => onKept("A checkpoint was kept.")
          )
        }}
      >
        <label>
          Name
          <input maxLength={256} value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <Problem error={error} />
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            Keep it
          </button>
        </div>
      </form>
    </Dialog>
  )
}

const Head = ({ opened }: { readonly opened: Opened }) => {
  const { changed, session } = opened
  const [asked, setAsked] = useState<"keep" | "fork">()
  const close = () => setAsked(undefined)
  const { branchName, parentSessionId } = session
  return (
    <>
      <Facts
        facts={[
          ["Id", <Id key="id" id={session.id} />],
          ["Turns", formatNumber(session.depth)],
          ["Tokens", formatNumber(session.totalTokens)],
          ["Began", <Time key="began" at={session.createdAt} full />],
          ["Last change", <Time key="changed" at={session.updatedAt} full />],
          [
            "Branch of",
            parentSessionId === undefined ? undefined : (
              <a key="parent" href={linkTo("sessions", [parentSessionId])}>
                <Id id={parentSessionId} />
              </a>
            )
          ],
          ["Branch", branchName]
        ]}
      />
      <div className="row">
        <button type="button" onClick={() => setAsked("keep")}>
          Keep a checkpoint
        </button>
        <button type="button" onClick={() => setAsked("fork")}>
          Fork
        </button>
      </div>
      {asked === "keep" ? (
        <Keep
          id={session.id}
          onClose={close}
          onKept={(said) => {
            close()
            changed(said)
          }}
        />
      ) : null}
      {asked === "fork" ? <Fork id={session.id} onClose={close} /> : null}
    </>
  )
}

/** A session: its turns, branches, checkpoints, merges and state. */
export const SessionDetail = ({ id, route }: { readonly id: SessionId; readonly route: Route }) => {
  const { api } = useConnection()
  const [round, setRound] = useState(0)
  const [said, setSaid] = useState<string>()
  const path = { sessionId: id }
  const session = useQuery(`session ${id} ${round}`, () => api.sessions.getSession({ path }), { every: 5_000 })
  const tree = useQuery(`tree ${id} ${round}`, () => api.sessions.sessionTree({ path }))
  const checkpoints = useQuery(`checkpoints ${id} ${round}`, () =>
    api.sessions.listCheckpoints({ path, urlParams: { limit: 200 } })
  )
  const changed = useCallback((text: string) => {
    setSaid(text)
    setRound((last) => last + 1)
  }, [])
  return (
    <>
      <p>
        <a href={linkTo("sessions")}>All sessions</a>
      </p>
      <ViewHead title={session.data === undefined ? "Session" : (titleOf(session.data) ?? "Session")}>
        {session.data === undefined ? null : <Badge>{session.data.status}</Badge>}
      </ViewHead>
      <p role="status" className={said === undefined ? "visually-hidden" : "note"}>
        {said ?? ""}
      </p>
      <Loaded query={session}>
        {(found) => {
          const opened: Opened = { session: found, route, tree, checkpoints, changed, round }
          return (
            <>
              <Head opened={opened} />
              <Tabs
                label="Parts of the session"
                selected={route.params.get("tab") ?? "turns"}
                onSelect={(tab) => setParams(route, { tab: tab === "turns" ? undefined : tab })}
                tabs={[
                  { id: "turns", title: "Turns", render: () => <Turns key={round} opened={opened} /> },
                  { id: "branches", title: "Branches", render: () => <BranchList opened={opened} /> },
                  { id: "checkpoints", title: "Checkpoints", render: () => <Checkpoints opened={opened} /> },
                  { id: "merge", title: "Merge", render: () => <Merge opened={opened} /> },
                  { id: "state", title: "State", render: () => <WholeState id={id} round={round} /> }
                ]}
              />
            </>
          )
        }}
      </Loaded>
    </>
  )
}
