import { useState } from "react"
import type { SessionId } from "../../../src/domain/Ids.js"
import type { CheckpointId } from "../../../src/session/turn/Session.js"
import { linkTo, useAction } from "../../lib/hooks.js"
import { Dialog, Problem } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

/** Begins a branch at the newest turn or at a checkpoint, and opens it. */
export const Fork = ({
  checkpoint,
  id,
  onClose
}: {
  readonly id: SessionId
  readonly checkpoint?: CheckpointId
  readonly onClose: () => void
}) => {
  const { api } = useConnection()
  const [name, setName] = useState("")
  const { act, error, isBusy } = useAction()
  return (
    <Dialog title={checkpoint === undefined ? "Fork at the newest turn" : "Fork at the checkpoint"} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void act(
            api.sessions.forkSession({
              path: { sessionId: id },
              payload: {
                ...(name === "" ? {} : { branchName: name }),
                ...(checkpoint === undefined ? {} : { fromCheckpoint: checkpoint })
              }
            }),
            (branch) => {
              onClose()
              location.hash = linkTo("sessions", [branch.id])
            }
          )
        }}
      >
        <p className="hint">The branch shares the turns before it, and goes on by itself.</p>
        <label>
          Name of the branch
          <input maxLength={256} value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <Problem error={error} />
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            Begin the branch
          </button>
        </div>
      </form>
    </Dialog>
  )
}
