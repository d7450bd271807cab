import type * as Effect from "effect/Effect"
import { useEffect, useRef, useState } from "react"
import type { ErrorInfo } from "../../src/domain/ErrorInfo.js"
import type { ApiError } from "../../src/http/api/ApiError.js"
import type { SkillInfo, ToolInfo, Trial } from "../../src/studio/api/StudioToolApi.js"
import { problemOf, run } from "../lib/client.js"
import { formatDuration } from "../lib/format.js"
import { linkTo, setParams, useQuery } from "../lib/hooks.js"
import { Badge, Confirm, Empty, Facts, Id, Json, Loaded, Panel, Problem, Tabs, ViewHead } from "../lib/parts.js"
import { SchemaForm, startOf } from "../lib/SchemaForm.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"

const Outcome = ({ trial }: { readonly trial: Trial }) => (
  <div className="stack" role="status">
    <div className="row">
      <Badge tone={trial.succeeded ? "good" : "bad"}>{trial.succeeded ? "succeeded" : "failed"}</Badge>
      <span>{formatDuration(trial.durationMs)}</span>
      <span>{trial.attempts === 1 ? "1 attempt" : `${trial.attempts} attempts`}</span>
      <span>
        as <code>{trial.agent}</code>, in <a href={linkTo("runs", [trial.runId])}>a run of its own</a>
      </span>
    </div>
    {trial.error === undefined ? null : (
      <div className="problem">
        <p>
          <code>{trial.error.tag}</code> {trial.error.message}
        </p>
        {trial.error.hint === undefined ? null : <p className="hint">{trial.error.hint}</p>}
      </div>
    )}
    {trial.observation === "" ? null : (
      <>
        <h3>{trial.truncated ? "What a model reads, cut" : "What a model reads"}</h3>
        <Json label="What a model reads" value={trial.result ?? trial.observation} />
      </>
    )}
  </div>
)

/** What is tried: a tool, or a skill. */
interface Subject {
  readonly kind: "tool" | "skill"
  readonly name: string
  readonly parameters: unknown
  /** In whose place it may be called. */
  readonly agents: ReadonlyArray<string>
  readonly readOnly: boolean
}

interface Call {
  readonly params: unknown
  readonly agent?: string
  readonly confirm?: boolean
}

/** A call as a run would make it, with arguments from a form. */
const Try = ({
  subject,
  tryIt
}: {
  readonly subject: Subject
  readonly tryIt: (call: Call) => Effect.Effect<Trial, unknown>
}) => {
  const [params, setParams] = useState(() => startOf(subject.parameters))
  const [asJson, setAsJson] = useState(false)
  const [agent, setAgent] = useState(subject.agents[0])
  const [trial, setTrial] = useState<Trial>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const send = (confirm: boolean) => {
    setBusy(true)
    setError(undefined)
    setAsking(false)
    stop.current = new AbortController()
    const { signal } = stop.current
    run(
      tryIt({ params: params ?? {}, ...(agent === undefined ? {} : { agent }), ...(confirm ? { confirm } : {}) }),
      signal
    )
      .then(setTrial, (cause) => {
        if (signal.aborted) return
        const problem = problemOf(cause)
        setTrial(undefined)
        if (problem.reason === "conflict") setAsking(true)
        else setError(problem)
      })
      .finally(() => setBusy(false))
  }
  return (
    <div className="stack">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          send(false)
        }}
      >
        <SchemaForm
          key={asJson ? "json" : "form"}
          schema={subject.parameters}
          value={params}
          onChange={setParams}
          asJson={asJson}
        />
        <div className="filters">
          {subject.agents.length > 1 ? (
            <label>
              As the agent
              <select value={agent} onChange={({ target }) => setAgent(target.value)}>
                {subject.agents.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          ) : null}
          <label className="inline">
            <input type="checkbox" checked={asJson} onChange={({ target }) => setAsJson(target.checked)} />
            Write the arguments as JSON
          </label>
        </div>
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? "Running…" : `Run the ${subject.kind}`}
          </button>
          {isBusy ? (
            <button type="button" onClick={() => stop.current.abort()}>
              Stop
            </button>
          ) : null}
          {subject.readOnly ? null : <span className="hint">It has the effects that it has in a run.</span>}
        </div>
      </form>
      <Problem error={error} />
      {trial === undefined ? null : <Outcome trial={trial} />}
      {isAsking ? (
        <Confirm
          title="This call needs approval"
          action="Approve and run"
          onCancel={() => setAsking(false)}
          onConfirm={() => send(true)}
        >
          <p>
            <code>{subject.name}</code> would be called with these arguments:
          </p>
          <Json label="Arguments" value={params ?? {}} />
        </Confirm>
      ) : null}
    </div>
  )
}

