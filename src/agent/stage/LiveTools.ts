/**
 * The tools of a run whose agent has tool sources or a tool search: what exists now, and what the model is shown of it.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { errorInfo } from "../../domain/ErrorInfo.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import * as ToolList from "../../prompt/template/ToolList.js"
import * as CatalogTools from "../../skill/folder/CatalogTools.js"
import type { Preparation } from "../../strategy/definition/StepPreparation.js"
import type * as Tool from "../../tool/definition/Tool.js"
import { ToolNotFoundError } from "../../tool/definition/ToolError.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import * as ToolIndex from "../../tool/ToolIndex.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import * as ToolSearch from "../../tool/ToolSearch.js"
import type * as ToolSource from "../../tool/ToolSource.js"
import * as HandoffRoute from "../conversation/HandoffRoute.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { degrade, type State } from "../definition/Stage.js"
import * as RunInterceptors from "./RunInterceptors.js"

/** Problems of sources that one run reports. */
const MAX_REPORTS = 100
/** Names of vanished tools that one run remembers. */
const MAX_VANISHED = 10_000

interface Held {
  readonly source: ToolSource.Source
  tools: ReadonlyArray<Tool.Any>
  /** Its last answer was a failure, which is reported once until it answers again. */
  failed: boolean
}

const fatal = (error: unknown): ToolRunner.Fatality => new ToolRunner.Fatality({ error, toolName: "" })

/** Definitions by tool, so that a tool that did not change is not encoded again. */
const definitions = new WeakMap<Tool.Any, LlmClient.ToolDefinition>()

/** Made once per agent, with its index. */
const searches = new WeakMap<ToolSearch.Options, ToolSearch.ToolSearch>()

const searchOf = (options: ToolSearch.Options): ToolSearch.ToolSearch => {
  const known = searches.get(options)
  if (known !== undefined) return known
  const made = ToolSearch.make(options)
  searches.set(options, made)
  return made
}

/** The set of the last run of an agent, which its next run mostly has as well. */
const sets = new WeakMap<object, ToolSet.ToolSet<any, any>>()

const setOf = (control: object, tools: ReadonlyArray<Tool.Any>): ToolSet.ToolSet<any, any> => {
  const known = sets.get(control)
  if (known !== undefined && ToolIndex.isSame(known.tools, tools)) return known
  const made = ToolSet.make(...tools)
  sets.set(control, made)
  return made
}

const definitionOf = (tool: Tool.Any, made: LlmClient.ToolDefinition): LlmClient.ToolDefinition => {
  const known = definitions.get(tool)
  if (known !== undefined && known.name === made.name) return known
  definitions.set(tool, made)
  return made
}

/**
 * A set that changes between the steps of its run. `tools` and `definitions` are those that the model is shown now;
 * `get` finds all that exist.
 */
export class LiveTools implements ToolSet.Bound {
  tools: ReadonlyArray<Tool.Any> = []
  definitions: ReadonlyArray<LlmClient.ToolDefinition> = []
  readonly provide: ToolSet.Bound["provide"]
  private set: ToolSet.ToolSet<any, any> = ToolSet.empty
  /** The tools that exist, without the search tool. */
  all: ReadonlyArray<Tool.Any> = []
  private given: ReadonlyArray<Tool.Any> = []
  private readonly own: ReadonlyArray<Tool.Any>
  private readonly held: ReadonlyArray<Held>
  private readonly shown: ToolSearch.Shown | undefined
  private readonly reported = new Set<string>()
  private readonly vanished = new Set<string>()
  /** The definitions that strategies may have. */
  private readonly known = new WeakSet<LlmClient.ToolDefinition>()
  private step: number | undefined
  /** The model has answered since the sources were asked. */
  private answered = false
  /** The first definitions, which a prompt may list. */
  private first: ReadonlyArray<LlmClient.ToolDefinition> | undefined

  private constructor(
    private readonly state: State,
    answers: ReadonlyArray<Held>
  ) {
    const { control } = state.agent.definition
    const ofSources = new Set(answers.flatMap(({ tools }) => tools))
    this.held = answers
    this.own = state.tools.tools.filter((tool) => !ofSources.has(tool))
    this.provide = state.tools.provide
    for (const [at, tool] of state.tools.tools.entries()) definitionOf(tool, state.tools.definitions[at] as never)
    const forced = typeof control.toolChoice?.choice === "object" ? [control.toolChoice.choice.tool] : []
    // The run asks other agents and activates skills by these.
    const links = this.own.filter(({ erased }) => HandoffRoute.isLink(erased.handle)).map(({ name }) => name)
    const { activate, readFile, runScript, search } = CatalogTools.defaults
    const pinned = [...forced, ...links, activate, readFile, runScript, search]
    this.shown =
      control.toolSearch === undefined
        ? undefined
        : new ToolSearch.Shown(searchOf(control.toolSearch), state.input, pinned)
  }

