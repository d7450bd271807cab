/**
 * What the steps of a strategy work with during one run: prompts of the library filled in and asked, replies read,
 * tools run, the answer put into its shape. A service, so that a graph is made once and its nodes still know their run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type { Body, FinishReason } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import { ModelRouter } from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import { LlmContentPolicyError, type LlmError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as Run from "../../observability/Run.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT, type PromptStep } from "../../prompt/template/PromptStep.js"
import type { Values } from "../../prompt/template/PromptTemplate.js"
import { type Fatality, type Outcome, type RunOptions, type ToolCall, ToolRunner } from "../../tool/ToolRunner.js"
import * as ModelCall from "./ModelCall.js"
import type { ReplyForm } from "./ReplyForm.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"
import { StrategyReplyError } from "./StrategyError.js"
import * as ToolLoop from "./ToolLoop.js"

/**
 * Options that every strategy of steps has.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How structured replies are asked for: `json` (default) by a JSON Schema, and as text from a model that refuses
   * those; `text` in the text form of the step. Replies are read in either form.
   */
  readonly format?: "json" | "text" | undefined
  /** How often a reply that cannot be used is asked for again, with what is wrong; default 2. */
  readonly replyRetries?: number | undefined
  /** Time for one model call; default that of the agent, then 120 s. */
  readonly llmTimeout?: ToolLoop.LoopOptions["llmTimeout"]
  /** Time for one attempt of a tool that does not say otherwise; default that of the agent, then 30 s. */
  readonly toolTimeout?: ToolLoop.LoopOptions["toolTimeout"]
  /** Attempts in all for a tool that does not say otherwise; default that of the agent, then 3. */
  readonly toolMaxRetries?: number | undefined
  /** Characters of an observation that reach the model; default that of the agent, then 10,000. */
  readonly observationMaxChars?: number | undefined
  /** Things of one step that run at once: tool calls, parts of a plan; default that of the agent, then 8. */
  readonly toolConcurrency?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AskOptions {
  /** The model role; default that of the prompt. */
  readonly role?: string | undefined
  /** Settings of this call; they win over those of the role and of the agent. */
  readonly settings?: ModelSettings | undefined
  /** Messages after the prompt: what was said about it already. */
  readonly follow?: ReadonlyArray<LlmClient.Message> | undefined
  /** Whether the agent's system prompt and the earlier turns come first; default true. */
  readonly context?: boolean | undefined
  /**
   * What readers of the run see while the reply is written: `nothing` (default), `reasoning` as `ReasoningDelta`,
   * `answer` as `TextDelta`.
   */
  readonly show?: "nothing" | "reasoning" | "answer" | undefined
  /** Sees the text as it arrives, in pieces; the call waits for its Effect. */
  readonly onText?: ((text: string) => Effect.Effect<void>) | undefined
  /**
   * What is wrong with a text, in words the model can act on; `undefined` when it can be used. Not asked for replies of
   * a form.
   */
  readonly check?: ((text: string) => string | undefined) | undefined
  /**
   * Asked before each model call of the question, those for a better reply included: what it fails with ends the
   * question.
   */
  readonly admit?: Effect.Effect<void, Fatality> | undefined
}

/**
 * A question that may be answered by calls of tools, which the provider hands over: nothing runs them yet.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallForm<out A> {
  /** None: the reply can only be text. */
  readonly tools: ReadonlyArray<LlmClient.ToolDefinition>
  /** What `{output_format}` stands for. */
  readonly format: string
  /**
   * A value out of a reply; `Left` says what is wrong in words the model can act on. Calls or text are there, maybe
   * both.
   */
  readonly read: (text: string, calls: ReadonlyArray<ToolCall>) => Either.Either<A, string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Reply {
  readonly text: string
  /** The step of the run it was, from 1. */
  readonly step: number
  readonly response: LlmClient.LlmResponse
}

/**
 * A reply in the form it was asked for.
 *
 * @since 0.1.0
 * @category models
 */
export interface Formed<out A> extends Reply {
  readonly value: A
}

/**
 * @since 0.1.0
 * @category models
 */
