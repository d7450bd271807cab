/**
 * The steps of language agent tree search, each from the state to the fields that change.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { FinishReason } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as Step from "../../observability/Step.js"
import * as LatsPrompts from "../../prompt/defaults/LatsPrompts.js"
import { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Task } from "../definition/Strategy.js"
import { MaxIterationsExceededError, StrategyConfigurationError } from "../definition/StrategyError.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import type { Candidate, Move, Options, State } from "./Lats.js"
import * as LatsReply from "./LatsReply.js"
import * as SearchTree from "./SearchTree.js"

type Update<E = never, R = never> = Effect.Effect<Partial<State>, E, R>

type Node = SearchTree.Node<Move>

/** The options with their defaults, and what follows from them. */
export interface Settings<in out E, in out R> {
  readonly strategyName: string
  readonly numExpansions: number
  readonly maxDepth: number
  readonly maxReflections: number
  readonly maxModelCalls: number
  readonly explorationWeight: number
  readonly valueWeight: number
  readonly successThreshold: number
  readonly temperature: number
  readonly rollout: boolean
  readonly together: boolean
  readonly native: boolean
  readonly format: "json" | "text"
  readonly onLimit: "answer" | "fail"
  readonly evaluate: Options<E, R>["evaluate"]
  readonly reset: Options<E, R>["reset"]
  /** Model calls that judging a state takes. */
  readonly judging: 0 | 1
}

/** A number that is no number is as good as none. */
const number = (given: number | undefined, fallback: number): number =>
  given === undefined || Number.isNaN(given) ? fallback : given

const clamp = (value: number): number => Math.min(1, Math.max(0, value))

export const resolve = <E, R>(strategyName: string, options: Options<E, R>): Settings<E, R> => ({
  strategyName,
  numExpansions: count(options.numExpansions, 3, 1),
  maxDepth: count(options.maxDepth, 7, 1),
  maxReflections: count(options.maxReflections, 3, 0),
  maxModelCalls: count(options.maxModelCalls, 60, 1),
  explorationWeight: Math.max(0, number(options.explorationWeight, 1.41)),
  valueWeight: clamp(number(options.valueWeight, 0.5)),
  successThreshold: number(options.successThreshold, 1),
  temperature: number(options.temperature, 1),
  rollout: options.rollout ?? true,
  together: options.sampling === "together",
  native: options.actions === "native",
  format: options.format ?? "json",
  onLimit: options.onLimit ?? "answer",
  evaluate: options.evaluate,
  reset: options.reset,
  judging: options.evaluate === undefined ? 1 : 0
})

/** The state a search begins with. */
export const start = (maxIterations: number | undefined): State => ({
  tree: SearchTree.make<Move>({ action: null, share: 1, score: null, critique: "", solved: false }),
  maxIterations: count(maxIterations, ToolLoop.defaults.maxIterations, 1),
  iterations: 0,
  modelCalls: 0,
  current: SearchTree.ROOT,
  expanded: [],
  simulating: false,
  failed: [],
  reflections: [],
  solved: null,
  best: SearchTree.ROOT,
  final: null
})

/** Says that no model call is left. */
class Spent {}

const isSpent = (error: unknown): error is Fatality => error instanceof Fatality && error.error instanceof Spent

/** Counts the model calls of branches that run side by side. */
const meter = (used: number, limit: number) => {
  let calls = used
  const spent = new Fatality({ toolName: "", error: new Spent() })
  return {
    calls: () => calls,
    admit: Effect.suspend((): Effect.Effect<void, Fatality> => {
      if (calls >= limit) return Effect.fail(spent)
      calls++
      return Effect.void
    })
  }
}

type Meter = ReturnType<typeof meter>

/** The search leaves one call for the answer. */
const searchMeter = (settings: Settings<any, any>, state: State): Meter =>
  meter(state.modelCalls, settings.maxModelCalls - 1)

