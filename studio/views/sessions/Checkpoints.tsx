import { useState } from "react"
import type { Checkpoint } from "../../../src/http/api/SessionModels.js"
import type { WholeDiff } from "../../../src/studio/api/StudioSessionApi.js"
import { formatNumber } from "../../lib/format.js"
import { setParams, useAction, useQuery } from "../../lib/hooks.js"
import { Badge, Confirm, Empty, Loaded, Panel, Problem, Time } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"
import { Changes } from "./Changes.js"
import { Fork } from "./Fork.js"
import type { Opened } from "./SessionDetail.js"
import { Turn } from "./Turn.js"

const Diff = ({ diff }: { readonly diff: WholeDiff }) => {
  const { status, turns, ...changes } = diff
  if (Object.values(diff).every((change) => change === undefined)) return <Empty>They do not differ.</Empty>
  return (
    <>
      {status === undefined ? null : (
        <p>
          Status: {status.from} becomes {status.to}
        </p>
      )}
      <Changes changes={changes} />
      {turns === undefined ? null : (
        <div className="stack">
          <h3>Turns</h3>
          {turns.removedCount === 0 ? null : (
            <p>
              <del>{turns.removedCount === 1 ? "1 turn" : `${formatNumber(turns.removedCount)} turns`}</del>{" "}
              <span className="hint">that the second one lacks</span>
            </p>
          )}
          {turns.added.length === 0 ? null : (
            <div className="added">
              {turns.added.map((turn) => (
                <Turn key={`${turn.sessionId} ${turn.id}`} turn={turn} />
              ))}
              {turns.addedCount > turns.added.length ? (
                <p className="hint">and {formatNumber(turns.addedCount - turns.added.length)} more</p>
              ) : null}
            </div>
          )}
        </div>
      )}
    </>
  )
}

const Compared = ({ from, to }: { readonly from: Checkpoint; readonly to: Checkpoint }) => {
  const { studio } = useConnection()
  const query = useQuery(`diff ${from.id} ${to.id}`, () =>
    studio.sessions.wholeDiff({ path: { checkpointId: from.id, to: to.id } })
  )
  return (
    <Panel title={`From ${from.name ?? from.kind} to ${to.name ?? to.kind}`}>
      <Loaded query={query}>{(diff) => <Diff diff={diff} />}</Loaded>
    </Panel>
  )
}

const Restore = ({
  checkpoint,
  onClose,
  opened: { changed, session }
}: {
  readonly checkpoint: Checkpoint
  readonly opened: Opened
  readonly onClose: () => void
}) => {
  const { api } = useConnection()
  const { act, error, isBusy } = useAction()
  const isOver = session.status === "closed" || session.status === "expired"
  return (
    <Confirm
      title="Restore this checkpoint?"
      action="Restore"
      isBusy={isBusy}
      onCancel={onClose}
      onConfirm={() =>
        void act(
          api.sessions.restoreCheckpoint({
            path: { checkpointId: checkpoint.id },
            payload: isOver ? { reopen: true } : {}
          }),
          () => {
            onClose()
            changed("The session was restored.")
          }
        )
      }
    >
      <p>
        The session goes back to {checkpoint.depth === 1 ? "its first turn" : `turn ${formatNumber(checkpoint.depth)}`}{" "}
        and to the state of that time.{isOver ? " It is open again." : ""}
      </p>
      <Problem error={error} />
    </Confirm>
  )
}

/** The checkpoints of a session: compared, restored, forked from. */
export const Checkpoints = ({ opened }: { readonly opened: Opened }) => {
  const { route, session } = opened
  const [restoring, setRestoring] = useState<Checkpoint>()
  const [forking, setForking] = useState<Checkpoint>()
  return (
    <Loaded query={opened.checkpoints}>
      {({ checkpoints }) => {
        if (checkpoints.length === 0) return <Empty>The session has no checkpoints.</Empty>
        const chosen = (side: "old" | "new") => checkpoints.find(({ id }) => id === route.params.get(side))
        const [from, to] = [chosen("old"), chosen("new")]
        const pick = (side: "old" | "new", { id, name, kind }: Checkpoint) => (
          <input
            type="radio"
            name={side}
            aria-label={`${side === "old" ? "Compare from" : "Compare to"} ${name ?? kind}`}
            checked={chosen(side)?.id === id}
            onChange={() => setParams(route, { [side]: id })}
          />
        )
        return (
          <>
            <div className="table" role="region" aria-label="Checkpoints" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">From</th>
                    <th scope="col">To</th>
                    <th scope="col">Checkpoint</th>
                    <th scope="col">Kept</th>
                    <th scope="col" className="number">
                      Turns
                    </th>
                    <th scope="col">Do</th>
                  </tr>
                </thead>
                <tbody>
                  {checkpoints.map((checkpoint) => (
                    <tr key={checkpoint.id}>
                      <td>{pick("old", checkpoint)}</td>
                      <td>{pick("new", checkpoint)}</td>
                      <th scope="row" className="fact">
                        {checkpoint.name ?? ""} <Badge tone="plain">{checkpoint.kind}</Badge>
                      </th>
                      <td>
                        <Time at={checkpoint.createdAt} />
                      </td>
                      <td className="number">{formatNumber(checkpoint.depth)}</td>
                      <td>
                        <div className="row">
                          <button type="button" onClick={() => setRestoring(checkpoint)}>
                            Restore
                          </button>
                          <button type="button" onClick={() => setForking(checkpoint)}>
                            Fork
                          </button>
                        </div>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {from === undefined || to === undefined ? (
              <p className="hint">Choose two of them to see what differs.</p>
            ) : (
              <Compared from={from} to={to} />
            )}
            {restoring === undefined ? null : (
              <Restore checkpoint={restoring} opened={opened} onClose={() => setRestoring(undefined)} />
            )}
            {forking === undefined ? null : (
              <Fork id={session.id} checkpoint={forking.id} onClose={() => setForking(undefined)} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}
