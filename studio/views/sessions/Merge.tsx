import * as Schema from "effect/Schema"
import { useState } from "react"
import { SessionId } from "../../../src/domain/Ids.js"
import type { MergeConflict, MergePreview } from "../../../src/studio/api/StudioSessionApi.js"
import { formatNumber } from "../../lib/format.js"
import { setParams, useAction, useQuery } from "../../lib/hooks.js"
import { Empty, Json, Loaded, Panel, Problem } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"
import { branchesOf } from "./BranchList.js"
import { Changes } from "./Changes.js"
import type { Opened } from "./SessionDetail.js"
import { Turn } from "./Turn.js"

type Side = "ours" | "theirs"

const fields = { variables: "Variable", metadata: "Metadata", systemPrompt: "System prompt" } as const

const titles = { ours: "This session", theirs: "The branch" } as const

const Version = ({ label, version }: { readonly label: string; readonly version: MergeConflict["base"] }) =>
  "value" in version ? <Json label={label} value={version.value} /> : <p className="empty">It is not there.</p>

/** Both sides of a conflict and what they were before, side by side. */
const Conflict = ({
  conflict,
  onTake,
  taken
}: {
  readonly conflict: MergeConflict
  readonly taken: Side | undefined
  readonly onTake: (side: Side) => void
}) => {
  const name = conflict.field === "systemPrompt" ? fields.systemPrompt : `${fields[conflict.field]} ${conflict.key}`
  return (
    <fieldset className="conflict">
      <legend>{name}</legend>
      <div className="sides">
        <div>
          <p className="hint">Before both</p>
          <Version label={`${name} before both`} version={conflict.base} />
        </div>
        {(["ours", "theirs"] as const).map((side) => (
          <div key={side} className={taken === side ? "taken" : undefined}>
            <label className="inline">
              <input
                type="radio"
                name={`take ${conflict.path}`}
                required
                checked={taken === side}
                onChange={() => onTake(side)}
              />
              {titles[side]}
            </label>
            <Version label={`${name} of ${titles[side]}`} version={conflict[side]} />
          </div>
        ))}
      </div>
    </fieldset>
  )
}

const isSame = ({ changes, conflicts, turns }: MergePreview): boolean =>
  conflicts.length + turns.length === 0 && Object.values(changes).every((change) => change === undefined)

const Decisions = ({
  from,
  opened: { changed, session },
  preview,
  refresh
}: {
  readonly from: SessionId
  readonly opened: Opened
  readonly preview: MergePreview
  readonly refresh: () => void
}) => {
  const { studio } = useConnection()
  const [taken, setTaken] = useState<ReadonlyMap<string, Side>>(new Map())
  const { act, clear, error, isBusy } = useAction()
  const { changes, conflicts, fingerprint, turnCount, turns } = preview
  const open = conflicts.filter(({ path }) => !taken.has(path)).length
  const takeAll = (side: Side) => setTaken(new Map(conflicts.map(({ path }) => [path, side])))
  if (isSame(preview)) return <Empty>The branch has nothing that this session lacks.</Empty>
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void act(
          studio.sessions.decideMerge({
            path: { sessionId: session.id },
            payload: {
              from,
              seen: fingerprint,
              decisions: Array.from(taken, ([path, take]) => ({ path, take }))
            }
          }),
          ({ copied }) =>
            changed(copied === 1 ? "Merged: 1 turn was copied." : `Merged: ${formatNumber(copied)} turns were copied.`)
        )
      }}
    >
      {conflicts.length === 0 ? (
        <p>Nothing is in conflict.</p>
      ) : (
        <Panel
          title={conflicts.length === 1 ? "1 conflict" : `${formatNumber(conflicts.length)} conflicts`}
          actions={
            <>
              <button type="button" onClick={() => takeAll("ours")}>
                All of this session
              </button>
              <button type="button" onClick={() => takeAll("theirs")}>
                All of the branch
              </button>
            </>
          }
        >
          <p>Both sides changed these. Choose for each of them what stays.</p>
          {conflicts.map((conflict) => (
            <Conflict
              key={conflict.path}
              conflict={conflict}
              taken={taken.get(conflict.path)}
              onTake={(side) => setTaken((known) => new Map([...known, [conflict.path, side]]))}
            />
          ))}
        </Panel>
      )}
      <Panel title="What comes besides">
        {Object.values(changes).every((change) => change === undefined) ? null : <Changes changes={changes} />}
        {turns.length === 0 ? <Empty>No turns.</Empty> : null}
        <div className="added">
          {turns.map((turn) => (
            <Turn key={`${turn.sessionId} ${turn.id}`} turn={turn} />
          ))}
          {turnCount > turns.length ? <p className="hint">and {formatNumber(turnCount - turns.length)} more</p> : null}
        </div>
      </Panel>
      <Problem error={error} />
      <div className="row">
        <button type="submit" className="primary" disabled={isBusy || open > 0}>
          Merge
        </button>
        {open === 0 ? null : (
          <span className="hint">{open === 1 ? "1 conflict is not decided" : `${open} conflicts are not decided`}</span>
        )}
        {error === undefined ? null : (
          <button
            type="button"
            onClick={() => {
              clear()
              setTaken(new Map())
              refresh()
            }}
          >
            Look again
          </button>
        )}
      </div>
    </form>
  )
}

const isSessionId = Schema.is(SessionId)

const Previewed = ({ from, opened }: { readonly from: SessionId; readonly opened: Opened }) => {
  const { studio } = useConnection()
  const { round, session } = opened
  const query = useQuery(`preview ${session.id} ${from} ${round}`, () =>
    studio.sessions.previewMerge({ path: { sessionId: session.id }, payload: { from } })
  )
  return (
    <Loaded query={query}>
      {(preview) => (
        <Decisions key={preview.fingerprint} from={from} opened={opened} preview={preview} refresh={query.refresh} />
      )}
    </Loaded>
  )
}

/** Brings the turns and changes of another branch here; a person decides what both sides changed. */
export const Merge = ({ opened }: { readonly opened: Opened }) => {
  const { route, session } = opened
  const from = route.params.get("from") ?? ""
  return (
    <Loaded query={opened.tree}>
      {({ root }) => {
        const others = branchesOf(root).filter(
          ({ sessionId, status }) => sessionId !== session.id && status !== undefined
        )
        if (others.length === 0) return <Empty>The conversation has no other branch.</Empty>
        const chosen = others.some(({ sessionId }) => sessionId === from) ? from : ""
        return (
          <>
            <div className="filters">
              <label>
                Merge into this session
                <select value={chosen} onChange={({ target }) => setParams(route, { from: target.value })}>
                  <option value="">Choose a branch</option>
                  {others.map(({ branchName, sessionId }) => (
                    <option key={sessionId} value={sessionId}>
                      {branchName === undefined ? sessionId : `${branchName} (${sessionId})`}
                    </option>
                  ))}
                </select>
              </label>
            </div>
            {isSessionId(chosen) ? <Previewed key={chosen} from={chosen} opened={opened} /> : null}
          </>
        )
      }}
    </Loaded>
  )
}
