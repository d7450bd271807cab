/** Decides a call of a tool, or answers a question, of a run that waits. */
import { useState } from "react"
import type { WaitingRequest } from "../../src/http/api/ApiModels.js"
import { linkTo, useAction, useQuery } from "../lib/hooks.js"
import { Badge, Facts, Id, Json, Problem, Time } from "../lib/parts.js"
import { JsonField, SchemaForm, startOf } from "../lib/SchemaForm.js"
import { useConnection } from "../lib/session.js"

type Remember = "" | "run" | "session" | "user"
const scopes: ReadonlyArray<readonly [Remember, string]> = [
  ["", "Only this time"],
  ["run", "For this run"],
  ["session", "For this session"],
  ["user", "For this user"]
]

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const titleOf = ({ agent, question, tool }: WaitingRequest): string =>
  question === undefined ? `${agent} wants to call ${tool}` : `${agent} asks`

/** The JSON Schema of the arguments; none of a tool that the agent of the server does not have itself. */
const useParameters = ({ agent, question, tool }: WaitingRequest): unknown => {
  const { studio } = useConnection()
  const { data } = useQuery(question === undefined ? `agent ${agent}` : undefined, () =>
    studio.studioRuns.studioAgent({ path: { name: agent } })
  )
  return data?.tools.find(({ name }) => name === tool)?.parameters
}

/** What somebody who decides edits: arguments, or the answer. */
const Editor = ({
  onChange,
  request,
  value
}: {
  readonly request: WaitingRequest
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}) => {
  const { question } = request
  const parameters = useParameters(request)
  const [isJson, setJson] = useState(false)
  return parameters !== undefined ? (
    <>
      <label className="inline">
        <input type="checkbox" checked={isJson} onChange={({ target }) => setJson(target.checked)} />
        Arguments as JSON
      </label>
      <SchemaForm key={String(isJson)} schema={parameters} value={value} onChange={onChange} asJson={isJson} />
    </>
  ) : question === undefined || question.clientTool === true ? (
    <JsonField
      label={question === undefined ? "Arguments" : "Result of the tool"}
      hint={
        question === undefined
          ? "A text that is [REDACTED] stays what it is."
          : "An object with `result` and `isError`."
      }
      rows={6}
      value={value}
      onChange={onChange}
    />
  ) : (
    <SchemaForm schema={question.form} value={value} onChange={onChange} asJson={false} />
  )
}

const startValue = ({ params, question }: WaitingRequest): unknown =>
  question === undefined
    ? params
    : question.clientTool === true
      ? { result: null, isError: false }
      : startOf(question.form)

/** `onDone` is told when the request waits no longer. */
export const Decide = ({
  onDone,
  request
}: {
  readonly request: WaitingRequest
  readonly onDone: (id: string) => void
}) => {
  const { api } = useConnection()
  const action = useAction()
  const first = useState(() => startValue(request))[0]
  const [value, setValue] = useState(first)
  const [reason, setReason] = useState("")
  const [remember, setRemember] = useState<Remember>("")
  const { expiresAt, id, question, reason: why, requestedAt, runId, tool } = request
  const isCall = question === undefined
  const decide = (decision: "approve" | "deny") => {
    const params = decision === "approve" && (!isCall || !isSame(value, first)) ? { params: value } : {}
    const given = reason.trim() === "" ? {} : { reason }
    const scope = remember === "" || !isCall ? {} : { remember }
    void action.act(
      api.approvals.decideApproval({ path: { requestId: id }, payload: { decision, ...params, ...given, ...scope } }),
      () => onDone(id)
    )
  }
  return (
    <form
      className="stack"
      aria-label={titleOf(request)}
      onSubmit={(event) => {
        event.preventDefault()
        decide("approve")
      }}
    >
      <div className="row">
        <Badge tone="warn">{isCall ? "approval" : "question"}</Badge>
        <strong>{titleOf(request)}</strong>
      </div>
      {question === undefined ? null : <p className="markdown plain">{question.message}</p>}
      {why === undefined ? null : <p className="markdown plain">{why}</p>}
      <Facts
        facts={[
          ["Tool", <code key="tool">{tool}</code>],
          [
            "Run",
            <a key="run" href={linkTo("runs", [runId])}>
              <Id id={runId} />
            </a>
          ],
          ["Asked", <Time key="asked" at={requestedAt} />],
          ["Expires", expiresAt === undefined ? undefined : <Time key="expires" at={expiresAt} />]
        ]}
      />
      {question?.clientTool === true ? <Json value={request.params} label="Arguments" /> : null}
      <Editor request={request} value={value} onChange={setValue} />
      <div className="filters">
        <label>
          Reason, which the model reads when it is denied
          <input value={reason} maxLength={4096} onChange={({ target }) => setReason(target.value)} />
        </label>
        {isCall ? (
          <label>
            Remember
            <select
              value={remember}
              onChange={({ target }) => setRemember(scopes.find(([name]) => name === target.value)?.[0] ?? "")}
            >
              {scopes.map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        ) : null}
      </div>
      <Problem error={action.error} />
      <div className="actions">
        <button type="submit" className="primary" disabled={action.isBusy}>
          {isCall ? (isSame(value, first) ? "Approve" : "Approve with these arguments") : "Answer"}
        </button>
        <button type="button" className="danger" disabled={action.isBusy} onClick={() => decide("deny")}>
          {isCall ? "Deny" : "Decline"}
        </button>
      </div>
    </form>
  )
}
