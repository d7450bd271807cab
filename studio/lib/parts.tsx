/** What every view is made of. */
import * as Ariakit from "@ariakit/react"
import { useVirtualizer } from "@tanstack/react-virtual"
import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react"
import type { ApiError } from "../../src/http/api/ApiError.js"
import { formatDateTime, formatJson, formatTime, shortId } from "./format.js"
import type { Query } from "./hooks.js"

/** The heading of a view and what can be done in it. */
export const ViewHead = ({ children, title }: { readonly title: string; readonly children?: ReactNode }) => (
  <header className="view-head">
    <h1>{title}</h1>
    <div className="actions">{children}</div>
  </header>
)

/** A part of a view with a heading. */
export const Panel = ({
  actions,
  children,
  title
}: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

export const Problem = ({ error }: { readonly error: ApiError | undefined }) =>
  error === undefined ? null : (
    <div
      className={error.reason === "unsupported" ? "note" : "problem"}
      role={error.reason === "unsupported" ? "note" : "alert"}
    >
      <p>{error.message}</p>
      {error.hint === undefined ? null : <p className="hint">{error.hint}</p>}
      {error.issues === undefined ? null : (
        <ul>
          {error.issues.slice(0, 20).map(({ message, path }) => (
            <li key={`${path.join(".")} ${message}`}>
              <code>{path.join(".")}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )

export const Empty = ({ children }: { readonly children: ReactNode }) => <p className="empty">{children}</p>

/** The answer of a question, or why there is none. A stale answer stays below its problem. */
export const Loaded = <A,>({
  children,
  query
}: {
  readonly query: Query<A>
  readonly children: (data: A) => ReactNode
}) => (
  <>
    <Problem error={query.error} />
    {query.data !== undefined ? (
      children(query.data)
    ) : query.error === undefined ? (
      <p className="empty" role="status">
        Loading…
      </p>
    ) : null}
  </>
)

export const Time = ({ at, full = false }: { readonly at: number; readonly full?: boolean }) => (
  <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
    {full ? formatDateTime(at) : formatTime(at)}
  </time>
)

/** An id, short where it is long. */
export const Id = ({ id }: { readonly id: string }) => (
  <code className="id" title={id}>
    {shortId(id)}
  </code>
)

const tones: Readonly<Record<string, string>> = {
  succeeded: "good",
  active: "good",
  approved: "good",
  failed: "bad",
  denied: "bad",
  interrupted: "warn",
  waiting: "warn",
  suspended: "warn",
  running: "busy"
}

/** A state as a word with a color. */
export const Badge = ({ children, tone }: { readonly children: string; readonly tone?: string }) => (
  <span className={`badge ${tone ?? tones[children] ?? "plain"}`}>{children}</span>
)

/** Names and values. */
export const Facts = ({ facts }: { readonly facts: ReadonlyArray<readonly [string, ReactNode]> }) => (
  <dl className="facts">
    {facts
      .filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** More characters of a value are shown only when they are asked for. */
const MOST_SHOWN = 20_000

/** A value as text, never as markup. */
export const Json = ({ label, value }: { readonly value: unknown; readonly label?: string }) => {
  const [isWhole, setWhole] = useState(false)
  const text = formatJson(value)
  const shown = isWhole ? text : text.slice(0, MOST_SHOWN)
  return (
    <>
      <pre className="json" tabIndex={0} role="region" aria-label={label ?? "Value"}>
        {shown}
      </pre>
      {shown.length < text.length ? (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {text.length} characters
        </button>
      ) : null}
    </>
  )
}

const MarkdownText = lazy(() => import("./Markdown.js"))

/** Markdown of a model: elements of text alone, without images, and with links that say where they lead. */
export const Markdown = ({ text }: { readonly text: string }) => (
  <Suspense fallback={<div className="markdown plain">{text}</div>}>
    <MarkdownText text={text} />
  </Suspense>
)

/** A dialog. Escape and its button close it. */
export const Dialog = ({
  children,
  onClose,
  title
}: {
  readonly title: string
  readonly children: ReactNode
  readonly onClose: () => void
}) => (
  <Ariakit.Dialog open onClose={onClose} className="dialog" backdrop={<div className="backdrop" />}>
    <header>
      <Ariakit.DialogHeading render={(props) => <h2 {...props} />}>{title}</Ariakit.DialogHeading>
      <Ariakit.DialogDismiss className="quiet" aria-label="Close">
        ✕
      </Ariakit.DialogDismiss>
    </header>
    {children}
  </Ariakit.Dialog>
)

/** Asks before something is done that cannot be undone. */
export const Confirm = ({
  action,
  children,
  isBusy = false,
  onCancel,
  onConfirm,
  title
}: {
  readonly title: string
  readonly children: ReactNode
  /** The word on the button, such as `Erase`. */
  readonly action: string
  readonly isBusy?: boolean
  readonly onConfirm: () => void
  readonly onCancel: () => void
}) => (
  <Dialog title={title} onClose={onCancel}>
    {children}
    <footer className="actions">
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
      <button type="button" className="danger" disabled={isBusy} onClick={onConfirm}>
        {action}
      </button>
    </footer>
  </Dialog>
)

/** Tabs: the panel of the chosen one is built alone. */
export const Tabs = ({
  label,
  onSelect,
  selected,
  tabs
}: {
  readonly label: string
  readonly tabs: ReadonlyArray<{ readonly id: string; readonly title: string; readonly render: () => ReactNode }>
  readonly selected: string
  readonly onSelect: (id: string) => void
}) => {
  const known = tabs.some(({ id }) => id === selected) ? selected : tabs[0]?.id
  return (
    <Ariakit.TabProvider
      selectedId={known ?? null}
      setSelectedId={(id) => {
        if (typeof id === "string") onSelect(id)
      }}
    >
      <Ariakit.TabList className="tabs" aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Ariakit.Tab key={id} id={id} className="tab">
            {title}
          </Ariakit.Tab>
        ))}
      </Ariakit.TabList>
      {tabs
        .filter(({ id }) => id === known)
        .map(({ id, render }) => (
          <Ariakit.TabPanel key={id} tabId={id} className="tab-panel" focusable={false}>
            {render()}
          </Ariakit.TabPanel>
        ))}
    </Ariakit.TabProvider>
  )
}

/** So many items before the end of what is there, `onEnd` asks for more. */
const NEAR = 10

/**
 * A list of any length: only what is seen is built. `follow` keeps the end in view while the list grows and nobody has
 * scrolled away from it.
 */
export const VirtualList = <A,>({
  estimate = 36,
  follow = false,
  items,
  keyOf,
  label,
  onEnd,
  render,
  target
}: {
  readonly items: ReadonlyArray<A>
  readonly keyOf: (item: A, at: number) => string | number
  readonly render: (item: A, at: number) => ReactNode
  readonly label: string
  /** The height of an item in pixels, before it is measured. */
  readonly estimate?: number
  readonly follow?: boolean
  /** The end of the items comes into view. */
  readonly onEnd?: (() => void) | undefined
  /** The item to bring into view. */
  readonly target?: number | undefined
}) => {
  const scroll = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => estimate,
    getItemKey: (at) => keyOf(items[at] as A, at),
    overscan: 8
  })
  useEffect(() => {
    if (follow && isAtEnd.current && items.length > 0) virtual.scrollToIndex(items.length - 1, { align: "end" })
  }, [follow, items.length, virtual])
  useEffect(() => {
    if (target !== undefined && target >= 0) virtual.scrollToIndex(target, { align: "center" })
  }, [target, virtual])
  const rows = virtual.getVirtualItems()
  const isNearEnd = (rows.at(-1)?.index ?? -1) >= items.length - NEAR
  const ended = useRef(onEnd)
  ended.current = onEnd
  // biome-ignore lint/correctness/useExhaustiveDependencies: more items may not be enough
  useEffect(() => {
    if (isNearEnd) ended.current?.()
  }, [isNearEnd, items.length])
  return (
    <div
      ref={scroll}
      className="virtual"
      role="list"
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
      }}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
        {rows.map(({ index, key, start }) => (
          <div
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            className="virtual-item"
            role="listitem"
            aria-setsize={items.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${start}px)` }}
          >
            {render(items[index] as A, index)}
          </div>
        ))}
      </div>
    </div>
  )
}
