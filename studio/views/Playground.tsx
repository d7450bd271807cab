import * as Effect from "effect/Effect"
import { useState } from "react"
import type { File as FilePart } from "../../src/content/Content.js"
import type { SessionId } from "../../src/domain/Ids.js"
import { linkTo, type Route, setParams, useAction, useQuery } from "../lib/hooks.js"
import { Empty, Id, Loaded, Panel, Problem, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Choices } from "../playground/Choices.js"
import { Compose } from "../playground/Compose.js"
import { type Asked, Earlier, Exchange } from "../playground/Exchange.js"
import { requested } from "../playground/settings.js"
import type { ViewProps } from "./index.js"

/** The session of the next message: a new one, a branch of one, or the one of the chat; none where none are kept. */
const useSessions = () => {
  const { api } = useConnection()
  const fresh = api.sessions.createSession({ payload: {} }).pipe(
    Effect.map(({ id }): SessionId | undefined => id),
    Effect.catchIf(
      (error) => "reason" in error && error.reason === "unsupported",
      () => Effect.succeed(undefined)
    )
  )
  const branch = ({ checkpointId, sessionId }: Asked) =>
    sessionId === undefined || checkpointId === undefined
      ? fresh
      : Effect.map(
          api.sessions.forkSession({
            path: { sessionId: sessionId as SessionId },
            payload: { branchName: "Playground", fromCheckpoint: checkpointId as never }
          }),
          ({ id }): SessionId | undefined => id
        )
  const keep = (sessionId: SessionId) =>
    Effect.map(api.sessions.createCheckpoint({ path: { sessionId }, payload: { name: "Playground" } }), ({ id }) => id)
  return { fresh, branch, keep }
}

const Chat = ({ agent, route }: { readonly agent: string; readonly route: Route }) => {
  const { api, studio } = useConnection()
  const sessions = useSessions()
  const action = useAction()
  const [asked, setAsked] = useState<ReadonlyArray<Asked>>([])
  const [editing, setEditing] = useState<Asked>()
  const sessionId = (route.params.get("session") ?? undefined) as SessionId | undefined
  // What the session had before the page was opened.
  const [opened, setOpened] = useState(sessionId)
  const earlier = useQuery(opened === undefined ? undefined : `turns ${opened}`, () =>
    api.sessions.sessionTurns({ path: { sessionId: opened as SessionId }, urlParams: { limit: 100 } })
  )
  const hasTurns = asked.length > 0 || (earlier.data?.turns.length ?? 0) > 0
  const send = (text: string, files: ReadonlyArray<FilePart>): Promise<boolean> => {
    const before = editing === undefined ? asked : asked.slice(0, asked.indexOf(editing))
    const isFirst = editing === undefined ? !hasTurns : editing.checkpointId === undefined
    const input = files.length === 0 ? text : [...(text === "" ? [] : [{ type: "text" as const, text }]), ...files]
    return action.act(
      Effect.gen(function* () {
        const session = editing !== undefined ? yield* sessions.branch(editing) : (sessionId ?? (yield* sessions.fresh))
        const checkpointId = isFirst || session === undefined ? undefined : yield* sessions.keep(session)
        const { runId } = yield* studio.studioRuns.tryRun({
          payload: { agent, input, ...requested(route), ...(session === undefined ? {} : { sessionId: session }) }
        })
        return { runId, text, files: files.map(({ fileName = "file" }) => fileName), sessionId: session, checkpointId }
      }),
      (next) => {
        setAsked([...before, next])
        setEditing(undefined)
        setParams(route, { session: next.sessionId })
      }
    )
  }
  const startOver = () => {
    setAsked([])
    setEditing(undefined)
    setOpened(undefined)
    setParams(route, { session: undefined })
  }
  return (
    <Panel
      title="Chat"
      actions={
        <>
          {sessionId === undefined ? null : (
            <a href={linkTo("sessions", [sessionId])}>
              Session <Id id={sessionId} />
            </a>
          )}
          <button type="button" onClick={startOver}>
            New chat
          </button>
        </>
      }
    >
      <Problem error={earlier.error} />
      {!hasTurns ? <Empty>Nothing was said yet.</Empty> : null}
      <ol className="plain chat" aria-label="Conversation">
        {earlier.data?.turns.map((turn) => (
          <Earlier key={turn.id} turn={turn} />
        ))}
        {asked.map((one) => (
          <Exchange key={one.runId} asked={one} onEdit={editing === undefined ? setEditing : undefined} />
        ))}
      </ol>
      <Problem error={action.error} />
      <Compose
        start={editing?.text ?? ""}
        isEdit={editing !== undefined}
        isBusy={action.isBusy}
        onSend={send}
        onCancel={() => setEditing(undefined)}
      />
    </Panel>
  )
}

const Playground = ({ route }: ViewProps) => {
  const { api, studio } = useConnection()
  const agents = useQuery("agents", () => api.agents.listAgents())
  const given = route.params.get("agent") ?? ""
  const name = given === "" ? (agents.data?.agents[0]?.name ?? "") : given
  const agent = useQuery(name === "" ? undefined : `agent ${name}`, () =>
    studio.studioRuns.studioAgent({ path: { name } })
  )
  return (
    <>
      <ViewHead title="Playground">
        <label className="inline">
          Agent
          <select value={name} onChange={({ target }) => setParams(route, { agent: target.value, session: undefined })}>
            {agents.data?.agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </ViewHead>
      <Problem error={agents.error} />
      {agents.data?.agents.length === 0 ? <Empty>The server offers no agents.</Empty> : null}
      {name === "" ? null : (
        <div className="side">
          <Panel title="Settings">
            <Loaded query={agent}>{(agent) => <Choices agent={agent} route={route} />}</Loaded>
          </Panel>
          <Chat key={name} agent={name} route={route} />
        </div>
      )}
    </>
  )
}

export default Playground
