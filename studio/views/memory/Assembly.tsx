import * as Schema from "effect/Schema"
import { type ReactNode, useState } from "react"
import { SessionId } from "../../../src/domain/Ids.js"
import type { Assembly as Assembled, Section } from "../../../src/studio/api/StudioMemoryApi.js"
import { formatNumber } from "../../lib/format.js"
import { type Route, setParams, useAction } from "../../lib/hooks.js"
import { Badge, Empty, Json, Panel, Problem, Time } from "../../lib/parts.js"
import { Stacked, Swatch } from "../../lib/Stacked.js"
import { useConnection } from "../../lib/session.js"

const isSessionId = Schema.is(SessionId)

const titles: Readonly<Record<string, string>> = {
  system_prompt: "System prompt",
  recent_turns: "Recent turns",
  episodic: "Recalled entries",
  semantic: "Facts",
  tool_descriptions: "Procedures and tools"
}

const titleOf = (source: string): string => (Object.hasOwn(titles, source) ? (titles[source] ?? source) : source)

const Items = ({ items, more = 0 }: { readonly items: Section["taken"]; readonly more?: number }) => (
  <ul className="plain">
    {items.map(({ id, role, text, timestamp }) => (
      <li key={id} className="entry">
        {text === undefined ? <code>{id}</code> : <p className="spoken">{text}</p>}
        {role === undefined || timestamp === undefined ? null : (
          <p className="hint">
            {role}, <Time at={timestamp} full />
          </p>
        )}
      </li>
    ))}
    {more > 0 ? <li className="hint">and {formatNumber(more)} more</li> : null}
  </ul>
)

const Part = ({
  children,
  count,
  title
}: {
  readonly title: string
  readonly count: number
  readonly children: ReactNode
}) =>
  count === 0 ? null : (
    <details>
      <summary>
        {title} ({formatNumber(count)})
      </summary>
      {children}
    </details>
  )

const Sections = ({ assembly: { budget, sections, text, tokens } }: { readonly assembly: Assembled }) => (
  <>
    <Panel title="What a model would be shown">
      <p>
        {formatNumber(tokens)} of {formatNumber(budget)} tokens
      </p>
      <Stacked parts={sections.map(({ source, tokens }) => ({ name: source, value: tokens }))} whole={budget} />
      <div className="table" role="region" aria-label="Sections" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Section</th>
              <th scope="col" className="number">
                Tokens
              </th>
              <th scope="col" className="number">
                It might take
              </th>
              <th scope="col" className="number">
                Taken
              </th>
              <th scope="col" className="number">
                Left out
              </th>
            </tr>
          </thead>
          <tbody>
            {sections.map(({ failed, leftCount, source, taken, tokenBudget, tokens }, at) => (
              <tr key={source}>
                <th scope="row">
                  <Swatch at={at} /> {titleOf(source)}{" "}
                  {failed === undefined ? null : <Badge tone="bad">{`failed: ${failed}`}</Badge>}
                </th>
                <td className="number">{formatNumber(Math.round(tokens))}</td>
                <td className="number">{formatNumber(Math.round(tokenBudget))}</td>
                <td className="number">{formatNumber(taken.length)}</td>
                <td className="number">{formatNumber(leftCount)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {text === "" ? <Empty>Nothing is remembered that fits.</Empty> : <Json label="The message" value={text} />}
    </Panel>
    {sections
      .filter(({ leftCount, taken }) => leftCount + taken.length > 0)
      .map(({ left, leftCount, source, taken }) => (
        <Panel key={source} title={titleOf(source)}>
          <Part title="Taken" count={taken.length}>
            <Items items={taken} />
          </Part>
          <Part title="Left out" count={leftCount}>
            <Items items={left} more={leftCount - left.length} />
          </Part>
        </Panel>
      ))}
  </>
)

/** What memory gives for a question. */
export const Assembly = ({ route }: { readonly route: Route }) => {
  const { studio } = useConnection()
  const [question, setQuestion] = useState(route.params.get("q") ?? "")
  const [session, setSession] = useState(route.params.get("session") ?? "")
  const [budget, setBudget] = useState(route.params.get("budget") ?? "")
  const [assembly, setAssembly] = useState<Assembled>()
  const { act, error, isBusy } = useAction()
  return (
    <>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          setParams(route, { q: question, session, budget })
          void act(
            studio.memory.assembleMemory({
              payload: {
                question,
                ...(isSessionId(session) ? { sessionId: session } : {}),
                ...(budget === "" ? {} : { budget: Number(budget) })
              }
            }),
            setAssembly
          )
        }}
      >
        <label className="wide">
          Question
          <input required maxLength={4096} value={question} onChange={({ target }) => setQuestion(target.value)} />
        </label>
        <label>
          Session
          <input
            maxLength={256}
            value={session}
            onChange={({ target }) => {
              target.setCustomValidity(
                target.value === "" || isSessionId(target.value) ? "" : "This is no id of a session"
              )
              setSession(target.value)
            }}
          />
        </label>
        <label>
          Tokens
          <input
            type="number"
            min={0}
            max={200000}
            placeholder="as agents"
            value={budget}
            onChange={({ target }) => setBudget(target.value)}
          />
        </label>
        <button type="submit" className="primary" disabled={isBusy}>
          Assemble
        </button>
      </form>
      <p className="hint">Entries that are recalled here count as recalled once more, as in a run.</p>
      <Problem error={error} />
      {assembly === undefined ? null : <Sections assembly={assembly} />}
    </>
  )
}
