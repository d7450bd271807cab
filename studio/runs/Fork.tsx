/** Starts a run that goes on from a step of another one, with other settings. */
import { useState } from "react"
import { linkTo, type Route, useAction, useQuery } from "../lib/hooks.js"
import { Loaded, Panel, Problem } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { Choices } from "../playground/Choices.js"
import { requested } from "../playground/settings.js"
import type { RunFold } from "./fold.js"

export const Fork = ({
  agent,
  fold,
  route,
  runId
}: {
  readonly agent: string
  readonly fold: RunFold
  readonly route: Route
  readonly runId: string
}) => {
  const { studio } = useConnection()
  const action = useAction()
  const details = useQuery(`agent ${agent}`, () => studio.studioRuns.studioAgent({ path: { name: agent } }))
  const [step, setStep] = useState(0)
  const [input, setInput] = useState("")
  const start = () =>
    void action.act(
      studio.studioRuns.studioFork({
        path: { runId },
        payload: { step, ...requested(route), ...(input.trim() === "" ? {} : { input }) }
      }),
      (run) => {
        location.hash = linkTo("runs", [run.runId])
      }
    )
  return (
    <Panel title="Fork">
      <p>
        A new run takes what this one recorded before the step, and goes on by itself from there. It adds nothing to the
        session or to memory. What you leave empty is as in this run.
      </p>
      <Loaded query={details}>{(agent) => <Choices agent={agent} route={route} />}</Loaded>
      <form
        className="stack"
        aria-label="Fork"
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <label>
          Goes on before step
          <select value={step} onChange={({ target }) => setStep(Number(target.value))}>
            {Array.from({ length: fold.steps }, (_, at) => at).map((at) => (
              <option key={at} value={at}>
                {at + 1}
              </option>
            ))}
          </select>
        </label>
        <label>
          Other input
          <textarea value={input} placeholder={fold.started?.input} onChange={({ target }) => setInput(target.value)} />
        </label>
        <div className="actions">
          <button type="submit" className="primary" disabled={action.isBusy || fold.steps === 0}>
            Start the fork
          </button>
        </div>
      </form>
      <Problem error={action.error} />
    </Panel>
  )
}
