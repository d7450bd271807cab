import { useState } from "react"
import type { ConsolidationResult } from "../../../src/memory/consolidation/MemoryConsolidator.js"
import { formatDuration, formatNumber } from "../../lib/format.js"
import { useAction } from "../../lib/hooks.js"
import { Confirm, Facts, Panel, Problem } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

/** Removes what is said twice or has faded; first it says what it would do. */
export const Consolidation = () => {
  const { studio } = useConnection()
  const [result, setResult] = useState<ConsolidationResult>()
  const [isAsking, setAsking] = useState(false)
  const { act, error, isBusy } = useAction()
  const consolidate = (apply: boolean) => act(studio.memory.consolidateMemory({ payload: { apply } }), setResult)
  return (
    <Panel title="Consolidation">
      <p>Removes what is said twice or has faded, summarizes what is old, and reads facts from it.</p>
      <div className="row">
        <button type="button" className="primary" disabled={isBusy} onClick={() => void consolidate(false)}>
          Show what it would do
        </button>
        <button
          type="button"
          disabled={isBusy || result === undefined || !result.dryRun}
          onClick={() => setAsking(true)}
        >
          Do it
        </button>
      </div>
      <Problem error={error} />
      {result === undefined ? null : (
        <div role="status" className="stack">
          <p>{result.dryRun ? "Nothing was changed. It would be:" : "Done."}</p>
          <Facts
            facts={[
              ["Entries examined", formatNumber(result.entriesProcessed)],
              [result.dryRun ? "Would be removed" : "Removed", formatNumber(result.entriesPruned)],
              [result.dryRun ? "Would be summarized" : "Summarized", formatNumber(result.entriesConsolidated)],
              ["Summaries", formatNumber(result.summariesStored)],
              ["Facts stored", result.dryRun ? "known when it is done" : formatNumber(result.entitiesExtracted)],
              ["Time", formatDuration(result.durationMs)]
            ]}
          />
        </div>
      )}
      {isAsking && result !== undefined ? (
        <Confirm
          title="Consolidate the memory?"
          action="Consolidate"
          isBusy={isBusy}
          onCancel={() => setAsking(false)}
          onConfirm={() => void consolidate(true).then(() => setAsking(false))}
        >
          <p>
            {formatNumber(result.entriesPruned)} entries would be removed, and{" "}
            {formatNumber(result.entriesConsolidated)} summarized. It cannot be undone.
          </p>
        </Confirm>
      ) : null}
    </Panel>
  )
}
