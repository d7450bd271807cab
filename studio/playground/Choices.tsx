/** The agent, and what its runs have instead of what it has. */
import type { AgentDetails } from "../../src/studio/api/StudioRunApi.js"
import { type Route, setParams } from "../lib/hooks.js"
import { Facts, Json } from "../lib/parts.js"
import { fields, reasoningEfforts } from "./settings.js"

const Choice = ({
  name,
  options,
  own,
  route,
  title
}: {
  readonly name: string
  readonly title: string
  /** What the agent has by itself. */
  readonly own: string
  readonly options: ReadonlyArray<readonly [string, string]>
  readonly route: Route
}) => (
  <label>
    {title}
    <select value={route.params.get(name) ?? ""} onChange={({ target }) => setParams(route, { [name]: target.value })}>
      <option value="">{own}</option>
      {options.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  </label>
)

const Definition = ({ agent }: { readonly agent: AgentDetails }) => (
  <details>
    <summary>The agent</summary>
    <div className="stack">
      <Facts
        facts={[
          ["Description", agent.description],
          ["Strategy", agent.strategy.name],
          ["Role", agent.role],
          ["Guards", agent.guards.map(({ name }) => name).join(", ")]
        ]}
      />
      <h3>System prompt</h3>
      <pre className="text">{agent.system}</pre>
      <h3>Tools</h3>
      {agent.tools.map(({ description, name, parameters }) => (
        <details key={name}>
          <summary>
            <code>{name}</code>
          </summary>
          <p>{description}</p>
          <Json value={parameters} label={`Parameters of ${name}`} />
        </details>
      ))}
      {agent.output === undefined ? null : (
        <>
          <h3>Output</h3>
          <Json value={agent.output} label="Output" />
        </>
      )}
    </div>
  </details>
)

export const Choices = ({ agent, route }: { readonly agent: AgentDetails; readonly route: Route }) => {
  const { choices, settings, strategy } = agent
  const given: Readonly<Record<string, unknown>> = { ...settings, ...agent.limits }
  return (
    <form className="stack" aria-label="Settings" onSubmit={(event) => event.preventDefault()}>
      {choices === undefined ? null : (
        <>
          <Choice
            route={route}
            name="model"
            title="Model"
            own="The one of the agent"
            options={choices.models.flatMap(({ model, provider, role }) =>
              role === undefined ? [] : [[role, `${role}: ${provider}${model === undefined ? "" : ` / ${model}`}`]]
            )}
          />
          <Choice
            route={route}
            name="strategy"
            title="Strategy"
            own={`The one of the agent: ${strategy.name}`}
            options={choices.strategies.map((name) => [name, name])}
          />
        </>
      )}
      <Choice
        route={route}
        name="reasoning"
        title="Reasoning"
        own="As the model does by itself"
        options={reasoningEfforts.map((effort) => [effort, effort])}
      />
      {fields.map(({ max, min, name, step, title }) => (
        <label key={name}>
          {title}
          <input
            type="number"
            min={min}
            max={max}
            step={step}
            placeholder={given[name] === undefined ? "" : String(given[name])}
            value={route.params.get(name) ?? ""}
            onChange={({ target }) => setParams(route, { [name]: target.value })}
          />
        </label>
      ))}
      <Definition agent={agent} />
    </form>
  )
}
