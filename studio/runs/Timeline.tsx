/** The events of a run in their order, each opened on demand. */
import { useDeferredValue, useMemo, useRef, useState } from "react"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type { RunSettings } from "../../src/studio/api/StudioRunApi.js"
import { formatDuration, formatJson, formatNumber } from "../lib/format.js"
import { linkTo, type Query, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Json, Markdown, Time, VirtualList } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { type Item, type RunFold, searchTextOf, type ToolItem } from "./fold.js"
import { ModelCall, usageLine } from "./ModelCall.js"

const oneLine = (text: string): string => text.slice(0, 300).replace(/\s+/g, " ")

const words: Partial<Record<AgentEvent["_tag"], string>> = {
  Started: "Began",
  InputChecked: "Input checked",
  Steered: "Message added",
  Thought: "Thought",
  Plan: "Plan",
  ToolResult: "Tool result",
  ToolCompensated: "Call undone",
  ProviderToolUsed: "Tool of the provider",
  Delegated: "Sub-agent",
  Critique: "Critique",
  NodeFinished: "Node",
  NodeEmitted: "Node emitted",
  GuardTriggered: "Guard",
  FilesKept: "Files kept",
  MemoryRecalled: "Memory",
  AnswerRejected: "Answer rejected",
  Degraded: "Skipped failure",
  Message: "Answer",
  Error: "Failed",
  Finished: "Finished"
}

const noteLine = (event: AgentEvent): string => {
  switch (event._tag) {
    case "Started":
    case "InputChecked":
      return oneLine(event.input)
    case "Steered":
    case "Thought":
    case "Critique":
    case "Message":
      return oneLine(event.text)
    case "Plan":
      return `${event.steps.filter(({ status }) => status === "completed").length} of ${event.steps.length} steps done`
    case "Delegated":
      return `${event.toAgent}: ${oneLine(event.message)}`
    case "NodeFinished":
    case "NodeEmitted":
      return `${event.graph} / ${event.node}`
    case "GuardTriggered":
      return `${event.guard} · ${event.action} · ${event.stage}${event.reason === undefined ? "" : ` · ${oneLine(event.reason)}`}`
    case "MemoryRecalled":
      return `${event.count} from ${event.source}`
    case "AnswerRejected":
      return oneLine(event.message)
    case "Degraded":
      return `${event.stage}: ${oneLine(event.error.message)}`
    case "ToolCompensated":
      return `${event.name}${event.isFailure ? ": not undone" : ""}`
    case "Error":
      return event.interrupted ? "interrupted" : `${event.error.tag}: ${oneLine(event.error.message)}`
    case "Finished":
      return event.reason
    default:
      return ""
  }
}

const noteTone = (event: AgentEvent): string => {
  if (event._tag === "Error") return event.interrupted ? "warn" : "bad"
  if (event._tag === "GuardTriggered") return event.action === "block" ? "bad" : "warn"
  if (event._tag === "Degraded" || event._tag === "AnswerRejected") return "warn"
  return event._tag === "Finished" || event._tag === "Message" ? "good" : "plain"
}

const toolState = ({ asked, decided, result }: ToolItem): string =>
  result === undefined
    ? asked !== undefined && decided === undefined
      ? "waiting"
      : "running"
    : result.isFailure
      ? "failed"
      : "done"

const Head = ({ item }: { readonly item: Item }) => {
  switch (item.kind) {
    case "model":
      return (
        <>
          <Badge tone={item.usage === undefined ? "busy" : "plain"}>Model</Badge>
          <span className="event-line">
            {item.name === undefined ? `step ${item.step}` : item.name}{" "}
            {item.text === "" ? "" : `“${oneLine(item.text)}”`}
          </span>
          <span className="event-side">{usageLine(item)}</span>
        </>
      )
    case "tool": {
      const state = toolState(item)
      return (
        <>
          <Badge tone={state === "failed" ? "bad" : state === "done" ? "good" : state === "waiting" ? "warn" : "busy"}>
            Tool
          </Badge>
          <span className="event-line">
            <strong>{item.name}</strong> {oneLine(formatJson(item.params))}
          </span>
          <span className="event-side">
            {state === "running" && item.progress !== undefined ? item.progress : state}
            {item.result === undefined ? "" : ` · ${formatDuration(item.result.durationMs)}`}
            {(item.result?.attempts ?? 1) > 1 ? ` · ${item.result?.attempts} attempts` : ""}
          </span>
        </>
      )
    }
    case "question":
      return (
        <>
          <Badge tone={item.answered === undefined ? "warn" : "plain"}>Question</Badge>
          <span className="event-line">{oneLine(item.asked.message)}</span>
          <span className="event-side">{item.answered?.action ?? "waiting"}</span>
        </>
      )
    case "note":
      return (
        <>
          <Badge tone={noteTone(item.event)}>{words[item.event._tag] ?? item.event._tag}</Badge>
          <span className="event-line">{noteLine(item.event)}</span>
        </>
      )
  }
}

const ToolDetail = ({ item }: { readonly item: ToolItem }) => (
  <>
    <h3>Arguments</h3>
    <Json value={item.params} label={`Arguments of ${item.name}`} />
    {item.asked === undefined ? null : (
      <p>
        Approval: {item.decided === undefined ? "waiting" : item.decided.approved ? "approved" : "denied"}
        {item.decided?.reason === undefined ? "" : ` · ${item.decided.reason}`}
      </p>
    )}
    {item.result === undefined ? null : (
      <>
        <h3>{item.result.isFailure ? "Failure" : "Result"}</h3>
        {item.result.error === undefined ? null : (
          <p>
            <code>{item.result.error.tag}</code> {item.result.error.message}
          </p>
        )}
        <Json value={item.result.result ?? item.result.observation} label={`Result of ${item.name}`} />
        {item.result.observation === "" || item.result.result === item.result.observation ? null : (
          <details>
            <summary>What the model reads{item.result.truncated ? " (cut)" : ""}</summary>
            <pre className="text">{item.result.observation}</pre>
          </details>
        )}
      </>
    )}
  </>
)