const approvals = { never: "not needed", always: "always", depends: "depends on the arguments" } as const

const Definition = ({ tool }: { readonly tool: ToolInfo }) => {
  const { studio } = useConnection()
  return (
    <>
      <Panel title={tool.name}>
        <p className="spoken">{tool.description}</p>
        {tool.problem === undefined ? null : <div className="problem">{tool.problem}</div>}
        <Facts
          facts={[
            ["Agents", tool.source === "registry" ? "all, from the registry" : tool.agents.join(", ")],
            ["Tool source", tool.from],
            ["Approval", approvals[tool.approval]],
            ["Module", tool.owner],
            ["Changes something", tool.readOnly ? "no" : "yes"],
            ["May be repeated", tool.idempotent ? "yes" : "no"],
            ["Time for an attempt", tool.timeoutMs === undefined ? undefined : formatDuration(tool.timeoutMs)],
            ["Retries", tool.retries === undefined ? undefined : String(tool.retries)],
            ["Secret arguments", tool.secret.join(", ")]
          ]}
        />
        <details>
          <summary>Schema of the arguments</summary>
          <Json label="Schema of the arguments" value={tool.parameters} />
        </details>
      </Panel>
      {tool.isClient ? (
        <p className="note">The program of the caller runs this tool: try it in a run of the playground.</p>
      ) : tool.problem === undefined ? (
        <Panel title="Try it">
          <Try
            subject={{ ...tool, kind: "tool" }}
            tryIt={(payload) => studio.tools.tryTool({ path: { name: tool.name }, payload })}
          />
        </Panel>
      ) : null}
    </>
  )
}

/** Tools of one name that differ are told apart by their first agent. */
const keyOf = (tool: ToolInfo): string => `${tool.name} ${tool.source === "registry" ? "" : (tool.agents[0] ?? "")}`

interface Listed {
  readonly tools: ReadonlyArray<ToolInfo>
  readonly failed: ReadonlyArray<{
    readonly source: string
    readonly agents: ReadonlyArray<string>
    readonly error: ErrorInfo
  }>
}

const ToolList = ({ failed, route, tools }: ViewProps & Listed) => {
  const search = (route.params.get("search") ?? "").toLowerCase()
  const found = tools.filter(({ description, name }) => `${name} ${description}`.toLowerCase().includes(search))
  const agent = route.params.get("agent")
  const chosen =
    route.parts[0] === undefined
      ? undefined
      : (tools.find(({ agents, name }) => name === route.parts[0] && (agent === null || agents.includes(agent))) ??
        tools.find(({ name }) => name === route.parts[0]))
  const silent = failed.map(({ agents, error, source }) => (
    <div key={`${source} ${agents[0]}`} className="problem">
      <p>
        The tool source {source} of {agents.join(", ")} did not answer: <code>{error.tag}</code> {error.message}
      </p>
    </div>
  ))
  if (tools.length === 0) {
    return (
      <>
        {silent}
        <Empty>The agents of this server have no tools.</Empty>
      </>
    )
  }
  return (
    <div className="side">
      <Panel title={found.length === 1 ? "1 tool" : `${found.length} tools`}>
        <label>
          Search
          <input
            type="search"
            value={route.params.get("search") ?? ""}
            onChange={({ target }) => setParams(route, { search: target.value })}
          />
        </label>
        {silent}
        <ul className="picks">
          {found.map((tool) => (
            <li key={keyOf(tool)}>
              <a
                href={linkTo("tools", [tool.name], {
                  agent: tool.agents[0],
                  search: search === "" ? undefined : search
                })}
                aria-current={tool === chosen ? "true" : undefined}
              >
                <code>{tool.name}</code>
                {tool.approval === "never" ? null : <Badge tone="warn">approval</Badge>}
                <span className="hint">{tool.description}</span>
              </a>
            </li>
          ))}
        </ul>
      </Panel>
      <div className="stack">
        {chosen === undefined ? (
          <Empty>{route.parts[0] === undefined ? "Choose a tool to see and try it." : "No tool has this name."}</Empty>
        ) : (
          <Definition key={keyOf(chosen)} tool={chosen} />
        )}
      </div>
    </div>
  )
}

