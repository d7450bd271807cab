/**
 * Asks the model a question until its reply can be read.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as LlmClient from "../../llm/model/LlmClient.js"
import { LlmContentPolicyError, type LlmError } from "../../llm/model/LlmError.js"
import type { PromptStep } from "../../prompt/template/PromptStep.js"
import type { Fatality, ToolCall } from "../../tool/ToolRunner.js"
import type { Model } from "../definition/ModelCall.js"
import type { AskOptions, CallForm, Formed } from "../definition/Reasoning.js"
import type { ReplyForm } from "../definition/ReplyForm.js"
import { StrategyReplyError } from "../definition/StrategyError.js"
import * as LiveReply from "./LiveReply.js"
import * as ReasoningState from "./ReasoningState.js"

export interface Question<A> {
  readonly prompt: PromptStep
  readonly values: { readonly [key: string]: string }
  readonly options: AskOptions
  readonly read: (text: string, calls: ReadonlyArray<ToolCall>) => Effect.Effect<A, string>
  /** The form of the reply, if it has one. */
  readonly form?: ReplyForm<unknown> | undefined
  /** The native calls that may be the reply. */
  readonly native?: CallForm<A> | undefined
}

/** What has been said about a question so far, and whether the next call asks for JSON. */
interface Conversation {
  readonly model: Model
  readonly json: boolean
  readonly step: number
  readonly messages: ReadonlyArray<LlmClient.Message>
}

/** Clients that rejected a JSON Schema as the response format. */
const withoutJson = new WeakSet<LlmClient.Service>()

export const jsonFormat = (form: ReplyForm<unknown>): string =>
  `Answer with one JSON value that fits this JSON Schema, and nothing else:\n${JSON.stringify(form.jsonSchema)}`

const outputFormat = ({ form, native, prompt }: Question<unknown>, json: boolean): string => {
  if (native !== undefined) return native.format
  if (form === undefined) return prompt.textFormat || ReasoningState.PLAIN_FORMAT
  return json ? jsonFormat(form) : prompt.textFormat || jsonFormat(form)
}

const messagesFor = (
  state: ReasoningState.ReasoningState,
  question: Question<unknown>,
  json: boolean
): ReadonlyArray<LlmClient.Message> =>
  ReasoningState.messages(state, question.prompt, question.values, outputFormat(question, json), question.options)

const noDeltas: LiveReply.Deltas = () => []

const deltasFor = (show: AskOptions["show"]): LiveReply.Deltas =>
  show === "answer" ? LiveReply.answerDeltas : show === "reasoning" ? LiveReply.reasoningDeltas : noDeltas

const textOf = (parts: ReadonlyArray<LlmClient.LlmPart>): string => {
  let text = ""
  for (const part of parts) if (part.type === "text-delta") text += part.delta
  return text
}

const textListener =
  (onText: NonNullable<AskOptions["onText"]>): LlmClient.OnParts =>
  (parts) => {
    const text = textOf(parts)
    return text === "" ? Effect.void : onText(text)
  }

const send = (
  { form, native, options }: Question<unknown>,
  { json, messages, model, step }: Conversation
): Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality> => {
  const { onText, settings, show } = options
  const tools = native?.tools ?? []
  const responseFormat =
    json && form !== undefined ? ({ type: "json", name: form.name, schema: form.jsonSchema } as const) : undefined
  return model.call(
    {
      messages,
      ...(settings === undefined ? {} : { settings }),
      ...(tools.length === 0 ? {} : { tools }),
      ...(responseFormat === undefined ? {} : { responseFormat })
    },
    { step, deltas: deltasFor(show), ...(onText === undefined ? {} : { onParts: textListener(onText) }) }
  )
}

interface Sent {
  readonly response: LlmClient.LlmResponse
  readonly conversation: Conversation
}

const sendAsIs = (question: Question<unknown>, conversation: Conversation): Effect.Effect<Sent, LlmError | Fatality> =>
  Effect.map(send(question, conversation), (response) => ({ response, conversation }))

