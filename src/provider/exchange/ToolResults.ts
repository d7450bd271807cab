/**
 * Results of tools in the messages of a request, for providers whose results have parts and for those whose results are
 * text.
 *
 * @private
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Encoding from "effect/Encoding"
import * as ToolFiles from "../../content/ToolFiles.js"
import type { Message } from "../../llm/model/LlmClient.js"

/** The text of a result. */
export const textOf = (result: unknown): string =>
  typeof result === "string" ? result : (JSON.stringify(result) ?? "null")

/** How a provider writes the parts of a result. A file without a form is left out: the text names it. */
export interface Form<A> {
  readonly text: (text: string) => A
  readonly file: (file: Prompt.FilePartEncoded) => A | undefined
}

/** The text and the files of a result as parts; nothing if it has no files. */
export const partsOf = <A>(part: Prompt.ToolResultPartEncoded, form: Form<A>): ReadonlyArray<A> | undefined => {
  const files = ToolFiles.read(part).flatMap((file) => {
    const text = ToolFiles.textOf(file)
    const made = text === undefined ? form.file(file) : form.text(text)
    return made === undefined ? [] : [made]
  })
  return files.length === 0 ? undefined : [form.text(textOf(part.result)), ...files]
}

/** Results that a provider's package would not send as they are, by their calls: texts, and those with files. */
export const collect = <A>(
  messages: ReadonlyArray<Message>,
  form: Form<A>
): ReadonlyMap<string, string | ReadonlyArray<A>> => {
  const results = new Map<string, string | ReadonlyArray<A>>()
  for (const message of messages) {
    if (message.role !== "tool") continue
    for (const part of message.content) {
      const sent = partsOf(part, form) ?? (typeof part.result === "string" ? part.result : undefined)
      if (sent !== undefined) results.set(part.id, sent)
    }
  }
  return results
}

/** The messages with the files of results in a message of the user after them: those with bytes, unless `urls`. */
export const lower = (messages: ReadonlyArray<Message>, urls: boolean): ReadonlyArray<Message> => {
  const result: Array<Message> = []
  let files: Array<Prompt.UserMessagePartEncoded> = []
  const show = () => {
    if (files.length > 0) result.push({ role: "user", content: files })
    files = []
  }
  for (const message of messages) {
    if (message.role !== "tool") show()
    result.push(message)
    if (message.role === "tool") files.push(...ToolFiles.shown(message.content, urls))
  }
  show()
  return result
}

/** A file as a `data:` URL, or its address. */
export const urlOf = ({ data, mediaType }: Prompt.FilePartEncoded): string =>
  data instanceof URL ? data.href : `data:${mediaType};base64,${base64Of(data)}`

/** The bytes of a file as base64. */
export const base64Of = (data: Uint8Array | string): string =>
  typeof data === "string" ? data : Encoding.encodeBase64(data)