export interface InnerOptions {
  /** What readers of the run see of its text while it is written: as `AskOptions.show`, but default `reasoning`. */
  readonly show?: AskOptions["show"]
  /** Sees its events as they are emitted. */
  readonly onEvent?: ((event: Body) => void) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The strategy. */
  readonly name: string
  readonly task: Task
  readonly run: Run.Service
  /** Things of one step that run at once. */
  readonly concurrency: number
  /** How many steps there were so far. */
  readonly steps: () => number
  /** The model of a role, for calls that fit no prompt: the agent's own where nobody configured that role. */
  readonly model: (role: string) => Effect.Effect<ModelCall.Model>
  /** The messages of a prompt: the agent's system prompt with the step's, the earlier turns, the step's question. */
  readonly opening: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>
  ) => ReadonlyArray<LlmClient.Message>
  /**
   * The messages of the task itself, without any prompt; custom instructions of the pattern are in its system message
   * all the same.
   */
  readonly bare: (pattern: string) => ReadonlyArray<LlmClient.Message>
  /** Begins the next step of the run and gives back its number. `ask`, `askFor` and `finish` do so themselves. */
  readonly begin: (name?: string | undefined) => Effect.Effect<number>
  /**
   * One model call, in a step of its own. A reply without text is asked for again, then fails with
   * `StrategyReplyError`; one that a content filter cut is an `LlmContentPolicyError`.
   */
  readonly ask: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Reply, LlmError | Fatality | StrategyReplyError>
  /**
   * The same for a reply of a shape. What does not fit goes back to the model with what is wrong, then fails with
   * `StrategyReplyError`.
   */
  readonly askFor: <A, Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    form: ReplyForm<A>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError>
  /** The same for a reply that calls tools natively, or is text. */
  readonly askCalls: <A, Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    form: CallForm<A>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError>
  /**
   * The last question of a run: its reply is shown as it is written and is the answer, in the shape the task asks for.
   */
  readonly finish: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Answer, LlmError | Fatality | StrategyReplyError>
  /**
   * Runs a tool. Its failure is an observation, unless the tool is fatal. Ids of calls are to be unique in a run. With
   * `refuse` it is not run and says why.
   */
  readonly call: (
    call: ToolCall,
    step: number,
    refuse?: RunOptions["refuse"] | undefined
  ) => Effect.Effect<Outcome, Fatality>
  /**
   * Runs another strategy as a part of this run. Its steps are numbered on from those there were, also where several
   * run at once, and calls whose id an earlier one has used get a number behind it: what tools take for the identity of
   * a call is that of one call.
   */
  readonly inner: <E, R>(
    strategy: Strategy<E, R>,
    task: Task,
    options?: InnerOptions | undefined
  ) => Effect.Effect<Answer, E | StrategyBaseError, R | StrategyServices>
  /**
   * An answer of a text that no more model call is needed for, in the shape the task asks for. Where the model has to
   * bring it into that shape, it is told the custom instructions of the pattern that was asked last.
   */
  readonly answer: (
    text: string,
    reason?: FinishReason | undefined,
    options?: Pick<AskOptions, "admit"> | undefined
  ) => Effect.Effect<Answer, LlmError | Fatality>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Reasoning extends Context.Tag("effect-lexigram/strategy/Reasoning")<Reasoning, Service>() {}

const jsonFormat = (form: ReplyForm<unknown>): string =>
  `Answer with one JSON value that fits this JSON Schema, and nothing else:\n${JSON.stringify(form.jsonSchema)}`

/** What `{output_format}` stands for where a step has no form. */
const PLAIN = "Plain text: the reply itself, without a preamble."

/** Clients that refused to be asked for JSON by a schema. */
const withoutJson = new WeakSet<LlmClient.Service>()

const join = (first: string, second: string): string =>
  first === "" ? second : second === "" ? first : `${first}\n\n${second}`