/** Asks for JSON. If the client rejects the request, asks for text instead and remembers it for the client. */
const sendAsJson = (
  state: ReasoningState.ReasoningState,
  question: Question<unknown>,
  conversation: Conversation
): Effect.Effect<Sent, LlmError | Fatality> =>
  Effect.catchTag(sendAsIs(question, conversation), "LlmInvalidRequestError", (error) => {
    const again = sendAsIs(question, { ...conversation, json: false, messages: messagesFor(state, question, false) })
    const { admit } = question.options
    return Effect.mapBoth(admit === undefined ? again : Effect.zipRight(admit, again), {
      onSuccess: (sent) => {
        withoutJson.add(conversation.model.client)
        return sent
      },
      // A second rejection has another reason: the first one is reported.
      onFailure: (again) => (again._tag === "LlmInvalidRequestError" ? error : again)
    })
  })

const filtered = ({ client }: Model, prompt: PromptStep) =>
  new LlmContentPolicyError({
    provider: client.provider,
    ...(client.model === undefined ? {} : { model: client.model }),
    message: `A content filter cut the reply to ${prompt.pattern}/${prompt.name}`,
    hint: "Change the task, or the prompt of this step"
  })

const unusable = (
  { attempts, name }: ReasoningState.ReasoningState,
  prompt: PromptStep,
  text: string,
  issues: string
): StrategyReplyError =>
  new StrategyReplyError({
    strategyName: name,
    prompt: `${prompt.pattern}/${prompt.name}`,
    text: text.slice(0, 2000),
    issues: issues.slice(0, 2000),
    attempts,
    message: `${prompt.pattern}/${prompt.name} got no usable reply in ${attempts} attempts: ${issues.slice(0, 500)}`,
    hint: "Use a stronger model for this role, another `format`, or raise `replyRetries`"
  })

/** The conversation with the rejected reply and what is wrong with it. */
const withIssues = (
  messages: ReadonlyArray<LlmClient.Message>,
  text: string,
  issues: string
): ReadonlyArray<LlmClient.Message> => [
  ...messages,
  ...(text === "" ? [] : [{ role: "assistant" as const, content: text }]),
  {
    role: "user",
    content: `That reply cannot be used: ${issues.slice(0, 2000)}. Write it again, whole, in the form that was asked for.`
  }
]

/** Opens the next step of a question, once it is admitted. */
const beginStep = (state: ReasoningState.ReasoningState, { options, prompt }: Question<unknown>) => {
  const begin = ReasoningState.begin(state, prompt.name)
  return options.admit === undefined ? begin : Effect.zipRight(options.admit, begin)
}

/** Asks the question; a reply that cannot be read is sent back with the issues, up to the attempts of the state. */
export const ask = <A>(
  state: ReasoningState.ReasoningState,
  question: Question<A>
): Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError> =>
  Effect.gen(function* () {
    const { form, native, options, prompt, read } = question
    const model = yield* ReasoningState.model(state, options.role ?? prompt.role)
    const json = form !== undefined && state.format === "json" && !withoutJson.has(model.client)
    const messages = messagesFor(state, question, json)
    let conversation: Conversation = { model, json, messages, step: yield* beginStep(state, question) }
    for (let attempt = 1; ; attempt++) {
      // A client that has answered in JSON before rejects a request for another reason.
      const sent: Sent = yield* json && attempt === 1
        ? sendAsJson(state, question, conversation)
        : sendAsIs(question, conversation)
      const { response } = sent
      const text = LlmClient.text(response).trim()
      if (response.finishReason === "content-filter") return yield* filtered(model, prompt)
      const calls = native === undefined ? [] : LlmClient.toolCalls(response)
      const value = yield* Effect.either(
        text === "" && calls.length === 0 ? Effect.fail("the reply is empty") : read(text, calls)
      )
      if (value._tag === "Right") return { text, step: conversation.step, response, value: value.right }
      if (attempt >= state.attempts) return yield* unusable(state, prompt, text, value.left)
      conversation = {
        ...sent.conversation,
        messages: withIssues(sent.conversation.messages, text, value.left),
        step: yield* beginStep(state, question)
      }
    }
  })
