import { useState } from "react"
import type { Item, KnownFact } from "../../../src/studio/api/StudioMemoryApi.js"
import { formatDateTime } from "../../lib/format.js"
import { type Route, setParams, useAction, useQuery } from "../../lib/hooks.js"
import { Empty, Loaded, Problem, Time } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

type Cursor = { readonly confidence: number; readonly validFrom: number; readonly id: KnownFact["id"] }

interface Page {
  readonly facts: ReadonlyArray<KnownFact>
  readonly entries: ReadonlyArray<Item>
  readonly next?: Cursor | undefined
}

const SIZE = 200

const inOrder = (a: KnownFact, b: KnownFact): number =>
  a.subject.localeCompare(b.subject) || a.predicate.localeCompare(b.predicate) || a.validFrom - b.validFrom

interface Span {
  readonly from: number
  readonly to: number
}

/** The time that all facts are in, up to now. */
const spanOf = (facts: ReadonlyArray<KnownFact>): Span => {
  let [from, to] = [Number.POSITIVE_INFINITY, Date.now()]
  for (const { validFrom, validTo } of facts) {
    from = Math.min(from, validFrom)
    to = Math.max(to, validTo ?? validFrom)
  }
  return from < to ? { from, to } : { from: to - 1, to }
}

/** When a fact held, in the time that all of them are in. */
const Period = ({ fact, span: { from, to } }: { readonly fact: KnownFact; readonly span: Span }) => {
  const share = (at: number) => (100 * (at - from)) / (to - from)
  const left = share(fact.validFrom)
  return (
    <div className="timeline" aria-hidden="true">
      <span
        className={fact.validTo === undefined ? "holds" : "ended"}
        style={{ left: `${left}%`, width: `${Math.max(0.5, share(fact.validTo ?? to) - left)}%` }}
      />
    </div>
  )
}

/** An entry that a fact was read from: its text, or its id if it is gone. */
const Source = ({ entry, id }: { readonly id: string; readonly entry: Item | undefined }) =>
  entry?.text === undefined ? (
    <>
      <code>{id}</code> <span className="hint">is not kept any more</span>
    </>
  ) : (
    <>
      <p className="spoken">{entry.text}</p>
      <p className="hint">
        {entry.role}, {entry.timestamp === undefined ? null : <Time at={entry.timestamp} full />}
      </p>
    </>
  )

const FactTable = ({
  entries,
  facts
}: {
  readonly facts: ReadonlyArray<KnownFact>
  readonly entries: ReadonlyArray<Item>
}) => {
  const known = new Map(entries.map((entry) => [entry.id, entry]))
  const span = spanOf(facts)
  const rows = facts.toSorted(inOrder)
  return (
    <div className="table" role="region" aria-label="Facts" tabIndex={0}>
      <table>
        <caption>
          From {formatDateTime(span.from)} to {formatDateTime(span.to)}
        </caption>
        <thead>
          <tr>
            <th scope="col">Fact</th>
            <th scope="col" className="period">
              Time line
            </th>
            <th scope="col" className="number">
              Sure
            </th>
            <th scope="col">Since</th>
            <th scope="col">Until</th>
            <th scope="col">Read from</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((fact) => (
            <tr key={fact.id}>
              <th scope="row" className="fact">
                {fact.subject} <span className="predicate">{fact.predicate}</span> {fact.object}
              </th>
              <td>
                <Period fact={fact} span={span} />
              </td>
              <td className="number">{fact.confidence.toFixed(2)}</td>
              <td>
                <Time at={fact.validFrom} />
              </td>
              <td>{fact.validTo === undefined ? "holds" : <Time at={fact.validTo} />}</td>
              <td>
                {fact.sources.length === 0 ? (
                  "nothing that is kept"
                ) : (
                  <details>
                    <summary>{fact.sources.length === 1 ? "1 entry" : `${fact.sources.length} entries`}</summary>
                    <ul className="plain">
                      {fact.sources.map((id) => (
                        <li key={id}>
                          <Source id={id} entry={known.get(id)} />
                        </li>
                      ))}
                    </ul>
                  </details>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Facts with the times in which they held. */
export const FactHistory = ({ route }: { readonly route: Route }) => {
  const { studio } = useConnection()
  const [text, closed] = [route.params.get("words") ?? "", route.params.get("closed") !== "no"]
  const date = route.params.get("at") ?? ""
  const at = Date.parse(date)
  const filter = {
    closed,
    limit: SIZE,
    ...(text === "" ? {} : { text }),
    ...(Number.isNaN(at) ? {} : { at })
  }
  const key = JSON.stringify(filter)
  const [more, setMore] = useState<{ readonly key: string; readonly pages: ReadonlyArray<Page> }>({ key, pages: [] })
  const { act, error, isBusy } = useAction()
  const query = useQuery(`facts ${key}`, () => studio.memory.listFacts({ urlParams: filter }))
  return (
    <>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label className="wide">
          Words
          <input
            type="search"
            maxLength={1000}
            value={text}
            onChange={({ target }) => setParams(route, { words: target.value })}
          />
        </label>
        <label>
          As of
          <input type="datetime-local" value={date} onChange={({ target }) => setParams(route, { at: target.value })} />
        </label>
        <label className="inline">
          <input
            type="checkbox"
            checked={closed}
            onChange={({ target }) => setParams(route, { closed: target.checked ? undefined : "no" })}
          />
          Those that have ended, too
        </label>
      </form>
      <Loaded query={query}>
        {(page: Page) => {
          const pages = [page, ...(more.key === key ? more.pages : [])]
          const facts = pages.flatMap((one) => one.facts)
          const next = pages.at(-1)?.next
          return facts.length === 0 ? (
            <Empty>{text === "" && date === "" ? "No facts are known of you." : "No fact fits."}</Empty>
          ) : (
            <>
              <Problem error={error} />
              <FactTable facts={facts} entries={pages.flatMap((one) => one.entries)} />
              {next === undefined ? null : (
                <div>
                  <button
                    type="button"
                    disabled={isBusy}
                    onClick={() =>
                      void act(studio.memory.listFacts({ urlParams: { ...filter, cursor: next } }), (found) =>
                        setMore({ key, pages: [...pages.slice(1), found] })
                      )
                    }
                  >
                    Show more
                  </button>
                </div>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}
