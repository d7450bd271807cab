import { useState } from "react"
import { linkTo, setParams, useAction, useQuery } from "../lib/hooks.js"
import { Confirm, Empty, Loaded, Panel, Problem, Tabs, Time, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"
import { Assembly } from "./memory/Assembly.js"
import { Consolidation } from "./memory/Consolidation.js"
import { Entries } from "./memory/Entries.js"
import { FactHistory } from "./memory/FactHistory.js"
import { Score } from "./memory/Score.js"

const Search = ({ route }: ViewProps) => {
  const { api } = useConnection()
  const asked = route.params.get("q") ?? ""
  const [text, setText] = useState(asked)
  const query = useQuery(asked === "" ? undefined : `search ${asked}`, () =>
    api.memory.searchMemory({ urlParams: { query: asked, explain: true, limit: 30 } })
  )
  return (
    <>
      <form
        className="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          setParams(route, { q: text.trim() })
        }}
      >
        <label className="wide">
          Question
          <input
            type="search"
            required
            maxLength={4096}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </label>
        <button type="submit" className="primary">
          Search
        </button>
      </form>
      {asked === "" ? (
        <Empty>What is remembered of you, and fits a question, with how each score was computed.</Empty>
      ) : (
        <Loaded query={query}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty>Nothing is remembered that fits.</Empty>
            ) : (
              <ol className="results" aria-label="Results">
                {results.map(({ entry, explanation, relevance, score }) => (
                  <li key={entry.id} className="panel">
                    <div className="stack">
                      <p className="spoken">{entry.content}</p>
                      <p className="hint">
                        {entry.role}, <Time at={entry.timestamp} full />
                        {entry.sessionId === undefined ? null : (
                          <>
                            , <a href={linkTo("sessions", [entry.sessionId])}>its session</a>
                          </>
                        )}
                      </p>
                    </div>
                    <Score score={score} relevance={relevance} explanation={explanation} />
                  </li>
                ))}
              </ol>
            )
          }
        </Loaded>
      )}
    </>
  )
}

/** Erases all that is remembered of the caller. */
const Erase = () => {
  const { api } = useConnection()
  const [isAsking, setAsking] = useState(false)
  const [erased, setErased] = useState<string>()
  const { act, error, isBusy } = useAction()
  return (
    <Panel title="Erase">
      <p>Erases every entry, fact and procedure that is remembered of you. It cannot be undone.</p>
      <div>
        <button type="button" className="danger" onClick={() => setAsking(true)}>
          Erase all memory
        </button>
      </div>
      <Problem error={error} />
      {erased === undefined ? null : <p role="status">{erased}</p>}
      {isAsking ? (
        <Confirm
          title="Erase all memory?"
          action="Erase"
          isBusy={isBusy}
          onCancel={() => setAsking(false)}
          onConfirm={() =>
            void act(api.memory.forgetMemory(), ({ entries, facts, procedures }) =>
              setErased(`Erased ${entries} entries, ${facts} facts and ${procedures} procedures.`)
            ).then(() => setAsking(false))
          }
        >
          <p>Agents will no longer know what you told them before.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}

const Memory = ({ route }: ViewProps) => (
  <>
    <ViewHead title="Memory" />
    <Tabs
      label="Parts of memory"
      selected={route.params.get("tab") ?? "search"}
      onSelect={(tab) => setParams(route, { tab: tab === "search" ? undefined : tab })}
      tabs={[
        { id: "search", title: "Search", render: () => <Search route={route} /> },
        { id: "entries", title: "Entries", render: () => <Entries /> },
        { id: "facts", title: "Facts", render: () => <FactHistory route={route} /> },
        { id: "assemble", title: "For a question", render: () => <Assembly route={route} /> },
        {
          id: "upkeep",
          title: "Upkeep",
          render: () => (
            <>
              <Consolidation />
              <Erase />
            </>
          )
        }
      ]}
    />
  </>
)

export default Memory
