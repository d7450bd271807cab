import type { WholeTurn } from "../../../src/studio/api/StudioSessionApi.js"
import { formatCost, formatNumber } from "../../lib/format.js"
import { linkTo } from "../../lib/hooks.js"
import { Badge, Json, Markdown, Time } from "../../lib/parts.js"

const Call = ({ call }: { readonly call: WholeTurn["toolCalls"][number] }) => (
  <details>
    <summary>
      Called <code>{call.name}</code>
      {call.isFailure === true ? (
        <>
          {" "}
          <Badge tone="bad">failed</Badge>
        </>
      ) : null}
    </summary>
    <div className="stack">
      <h3>Arguments</h3>
      <Json label={`Arguments of ${call.name}`} value={call.params} />
      {call.result === undefined ? null : (
        <>
          <h3>Result</h3>
          <Json label={`Result of ${call.name}`} value={call.result} />
        </>
      )}
    </div>
  </details>
)

const tones = { user: "busy", assistant: "good", system: "warn", tool: "plain" } as const

/** A turn with its calls, and what it cost. */
export const Turn = ({ turn }: { readonly turn: WholeTurn }) => {
  const agent = turn.metadata["agent"]
  return (
    <article className="entry" aria-label={`Turn ${turn.depth}`}>
      <div className="row">
        <Badge tone={tones[turn.role]}>{turn.role}</Badge>
        {turn.role === "assistant" && typeof agent === "string" ? <strong>{agent}</strong> : null}
        <span className="hint">
          turn {formatNumber(turn.depth)}, <Time at={turn.timestamp} />
          {turn.tokensUsed === 0 ? "" : `, ${formatNumber(turn.tokensUsed)} tokens`}
          {turn.cost === 0 ? "" : `, ${formatCost(turn.cost)}`}
          {turn.model === undefined ? "" : `, ${turn.model}`}
          {turn.origin === undefined ? "" : ", copied by a merge"}
        </span>
        {turn.runId === undefined ? null : <a href={linkTo("runs", [turn.runId])}>Its run</a>}
        {turn.unanswered === undefined ? null : <Badge tone="bad">{`no answer: ${turn.unanswered}`}</Badge>}
      </div>
      {turn.role === "assistant" ? <Markdown text={turn.content} /> : <p className="spoken">{turn.content}</p>}
      {(turn.files ?? []).map(({ fileName, mediaType }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: files of a turn do not move
        <p key={at} className="hint">
          File: {fileName ?? mediaType}
        </p>
      ))}
      {turn.toolCalls.map((call) => (
        <Call key={call.id} call={call} />
      ))}
    </article>
  )
}
