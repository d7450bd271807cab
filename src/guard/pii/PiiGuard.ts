/**
 * Guard that finds personal data and secrets and redacts, blocks or warns.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as PiiEntity from "../entity/PiiEntity.js"
import type * as Guard from "../pipeline/Guard.js"
import { GuardConfigurationError } from "../pipeline/GuardError.js"
import * as WindowGuard from "../pipeline/WindowGuard.js"
import * as PiiDetector from "./PiiDetector.js"
import * as PiiEntities from "./PiiEntities.js"

/**
 * A finding, from which its replacement is made.
 *
 * @since 0.1.0
 * @category models
 */
export interface Found extends PiiDetector.Detection {
  /** The matched text: never put it into events or logs. */
  readonly value: string
}

/**
 * Options common to guards over a detector.
 *
 * @since 0.1.0
 * @category models
 */
export interface DetectorOptions {
  readonly name: string
  readonly stages: ReadonlyArray<Guard.GuardStage>
  readonly detector: PiiDetector.PiiDetector
  /** Default: `redact`. */
  readonly action?: "redact" | "block" | "warn" | undefined
  /**
   * Replacement of a finding; default `[REDACTED:TYPE]`. Must depend only on the finding, since a text may be judged in
   * pieces; may itself be judged again.
   */
  readonly replacement?: ((found: Found) => string) | undefined
}

/**
 * Makes a guard over a custom detector.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromDetector = (options: DetectorOptions): Guard.Guard => {
  const { detector, replacement } = options
  const action = options.action ?? "redact"
  return WindowGuard.make({
    name: options.name,
    stages: options.stages,
    window: {
      reach: detector.reach,
      longest: detector.longest,
      find: (text, from) =>
        detector.find(text, from).map(
          (found): Guard.Finding => ({
            start: found.start,
            end: found.end,
            label: found.type,
            action,
            confidence: found.confidence,
            replacement: replacement?.({ ...found, value: text.slice(found.start, found.end) })
          })
        )
    }
  })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default: `pii`. */
  readonly name?: string | undefined
  /** Default: `input`, `output`, `toolOutput`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /**
   * What to find: types of `PiiEntities.types`, of `PiiEntities.optional` (national identifiers and others that must be
   * named) and of `additional`, or recognizers themselves. Default, and when empty: all of `PiiEntities.types` and
   * `additional`.
   */
  readonly entities?: ReadonlyArray<string | PiiEntity.PiiEntity> | undefined
  /** Recognizers besides the built-in ones. */
  readonly additional?: ReadonlyArray<PiiEntity.PiiEntity> | undefined
  /** Default: `redact`. */
  readonly action?: "redact" | "block" | "warn" | undefined
  /** Required certainty of a finding, see `PiiDetector.Sensitivity`; default `medium`. */
  readonly sensitivity?: PiiDetector.Sensitivity | undefined
  /** Replacement of a finding; default `[REDACTED:TYPE]`. Must depend only on the finding. */
  readonly replacement?: ((found: Found) => string) | undefined
  /** Values that are never reported: exact strings, or patterns that match within the value. */
  readonly allow?: ReadonlyArray<string | RegExp> | undefined
  /** Countries whose national telephone numbers are found; default `PhoneEntity.countries`. */
  readonly phoneCountries?: ReadonlyArray<string> | undefined
  /** Loads `libphonenumber-js/metadata.min.json`; default: imports it. */
  readonly phoneMetadata?: PiiEntities.Options["phoneMetadata"]
}

/**
 * Builds the guard. Fails when no recognizer finds a named type.
 *
 * Telephone numbers need the package `libphonenumber-js`. When it is not installed, this fails if `entities` names
 * `PHONE`; otherwise the guard finds no telephone numbers, and a warning is logged.
 *
 * @since 0.1.0
 * @category constructors
 *
 * @example
 * ```ts
 * import { DefaultGuardPipeline, PiiGuard } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const guards = Layer.unwrapEffect(
 *   Effect.map(PiiGuard.make({ entities: ["EMAIL", "PHONE"] }), (guard) => DefaultGuardPipeline.layerGuards([guard]))
 * )
 * ```
 */
export const make = (options?: Options): Effect.Effect<Guard.Guard, GuardConfigurationError> =>
  Effect.gen(function* () {
    const name = options?.name ?? "pii"
    const additional = options?.additional ?? []
    const entities = options?.entities ?? []
    const wanted = entities.length > 0 ? entities.filter((entity) => typeof entity === "string") : undefined
    const given = entities.filter((entity) => typeof entity !== "string")
    const known = new Set([...PiiEntities.types, ...PiiEntities.optional, ...additional.map(({ type }) => type)])
    const unknown = wanted?.filter((type) => !known.has(type)) ?? []
    if (unknown.length > 0) {
      return yield* new GuardConfigurationError({
        message: `The guard ${name} does not recognize ${unknown.join(", ")}`,
        hint: `It recognizes ${[...known].join(", ")}.`,
        guard: name
      })
    }
    const { phoneCountries, phoneMetadata } = options ?? {}
    const builtIn = yield* PiiEntities.make({ types: wanted, phoneCountries, phoneMetadata })
    const detector = PiiDetector.make({
      entities: [
        ...new Set([
          ...builtIn,
          ...given,
          ...additional.filter(({ type }) => wanted === undefined || wanted.includes(type))
        ])
      ],
      sensitivity: options?.sensitivity,
      allow: options?.allow
    })
    return fromDetector({
      name,
      stages: options?.stages ?? ["input", "output", "toolOutput"],
      detector,
      action: options?.action,
      replacement: options?.replacement
    })
  })
