/** One model call: what it answered and took, the settings that it had, and what the model was shown. */
import * as Effect from "effect/Effect"
import { type ReactNode, useMemo, useState } from "react"
import type { SessionId } from "../../src/domain/Ids.js"
import type { RunSettings } from "../../src/studio/api/StudioRunApi.js"
import type { WholeTurn } from "../../src/studio/api/StudioSessionApi.js"
import type { Connection } from "../lib/client.js"
import { formatCost, formatDuration, formatJson, formatNumber } from "../lib/format.js"
import { linkTo, type Query, useQuery } from "../lib/hooks.js"
import { Empty, Facts, Id, Loaded, Markdown, VirtualList } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import { type Shown, shownTo } from "./conversation.js"
import type { ModelItem, RunFold } from "./fold.js"

export const usageLine = ({ costUsd, usage }: ModelItem): string =>
  usage === undefined
    ? ""
    : [
        `${formatNumber(usage.inputTokens ?? 0)} in`,
        `${formatNumber(usage.outputTokens ?? 0)} out`,
        ...(usage.cachedInputTokens === undefined || usage.cachedInputTokens === 0
          ? []
          : [`${formatNumber(usage.cachedInputTokens)} from the cache`]),
        ...(costUsd === undefined ? [] : [formatCost(costUsd)])
      ].join(" · ")

/** A part that is made when it is opened. */
const Opened = ({ children, title }: { readonly title: string; readonly children: () => ReactNode }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? <div className="stack">{children()}</div> : null}
    </details>
  )
}

const titles: Readonly<Record<string, string>> = {
  model: "Model asked for",
  temperature: "Temperature",
  topP: "Top p",
  maxTokens: "Most tokens of an answer",
  stop: "Stop texts",
  seed: "Seed",
  reasoning: "Reasoning",
  parallelToolCalls: "Parallel tool calls",
  timeout: "Time of the run",
  maxTokensPerStep: "Most tokens of a step",
  maxCostUsd: "Most dollars",
  maxCostUsdPerStep: "Most dollars of a step",
  maxModelCalls: "Most model calls",
  maxToolCalls: "Most tool calls",
  maxIterations: "Most steps",
  maxCallsPerTurn: "Most tool calls of a step",
  llmTimeout: "Time of a model call",
  toolTimeout: "Time of a tool call"
}

const times: ReadonlySet<string> = new Set(["timeout", "llmTimeout", "toolTimeout"])

type Named = ReadonlyArray<readonly [string, string]>
const settingFacts = (settings: RunSettings["settings"]): Named =>
  Object.entries(settings).map(([name, value]) => [titles[name] ?? name, formatJson(value)])
const limitFacts = (limits: RunSettings["limits"]): Named =>
  Object.entries(limits).map(([name, value]) => [
    name === "maxTokens" ? "Most tokens of the run" : (titles[name] ?? name),
    times.has(name) ? formatDuration(value) : formatNumber(value)
  ])

const Settings = ({ item, settings }: { readonly item: ModelItem; readonly settings: RunSettings }) => {
  const { asked, fallback, limits, role = item.role, roles, settings: own, system, toolChoice } = settings
  const asRole = item.role ?? role
  return (
    <>
      <Facts
        facts={[
          ["Role", asRole],
          ...settingFacts(roles.find(({ role }) => role === asRole)?.settings ?? own),
          [
            "Tool choice",
            toolChoice === undefined
              ? "the model decides"
              : `${formatJson(toolChoice.choice)}, for ${toolChoice.on === "first" ? "the first call" : "every call"}`
          ],
          ["Other models where it fails", fallback.join(", ")],
          ...limitFacts(limits)
        ]}
      />
      {asked === undefined ? null : (
        <p className="hint">
          The run was started with: <code>{JSON.stringify(asked)}</code>
        </p>
      )}
      <p className="hint">
        From the agent as the server has it now, and from the request of the run. A strategy, or a step that is
        prepared, may have asked with others.
      </p>
      {system === undefined ? null : (
        <Opened title="System prompt of the agent">{() => <pre className="text">{system}</pre>}</Opened>
      )}
    </>
  )
}

const Messages = ({ label, messages }: { readonly label: string; readonly messages: ReadonlyArray<Shown> }) =>
  messages.length === 0 ? (
    <Empty>Nothing.</Empty>
  ) : (
    <div className="messages">
      <VirtualList
        label={label}
        items={messages}
        keyOf={({ seq, who }) => `${seq} ${who}`}
        estimate={80}
        render={({ text, title, who }) => (
          <article className={`message ${who}`}>
            <h4>{title}</h4>
            <pre className="text">{text}</pre>
          </article>
        )}
      />
    </div>
  )

