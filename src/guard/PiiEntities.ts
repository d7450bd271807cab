/**
 * The recognisers that guards use when none are named.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as CredentialEntities from "./CredentialEntities.js"
import * as PaymentEntities from "./PaymentEntities.js"
import * as PersonalEntities from "./PersonalEntities.js"
import * as PhoneEntity from "./PhoneEntity.js"
import type * as PiiEntity from "./PiiEntity.js"
import * as VendorEntities from "./VendorEntities.js"

// Without telephone numbers, whose data must be loaded.
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
 * What `make` can find.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = [...new Set(ready.map(({ type }) => type)), "PHONE"]

/**
 * Personal data and secrets, those of the given types only (default: all). The numbering plans of telephones are loaded only when wanted.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: {
  readonly types?: ReadonlyArray<string> | undefined
  /** Countries whose national telephone numbers are looked for; default `PhoneEntity.countries`. */
  readonly phoneCountries?: ReadonlyArray<string> | undefined
}): Effect.Effect<ReadonlyArray<PiiEntity.PiiEntity>> => {
  const isWanted = (type: string): boolean => options?.types === undefined || options.types.includes(type)
  const wanted = ready.filter(({ type }) => isWanted(type))
  return isWanted("PHONE")
    ? Effect.map(PhoneEntity.make({ countries: options?.phoneCountries }), (phone) => [...wanted, phone])
    : Effect.succeed(wanted)
}
