/**
 * The parts of messages as the input of runs and as answers of persons, and requests to persons as messages.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Contents from "../content/Content.js"
import type { ContentError } from "../content/ContentError.js"
import type { WaitingRequest } from "../http/api/ApiModels.js"
import type { Message, Part } from "./A2aModels.js"

const textOf = (parts: ReadonlyArray<Part>): string => parts.flatMap(({ text }) => text ?? []).join("\n")

const contentOf = (part: Part): Effect.Effect<ReadonlyArray<Contents.Resolved>, ContentError> => {
  const { data, filename, mediaType, raw, text, url } = part
  if (text !== undefined) return Effect.succeed([Contents.text(text)])
  const file = raw ?? url
  if (file !== undefined) {
    const named = filename === undefined || filename === "" ? {} : { fileName: filename }
    const typed = mediaType === undefined || mediaType === "" ? {} : { mediaType }
    return Effect.map(Contents.file(file, { ...named, ...typed }), (content) => [content])
  }
  return Effect.succeed(data === undefined ? [] : [Contents.text(JSON.stringify(data))])
}

/**
 * The input of a run: texts, files, and data as JSON.
 *
 * @category conversions
 */
export const toInput = ({ parts }: Message): Effect.Effect<string | ReadonlyArray<Contents.Resolved>, ContentError> => {
  const isText = parts.every(({ text }) => text !== undefined)
  return isText
    ? Effect.succeed(textOf(parts))
    : Effect.map(Effect.forEach(parts, contentOf), (contents) => contents.flat())
}

/**
 * What a person answers.
 *
 * @category models
 */
export interface Answer {
  readonly requestId?: string | undefined
  readonly decision: "approve" | "deny"
  readonly params?: unknown
  readonly reason?: string | undefined
}

const isAnswer = (data: unknown): data is Answer =>
  Predicate.isReadonlyRecord(data) &&
  (data["decision"] === "approve" || data["decision"] === "deny") &&
  ["requestId", "reason"].every((name) => data[name] === undefined || typeof data[name] === "string")

/** The one field of a form that is a text. */
const textField = ({ question }: WaitingRequest): string | undefined => {
  const properties = (question?.form as { readonly properties?: unknown } | undefined)?.properties
  if (!Predicate.isReadonlyRecord(properties)) return undefined
  const [[name, field] = [], ...more] = Object.entries(properties)
  const isText = Predicate.isReadonlyRecord(field) && field["type"] === "string"
  return name !== undefined && isText && more.length === 0 ? name : undefined
}

const decisions: Readonly<Record<string, Answer["decision"]>> = {
  approve: "approve",
  yes: "approve",
  deny: "deny",
  no: "deny"
}

/**
 * The answer in a message: data with `decision`, or a text where that is clear: yes or no for a call that waits, the
 * answer to a question for one text.
 *
 * @category conversions
 */
export const toAnswer = ({ parts }: Message, request: WaitingRequest): Answer | undefined => {
  for (const { data } of parts) if (isAnswer(data)) return data
  const text = textOf(parts).trim()
  if (text === "") return undefined
  if (request.question === undefined) {
    const word = text.toLowerCase()
    const decision = Object.hasOwn(decisions, word) ? decisions[word] : undefined
    return decision === undefined ? undefined : { decision }
  }
  const name = textField(request)
  return name === undefined ? undefined : { decision: "approve", params: { [name]: text } }
}

/**
 * The id of the request that a message answers, if it says so.
 *
 * @category accessors
 */
export const requestIdOf = ({ parts }: Message): string | undefined => {
  for (const { data } of parts) if (isAnswer(data) && data.requestId !== undefined) return data.requestId
  return undefined
}

/**
 * What a person is asked: as text for those who read, as data for programs.
 *
 * @category conversions
 */
export const fromRequests = (
  requests: ReadonlyArray<WaitingRequest>,
  ids: { readonly taskId: string; readonly contextId?: string | undefined }
): Message => ({
  messageId: `${ids.taskId}-${requests.map(({ id }) => id).join("-")}`.slice(0, 256),
  ...ids,
  role: "ROLE_AGENT",
  parts: requests.flatMap(({ id, params, question, reason, tool }) => [
    {
      text:
        question?.message ??
        `The call of the tool "${tool}" waits for approval${reason === undefined ? "" : `: ${reason}`}. Answer "approve" or "deny".`
    },
    {
      data:
        question === undefined
          ? { requestId: id, kind: "approval", tool, params }
          : { requestId: id, kind: "question", message: question.message, form: question.form }
    }
  ])
})