const Skill = ({ skill }: { readonly skill: SkillInfo }) => {
  const { studio } = useConnection()
  return (
    <Panel title={skill.name} actions={<Badge>{skill.kind === "code" ? "code" : "folder"}</Badge>}>
      <p className="spoken">{skill.description}</p>
      {skill.kind === "code" ? (
        <>
          <Facts
            facts={[
              ["Category", skill.category],
              ["Permissions", skill.permissions.join(", ")],
              ["Confirmation", skill.requiresConfirmation ? "always" : "not always"],
              ["Results are reused", skill.cacheable ? "yes" : "no"],
              ["Time", skill.timeoutSeconds === undefined ? undefined : formatDuration(skill.timeoutSeconds * 1000)],
              ["Retries", skill.maxRetries === undefined ? undefined : String(skill.maxRetries)]
            ]}
          />
          <details>
            <summary>Schemas</summary>
            <Json label="Schemas" value={{ parameters: skill.parameters, returns: skill.returns }} />
          </details>
          <details>
            <summary>Try it</summary>
            <Try
              subject={{ kind: "skill", name: skill.name, parameters: skill.parameters, agents: [], readOnly: false }}
              tryIt={(payload) => studio.tools.trySkill({ path: { name: skill.name }, payload })}
            />
          </details>
        </>
      ) : (
        <>
          {skill.warnings.map((warning) => (
            <p key={warning} className="hint">
              {warning}
            </p>
          ))}
          <Facts
            facts={[
              ["Folder", <code key="folder">{skill.directory}</code>],
              ["License", skill.license],
              ["Compatibility", skill.compatibility],
              ["Tools", skill.allowedTools?.join(", ")],
              ["Files", skill.files.join(", ")],
              ["Content", <Id key="hash" id={skill.hash} />]
            ]}
          />
          <details>
            <summary>Instructions</summary>
            <Json label="Instructions" value={skill.instructions} />
          </details>
        </>
      )}
    </Panel>
  )
}

const Skills = () => {
  const { studio } = useConnection()
  const query = useQuery("skills", () => studio.tools.listSkillDefinitions())
  return (
    <Loaded query={query}>
      {({ skills }) =>
        skills.length === 0 ? (
          <Empty>
            The server has no skills: add <code>Skills.layer(…)</code> or a catalog of folders to its layers.
          </Empty>
        ) : (
          <div className="cards">
            {skills.map((skill) => (
              <Skill key={`${skill.kind} ${skill.name}`} skill={skill} />
            ))}
          </div>
        )
      }
    </Loaded>
  )
}

const Tools = ({ route }: ViewProps) => {
  const { studio } = useConnection()
  const query = useQuery("tools", () => studio.tools.listTools())
  return (
    <>
      <ViewHead title="Skills and tools" />
      <Tabs
        label="Kinds"
        selected={route.params.get("tab") ?? "tools"}
        onSelect={(tab) => setParams(route, { tab: tab === "tools" ? undefined : tab })}
        tabs={[
          {
            id: "tools",
            title: "Tools",
            render: () => <Loaded query={query}>{(listed) => <ToolList route={route} {...listed} />}</Loaded>
          },
          { id: "skills", title: "Skills", render: () => <Skills /> }
        ]}
      />
    </>
  )
}

export default Tools