  /** Asks the sources of the agent. One that fails fails the run. */
  static open(state: State): Effect.Effect<LiveTools, ToolRunner.Fatality> {
    const ask = (source: ToolSource.Source) =>
      Effect.map(
        Effect.mapError(RecordedStages.tools(source.tools), fatal),
        (tools): Held => ({ source, tools, failed: false })
      )
    return Effect.flatMap(Effect.forEach(state.agent.definition.control.toolSources, ask), (held) => {
      const live = new LiveTools(state, held)
      return Effect.as(live.update(), live)
    }) as Effect.Effect<LiveTools, ToolRunner.Fatality>
  }

  get names(): ToolSet.Bound["names"] {
    return this.set.names
  }

  get(name: string): Tool.Any | undefined {
    const tool = this.set.get(name)
    return tool !== undefined && tool === this.shown?.template ? this.shown.tool : tool
  }

  /** Asks the sources before each call but the first. Calls that begin together in one step ask once. */
  refresh(step: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const isFirst = this.step === undefined
      if (step === this.step && !this.answered) return Effect.void
      this.step = step
      this.answered = false
      if (isFirst) return Effect.void
      return Effect.zipRight(
        Effect.forEach(this.held, (held) => this.ask(held), { discard: true }),
        Effect.suspend(() => this.update())
      )
    })
  }

  /** A call of the model ended. */
  ended(): void {
    this.answered = true
  }

  /** The request with the tools that are shown now. */
  offered(request: LlmClient.LlmRequest, before: ReadonlyArray<LlmClient.ToolDefinition>): LlmClient.LlmRequest {
    const { tools } = request
    if (tools === undefined || tools.length === 0) return this.listed(request)
    if (tools === this.definitions) return request
    const ofRun = tools.filter((one) => this.known.has(one))
    // A call with a choice of the tools keeps its choice, as far as they exist.
    const isWhole = tools === before || ofRun.length >= before.length
    const now = new Set(this.set.definitions.map(({ name }) => name))
    const kept = isWhole
      ? [...tools.filter((one) => !this.known.has(one)), ...this.definitions]
      : tools.filter((one) => !this.known.has(one) || now.has(one.name))
    const { tools: _tools, toolChoice, ...rest } = request
    if (kept.length === 0) return rest
    const offered = tools === before ? this.definitions : kept
    return { ...rest, tools: offered, ...(toolChoice === undefined ? {} : { toolChoice }) }
  }

  /** The messages with the list of the tools that are shown now, where a strategy lists them in its prompt. */
  private listed(request: LlmClient.LlmRequest): LlmClient.LlmRequest {
    if (this.first === undefined || this.first === this.definitions) return request
    const old = ToolList.text(this.first)
    const isListing = ({ content }: LlmClient.Message) => typeof content === "string" && content.includes(old)
    if (!request.messages.some(isListing)) return request
    const text = ToolList.text(this.definitions)
    const messages = request.messages.map((message) =>
      isListing(message) ? { ...message, content: (message.content as string).split(old).join(text) } : message
    )
    return { ...request, messages: messages as ReadonlyArray<LlmClient.Message> }
  }

  /** Tells the model of a call whose tool is gone, and shows a tool that it called unseen. */
  readonly watchCalls: ToolRunner.ToolInterceptor = (call, next) =>
    RunInterceptors.own(this.state, this.watch)(call, next)

  private readonly watch: ToolRunner.ToolInterceptor = (call, next) => {
    const tool = this.get(call.name)
    if (tool !== undefined) {
      this.shown?.use(tool.name)
      return next(call)
    }
    if (!this.vanished.has(call.name)) return next(call)
    const toolName = call.name.slice(0, 128)
    const availableTools = this.definitions.map(({ name }) => name)
    const message = `The tool "${toolName}" no longer exists`
    const error = errorInfo(
      new ToolNotFoundError({
        toolName,
        availableTools,
        message,
        hint:
          availableTools.length === 0 ? "Answer without tools" : `Available: ${availableTools.slice(0, 50).join(", ")}`
      })
    )
    return Effect.succeed(RunInterceptors.refusedCall(call, `Error: ${message}. ${error.hint}`, error))
  }

  private ask(held: Held): Effect.Effect<void> {
    const tools = held.source.tools as Effect.Effect<ReadonlyArray<Tool.Any>, unknown>
    const asked = RecordedStages.tools(tools, held.tools)
    return Effect.matchEffect(asked, {
      onSuccess: (tools) =>
        Effect.sync(() => {
          held.tools = tools
          held.failed = false
        }),
      onFailure: (error) => {
        if (held.failed) return Effect.void
        held.failed = true
        return degrade(Effect.fail(error), { state: this.state, stage: "tools", orElse: undefined })
      }
    })
  }

  private report(_tag: string, message: string): Effect.Effect<void> {
    if (this.reported.has(message) || this.reported.size >= MAX_REPORTS) return Effect.void
    this.reported.add(message)
    return degrade(Either.left({ _tag, message }), { state: this.state, stage: "tools", orElse: undefined })
  }

  /** The tools that exist: the agent's own, then those of the sources. */
  private collect(): Effect.Effect<ReadonlyArray<Tool.Any>> {
    const problems: Array<readonly [string, string]> = []
    const byName = new Map(this.own.map((tool) => [tool.name, tool]))
    for (const { source, tools } of this.held) {
      const from = `of the source "${source.name.slice(0, 128)}"`
      if (tools.length > source.maxTools)
        problems.push(["ToolsOmitted", `The tools ${from} after the first ${source.maxTools} are left out`])
      for (const tool of tools.slice(0, source.maxTools)) {
        const name = tool.name.slice(0, 128)
        if (tool.problem !== undefined)
          problems.push(["ToolOmitted", `The tool "${name}" ${from} is left out: ${tool.problem.message}`])
        else if (byName.has(tool.name) || this.shown?.tool.name === tool.name) {
          if (byName.get(tool.name) !== tool)
            problems.push(["ToolShadowed", `The tool "${name}" ${from} has the same name as another tool of the run`])
        } else byName.set(tool.name, tool)
      }
    }
    const tools = Array.from(byName.values())
    return Effect.as(
      Effect.forEach(problems.slice(0, MAX_REPORTS), ([tag, message]) => this.report(tag, message), { discard: true }),
      tools
    )
  }

  /** Applies what the sources answered and what the model found. */
  private update(): Effect.Effect<void> {
    return Effect.flatMap(this.collect(), (given) => {
      if (ToolIndex.isSame(given, this.given) && this.step !== undefined) return Effect.sync(() => this.show())
      this.given = given
      return Effect.map(this.visible(given), (all) => {
        const names = new Set(all.map(({ name }) => name))
        for (const { name } of this.all) {
          if (names.has(name) || this.vanished.size >= MAX_VANISHED) continue
          this.vanished.add(name)
          this.vanished.add(this.names.toProvider(name))
        }
        this.all = all
        const search = this.shown === undefined || names.has(this.shown.tool.name) ? [] : [this.shown.template]
        this.set = setOf(this.state.agent.definition.control, [...all, ...search])
        this.show()
      })
    })
  }

  private visible(tools: ReadonlyArray<Tool.Any>): Effect.Effect<ReadonlyArray<Tool.Any>> {
    if (tools.every(({ annotations }) => annotations.owner === undefined)) return Effect.succeed(tools)
    const { agent, uses } = this.state
    const set = ToolSet.make(...tools)
    const seen = uses.runner.visible({
      tools,
      definitions: set.definitions,
      names: set.names,
      get: set.get,
      provide: this.provide
    })
    const { module } = agent.definition
    return Effect.map(
      module === undefined ? seen : Effect.provideService(seen, ToolRunner.CallerModule, module),
      (bound) => bound.tools
    )
  }

  private show(): void {
    const tools = this.shown === undefined ? this.all : this.shown.of(this.all)
    if (this.first !== undefined && ToolIndex.isSame(tools, this.tools)) return
    this.tools = tools
    this.definitions = tools.map((tool) => {
      const made = {
        name: this.names.toProvider(tool.name),
        description: tool.description,
        parameters: tool.parameters
      }
      const definition = definitionOf(tool, made)
      this.known.add(definition)
      return definition
    })
    this.first ??= this.definitions
  }
}

/** Renews the tools before each step, then lets the preparation of the agent see the request. */
export const preparation =
  (live: LiveTools, inner: Preparation | undefined): Preparation =>
  (model, tools, withRole) => {
    const prepared = inner === undefined ? model : inner(model, tools, withRole)
    return {
      client: model.client,
      call: (request, options) =>
        Effect.suspend(() => {
          const before = live.definitions
          return Effect.flatMap(live.refresh(options.step), () =>
            Effect.ensuring(
              Effect.suspend(() => prepared.call(live.offered(request, before), options)),
              Effect.sync(() => live.ended())
            )
          )
        })
    }
  }

/** Asks the sources of the agent. One that fails fails the run. */
export const open = LiveTools.open
