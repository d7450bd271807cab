/**
 * Runs tool calls: visibility, decoding, approval, timeout, retries, handler, encoding, truncation.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as ApprovalGate from "./approval/ApprovalGate.js"
import * as ModuleGraph from "./ModuleGraph.js"
import { type Service, ToolRunner } from "./ToolRunner.js"
import * as ToolVisibility from "./ToolVisibility.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Time for one attempt; default 30 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Attempts in all; default 3. */
  readonly maxAttempts?: number | undefined
  /** Characters of a result that reach the model; default 10,000. */
  readonly maxResultChars?: number | undefined
}

/** Only runs whose model calls a tool need it. */
const pipeline = OnDemand.make(() => import("./ToolPipeline.js"))

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<Service, never, ApprovalGate.ApprovalGate | ModuleGraph.ModuleGraph> =>
  Effect.gen(function* () {
    const ports = { gate: yield* ApprovalGate.ApprovalGate, graph: yield* ModuleGraph.ModuleGraph }
    return {
      visible: (tools) => ToolVisibility.onlyVisible(ports.graph, tools),
      run: (tools, call, given) => Effect.flatMap(pipeline, ({ run }) => run(ports, options)(tools, call, given))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ApprovalGate } from "effect-lexigram"
 * import { DefaultToolRunner, ModuleGraph } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * const runner = DefaultToolRunner.layer({ timeout: "10 seconds", maxAttempts: 2, maxResultChars: 4_000 }).pipe(
 *   Layer.provide([ApprovalGate.layerDeny, ModuleGraph.layerNoop])
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<ToolRunner, never, ApprovalGate.ApprovalGate | ModuleGraph.ModuleGraph> =>
  Layer.effect(ToolRunner, make(options))