/** `undefined` for what no model call was left for. */
const orSpent = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, E, R> =>
  Effect.catchAll(
    effect,
    (error): Effect.Effect<undefined, E> => (isSpent(error) ? Effect.succeed(undefined) : Effect.fail(error))
  )

const remaining = (settings: Settings<any, any>, state: State): number => settings.maxModelCalls - 1 - state.modelCalls

/** How many actions the calls that are left allow to be proposed and judged. */
const affordable = (settings: Settings<any, any>, state: State): number => {
  const { judging, numExpansions, together } = settings
  const left = remaining(settings, state)
  if (left < 1) return 0
  if (!together) return Math.min(numExpansions, Math.floor(left / (1 + judging)))
  return judging === 0 ? numExpansions : Math.min(numExpansions, left - 1)
}

export const isOver = (settings: Settings<any, any>, state: State): boolean =>
  state.solved !== null ||
  state.iterations >= state.maxIterations ||
  SearchTree.get(state.tree, SearchTree.ROOT).exhausted ||
  affordable(settings, state) < 1

/** How many lessons to draw: those that leave calls for an expansion which can make use of them. */
export const lessons = (settings: Settings<any, any>, state: State): number =>
  Math.max(0, Math.min(state.failed.length, settings.maxReflections, remaining(settings, state) - 1 - settings.judging))

const wayTo = (tree: State["tree"], id: number): ReadonlyArray<LatsReply.Action> =>
  SearchTree.path(tree, id).flatMap(({ data }) => (data.action === null ? [] : [data.action]))

const idsTo = (tree: State["tree"], id: number): ReadonlyArray<number> =>
  SearchTree.path(tree, id).map((node) => node.id)

const isAnswer = (node: Node): boolean => node.data.action?.kind === "answer"

/** A search calls its tools on many paths, most of which it leaves again. */
const refuseLasting = (
  settings: Settings<any, any>
): Effect.Effect<void, StrategyConfigurationError, Reasoning.Reasoning> =>
  Effect.flatMap(Reasoning.Reasoning, ({ task }) => {
    const lasting = task.tools.tools.filter(
      ({ annotations }) => annotations.readOnly !== true && annotations.idempotent !== true
    )
    if (lasting.length === 0 || settings.reset !== undefined) return Effect.void
    const names = lasting.slice(0, 20).map(({ name }) => `"${name}"`)
    if (lasting.length > names.length) names.push(`${lasting.length - names.length} more`)
    return new StrategyConfigurationError({
      strategyName: settings.strategyName,
      option: "reset",
      message: `A search would run these tools again and again, and they are neither read-only nor idempotent: ${names.join(", ")}`,
      hint: "Say `readOnly: true` of a tool that changes nothing, or `idempotent: true` where calling it twice does no more than once; give the search tools that simulate the real ones; or give it `reset`, which undoes what they did"
    })
  })

export const selectNode = (settings: Settings<any, any>) => (state: State) =>
  Effect.zipRight(
    state.iterations === 0 ? refuseLasting(settings) : Effect.void,
    Effect.sync((): Partial<State> => {
      const leaf = SearchTree.select(state.tree, settings.explorationWeight)
      return {
        iterations: state.iterations + 1,
        failed: [],
        ...(leaf === undefined ? {} : { current: leaf.id })
      }
    })
  )

const NATIVE_FORMAT = `Call the tool that is to be tried next, and say in the text beside the call in a sentence why. If nothing is left to do, call no tool and write the final answer, whole and alone.
Asked for several actions, make as many calls in one turn: each is another way to go on, and none sees the result of another.`

/** The tool's own name: however a model spells it, the call is the same. */
const known = (task: Task, action: LatsReply.Action): LatsReply.Action => {
  const name = action.tool === undefined ? undefined : task.tools.get(action.tool)?.name
  return name === undefined || name === action.tool ? action : { ...action, tool: name }
}