const Detail = ({
  fold,
  item,
  settings
}: {
  readonly fold: RunFold
  readonly item: Item
  readonly settings: Query<RunSettings>
}) => {
  switch (item.kind) {
    case "model":
      return <ModelCall fold={fold} item={item} settings={settings} />
    case "tool":
      return <ToolDetail item={item} />
    case "question":
      return (
        <>
          <p>{item.asked.message}</p>
          <Json value={item.asked.form} label="Form" />
          {item.answered === undefined ? null : <Json value={item.answered} label="Answer" />}
        </>
      )
    case "note": {
      const { event } = item
      return (
        <>
          {event._tag === "Delegated" ? (
            <p>
              <a href={linkTo("runs", [event.childRunId])}>The run of {event.toAgent}</a>
            </p>
          ) : null}
          {event._tag === "Message" ? <Markdown text={event.text} /> : null}
          <Json value={event} label={event._tag} />
        </>
      )
    }
  }
}

const noise: ReadonlySet<string> = new Set(["NodeFinished", "MemoryRecalled", "FilesKept"])
const isShown = (item: Item, isAll: boolean): boolean => isAll || item.kind !== "note" || !noise.has(item.event._tag)

const isSettled = (item: Item): boolean =>
  item.kind === "model"
    ? item.usage !== undefined
    : item.kind === "tool"
      ? item.result !== undefined
      : item.kind === "note" || item.answered !== undefined

interface Kept {
  readonly key: string
  readonly fold: RunFold
  /** Items before it were tested. */
  at: number
  /** Tested items that did not pass and can still change. */
  open: ReadonlyArray<Item>
  readonly items: Array<Item>
}

/** Items that pass a test. Only those that come or change are tested, unless the test changes. */
const useFiltered = (fold: RunFold, search: string, isAll: boolean): ReadonlyArray<Item> => {
  const last = useRef<Kept>(undefined)
  const key = `${isAll} ${search}`
  if (search === "" && isAll) return fold.items
  if (last.current === undefined || last.current.key !== key || last.current.fold !== fold) {
    last.current = { key, fold, at: 0, open: [], items: [] }
  }
  const { current: kept } = last
  const passes = (item: Item) => isShown(item, isAll) && (search === "" || searchTextOf(item).includes(search))
  const late = kept.open.filter(passes)
  const begin = kept.at
  const fresh = fold.items.slice(begin).filter(passes)
  kept.open = [...kept.open, ...fold.items.slice(begin)].filter((item) => !isSettled(item) && !passes(item))
  kept.at = fold.items.length
  kept.items.push(...fresh)
  if (late.length > 0) {
    kept.items.push(...late)
    kept.items.sort((a, b) => a.seq - b.seq)
  }
  return kept.items
}

export const Timeline = ({
  fold,
  onSearch,
  runId,
  search
}: {
  readonly runId: string
  readonly fold: RunFold
  readonly search: string
  readonly onSearch: (text: string) => void
}) => {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const [isAll, setAll] = useState(false)
  const wanted = useDeferredValue(search.trim().toLowerCase())
  const items = useFiltered(fold, wanted, isAll)
  const { studio } = useConnection()
  const [wasOpened, setWasOpened] = useState(false)
  // Asked for once, when the first entry is opened.
  const settings = useQuery(wasOpened ? `settings ${runId}` : undefined, () =>
    studio.studioRuns.studioSettings({ path: { runId } })
  )
  const toggle = useMemo(
    () => (seq: number) => {
      setWasOpened(true)
      setOpened((last) => {
        const next = new Set(last)
        if (!next.delete(seq)) next.add(seq)
        return next
      })
    },
    []
  )
  return (
    <>
      <div className="filters">
        <label>
          Search in the run
          <input type="search" value={search} onChange={({ target }) => onSearch(target.value)} />
        </label>
        <label className="inline">
          <input type="checkbox" checked={isAll} onChange={({ target }) => setAll(target.checked)} />
          Nodes and memory too
        </label>
        <p className="hint" role="status">
          {`${formatNumber(items.length)} of ${formatNumber(fold.items.length)} entries, ${formatNumber(fold.events)} events`}
        </p>
      </div>
      {items.length === 0 ? (
        <Empty>{fold.items.length === 0 ? "Nothing has happened yet." : "Nothing fits."}</Empty>
      ) : (
        <VirtualList
          label="Timeline"
          items={items}
          keyOf={({ seq }) => seq}
          estimate={38}
          follow={fold.ended === undefined}
          render={(item) => (
            <article className="event">
              <button
                type="button"
                className="event-head"
                aria-expanded={opened.has(item.seq)}
                onClick={() => toggle(item.seq)}
              >
                <span className="event-time">
                  <Time at={item.at} />
                </span>
                <Head item={item} />
              </button>
              {opened.has(item.seq) ? (
                <div className="event-body">
                  <Detail fold={fold} item={item} settings={settings} />
                </div>
              ) : null}
            </article>
          )}
        />
      )}
    </>
  )
}