const Conversation = ({ fold, item }: { readonly fold: RunFold; readonly item: ModelItem }) => {
  // What came before a call does not change any more.
  const messages = useMemo(() => shownTo(fold, item), [fold, item])
  return (
    <>
      <p className="hint">
        From the events of the run. They do not have the system prompt, what memory recalled, files, or what a strategy
        wrote around these texts.
      </p>
      <Messages label="Conversation of the call" messages={messages} />
    </>
  )
}

const PAGE = 200
const MOST_PAGES = 20

/** The turns of a session before a time, the newest `most`. */
const turnsBefore = (
  { studio }: Connection,
  sessionId: SessionId,
  runId: string,
  at: number,
  most: number
): Effect.Effect<ReadonlyArray<WholeTurn>, unknown> =>
  Effect.gen(function* () {
    let found: ReadonlyArray<WholeTurn> = []
    let cursor = {}
    for (let page = 0; page < MOST_PAGES && found.length < most; page++) {
      const { next, turns } = yield* studio.sessions.wholeTurns({
        path: { sessionId },
        urlParams: { limit: PAGE, ...cursor }
      })
      found = [...turns.filter((turn) => turn.timestamp < at && turn.runId !== runId), ...found]
      if (next === undefined) break
      cursor = { before: next }
    }
    return found.slice(-most)
  })

const roleWho = { assistant: "assistant", system: "check", tool: "tool", user: "user" } as const

const fromTurn = ({ content, role, toolCalls }: WholeTurn, seq: number): Shown => ({
  seq,
  who: roleWho[role],
  title: role === "user" ? "Input" : role === "assistant" ? "Answer" : role,
  text: [...toolCalls.map(({ name, params }) => `${name} ${formatJson(params)}`), content].join("\n")
})

const DEFAULT_TURNS = 20

const History = ({
  fold,
  sessionId,
  turns: most = DEFAULT_TURNS
}: {
  readonly fold: RunFold
  readonly sessionId: string
  readonly turns: number | undefined
}) => {
  const connection = useConnection()
  const { at = 0, runId = "" } = fold.started ?? {}
  const turns = useQuery(`history ${sessionId} ${runId} ${most}`, () =>
    turnsBefore(connection, sessionId as SessionId, runId, at, most)
  )
  return (
    <>
      <p className="hint">
        The last turns of the session{" "}
        <a href={linkTo("sessions", [sessionId])}>
          <Id id={sessionId} />
        </a>{" "}
        before the run. It may have been shown fewer, or a summary of them.
      </p>
      <Loaded query={turns}>{(turns) => <Messages label="History" messages={turns.map(fromTurn)} />}</Loaded>
    </>
  )
}

export const ModelCall = ({
  fold,
  item,
  settings
}: {
  readonly fold: RunFold
  readonly item: ModelItem
  readonly settings: Query<RunSettings>
}) => {
  const { at = 0, sessionId } = fold.started ?? {}
  return (
    <>
      <Facts
        facts={[
          ["Model", item.model],
          ["Provider", item.provider],
          ["Role", item.role],
          ["Time to first delta", item.firstAt === undefined ? undefined : formatDuration(item.firstAt - item.at)],
          ["Time", item.endedAt === undefined ? undefined : formatDuration(item.endedAt - item.at)],
          ["After", formatDuration(item.at - at)],
          ["Ended", item.isCutOff ? "cut off" : item.finishReason],
          ["Tokens", usageLine(item)],
          ["Reasoning tokens", item.usage?.reasoningTokens]
        ]}
      />
      <Opened title="Settings">
        {() => <Loaded query={settings}>{(settings) => <Settings item={item} settings={settings} />}</Loaded>}
      </Opened>
      {sessionId === undefined ? null : (
        <Opened title="History: turns of the session before the run">
          {() => <History fold={fold} sessionId={sessionId} turns={settings.data?.sessionTurns} />}
        </Opened>
      )}
      <Opened title="What the model was shown of the run">{() => <Conversation fold={fold} item={item} />}</Opened>
      {item.reasoning === "" ? null : (
        <details>
          <summary>Reasoning</summary>
          <pre className="text">{item.reasoning}</pre>
        </details>
      )}
      {item.isRetracted ? <p className="hint">This text is no part of the answer.</p> : null}
      {item.text === "" ? <Empty>The call has no text.</Empty> : <Markdown text={item.text} />}
    </>
  )
}
