/**
 * The actions of tree search.
 *
 * @since 0.1.0
 * @private
 */
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"

/**
 * An action: a step of reasoning, a tool call with its observation, or a final answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Action = Schema.Struct({
  kind: Schema.Literal("step", "call", "answer"),
  /** Why it was chosen. */
  thought: Schema.String,
  /** The step in words, or the answer; empty for a call. */
  text: Schema.String,
  tool: Schema.optional(Schema.String),
  params: Schema.optional(Schema.Unknown),
  /** The result of the call. */
  observation: Schema.optional(Schema.String),
  /** Whether the token limit of the model cut the answer. */
  isCut: Schema.optional(Schema.Boolean)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Action extends Schema.Schema.Type<typeof Action> {}

/** The text on one line. */
export const plain = (text: string): string => text.replace(/\s+/g, " ").trim()

/** Writes arguments. Arguments nested too deeply for the writer get a placeholder. */
const writeParams = (params: unknown, write: (params: unknown) => string): string => {
  if (typeof params === "string") return params
  try {
    return write(params)
  } catch {
    return "(arguments that cannot be written down)"
  }
}

/**
 * The same text for actions that do the same, whatever their thoughts.
 *
 * @since 0.1.0
 * @category conversions
 */
const keyOf = ({ kind, params, text, tool }: Action): string =>
  kind === "call" ? `call ${tool} ${writeParams(params, CanonicalJson.stringify)}` : `${kind} ${plain(text)}`

/**
 * An action with the share of the samples that proposed it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sampled {
  readonly action: Action
  readonly step: number
  readonly share: number
}

/**
 * Merges equal actions, in the order in which each was first proposed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const distinct = (
  samples: ReadonlyArray<{ readonly action: Action; readonly step: number }>
): ReadonlyArray<Sampled> => {
  const counts = new Map<string, { readonly action: Action; readonly step: number; count: number }>()
  for (const { action, step } of samples) {
    const key = keyOf(action)
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { action, step, count: 1 })
    else known.count++
  }
  return Array.from(counts.values(), ({ action, count, step }) => ({ action, step, share: count / samples.length }))
}

/**
 * An action in words, without its observation.
 *
 * @since 0.1.0
 * @category conversions
 */
export const describe = (action: Action): string => {
  switch (action.kind) {
    case "call":
      return `${action.tool} ${writeParams(action.params, JSON.stringify)}`
    case "answer":
      return `final answer: ${action.text}`
    case "step":
      return action.text
  }
}
