import * as Effect from "effect/Effect"
import { useState } from "react"
import type { File as FilePart } from "../../src/content/Content.js"
import type { SessionId, TurnId } from "../../src/domain/Ids.js"
import type { Checkpoint } from "../../src/http/api/SessionModels.js"
import type { TurnRef } from "../../src/session/turn/Session.js"
import type { WholeTurn } from "../../src/studio/api/StudioSessionApi.js"
import { linkTo, type Route, setParams, useAction, useQuery } from "../lib/hooks.js"
import { usePages } from "../lib/pages.js"
import { Empty, Id, Loaded, Panel, Problem, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Choices } from "../playground/Choices.js"
import { Compose } from "../playground/Compose.js"
import { type Asked, Earlier, Exchange } from "../playground/Exchange.js"
import { requested } from "../playground/settings.js"
import type { ViewProps } from "./index.js"

type Origin =
  /** Nothing was said before: a session of its own. */
  | { readonly kind: "begin" }
  | { readonly kind: "checkpoint"; readonly sessionId: SessionId; readonly checkpointId: Checkpoint["id"] }
  | { readonly kind: "turn"; readonly sessionId: SessionId; readonly turnId: TurnId }

/** A message that is written anew, and what stays before it. */
interface Editing {
  readonly text: string
  readonly origin: Origin
  readonly asked: ReadonlyArray<Asked>
  /** Turns from this depth on are not those of the branch. */
  readonly until: number | undefined
}

/** The session of the next message: a new one, or a branch; none where none are kept. */
const useSessions = () => {
  const { api } = useConnection()
  const fresh = api.sessions.createSession({ payload: {} }).pipe(
    Effect.map(({ id }): SessionId | undefined => id),
    Effect.catchIf(
      (error) => "reason" in error && error.reason === "unsupported",
      () => Effect.succeed(undefined)
    )
  )
  const branch = (origin: Origin) => {
    if (origin.kind === "begin") return fresh
    const at = origin.kind === "turn" ? { afterTurn: origin.turnId } : { fromCheckpoint: origin.checkpointId }
    return Effect.map(
      api.sessions.forkSession({
        path: { sessionId: origin.sessionId },
        payload: { branchName: "Playground", ...at }
      }),
      ({ id }): SessionId | undefined => id
    )
  }
  const keep = (sessionId: SessionId) =>
    Effect.map(api.sessions.createCheckpoint({ path: { sessionId }, payload: { name: "Playground" } }), ({ id }) => id)
  return { fresh, branch, keep }
}

const isSaid = ({ role }: WholeTurn): boolean => role === "user" || role === "assistant"

/** The edit of an earlier message; none while the turn before it is not loaded. */
const editOf = (turns: ReadonlyArray<WholeTurn>, at: number): Editing | undefined => {
  const turn = turns[at]
  const before = turns[at - 1]
  if (turn === undefined || turn.role !== "user") return undefined
  const edit = { text: turn.content, asked: [], until: turn.depth }
  if (turn.depth === 1) return { ...edit, origin: { kind: "begin" } }
  return before === undefined
    ? undefined
    : { ...edit, origin: { kind: "turn", sessionId: before.sessionId, turnId: before.id } }
}

const originOf = ({ checkpointId, sessionId }: Asked): Origin =>
  sessionId === undefined || checkpointId === undefined
    ? { kind: "begin" }
    : { kind: "checkpoint", sessionId, checkpointId }

const TURNS = 50

const Chat = ({ agent, route }: { readonly agent: string; readonly route: Route }) => {
  const { studio } = useConnection()
  const sessions = useSessions()
  const action = useAction()
  const [asked, setAsked] = useState<ReadonlyArray<Asked>>([])
  const [editing, setEditing] = useState<Editing>()
  const [until, setUntil] = useState<number>()
  const sessionId = (route.params.get("session") ?? undefined) as SessionId | undefined
  // What the session had before the page was opened.
  const [opened, setOpened] = useState(sessionId)
  const pages = usePages(
    opened === undefined ? undefined : `turns ${opened}`,
    (before: TurnRef | undefined) =>
      Effect.map(
        studio.sessions.wholeTurns({
          path: { sessionId: opened as SessionId },
          urlParams: { limit: TURNS, ...(before === undefined ? {} : { before }) }
        }),
        ({ next, turns }) => ({ items: turns.toReversed(), next })
      ),
    ({ id }) => id
  )
  const turns = pages.items.toReversed().filter(({ depth }) => until === undefined || depth < until)
  const hasTurns = asked.length > 0 || turns.length > 0
  const send = (text: string, files: ReadonlyArray<FilePart>): Promise<boolean> => {
    const isFirst = editing === undefined ? !hasTurns : editing.origin.kind === "begin"
    const input = files.length === 0 ? text : [...(text === "" ? [] : [{ type: "text" as const, text }]), ...files]
    return action.act(
      Effect.gen(function* () {
        const session =
          editing !== undefined ? yield* sessions.branch(editing.origin) : (sessionId ?? (yield* sessions.fresh))
        const checkpointId = isFirst || session === undefined ? undefined : yield* sessions.keep(session)
        const { runId } = yield* studio.studioRuns.tryRun({
          payload: { agent, input, ...requested(route), ...(session === undefined ? {} : { sessionId: session }) }
        })
        return { runId, text, files: files.map(({ fileName = "file" }) => fileName), sessionId: session, checkpointId }
      }),
      (next) => {
        setAsked([...(editing?.asked ?? asked), next])
        if (editing?.until !== undefined) setUntil(editing.until)
        setEditing(undefined)
        setParams(route, { session: next.sessionId })
      }
    )
  }
  const startOver = () => {
    setAsked([])
    setEditing(undefined)
    setUntil(undefined)
    setOpened(undefined)
    setParams(route, { session: undefined })
  }
  const edit = (change: Editing | undefined) =>
    editing !== undefined || change === undefined ? undefined : () => setEditing(change)
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
      <Problem error={pages.error} />
      {!hasTurns ? <Empty>Nothing was said yet.</Empty> : null}
      {pages.hasMore && turns.length > 0 ? (
        <button type="button" disabled={pages.isLoading} onClick={pages.more}>
          Earlier messages
        </button>
      ) : null}
      <ol className="plain chat" aria-label="Conversation">
        {turns.map((turn, at) =>
          isSaid(turn) ? <Earlier key={turn.id} turn={turn} onEdit={edit(editOf(turns, at))} /> : null
        )}
        {asked.map((one, at) => (
          <Exchange
            key={one.runId}
            asked={one}
            onEdit={edit({ text: one.text, origin: originOf(one), asked: asked.slice(0, at), until: undefined })}
          />
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
