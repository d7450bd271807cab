import type { Prompt, VersionInfo } from "../../src/studio/api/StudioPromptApi.js"
import { linkTo, type Route, setParams, useQuery } from "../lib/hooks.js"
import { Badge, Empty, Facts, Id, Json, Loaded, Panel, Tabs, Time, ViewHead } from "../lib/parts.js"
import { useConnection } from "../lib/session.js"
import type { ViewProps } from "./index.js"

interface Listed {
  readonly prompts: ReadonlyArray<Prompt>
  readonly versions?: ReadonlyArray<VersionInfo> | undefined
}

const CODE = "code"
const CURRENT = "current"
const ALL = "*"

const Lines = ({
  change: { lines, where }
}: {
  readonly change: {
    readonly where: string
    readonly lines: ReadonlyArray<{ readonly kind: "same" | "removed" | "added"; readonly text: string }>
  }
}) => (
  <Panel title={where}>
    <div className="diff" role="region" aria-label={`Lines of ${where}`} tabIndex={0}>
      {lines.map(({ kind, text }, at) => {
        const shown = text === "" ? "\u00a0" : text
        return kind === "removed" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a change do not move
          <del key={at}>{shown}</del>
        ) : kind === "added" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a change do not move
          <ins key={at}>{shown}</ins>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a change do not move
          <span key={at}>{shown}</span>
        )
      })}
    </div>
  </Panel>
)

/** A version as it is chosen: by its number, with its labels. */
const Which = ({
  label,
  onChange,
  value,
  versions
}: {
  readonly label: string
  readonly value: string
  readonly versions: ReadonlyArray<VersionInfo>
  readonly onChange: (value: string) => void
}) => (
  <label>
    {label}
    <select value={value} onChange={({ target }) => onChange(target.value)}>
      <option value={CODE}>The code</option>
      <option value={CURRENT}>In use</option>
      {versions.map(({ labels, number }) => (
        <option key={number} value={String(number)}>
          {`Version ${number}${labels.length === 0 ? "" : ` (${labels.join(", ")})`}`}
        </option>
      ))}
    </select>
  </label>
)

/** What changed from one version to another: in a prompt, or in all of them. */
const Compare = ({
  name,
  route,
  versions
}: {
  readonly name: string
  readonly route: Route
  readonly versions: ReadonlyArray<VersionInfo>
}) => {
  const { studio } = useConnection()
  const known = new Set([CODE, CURRENT, ...versions.map(({ number }) => String(number))])
  const chosen = (side: string, fallback: string): string => {
    const given = route.params.get(side) ?? fallback
    return known.has(given) ? given : fallback
  }
  const [from, to] = [chosen("from", CODE), chosen("to", CURRENT)]
  const query = useQuery(`prompt ${name} ${from} ${to}`, () =>
    studio.prompts.diffPrompt({ path: { name }, urlParams: { from, to } })
  )
  return (
    <>
      <div className="filters">
        <Which label="From" value={from} versions={versions} onChange={(from) => setParams(route, { from })} />
        <Which label="To" value={to} versions={versions} onChange={(to) => setParams(route, { to })} />
      </div>
      <Loaded query={query}>
        {({ changes }) =>
          changes.length === 0 ? (
            <Empty>They do not differ.</Empty>
          ) : (
            changes.map((change) => <Lines key={change.where} change={change} />)
          )
        }
      </Loaded>
    </>
  )
}

const Texts = ({ prompt }: { readonly prompt: Prompt }) => (
  <Panel title={prompt.name} actions={prompt.isChanged ? <Badge tone="busy">changed</Badge> : null}>
    <Facts
      facts={[
        ["Role of the model", prompt.role],
        ["Variables", prompt.variables.map((name) => `{${name}}`).join(" ")]
      ]}
    />
    <h3>System</h3>
    <Json label="System half" value={prompt.system} />
    {prompt.instructions === undefined ? null : (
      <>
        <h3>Instructions that are added to it</h3>
        <Json label="Instructions" value={prompt.instructions} />
      </>
    )}
    <h3>User</h3>
    <Json label="User half" value={prompt.user} />
  </Panel>
)

