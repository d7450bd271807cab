/** Two copies of the library over one Effect, in a process that has loaded nothing else. */
import { pathToFileURL } from "node:url"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { globalValue } from "effect/GlobalValue"
import * as Layer from "effect/Layer"
import * as Bundle from "../Bundle.js"
import * as Programs from "../Programs.js"

type Copy = typeof import("./OneCopy.js")

const isEffect = (path: string): boolean => /^(?:effect|@effect\/[^/]+)(?:\/|$)/.test(path)

const defaultsOf = (copy: Copy) => {
  const nothing = Context.empty()
  return {
    run: Context.get(nothing, copy.Run.Run),
    step: Context.get(nothing, copy.Step.Step),
    costs: Context.get(nothing, copy.CostEstimator.CostEstimator),
    prompts: Context.get(nothing, copy.PromptLibrary.PromptLibrary),
    ids: Context.get(nothing, copy.IdGenerator.IdGenerator)
  }
}

const runIn = (copy: Copy) =>
  Effect.map(
    Effect.provide(
      copy.AgentExecutor.run(copy.Agent.make("a"), "hi"),
      Layer.provide(copy.Agents.layer(), copy.TestModel.layer(["done"]))
    ),
    ({ message, runId }) => ({ message, runId })
  )

Programs.main(({ say }) =>
  Effect.gen(function* () {
    const bundle = yield* Bundle.make("OneCopy", undefined, (path) =>
      isEffect(path) ? import.meta.resolve(path) : undefined
    )
    const load = (name: string): Effect.Effect<Copy> =>
      Effect.promise(() => import(`${pathToFileURL(bundle).href}?copy=${name}`))
    const first = yield* load("first")
    const second = yield* load("second")
    const ran = yield* Effect.all([runIn(first), runIn(second)])
    const defaults = { first: defaultsOf(first), second: defaultsOf(second) }
    const cache = globalValue("effect/Context/defaultValueCache", () => new Map<string, unknown>())
    yield* say({
      isOneEffect: first.Run.Run !== second.Run.Run && Array.from(cache.keys()).includes(first.Run.Run.key),
      messages: ran.map(({ message }) => message),
      shared: Object.entries(defaults.first).flatMap(([name, value]) =>
        Object.entries(defaults.second).some(([other, its]) => other === name && its === value) ? [name] : []
      ),
      inRun: [first.Run.isCurrent(defaults.first.run), second.Run.isCurrent(defaults.second.run)],
      recording: [first.Step.isRecording(defaults.first.step), second.Step.isRecording(defaults.second.step)],
      unmarked: Array.from(cache.keys()).filter((key) => key.startsWith("effect-lexigram") && !/#[12]$/.test(key))
    })
  }).pipe(Effect.scoped)
)
