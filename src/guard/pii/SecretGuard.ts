/**
 * Guard that finds keys, tokens and passwords and redacts, blocks or warns.
 *
 * @since 0.1.0
 */

import type * as PiiEntity from "../entity/PiiEntity.js"
import type * as Guard from "../pipeline/Guard.js"
import * as PiiDetector from "./PiiDetector.js"
import * as PiiEntities from "./PiiEntities.js"
import * as PiiGuard from "./PiiGuard.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default: `secrets`. */
  readonly name?: string | undefined
  /** Default: `input`, `output`, `toolOutput`. With `toolInput`, tools never receive a key that the model saw. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Recognizers besides `PiiEntities.secrets`. */
  readonly additional?: ReadonlyArray<PiiEntity.PiiEntity> | undefined
  /** Default: `redact`. */
  readonly action?: "redact" | "block" | "warn" | undefined
  /** Required certainty of a finding, see `PiiDetector.Sensitivity`; default `medium`. */
  readonly sensitivity?: PiiDetector.Sensitivity | undefined
  /** Replacement of a finding; default `[REDACTED:TYPE]`. Must depend only on the finding. */
  readonly replacement?: ((found: PiiGuard.Found) => string) | undefined
  /** Values that are never reported: exact strings, or patterns that match within the value. */
  readonly allow?: ReadonlyArray<string | RegExp> | undefined
}

/**
 * @example
 * ```ts
 * import { DefaultGuardPipeline, SecretGuard } from "effect-lexigram/guard"
 *
 * // No tool receives a key that the model saw.
 * const guards = DefaultGuardPipeline.layerGuards([
 *   SecretGuard.make({ stages: ["input", "output", "toolInput", "toolOutput"], sensitivity: "high" })
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Guard.Guard =>
  PiiGuard.fromDetector({
    name: options?.name ?? "secrets",
    stages: options?.stages ?? ["input", "output", "toolOutput"],
    detector: PiiDetector.make({
      entities: [...PiiEntities.secrets, ...(options?.additional ?? [])],
      sensitivity: options?.sensitivity,
      allow: options?.allow
    }),
    action: options?.action,
    replacement: options?.replacement
  })