const sample = (settings: Settings<any, any>, state: State, count: number, admit: Meter["admit"]) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { task } = reasoning
    const { definitions } = task.tools
    const path = wayTo(state.tree, state.current)
    const left = settings.maxDepth - path.length
    const values = {
      task: task.input,
      path: LatsReply.renderPath(path),
      current_state: `${LatsReply.renderState(path)}\n${left === 1 ? "One step is left: it has to be the final answer." : `Steps left: ${left}.`}`,
      tools: LatsReply.renderTools(definitions),
      reflections: LatsReply.renderReflections(state.reflections)
    }
    const native = settings.native && definitions.length > 0
    const { seed } = task.settings
    const ask = (index: number, wanted: number) => {
      const own: ModelSettings = {
        temperature: settings.temperature,
        // With one seed all samples would be the same.
        ...(seed === undefined ? {} : { seed: seed + index }),
        ...(native && left > 1 ? { parallelToolCalls: wanted > 1 } : {})
      }
      const filled = { ...values, num_expansions: String(wanted) }
      const asked = native
        ? reasoning.askCalls(
            LatsPrompts.Expand,
            filled,
            { tools: left === 1 ? [] : definitions, format: NATIVE_FORMAT, read: LatsReply.readCalls },
            { admit, settings: own }
          )
        : reasoning.askFor(
            LatsPrompts.Expand,
            filled,
            LatsReply.expansionForm(definitions, ToolLoop.writtenNames(task.tools), settings.format),
            { admit, settings: own }
          )
      return Effect.map(orSpent(asked), (reply) => {
        if (reply === undefined) return []
        const proposed = LatsReply.actions(reply.value)
        const isCut = reply.response.finishReason === "length"
        return proposed.slice(0, wanted).map((action, at) => ({
          action: {
            ...known(task, action),
            ...(isCut && action.kind === "answer" && at === proposed.length - 1 ? { isCut } : {})
          },
          step: reply.step
        }))
      })
    }
    const asked = settings.together ? [count] : Array.from({ length: count }, () => 1)
    const samples = yield* Step.forEach(asked, (wanted, index) => ask(index, wanted), {
      concurrency: reasoning.concurrency
    })
    return LatsReply.distinct(samples.flat())
  })

/** The world of the tools as it is after these actions, where the options know how to get there. */
const resetTo = <E, R>({ reset }: Settings<E, R>, path: ReadonlyArray<LatsReply.Action>) =>
  reset === undefined
    ? Effect.void
    : Effect.flatMap(Reasoning.Reasoning, ({ task }) =>
        Step.run(
          { kind: "reset", hash: () => CanonicalJson.stringify(path), success: Schema.Void },
          Effect.asVoid(reset(path, task))
        )
      )

export const expandNode =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const parent = SearchTree.get(state.tree, state.current)
      const count = parent.exhausted ? 0 : affordable(settings, state)
      if (count === 0) return { expanded: [], simulating: false }
      const { admit, calls } = searchMeter(settings, state)
      const sampled = yield* sample(settings, state, count, admit)
      for (const { action, step } of sampled) {
        const { thought } = action
        // An answer without a thought would be out before anybody judged it.
        if (thought === "" && action.kind === "answer" && reasoning.run.withheld) continue
        yield* reasoning.run.emit({
          _tag: "Thought",
          step,
          text: thought === "" ? LatsReply.describe(action) : thought
        })
      }
      const path = wayTo(state.tree, parent.id)
      const carryOut = ({ action, step }: LatsReply.Sampled, index: number) =>
        action.kind === "call"
          ? Effect.map(
              Effect.zipRight(
                resetTo(settings, path),
                reasoning.call(
                  { id: `lats_${state.tree.size + index}`, name: action.tool ?? "", params: action.params },
                  step
                )
              ),
              ({ observation }): LatsReply.Action => ({ ...action, observation })
            )
          : Effect.succeed(action)
      const actions = yield* Step.forEach(sampled, carryOut, {
        concurrency: settings.reset === undefined ? reasoning.concurrency : 1
      })
      const children = actions.map((action, index) => ({
        terminal: action.kind === "answer" || parent.depth + 1 >= settings.maxDepth,
        data: { action, share: sampled[index]?.share ?? 0, score: null, critique: "", solved: false }
      }))
      const { ids, tree } = SearchTree.grow(state.tree, parent.id, children)
      return { tree: SearchTree.pick(tree, [parent.id, ...ids]), expanded: ids, simulating: false, modelCalls: calls() }
    })

