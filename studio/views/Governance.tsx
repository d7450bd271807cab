import { useState } from "react"
import { formatCost, formatDuration, formatNumber } from "../lib/format.js"
import { linkTo, setParams, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Facts, Id, Json, Loaded, Panel, Time, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"

/** How much of a limit is used: a bar with its numbers. */
const Used = ({
  format,
  label,
  limit,
  used
}: {
  readonly label: string
  readonly used: number
  readonly limit: number | undefined
  readonly format: (value: number) => string
}) => {
  const text = limit === undefined ? `${format(used)}, no limit` : `${format(used)} of ${format(limit)}`
  const part = limit === undefined || limit === 0 ? 0 : Math.min(1, used / limit)
  return (
    <div className="stack used">
      <div className="row">
        <strong>{label}</strong>
        <span>{text}</span>
      </div>
      {limit === undefined ? null : (
        <div className="bar-track" aria-hidden="true">
          <span className={part >= 0.8 ? "bar-fill full" : "bar-fill"} style={{ width: `${part * 100}%` }} />
        </div>
      )}
    </div>
  )
}

const Budgets = () => {
  const { studio } = useConnection()
  const overview = useQuery("governance", () => studio.governance.governance(), { every: 5_000 })
  return (
    <Panel title="Budgets and quotas">
      <Loaded query={overview}>
        {({ budget, limits, quotas }) => (
          <>
            <Used label="This month" used={budget.spent} limit={budget.limit} format={formatCost} />
            <Facts
              facts={[
                ["Held by calls that run", formatCost(budget.reserved)],
                ["Remaining", budget.remaining === undefined ? undefined : formatCost(budget.remaining)]
              ]}
            />
            {quotas.map(({ current, kind, limit, unit, windowResetsAt }) => (
              <div key={unit} className="stack">
                <Used
                  label={`${unit} (${kind})`}
                  used={current}
                  limit={limit}
                  format={kind === "cost" ? formatCost : formatNumber}
                />
                {windowResetsAt === undefined ? null : (
                  <p className="hint">
                    It is free again by <Time at={windowResetsAt} />.
                  </p>
                )}
              </div>
            ))}
            {limits === undefined ? null : (
              <>
                <h3>Limits in force</h3>
                <Facts
                  facts={[
                    ["Budgets", limits.enforced ? "refuse" : "are tracked, and refuse nothing"],
                    [
                      "A month, each user",
                      limits.monthlyBudget === undefined ? undefined : formatCost(limits.monthlyBudget)
                    ],
                    [
                      "Tokens a month",
                      limits.monthlyTokens === undefined ? undefined : formatNumber(limits.monthlyTokens)
                    ],
                    ["A run", limits.maxRequestCost === undefined ? undefined : formatCost(limits.maxRequestCost)],
                    [
                      "Tokens a run",
                      limits.maxTokensPerRequest === undefined ? undefined : formatNumber(limits.maxTokensPerRequest)
                    ],
                    ["Runs a minute", limits.rpmLimit === undefined ? undefined : formatNumber(limits.rpmLimit)],
                    ["Tokens a minute", limits.tpmLimit === undefined ? undefined : formatNumber(limits.tpmLimit)],
                    ["Models nobody may use", limits.restrictedModels.join(", ")]
                  ]}
                />
              </>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

const statuses = ["success", "failure", "interrupted", "denied"] as const
const types = [
  "created",
  "llm_call",
  "model_denied",
  "budget_exceeded",
  "rate_limited",
  "tool_call",
  "agent_execution",
  "soft_limit_reached",
  "config_reloaded",
  "policy_denied",
  "quota_exhausted"
] as const

const tones = { success: "good", failure: "bad", interrupted: "warn", denied: "bad" } as const

const Audit = ({ route }: ViewProps) => {
  const { studio } = useConnection()
  const [opened, setOpened] = useState<string>()
  const status = statuses.find((name) => name === route.params.get("status"))
  const type = types.find((name) => name === route.params.get("type"))
  const events = useQuery(
    `audit ${status} ${type}`,
    () => studio.governance.audit({ urlParams: { status, type, limit: 500 } }),
    { every: 5_000 }
  )
  return (
    <Panel
      title="Audit log"
      actions={
        <div className="filters">
          <label>
            Outcome
            <select value={status ?? ""} onChange={({ target }) => setParams(route, { status: target.value })}>
              <option value="">all</option>
              {statuses.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            What
            <select value={type ?? ""} onChange={({ target }) => setParams(route, { type: target.value })}>
              <option value="">all</option>
              {types.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
      }
    >
      <Loaded query={events}>
        {({ events }) =>
          events.length === 0 ? (
            <Empty>Nothing is recorded for you, or nothing fits.</Empty>
          ) : (
            <div className="table">
              <table>
                <caption>The newest first, at most 500</caption>
                <thead>
                  <tr>
                    <th>Time</th>
                    <th>What</th>
                    <th>Outcome</th>
                    <th>Agent</th>
                    <th>Run</th>
                    <th>Model</th>
                    <th className="number">Tokens</th>
                    <th className="number">Cost</th>
                    <th className="number">Took</th>
                    <th>More</th>
                  </tr>
                </thead>
                <tbody>
                  {events.map((event) => (
                    <tr key={event.eventId}>
                      <td>
                        <Time at={event.timestamp} />
                      </td>
                      <td>{event.eventType}</td>
                      <td>
                        <Badge tone={tones[event.status]}>{event.status}</Badge>
                      </td>
                      <td>{event.agent}</td>
                      <td>
                        {event.runId === undefined ? null : (
                          <a href={linkTo("runs", [event.runId])}>
                            <Id id={event.runId} />
                          </a>
                        )}
                      </td>
                      <td>{event.model}</td>
                      <td className="number">{event.tokens === undefined ? "" : formatNumber(event.tokens)}</td>
                      <td className="number">{event.cost === undefined ? "" : formatCost(event.cost)}</td>
                      <td className="number">{event.latencyMs === undefined ? "" : formatDuration(event.latencyMs)}</td>
                      <td>
                        {event.metadata === undefined ? null : opened === event.eventId ? (
                          <Json value={event.metadata} label="Details" />
                        ) : (
                          <button type="button" className="quiet" onClick={() => setOpened(event.eventId)}>
                            Details
                          </button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </Panel>
  )
}

const GovernanceView = ({ route }: ViewProps) => (
  <>
    <ViewHead title="Governance" />
    <Budgets />
    <Audit route={route} />
  </>
)

export default GovernanceView
