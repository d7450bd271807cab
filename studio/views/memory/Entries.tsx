import { useState } from "react"
import type { MemoryItem } from "../../../src/http/api/OwnerApi.js"
import { useAction, useQuery } from "../../lib/hooks.js"
import { Badge, Confirm, Empty, Loaded, Problem, Time, VirtualList } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

type Cursor = { readonly timestamp: number; readonly id: MemoryItem["id"] }

interface Page {
  readonly entries: ReadonlyArray<MemoryItem>
  readonly next?: Cursor | undefined
}

const SIZE = 100

/** All entries, the newest first. Older ones are asked for when somebody wants them. */
export const Entries = () => {
  const { api } = useConnection()
  const [older, setOlder] = useState<ReadonlyArray<Page>>([])
  const [chosen, setChosen] = useState<MemoryItem>()
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set())
  const [said, setSaid] = useState<string>()
  const { act, error, isBusy } = useAction()
  const first = useQuery("entries", () => api.memory.listMemory({ urlParams: { limit: SIZE } }))
  return (
    <Loaded query={first}>
      {(page: Page) => {
        const pages = [page, ...older]
        const entries = pages.flatMap((one) => one.entries).filter(({ id }) => !gone.has(id))
        const next = pages.at(-1)?.next
        if (entries.length === 0) return <Empty>Nothing is remembered of you.</Empty>
        return (
          <>
            <Problem error={error} />
            {said === undefined ? null : <p role="status">{said}</p>}
            <VirtualList
              label="Entries"
              items={entries}
              keyOf={({ id }) => id}
              estimate={90}
              render={(entry) => (
                <div className="entry">
                  <p className="spoken">{entry.content}</p>
                  <div className="row">
                    <Badge>{entry.role}</Badge>
                    <Time at={entry.timestamp} full />
                    <span className="hint">importance {entry.importance.toFixed(2)}</span>
                    <button type="button" className="danger" onClick={() => setChosen(entry)}>
                      Forget
                    </button>
                  </div>
                </div>
              )}
            />
            <div className="row">
              <span className="hint">
                {entries.length} entries{next === undefined ? "" : " so far"}
              </span>
              {next === undefined ? null : (
                <button
                  type="button"
                  disabled={isBusy}
                  onClick={() =>
                    void act(api.memory.listMemory({ urlParams: { limit: SIZE, cursor: next } }), (more) =>
                      setOlder((known) => [...known, more])
                    )
                  }
                >
                  Show older ones
                </button>
              )}
            </div>
            {chosen === undefined ? null : (
              <Confirm
                title="Forget this entry?"
                action="Forget"
                isBusy={isBusy}
                onCancel={() => setChosen(undefined)}
                onConfirm={() =>
                  void act(api.memory.forgetEntry({ path: { entryId: chosen.id } }), ({ facts }) => {
                    setGone((known) => new Set([...known, chosen.id]))
                    setSaid(`Forgot the entry and ${facts === 1 ? "1 fact" : `${facts} facts`}.`)
                  }).then(() => setChosen(undefined))
                }
              >
                <p className="spoken">{chosen.content.slice(0, 1000)}</p>
                <p className="hint">Facts that were read from it alone are forgotten, too.</p>
              </Confirm>
            )}
          </>
        )
      }}
    </Loaded>
  )
}
