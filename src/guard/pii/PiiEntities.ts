/**
 * The recognisers that guards use when none are named.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as CredentialEntities from "./CredentialEntities.js"
import * as NationalEntities from "./NationalEntities.js"
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
 * What `make` finds when nothing is named.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = [...new Set(ready.map(({ type }) => type)), "PHONE"]

/**
 * What `make` finds when it is named, beside `types`: the `NationalEntities`.
 *
 * @since 0.1.0
 * @category constants
 */
export const optional: ReadonlyArray<string> = NationalEntities.types

/**
 * Personal data and secrets, those of the given types only (of `types` and `optional`; default: all `types`). The
 * numbering plans of telephones are loaded only when wanted.
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
  const named = options?.types === undefined ? [] : NationalEntities.all.filter(({ type }) => isWanted(type))
  const wanted = [...ready.filter(({ type }) => isWanted(type)), ...named]
  return isWanted("PHONE")
    ? Effect.map(PhoneEntity.make({ countries: options?.phoneCountries }), (phone) => [...wanted, phone])
    : Effect.succeed(wanted)
}
