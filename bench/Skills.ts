/** Cost of executing a skill over calling its function: fresh, and from the cache. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Skill from "../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../src/skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../src/skill/execute/SkillRegistry.js"
import * as SkillResultMemory from "../src/skill/execute/SkillResultMemory.js"
import * as ApprovalGate from "../src/tool/approval/ApprovalGate.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"
import * as Telemetry from "./Telemetry.js"

const words = (text: string) => ({ words: text.split(/\s+/).filter((word) => word !== "").length })
const text = "the quick brown fox jumps over the lazy dog"

const traits = {
  description: "Counts the words of a text",
  parameters: { text: Schema.String },
  returns: Schema.Struct({ words: Schema.Int })
}

export const rows = async (options: {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}): Promise<ReadonlyArray<Row>> => {
  const calls = options.quick ? 5_000 : 50_000
  const counts = { handler: 0 }
  const handler = (params: { readonly text: string }) =>
    Effect.sync(() => {
      counts.handler++
      return words(params.text)
    })
  const fresh = Skill.make("fresh", { ...traits, handler })
  const kept = Skill.make("kept", { ...traits, cacheable: true, handler })
  const spans: Telemetry.SpanCount = { ended: 0 }
  const runtime = ManagedRuntime.make(
    DefaultSkillExecutor.layer().pipe(
      Layer.provideMerge(DefaultSkillRegistry.layer()),
      Layer.provide(Layer.mergeAll(PermissionChecker.layerNoop, SkillResultMemory.layer(), ApprovalGate.layerDeny)),
      Layer.merge(Telemetry.layer(spans))
    )
  )
  await runtime.runPromise(
    Effect.flatMap(SkillRegistry.SkillRegistry, (registry) =>
      Effect.orDie(Effect.zipRight(registry.register(fresh), registry.register(kept)))
    )
  )
  const times = <A, R>(one: Effect.Effect<A, unknown, R>): Effect.Effect<void, unknown, R> => {
    const from = (left: number): Effect.Effect<void, unknown, R> =>
      left === 0 ? Effect.void : Effect.flatMap(one, () => from(left - 1))
    return from(calls)
  }
  const measure = (program: Effect.Effect<void, unknown, SkillExecutor.SkillExecutor>) => async (): Promise<Sample> => {
    counts.handler = 0
    spans.ended = 0
    const from = cpuMicros()
    await runtime.runPromise(program)
    return { value: (cpuMicros() - from) / calls, counts: { handler: counts.handler, spans: spans.ended } }
  }
  const execute = (name: string) =>
    Effect.flatMap(SkillExecutor.SkillExecutor, (executor) => times(executor.execute({ name, params: { text } })))
  const samples = await interleave(
    {
      call: measure(times(Effect.suspend(() => handler({ text })))),
      span: measure(times(Effect.withSpan(Effect.void, "span", { captureStackTrace: false }))),
      fresh: measure(execute("fresh")),
      kept: measure(Effect.zipRight(Effect.asVoid(execute("kept")), Effect.void))
    },
    options
  )
  await runtime.dispose()
  const label = "skill executor"
  return [
    makeRow(label, "calling the function", "µs CPU", samples["call"]!, { handler: calls, spans: 0 }),
    makeRow(label, "a bare Effect.withSpan, for scale", "µs CPU", samples["span"]!, { handler: 0, spans: calls }),
    makeRow(label, "executed", "µs CPU", samples["fresh"]!, { handler: calls, spans: calls }),
    makeRow(label, "from the cache", "µs CPU", samples["kept"]!, { handler: 0, spans: calls })
  ]
}
