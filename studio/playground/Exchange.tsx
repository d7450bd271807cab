/** What was asked in the playground, and what its run makes of it while it goes on. */
import type { SessionId } from "../../src/domain/Ids.js"
import type { Checkpoint } from "../../src/http/api/SessionModels.js"
import type { WholeTurn } from "../../src/studio/api/StudioSessionApi.js"
import { formatCost, formatJson, formatNumber } from "../lib/format.js"
import { linkTo, useAction, useQuery } from "../lib/hooks.js"
import { Badge, Markdown, Problem } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Decide } from "../runs/Decide.js"
import type { RunFold, ToolItem } from "../runs/fold.js"
import { useFollow } from "../runs/follow.js"

export interface Asked {
  readonly runId: string
  readonly text: string
  readonly files: ReadonlyArray<string>
  readonly sessionId: SessionId | undefined
  /** The state of the session before the message; none before its first one. */
  readonly checkpointId: Checkpoint["id"] | undefined
}

const agentOf = ({ metadata }: WholeTurn): string | undefined => {
  const { agent } = metadata
  return typeof agent === "string" ? agent : undefined
}

/** The answer, or what there is of it. */
const answerOf = ({ items, message }: RunFold): string => {
  if (message !== undefined) return message.text
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at]
    if (item?.kind === "model" && item.text !== "") return item.isRetracted ? "" : item.text
    if (item?.kind === "tool") return ""
  }
  return ""
}

const ToolLine = ({ tool: { asked, decided, name, params, progress, result } }: { readonly tool: ToolItem }) => (
  <li>
    <Badge tone={result === undefined ? "busy" : result.isFailure ? "bad" : "good"}>
      {result === undefined
        ? asked !== undefined && decided === undefined
          ? "waiting"
          : "running"
        : result.isFailure
          ? "failed"
          : "done"}
    </Badge>{" "}
    <code>{name}</code> {formatJson(params).slice(0, 200)} {result === undefined ? progress : null}
  </li>
)

/** Whether somebody is asked something. Calls of sub-agents wait in the same inbox. */
const isWaiting = ({ ended, items }: RunFold): boolean =>
  ended === undefined &&
  items.some(
    (item) =>
      (item.kind === "tool" && item.result === undefined) || (item.kind === "question" && item.answered === undefined)
  )

const Waiting = ({ runId }: { readonly runId: string }) => {
  const { api } = useConnection()
  const waiting = useQuery(`approvals of ${runId}`, () => api.approvals.listApprovals({ urlParams: { runId } }), {
    every: 2_000
  })
  return (
    <>
      {waiting.data?.approvals.map((request) => (
        <div key={request.id} className="note">
          <Decide request={request} onDone={waiting.refresh} />
        </div>
      ))}
    </>
  )
}

export const Exchange = ({ asked, onEdit }: { readonly asked: Asked; readonly onEdit: (() => void) | undefined }) => {
  const { api } = useConnection()
  const { error, fold, isOver } = useFollow(asked.runId)
  const action = useAction()
  const { ended, totals } = fold
  const answer = answerOf(fold)
  const tools = fold.items.filter((item) => item.kind === "tool")
  return (
    <li className="exchange">
      <article className="said person">
        <h3>You</h3>
        <p className="markdown plain">{asked.text}</p>
        {asked.files.length === 0 ? null : <p className="hint">{asked.files.join(", ")}</p>}
        {onEdit === undefined ? null : (
          <button type="button" className="quiet" onClick={onEdit}>
            Edit and branch
          </button>
        )}
      </article>
      <article className="said" aria-busy={!isOver}>
        <h3>{fold.started?.agent ?? "Agent"}</h3>
        {tools.length === 0 ? null : (
          <ul className="plain">
            {tools.slice(-50).map((tool) => (
              <ToolLine key={tool.seq} tool={tool} />
            ))}
          </ul>
        )}
        {isWaiting(fold) ? <Waiting runId={asked.runId} /> : null}
        {answer === "" ? null : <Markdown text={answer} />}
        {ended?._tag === "Error" ? (
          <div className="problem">
            <p>{ended.interrupted ? "It was stopped." : `${ended.error.tag}: ${ended.error.message}`}</p>
            {ended.error.hint === undefined ? null : <p className="hint">{ended.error.hint}</p>}
          </div>
        ) : null}
        <Problem error={error ?? action.error} />
        <p className="hint row">
          <span role="status">{ended === undefined ? "It goes on…" : "It has ended."}</span>
          {`${formatNumber(totals.inputTokens)} tokens in, ${formatNumber(totals.outputTokens)} out, ${formatCost(totals.costUsd)}`}
          <a href={linkTo("runs", [asked.runId])}>The run</a>
          {isOver ? null : (
            <button
              type="button"
              className="danger"
              disabled={action.isBusy}
              onClick={() => void action.act(api.runs.interruptRun({ path: { runId: asked.runId } }))}
            >
              Stop
            </button>
          )}
        </p>
      </article>
    </li>
  )
}

/** A turn of the session from before. */
export const Earlier = ({ onEdit, turn }: { readonly turn: WholeTurn; readonly onEdit: (() => void) | undefined }) => (
  <li className="exchange">
    <article className={`said ${turn.role === "user" ? "person" : ""}`}>
      <h3>{turn.role === "user" ? "You" : (agentOf(turn) ?? "Agent")}</h3>
      {turn.role === "user" ? <p className="markdown plain">{turn.content}</p> : <Markdown text={turn.content} />}
      {turn.files === undefined ? null : (
        <p className="hint">{turn.files.map(({ fileName, mediaType }) => fileName ?? mediaType).join(", ")}</p>
      )}
      {turn.unanswered === undefined ? null : <p className="hint">Not answered: {turn.unanswered}</p>}
      {turn.runId === undefined ? null : (
        <p className="hint">
          <a href={linkTo("runs", [turn.runId])}>The run</a>
        </p>
      )}
      {onEdit === undefined ? null : (
        <button type="button" className="quiet" onClick={onEdit}>
          Edit and branch
        </button>
      )}
    </article>
  </li>
)
