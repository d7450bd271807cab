/**
 * The built-in recognizers, selected by type.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as CredentialEntities from "../entity/CredentialEntities.js"
import * as NationalEntities from "../entity/NationalEntities.js"
import * as PaymentEntities from "../entity/PaymentEntities.js"
import * as PersonalEntities from "../entity/PersonalEntities.js"
import * as PhoneEntity from "../entity/PhoneEntity.js"
import type * as PiiEntity from "../entity/PiiEntity.js"
import * as VendorEntities from "../entity/VendorEntities.js"
import type { GuardConfigurationError } from "../pipeline/GuardError.js"

// Without telephone numbers, whose data is loaded on demand.
const ready: ReadonlyArray<PiiEntity.PiiEntity> = [
  ...PersonalEntities.all,
  ...PaymentEntities.all,
  ...VendorEntities.all,
  ...CredentialEntities.all
]

/**
 * Keys, tokens and passwords.
 *
 * @since 0.1.0
 * @category entities
 */
export const secrets: ReadonlyArray<PiiEntity.PiiEntity> = ready.filter(({ category }) => category === "secret")

/**
 * Types that `make` finds by default.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = [...new Set(ready.map(({ type }) => type)), "PHONE"]

/**
 * Types that `make` finds only when named: the `NationalEntities`.
 *
 * @since 0.1.0
 * @category constants
 */
export const optional: ReadonlyArray<string> = NationalEntities.types

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Some of `types` and `optional`; default: all `types`. */
  readonly types?: ReadonlyArray<string> | undefined
  /** Countries whose national telephone numbers are found; default `PhoneEntity.countries`. */
  readonly phoneCountries?: ReadonlyArray<string> | undefined
  /** Loads `libphonenumber-js/metadata.min.json`; default: imports it. */
  readonly phoneMetadata?: PhoneEntity.Options["metadata"]
}

/**
 * Builds recognizers of personal data and secrets.
 *
 * Telephone numbers need the package `libphonenumber-js`, which is loaded here. When it is not installed, `make` fails
 * if `PHONE` was named; otherwise it leaves telephone numbers out and logs a warning.
 *
 * @example
 * ```ts
 * import { PiiDetector, PiiEntities } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 *
 * const detector = Effect.map(PiiEntities.make({ types: ["EMAIL", "IBAN"] }), (entities) =>
 *   PiiDetector.make({ entities, sensitivity: "low" })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<ReadonlyArray<PiiEntity.PiiEntity>, GuardConfigurationError> => {
  const types = options?.types
  const isWanted = (type: string): boolean => types === undefined || types.includes(type)
  const named = types === undefined ? [] : NationalEntities.all.filter(({ type }) => isWanted(type))
  const wanted = [...ready.filter(({ type }) => isWanted(type)), ...named]
  if (!isWanted("PHONE")) return Effect.succeed(wanted)
  const withPhone = Effect.map(
    PhoneEntity.make({ countries: options?.phoneCountries, metadata: options?.phoneMetadata }),
    (phone) => [...wanted, phone]
  )
  if (types !== undefined) return withPhone
  return Effect.catchAll(withPhone, (error) =>
    Effect.logWarning(`Telephone numbers are not recognized: ${error.message}. ${error.hint}`).pipe(
      Effect.annotateLogs({ module: "PiiEntities" }),
      Effect.as(wanted)
    )
  )
}
