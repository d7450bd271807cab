import { useState } from "react"
import type { Consolidated } from "../../../src/studio/api/StudioMemoryApi.js"
import { formatDuration, formatNumber } from "../../lib/format.js"
import { useAction } from "../../lib/hooks.js"
import { Badge, Confirm, Facts, Panel, Problem, Time, VirtualList } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

/** The entries that leave, each with the strategy that named it. */
const Removals = ({
  result: { dryRun, entriesConsolidated, entriesPruned, removals }
}: {
  readonly result: Consolidated
}) => (
  <>
    <h3>{dryRun ? "What would leave" : "What left"}</h3>
    {removals.length < entriesPruned + entriesConsolidated ? (
      <p className="hint">The first {formatNumber(removals.length)}</p>
    ) : null}
    <VirtualList
      label="Entries that leave"
      items={removals}
      keyOf={({ how, item }) => `${how} ${item.id}`}
      estimate={60}
      render={({ how, item, strategy }) => (
        <article className="message">
          <div className="row">
            <Badge tone={how === "pruned" ? "bad" : "warn"}>{how === "pruned" ? "removed" : "summarized"}</Badge>
            <code>{strategy}</code>
            {item.timestamp === undefined ? null : (
              <span className="hint">
                <Time at={item.timestamp} full />
              </span>
            )}
          </div>
          <p className="spoken">{item.text}</p>
        </article>
      )}
    />
  </>
)

/** Removes what is said twice or has faded; first it says what it would do. */
export const Consolidation = () => {
  const { studio } = useConnection()
  const [result, setResult] = useState<Consolidated>()
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
          {result.removals.length === 0 ? null : <Removals result={result} />}
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
