/** Fields for a value that a JSON Schema describes. What has no field is written as JSON. */
import { useEffect, useId, useRef, useState } from "react"
import { formatJson } from "./format.js"
import {
  DEEPEST,
  describe,
  type Field,
  fieldOf,
  initial,
  isRecord,
  type Member,
  memberOf,
  resolved,
  withMember
} from "./schema.js"

interface Props {
  readonly root: unknown
  readonly schema: unknown
  readonly label: string
  readonly isRequired: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly depth: number
}

const parsed = (text: string): { readonly value: unknown } | { readonly problem: string } => {
  if (text.trim() === "") return { value: undefined }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : "it does not end"}` }
  }
}

/** A value as JSON. While the text is none, a form around it cannot be sent. */
export const JsonField = ({
  hint,
  isRequired = false,
  label,
  onChange,
  rows = 4,
  value
}: {
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly hint?: string | undefined
  readonly isRequired?: boolean
  readonly rows?: number
}) => {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)))
  const [problem, setProblem] = useState<string>()
  const area = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  useEffect(() => area.current?.setCustomValidity(problem ?? ""), [problem])
  return (
    <label>
      <span>
        {label}
        {isRequired ? " (required)" : ""} <span className="hint">as JSON</span>
      </span>
      <textarea
        ref={area}
        className="code"
        rows={rows}
        spellCheck={false}
        value={text}
        required={isRequired}
        aria-invalid={problem !== undefined}
        aria-describedby={id}
        onChange={({ target }) => {
          setText(target.value)
          const read = parsed(target.value)
          if ("problem" in read) setProblem(read.problem)
          else {
            setProblem(undefined)
            onChange(read.value)
          }
        }}
      />
      <span id={id} className={problem === undefined ? "hint" : "bad-text"}>
        {problem ?? hint ?? ""}
      </span>
    </label>
  )
}

const NumberField = ({
  field,
  label,
  onChange,
  props: { isRequired, value }
}: {
  readonly field: Extract<Field, { readonly kind: "number" }>
  readonly label: string
  readonly props: Props
  readonly onChange: (value: unknown) => void
}) => {
  const [text, setText] = useState(() => (typeof value === "number" ? String(value) : ""))
  return (
    <label>
      {label}
      <input
        type="number"
        step={field.isInteger ? 1 : "any"}
        min={field.min}
        max={field.max}
        required={isRequired}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          onChange(target.value === "" ? undefined : Number(target.value))
        }}
      />
    </label>
  )
}

const NONE = "none"

/** A value of a few. */
const Choice = ({
  label,
  onChange,
  options,
  props: { isRequired, value }
}: {
  readonly label: string
  readonly options: ReadonlyArray<unknown>
  readonly props: Props
  readonly onChange: (value: unknown) => void
}) => {
  const at = options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value))
  return (
    <label>
      {label}
      <select
        value={at === -1 ? NONE : String(at)}
        onChange={({ target }) => onChange(target.value === NONE ? undefined : options[Number(target.value)])}
      >
        {isRequired ? null : <option value={NONE}>Not given</option>}
        {options.map((option, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: options do not move
          <option key={index} value={String(index)}>
            {formatJson(option)}
          </option>
        ))}
      </select>
    </label>
  )
}

const ListField = ({ items, props }: { readonly items: unknown; readonly props: Props }) => {
  const { depth, label, onChange, root, value } = props
  const all: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
  return (
    <fieldset className="stack">
      <legend>{label}</legend>
      {all.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
        <div key={`${at} of ${all.length}`} className="form-item">
          <SchemaField
            root={root}
            schema={items}
            label={`${at + 1}`}
            isRequired
            value={item}
            onChange={(next) => onChange(all.map((known, index) => (index === at ? (next ?? null) : known)))}
            depth={depth + 1}
          />
          <button
            type="button"
            aria-label={`Remove ${label} ${at + 1}`}
            onClick={() => onChange(all.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </div>
      ))}
      <div>
        <button type="button" onClick={() => onChange([...all, initial(root, items, true, depth) ?? null])}>
          Add to {label}
        </button>
      </div>
    </fieldset>
  )
}

const ObjectField = ({ members, props }: { readonly members: ReadonlyArray<Member>; readonly props: Props }) => {
  const { depth, isRequired, label, onChange, root, schema, value } = props
  if (value === undefined && !isRequired) {
    return (
      <div>
        <button type="button" onClick={() => onChange(initial(root, schema, true, depth) ?? {})}>
          Add {label}
        </button>
      </div>
    )
  }
  const fields = members.map((member) => (
    <SchemaField
      key={member.name}
      root={root}
      schema={member.schema}
      label={member.name}
      isRequired={member.isRequired}
      value={memberOf(value, member.name)}
      onChange={(next) => onChange(withMember(value, member.name, next))}
      depth={depth + 1}
    />
  ))
  if (depth === 0) return <div className="stack">{fields}</div>
  return (
    <fieldset className="stack">
      <legend>{label}</legend>
      {fields}
      {isRequired ? null : (
        <div>
          <button type="button" onClick={() => onChange(undefined)}>
            Leave {label} out
          </button>
        </div>
      )}
    </fieldset>
  )
}

const Control = (props: Props) => {
  const { depth, isRequired, label, onChange, root, schema, value } = props
  const field = depth > DEEPEST ? ({ kind: "json" } as const) : fieldOf(resolved(root, schema))
  const named = isRequired && field.kind !== "boolean" ? `${label} (required)` : label
  switch (field.kind) {
    case "text": {
      const text = typeof value === "string" ? value : ""
      const write = (next: string) => onChange(next === "" && !isRequired ? undefined : next)
      if (field.isLong) {
        return (
          <label>
            {named}
            <textarea value={text} maxLength={field.maxLength} onChange={({ target }) => write(target.value)} />
          </label>
        )
      }
      return (
        <label>
          {named}
          <input
            type={field.isSecret ? "password" : "text"}
            autoComplete="off"
            value={text}
            maxLength={field.maxLength}
            onChange={({ target }) => write(target.value)}
          />
        </label>
      )
    }
    case "number":
      return <NumberField field={field} label={named} props={props} onChange={onChange} />
    case "boolean":
      return isRequired ? (
        <label className="inline">
          <input type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />
          {label}
        </label>
      ) : (
        <Choice label={named} options={[true, false]} props={props} onChange={onChange} />
      )
    case "choice":
      return <Choice label={named} options={field.options} props={props} onChange={onChange} />
    case "list":
      return <ListField items={field.items} props={props} />
    case "object":
      return <ObjectField members={field.members} props={props} />
    case "json":
      return <JsonField label={label} isRequired={isRequired} value={value} onChange={onChange} />
  }
}

/** One value and what it is for. */
const SchemaField = (props: Props) => {
  const about = describe(props.schema, resolved(props.root, props.schema))
  return (
    <div className="form-field">
      <Control {...props} />
      {about === undefined || props.depth === 0 ? null : <p className="hint">{about}</p>}
    </div>
  )
}

/** The value that a form of this schema begins with. */
export const startOf = (schema: unknown): unknown => initial(schema, schema, true) ?? {}

/** The fields of the arguments of a tool; with `asJson` one text of JSON. */
export const SchemaForm = ({
  asJson,
  onChange,
  schema,
  value
}: {
  readonly schema: unknown
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly asJson: boolean
}) =>
  asJson ? (
    <JsonField label="Arguments" value={value} onChange={onChange} rows={10} />
  ) : isRecord(memberOf(schema, "properties")) && Object.keys(memberOf(schema, "properties") as object).length === 0 ? (
    <p className="empty">It takes no arguments.</p>
  ) : (
    <SchemaField
      root={schema}
      schema={schema}
      label="Arguments"
      isRequired
      value={value}
      onChange={onChange}
      depth={0}
    />
  )