/** What the evaluator of the options says, recorded like everything that a replay must not ask again. */
const external = <E, R>(evaluate: Options<E, R>["evaluate"], candidate: Candidate, task: Task) =>
  evaluate === undefined
    ? Effect.succeed(undefined)
    : Effect.tap(
        Step.run(
          {
            kind: "evaluate",
            hash: () => CanonicalJson.stringify(candidate.path),
            success: Schema.UndefinedOr(LatsReply.Verdict)
          },
          evaluate(candidate, task)
        ),
        (verdict) =>
          verdict !== undefined && Number.isNaN(verdict.value)
            ? Effect.dieMessage("Lats: the value that `evaluate` gave is not a number")
            : Effect.void
      )

const judge = <E, R>(settings: Settings<E, R>, state: State, id: number, admit: Meter["admit"]) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const node = SearchTree.get(state.tree, id)
    const { depth, terminal } = node
    const path = wayTo(state.tree, id)
    const action = path[path.length - 1] as LatsReply.Action
    const given = yield* external(settings.evaluate, { path, action, depth, terminal }, reasoning.task)
    let judged: { readonly score: number; readonly reason: string; readonly step: number } | undefined
    if (given !== undefined) {
      judged = { score: clamp(given.value), reason: given.reason ?? "", step: reasoning.steps() }
    } else {
      const values = {
        task: reasoning.task.input,
        path: LatsReply.renderPath(path),
        current_state: LatsReply.renderState(path),
        reflections: LatsReply.renderReflections(state.reflections)
      }
      const reply = yield* orSpent(reasoning.askFor(LatsPrompts.Evaluate, values, LatsReply.judgementForm, { admit }))
      if (reply === undefined) return undefined
      judged = { score: clamp(reply.value.score), reason: reply.value.reason, step: reply.step }
    }
    const { reason, score, step } = judged
    const solved = given?.solved ?? (isAnswer(node) && score >= settings.successThreshold)
    yield* reasoning.run.emit({
      _tag: "Critique",
      step,
      text: reason,
      score,
      ...(terminal || solved ? { accepted: solved } : {})
    })
    const { valueWeight } = settings
    const value = given === undefined ? valueWeight * score + (1 - valueWeight) * node.data.share : score
    return { id, value, score, critique: reason, solved }
  })

export const evaluateNode =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { admit, calls } = searchMeter(settings, state)
      const verdicts = yield* Step.forEach(state.expanded, (id) => judge(settings, state, id, admit), {
        concurrency: reasoning.concurrency
      })
      let tree = state.tree
      const failed: Array<number> = []
      const solutions: Array<number> = []
      for (const verdict of verdicts) {
        if (verdict === undefined) continue
        const { critique, id, score, solved, value } = verdict
        tree = SearchTree.modify(SearchTree.visit(tree, id, value), id, ({ data, terminal }) => ({
          terminal: terminal || solved,
          data: { ...data, score, critique, solved }
        }))
        if (solved) solutions.push(id)
        else if (SearchTree.get(tree, id).terminal) failed.push(id)
      }
      for (const id of [...solutions, ...failed]) tree = SearchTree.exhaust(tree, id)
      const solution = SearchTree.bestOf(tree, solutions)
      const best = SearchTree.bestOf(tree, state.expanded)
      const modelCalls = calls()
      const simulating =
        settings.rollout &&
        solution === undefined &&
        best !== undefined &&
        !best.terminal &&
        affordable(settings, { ...state, modelCalls }) > 0
      return {
        tree: SearchTree.pick(tree, [...idsTo(tree, state.current), ...state.expanded]),
        modelCalls,
        failed: [...state.failed, ...failed],
        solved: solution?.id ?? null,
        simulating,
        ...(simulating ? { current: best.id } : {})
      }
    })

