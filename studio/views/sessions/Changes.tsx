import type { WholeDiff } from "../../../src/studio/api/StudioSessionApi.js"
import { Json } from "../../lib/parts.js"

type Keys = NonNullable<WholeDiff["variables"]>
type Names = NonNullable<WholeDiff["activeTools"]>

const KeyChanges = ({ change, title }: { readonly title: string; readonly change: Keys }) => (
  <div className="stack">
    <h3>{title}</h3>
    <ul className="plain">
      {change.removed.map((key) => (
        <li key={`-${key}`}>
          <del>
            <code>{key}</code>
          </del>{" "}
          <span className="hint">is removed</span>
        </li>
      ))}
      {change.set.map(({ key, value }) => (
        <li key={`+${key}`}>
          <code>{key}</code> <span className="hint">becomes</span>
          <Json label={`${title}: ${key}`} value={value} />
        </li>
      ))}
    </ul>
  </div>
)

const NameChanges = ({
  change: { added, order, removed },
  title
}: {
  readonly title: string
  readonly change: Names
}) => (
  <p>
    {title}:{" "}
    {[...added.map((name) => `+${name}`), ...removed.map((name) => `−${name}`)].join(", ") ||
      `in the order ${(order ?? []).join(", ")}`}
  </p>
)

const Prompt = ({ change: { from, to } }: { readonly change: NonNullable<WholeDiff["systemPrompt"]> }) => (
  <div className="stack">
    <h3>System prompt</h3>
    <div className="columns">
      {from === undefined ? <p className="empty">There was none.</p> : <Json label="Prompt before" value={from} />}
      {to === undefined ? <p className="empty">There is none any more.</p> : <Json label="Prompt after" value={to} />}
    </div>
  </div>
)

/** Changes of the small state of a session. */
export const Changes = ({
  changes: { activeSkills, activeTools, metadata, systemPrompt, variables }
}: {
  readonly changes: Pick<WholeDiff, "activeSkills" | "activeTools" | "metadata" | "systemPrompt" | "variables">
}) => (
  <>
    {variables === undefined ? null : <KeyChanges title="Variables" change={variables} />}
    {metadata === undefined ? null : <KeyChanges title="Metadata" change={metadata} />}
    {systemPrompt === undefined ? null : <Prompt change={systemPrompt} />}
    {activeTools === undefined ? null : <NameChanges title="Tools" change={activeTools} />}
    {activeSkills === undefined ? null : <NameChanges title="Skills" change={activeSkills} />}
  </>
)
