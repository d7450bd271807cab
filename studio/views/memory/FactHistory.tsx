import * as Effect from "effect/Effect"
import type { Item, KnownFact } from "../../../src/studio/api/StudioMemoryApi.js"
import { formatDateTime, formatNumber } from "../../lib/format.js"
import { type Route, setParams } from "../../lib/hooks.js"
import { usePages } from "../../lib/pages.js"
import { Empty, Problem, Time, VirtualList } from "../../lib/parts.js"
import { useConnection } from "../../lib/session.js"

type Cursor = { readonly confidence: number; readonly validFrom: number; readonly id: KnownFact["id"] }

/** A fact and the entries that it was read from, as far as they are kept. */
interface Row {
  readonly fact: KnownFact
  readonly sources: ReadonlyArray<readonly [string, Item | undefined]>
}

const SIZE = 200

const inOrder = (a: KnownFact, b: KnownFact): number =>
  a.subject.localeCompare(b.subject) || a.predicate.localeCompare(b.predicate) || a.validFrom - b.validFrom

interface Span {
  readonly from: number
  readonly to: number
}

/** The time that all facts are in, up to now. */
const spanOf = (rows: ReadonlyArray<Row>): Span => {
  let [from, to] = [Number.POSITIVE_INFINITY, Date.now()]
  for (const {
    fact: { validFrom, validTo }
  } of rows) {
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

const FactRow = ({ row: { fact, sources }, span }: { readonly row: Row; readonly span: Span }) => (
  <div className="list-row facts-row">
    <strong className="fact">
      {fact.subject} <span className="predicate">{fact.predicate}</span> {fact.object}
    </strong>
    <Period fact={fact} span={span} />
    <span className="number">{fact.confidence.toFixed(2)}</span>
    <Time at={fact.validFrom} />
    <span>{fact.validTo === undefined ? "holds" : <Time at={fact.validTo} />}</span>
    {sources.length === 0 ? (
      <span>nothing that is kept</span>
    ) : (
      <details>
        <summary>{sources.length === 1 ? "1 entry" : `${sources.length} entries`}</summary>
        <ul className="plain">
          {sources.map(([id, entry]) => (
            <li key={id}>
              <Source id={id} entry={entry} />
            </li>
          ))}
        </ul>
      </details>
    )}
  </div>
)

const FactList = ({ onEnd, rows }: { readonly rows: ReadonlyArray<Row>; readonly onEnd: () => void }) => {
  const span = spanOf(rows)
  return (
    <>
      <p className="hint">
        From {formatDateTime(span.from)} to {formatDateTime(span.to)}
      </p>
      <div className="list-head facts-row" aria-hidden="true">
        <span>Fact</span>
        <span>Time line</span>
        <span className="number">Sure</span>
        <span>Since</span>
        <span>Until</span>
        <span>Read from</span>
      </div>
      <VirtualList
        label="Facts"
        items={rows}
        keyOf={({ fact }) => fact.id}
        estimate={44}
        onEnd={onEnd}
        render={(row) => <FactRow row={row} span={span} />}
      />
    </>
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
  const facts = usePages(
    `facts ${JSON.stringify(filter)}`,
    (cursor: Cursor | undefined) =>
      Effect.map(
        studio.memory.listFacts({ urlParams: { ...filter, ...(cursor === undefined ? {} : { cursor }) } }),
        ({ entries, facts, next }) => {
          const known = new Map(entries.map((entry) => [entry.id, entry]))
          const items = facts
            .toSorted(inOrder)
            .map((fact): Row => ({ fact, sources: fact.sources.map((id) => [id, known.get(id)]) }))
          return { items, next }
        }
      ),
    ({ fact }) => fact.id
  )
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
      <Problem error={facts.error} />
      {facts.items.length > 0 ? (
        <>
          <FactList rows={facts.items} onEnd={facts.more} />
          <p className="hint" role="status">
            {`${formatNumber(facts.items.length)} facts${facts.hasMore ? ", more are loaded at the end of the list" : ""}`}
          </p>
        </>
      ) : facts.isLoaded ? (
        <Empty>{text === "" && date === "" ? "No facts are known of you." : "No fact fits."}</Empty>
      ) : facts.error === undefined ? (
        <Empty>Loading…</Empty>
      ) : null}
    </>
  )
}