const PromptList = ({ listed: { prompts, versions = [] }, route }: ViewProps & { readonly listed: Listed }) => {
  const search = route.params.get("search") ?? ""
  const words = search.toLowerCase()
  const found = prompts.filter(({ name, system, user }) => `${name} ${system} ${user}`.toLowerCase().includes(words))
  const chosen = prompts.find(({ name }) => name === route.parts[0])
  return (
    <div className="side">
      <Panel title={found.length === 1 ? "1 prompt" : `${found.length} prompts`}>
        <label>
          Search in names and texts
          <input type="search" value={search} onChange={({ target }) => setParams(route, { search: target.value })} />
        </label>
        <ul className="picks">
          {found.map((prompt) => (
            <li key={prompt.name}>
              <a
                href={linkTo("prompts", [prompt.name], Object.fromEntries(route.params))}
                aria-current={prompt === chosen ? "true" : undefined}
              >
                <code>{prompt.name}</code>
                {prompt.isChanged ? <Badge tone="busy">changed</Badge> : null}
              </a>
            </li>
          ))}
        </ul>
      </Panel>
      <div className="stack">
        {chosen === undefined ? (
          <Empty>{route.parts[0] === undefined ? "Choose a prompt to read it." : "No prompt has this name."}</Empty>
        ) : (
          <>
            <Texts prompt={chosen} />
            <h2>What changed</h2>
            <Compare key={chosen.name} name={chosen.name} route={route} versions={versions} />
          </>
        )}
      </div>
    </div>
  )
}

const Versions = ({ listed: { versions }, route }: ViewProps & { readonly listed: Listed }) => (
  <>
    {versions === undefined ? (
      <p className="note" role="note">
        This server keeps no versions of prompts: add <code>PromptHistory.layer(versions)</code> to its layers.
      </p>
    ) : versions.length === 0 ? (
      <Empty>There are no versions yet.</Empty>
    ) : (
      <div className="table" role="region" aria-label="Versions" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col" className="number">
                Version
              </th>
              <th scope="col">Labels</th>
              <th scope="col">Note</th>
              <th scope="col">Made</th>
              <th scope="col">Changes</th>
              <th scope="col">Content</th>
            </tr>
          </thead>
          <tbody>
            {versions.map(({ createdAt, hash, labels, note, number, overrides }) => (
              <tr key={number}>
                <th scope="row" className="number">
                  {number}
                </th>
                <td>
                  <div className="row">
                    {labels.map((label) => (
                      <Badge key={label} tone="good">
                        {label}
                      </Badge>
                    ))}
                  </div>
                </td>
                <td>{note}</td>
                <td>{createdAt === undefined ? null : <Time at={createdAt} full />}</td>
                <td>
                  {overrides.map((name) => (
                    <div key={name}>
                      <a href={linkTo("prompts", [name])}>{name}</a>
                    </div>
                  ))}
                </td>
                <td>
                  <Id id={hash} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
    <h2>What changed in all prompts</h2>
    <Compare name={ALL} route={route} versions={versions ?? []} />
  </>
)

const Prompts = ({ route }: ViewProps) => {
  const { studio } = useConnection()
  const query = useQuery("prompts", () => studio.prompts.listPrompts())
  return (
    <>
      <ViewHead title="Prompts" />
      <Tabs
        label="Parts of the prompts"
        selected={route.params.get("tab") ?? "prompts"}
        onSelect={(tab) => setParams(route, { tab: tab === "prompts" ? undefined : tab })}
        tabs={[
          {
            id: "prompts",
            title: "Prompts",
            render: () => <Loaded query={query}>{(listed) => <PromptList route={route} listed={listed} />}</Loaded>
          },
          {
            id: "versions",
            title: "Versions",
            render: () => <Loaded query={query}>{(listed) => <Versions route={route} listed={listed} />}</Loaded>
          }
        ]}
      />
    </>
  )
}

export default Prompts