export const backpropagate =
  (settings: Settings<any, any>) =>
  (state: State): Update =>
    Effect.sync(() => {
      const judged = state.expanded.filter((id) => SearchTree.get(state.tree, id).visits > 0)
      const end = state.solved ?? SearchTree.bestOf(state.tree, judged)?.id
      const ends = !settings.rollout ? judged : end === undefined ? [] : [end]
      let tree = state.tree
      for (const id of ends) tree = SearchTree.backpropagate(tree, id, SearchTree.average(SearchTree.get(tree, id)))
      return { tree: SearchTree.pick(tree, idsTo(tree, state.current)) }
    })

export const reflect = (settings: Settings<any, any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { admit, calls } = searchMeter(settings, state)
    // Those that came closest have most to teach.
    const failed = state.failed
      .map((id) => SearchTree.get(state.tree, id))
      .sort((a, b) => SearchTree.average(b) - SearchTree.average(a))
      .slice(0, lessons(settings, state))
    const ask = (node: Node) => {
      const end = isAnswer(node) ? "The answer did not solve the task." : "The path ran out of steps without an answer."
      return orSpent(
        reasoning.ask(
          LatsPrompts.Reflect,
          {
            task: reasoning.task.input,
            path: LatsReply.renderPath(wayTo(state.tree, node.id)),
            evaluation: `${end} Score: ${node.data.score ?? 0} of 1.\n${node.data.critique}`.trim()
          },
          { admit }
        )
      )
    }
    const replies = yield* Step.forEach(failed, ask, { concurrency: reasoning.concurrency })
    const learned = replies.flatMap((reply) => (reply === undefined ? [] : [reply.text]))
    return {
      reflections: [...state.reflections, ...learned].slice(-settings.maxReflections),
      failed: [],
      modelCalls: calls()
    }
  })

export const chooseBestPath = (state: State): Update =>
  Effect.sync(() => ({
    best: state.solved ?? (SearchTree.bestPath(state.tree, isAnswer).at(-1) as Node).id
  }))

export const generateFinalOutput =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const exceeded = (message: string, hint: string) =>
        new MaxIterationsExceededError({
          strategyName: settings.strategyName,
          maxIterations: state.maxIterations,
          currentIteration: state.iterations,
          message,
          hint
        })
      if (state.solved === null && settings.onLimit === "fail") {
        return yield* exceeded(
          `No answer solved the task in ${state.iterations} iterations with ${state.modelCalls} model calls`,
          'Raise `maxIterations` or `maxModelCalls`, lower `successThreshold`, or take the best answer with `onLimit: "answer"`'
        )
      }
      const reasoning = yield* Reasoning.Reasoning
      const { admit, calls } = meter(state.modelCalls, settings.maxModelCalls)
      const path = wayTo(state.tree, state.best)
      yield* resetTo(settings, path)
      const last = path[path.length - 1]
      const reason: FinishReason = state.solved === null ? "limit" : last?.isCut === true ? "length" : "completed"
      const values = {
        task: reasoning.task.input,
        path: LatsReply.renderPath(path),
        iterations: String(state.iterations)
      }
      const asked =
        last?.kind === "answer"
          ? reasoning.answer(last.text, reason, { admit })
          : Effect.map(reasoning.finish(LatsPrompts.FinalOutput, values, { admit }), (answer) =>
              answer.reason === "completed" ? { ...answer, reason } : answer
            )
      const final = yield* Effect.catchIf(asked, isSpent, () =>
        exceeded(`None of ${settings.maxModelCalls} model calls is left for the answer`, "Raise `maxModelCalls`")
      )
      return { final, modelCalls: calls() }
    })
