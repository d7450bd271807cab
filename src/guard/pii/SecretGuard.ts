/**
 * A guard that finds keys, tokens and passwords and takes them out, or blocks, or warns.
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
  /** Default: `input`, `output`, `toolOutput`. With `toolInput`, tools never get a key that a model was given. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Recognisers beside `PiiEntities.secrets`. */
  readonly additional?: ReadonlyArray<PiiEntity.PiiEntity> | undefined
  /** Default: `redact`. */
  readonly action?: "redact" | "block" | "warn" | undefined
  /** How certain a finding must be, see `PiiDetector.Sensitivity`; default `medium`. */
  readonly sensitivity?: PiiDetector.Sensitivity | undefined
  /** What stands in the place of a finding; default `[REDACTED:TYPE]`. Must depend on nothing but the finding. */
  readonly replacement?: ((found: PiiGuard.Found) => string) | undefined
  /** Values that are never reported: exactly these, or those that a pattern matches somewhere. */
  readonly allow?: ReadonlyArray<string | RegExp> | undefined
}

/**
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