const deltas =
  (show: AskOptions["show"]) =>
  (parts: ReadonlyArray<LlmClient.LlmPart>): ReadonlyArray<Body> => {
    if (show === undefined || show === "nothing") return []
    const bodies: Array<Body> = []
    for (const part of parts) {
      if (part.type === "text-delta") {
        if (part.delta !== "")
          bodies.push({ _tag: show === "answer" ? "TextDelta" : "ReasoningDelta", text: part.delta })
      } else if (part.type === "reasoning-delta" && part.delta !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: part.delta })
      }
    }
    return bodies
  }

/** The model, each call of which has to be admitted. */
const admittedBy = (model: ModelCall.Model, admit: AskOptions["admit"]): ModelCall.Model =>
  admit === undefined
    ? model
    : { ...model, call: (request, options) => Effect.zipRight(admit, model.call(request, options)) }

const textOf = (parts: ReadonlyArray<LlmClient.LlmPart>): string => {
  let text = ""
  for (const part of parts) if (part.type === "text-delta") text += part.delta
  return text
}

/**
 * Reasoning for one task.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  task: Task,
  options: Options = {}
): Effect.Effect<Service, never, StrategyServices> =>
  Effect.gen(function* () {
    const run = yield* Run.Run
    const runner = yield* ToolRunner
    const prompts = yield* PromptLibrary.PromptLibrary
    const context = yield* Effect.context<LlmClient.LlmClient | ModelRouter>()
    const resolved = ToolLoop.resolve(options, task)
    const attempts = 1 + count(options.replyRetries, 2, 0)
    const models = new Map<string, ModelCall.Model>()
    let steps = 0
    // Of the prompt that was filled in last: whatever is said without one is said by the same pattern.
    let spoken = ""

    const modelOf = (role: string): Effect.Effect<ModelCall.Model> => {
      const known = models.get(role)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.provide(
        Effect.gen(function* () {
          // A role that nobody configured is the agent's own model, not the default one.
          const own = (yield* (yield* ModelRouter).resolve(role)).isDefault === true
          const model = yield* ModelCall.bind(task, {
            timeout: resolved.llmTimeout,
            ...(own ? {} : { role })
          })
          models.set(role, model)
          return model
        }),
        context
      )
    }

    const begin = (step?: string) =>
      Effect.suspend(() => {
        const number = ++steps
        const wait = run.unsafeEmit({
          _tag: "StepStarted",
          step: number,
          ...(step === undefined ? {} : { name: step })
        })
        return wait === undefined ? Effect.succeed(number) : Effect.as(wait, number)
      })

    const messagesOf = (
      prompt: PromptStep,
      values: { readonly [key: string]: string },
      outputFormat: string,
      given: AskOptions
    ): ReadonlyArray<LlmClient.Message> => {
      spoken = prompt.pattern
      const { system, user } = prompts.render(prompt, { ...values, [OUTPUT_FORMAT]: outputFormat })
      const alone = given.context === false
      const head = alone ? system : join(task.system, system)
      return [
        ...(head === "" ? [] : [{ role: "system" as const, content: head }]),
        ...(alone ? [] : task.history),
        { role: "user", content: user },
        ...(given.follow ?? [])
      ]
    }

    const request = (
      model: ModelCall.Model,
      step: number,
      messages: ReadonlyArray<LlmClient.Message>,
      format: { readonly name: string; readonly jsonSchema: LlmClient.JsonSchema } | undefined,
      given: AskOptions,
      tools?: ReadonlyArray<LlmClient.ToolDefinition> | undefined
    ) => {
      const { onText } = given
      return model.call(
        {
          messages,
          ...(given.settings === undefined ? {} : { settings: given.settings }),
          ...(tools === undefined || tools.length === 0 ? {} : { tools }),
          ...(format === undefined
            ? {}
            : { responseFormat: { type: "json" as const, name: format.name, schema: format.jsonSchema } })
        },
        {
          step,
          deltas: deltas(given.show),
          ...(onText === undefined
            ? {}
            : {
                onParts: (parts) => {
                  const text = textOf(parts)
                  return text === "" ? Effect.void : onText(text)
                }
              })
        }
      )
    }

    const filtered = (model: ModelCall.Model, prompt: PromptStep) =>
      new LlmContentPolicyError({
        provider: model.client.provider,
        ...(model.client.model === undefined ? {} : { model: model.client.model }),
        message: `A content filter cut the reply to ${prompt.pattern}/${prompt.name}`,
        hint: "Change the task, or the prompt of this step"
      })

    const unusable = (prompt: PromptStep, text: string, issues: string) =>
      new StrategyReplyError({
        strategyName: name,
        prompt: `${prompt.pattern}/${prompt.name}`,
        text: text.slice(0, 2000),
        issues: issues.slice(0, 2000),
        attempts,
        message: `${prompt.pattern}/${prompt.name} got no usable reply in ${attempts} attempts: ${issues.slice(0, 500)}`,
        hint: "Use a stronger model for this role, another `format`, or raise `replyRetries`"
      })

    /** Asks until the reply can be read. */
    const converse = <A>(
      prompt: PromptStep,
      values: { readonly [key: string]: string },
      form: ReplyForm<A> | undefined,
      read: (text: string, calls: ReadonlyArray<ToolCall>) => Effect.Effect<A, string>,
      given: AskOptions,
      native?: CallForm<A> | undefined
    ): Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError> =>
      Effect.gen(function* () {
        const model = yield* modelOf(given.role ?? prompt.role)
        let json = form !== undefined && (options.format ?? "json") === "json" && !withoutJson.has(model.client)
        const messages = () =>
          messagesOf(
            prompt,
            values,
            native !== undefined
              ? native.format
              : form === undefined
                ? prompt.textFormat || PLAIN
                : json
                  ? jsonFormat(form)
                  : prompt.textFormat || jsonFormat(form),
            given
          )
        const { admit } = given
        let conversation = messages()
        if (admit !== undefined) yield* admit
        let step = yield* begin(prompt.name)
        for (let attempt = 1; ; attempt++) {
          const sent = request(model, step, conversation, json ? form : undefined, given, native?.tools)
          // Who has answered in JSON before refuses something else.
          const response = yield* json && attempt === 1
            ? Effect.catchTag(sent, "LlmInvalidRequestError", (error) => {
                json = false
                conversation = messages()
                const again = request(model, step, conversation, undefined, given)
                return Effect.mapBoth(admit === undefined ? again : Effect.zipRight(admit, again), {
                  onSuccess: (response) => {
                    withoutJson.add(model.client)
                    return response
                  },
                  // Refused for another reason, it is refused again.
                  onFailure: (again) => (again._tag === "LlmInvalidRequestError" ? error : again)
                })
              })
            : sent
          const text = LlmClient.text(response).trim()
          if (response.finishReason === "content-filter") return yield* filtered(model, prompt)
          const calls = native === undefined ? [] : LlmClient.toolCalls(response)
          const value = yield* Effect.either(
            text === "" && calls.length === 0 ? Effect.fail("the reply is empty") : read(text, calls)
          )
          if (value._tag === "Right") return { text, step, response, value: value.right }
          if (attempt >= attempts) return yield* unusable(prompt, text, value.left)
          conversation = [
            ...conversation,
            ...(text === "" ? [] : [{ role: "assistant" as const, content: text }]),
            {
              role: "user",
              content: `That reply cannot be used: ${value.left.slice(0, 2000)}. Write it again, whole, in the form that was asked for.`
            }
          ]
          if (admit !== undefined) yield* admit
          step = yield* begin(prompt.name)
        }
      })

    const ask: Service["ask"] = (prompt, values, given = {}) =>
      converse(
        prompt,
        values,
        undefined,
        (text) => {
          const wrong = given.check?.(text)
          return wrong === undefined ? Effect.succeed(text) : Effect.fail(wrong)
        },
        given
      )

    const callIds = new Set<string>()

    const uniqueId = (id: string): string => {
      let own = id
      for (let n = 2; callIds.has(own); n++) own = `${id}_${n}`
      callIds.add(own)
      return own
    }
    const innerRunner: typeof runner = {
      ...runner,
      run: (tools, call, given) => Effect.suspend(() => runner.run(tools, { ...call, id: uniqueId(call.id) }, given))
    }

    const inner: Service["inner"] = (strategy, innerTask, given = {}) =>
      Effect.suspend(() => {
        const numbers = new Map<number, number>()
        const { onEvent, show = "reasoning" } = given
        const stepOf = (step: number): number => numbers.get(step) ?? steps
        const translated = (body: Body): Body => {
          switch (body._tag) {
            case "StepStarted": {
              numbers.set(body.step, ++steps)
              return { ...body, step: steps }
            }
            case "Thought":
            case "Critique":
            case "ToolCall":
            case "ToolResult":
            case "TextRetracted":
              return { ...body, step: stepOf(body.step) }
            case "TextDelta":
              return show === "answer" ? body : { _tag: "ReasoningDelta", text: body.text }
            default:
              return body
          }
        }
        const translate = (body: Body): Body => {
          const event = translated(body)
          onEvent?.(event)
          return event
        }
        const current = show === "nothing" ? Run.quiet(run) : run
        return strategy.program(innerTask).pipe(
          Effect.provideService(ToolRunner, innerRunner),
          Effect.provideService(Run.Run, {
            ...current,
            emit: (body) => Effect.suspend(() => run.emit(translate(body))),
            emitAll: (bodies) => Effect.suspend(() => run.emitAll(bodies.map(translate))),
            unsafeEmit: (body) => run.unsafeEmit(translate(body))
          })
        )
      })

    const user: LlmClient.Message = { role: "user", content: task.input }

    const bare: Service["bare"] = (pattern) =>
      ModelCall.openingMessages(task, join(task.system, prompts.instructions(pattern)))

    const answer: Service["answer"] = (text, reason = "completed", { admit } = {}) =>
      Effect.flatMap(modelOf("documentation"), (model) => {
        const messages = bare(spoken)
        return ToolLoop.end(admittedBy(model, admit), task, {
          strategyName: name,
          step: steps,
          messages,
          first: messages.length - 1,
          text,
          reason,
          said: { role: "assistant", content: text }
        })
      })

    const finish: Service["finish"] = (prompt, values, given = {}) =>
      Effect.gen(function* () {
        const { output } = task
        const shown: AskOptions = { show: "answer", ...given }
        if (output === undefined) {
          const { response, text } = yield* ask(prompt, values, shown)
          const said: LlmClient.Message = { role: "assistant", content: text }
          return { text, reason: ToolLoop.finishReason(response.finishReason), messages: [user, said] }
        }
        const form: ReplyForm<string> = {
          name: output.name,
          jsonSchema: output.jsonSchema,
          // Whether it fits is for `ToolLoop.end` to say: the task has retries of its own for that.
          read: Effect.succeed
        }
        const { response, step, text } = yield* converse(prompt, values, form, Effect.succeed, shown)
        // What does not fit is asked for again with the question before it: the task alone does not say what the answer
        // is made of.
        const shaped = yield* ModelCall.structured(
          admittedBy(yield* modelOf(given.role ?? prompt.role), given.admit),
          output,
          {
            strategyName: name,
            step,
            messages: messagesOf(prompt, values, jsonFormat(form), given),
            text
          }
        )
        return {
          text: shaped.text,
          output: shaped.output,
          reason: ToolLoop.finishReason(response.finishReason),
          messages: [user, { role: "assistant", content: shaped.text }]
        }
      })

    return {
      name,
      task,
      run,
      concurrency: resolved.toolConcurrency,
      steps: () => steps,
      model: modelOf,
      opening: (prompt, values) => messagesOf(prompt, values, prompt.textFormat || PLAIN, {}),
      bare,
      begin,
      ask,
      askFor: (prompt, values, form, given = {}) => converse(prompt, values, form, form.read, given),
      askCalls: (prompt, values, form, given = {}) => converse(prompt, values, undefined, form.read, given, form),
      finish,
      call: (call, step, refuse) =>
        Effect.suspend(() => {
          callIds.add(call.id)
          return runner.run(task.tools, call, resolved.toolOptions(step, refuse))
        }),
      inner,
      answer
    }
  })
