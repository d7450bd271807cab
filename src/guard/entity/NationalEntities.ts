/**
 * Identifiers that countries give to people, companies and cars, and two kinds of text that are no secret by
 * themselves: addresses of the web and dates.
 *
 * None of them is looked for unless it is named: many are nine or ten digits, so that every long number would be one of
 * somewhere. Name those whose documents you expect. Where a number has a check digit it is honoured. A shape of an
 * identifier is found by itself when fewer than one in a hundred random texts of that shape pass: other digits for its
 * digits, other letters for its letters. What says less, such as nine digits of which every tenth or eleventh passes
 * the check, or a number without one, counts only beside a word that announces it (`US_SSN`, `UK_NINO`, `IN_PAN` and
 * `ES_NIF` too), or at the sensitivity `high`.
 *
 * @since 0.1.0
 */
import * as GeneralIds from "./GeneralIds.js"
import * as America from "./NationalIdsAmerica.js"
import * as AsiaPacific from "./NationalIdsAsiaPacific.js"
import * as Britain from "./NationalIdsBritain.js"
import * as Europe from "./NationalIdsEurope.js"
import * as Germany from "./NationalIdsGermany.js"
import type * as PiiEntity from "./PiiEntity.js"

/**
 * Two letters of ISO 3166, and `UK`.
 *
 * @since 0.1.0
 * @category models
 */
export type Country =
  | "AU"
  | "CA"
  | "DE"
  | "ES"
  | "FI"
  | "IN"
  | "IT"
  | "KR"
  | "NG"
  | "PH"
  | "PL"
  | "SE"
  | "SG"
  | "TH"
  | "TR"
  | "UK"
  | "US"

/**
 * The identifiers of each country; their types begin with its letters: `DE_TAX_ID`, `UK_NHS`.
 *
 * @since 0.1.0
 * @category entities
 *
 * @example
 * ```ts
 * import { NationalEntities, PiiGuard } from "effect-lexigram/guard"
 *
 * // By name, or a country's together; what else is wanted must be named as well.
 * const patients = PiiGuard.make({ entities: ["EMAIL", "UK_NHS", "UK_NINO"] })
 * const germans = PiiGuard.make({ entities: ["EMAIL", "IBAN", ...NationalEntities.byCountry.DE] })
 * ```
 */
export const byCountry: { readonly [C in Country]: ReadonlyArray<PiiEntity.PiiEntity> } = {
  AU: AsiaPacific.australia,
  CA: America.canada,
  DE: Germany.germany,
  ES: Europe.spain,
  FI: Europe.finland,
  IN: AsiaPacific.india,
  IT: Europe.italy,
  KR: AsiaPacific.korea,
  NG: AsiaPacific.nigeria,
  PH: AsiaPacific.philippines,
  PL: Europe.poland,
  SE: Europe.sweden,
  SG: AsiaPacific.singapore,
  TH: AsiaPacific.thailand,
  TR: Europe.turkey,
  UK: Britain.unitedKingdom,
  US: America.unitedStates
}

/**
 * `URL` and `DATE`.
 *
 * @since 0.1.0
 * @category entities
 */
export const general: ReadonlyArray<PiiEntity.PiiEntity> = GeneralIds.general

/**
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [...Object.values(byCountry).flat(), ...general]

/**
 * The names of all.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = all.map(({ type }) => type)
