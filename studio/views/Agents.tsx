import { linkTo, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Loaded, Panel, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"

const Agents = () => {
  const { api } = useConnection()
  const agents = useQuery("agents", () => api.agents.listAgents())
  const health = useQuery("health", () => api.health(), { every: 5_000 })
  return (
    <>
      <ViewHead title="Agents">
        {health.data === undefined ? null : (
          <Badge tone={health.data.status === "healthy" ? "good" : "warn"}>{health.data.status}</Badge>
        )}
      </ViewHead>
      <Loaded query={agents}>
        {({ agents }) =>
          agents.length === 0 ? (
            <Empty>The server offers no agents.</Empty>
          ) : (
            <div className="cards">
              {agents.map(({ description, name, strategy, tools }) => (
                <Panel
                  key={name}
                  title={name}
                  actions={
                    <>
                      <a className="button quiet" href={linkTo("playground", [], { agent: name })}>
                        Try it
                      </a>
                      <a className="button quiet" href={linkTo("runs", [], { agent: name })}>
                        Its runs
                      </a>
                    </>
                  }
                >
                  {description === undefined ? null : <p>{description}</p>}
                  {strategy === undefined ? null : (
                    <p>
                      Strategy <code>{strategy}</code>
                    </p>
                  )}
                  {tools.length === 0 ? (
                    <Empty>It has no tools.</Empty>
                  ) : (
                    <ul className="plain">
                      {tools.map((tool) => (
                        <li key={tool.name}>
                          <code>{tool.name}</code> {tool.description}
                        </li>
                      ))}
                    </ul>
                  )}
                </Panel>
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  )
}

export default Agents
