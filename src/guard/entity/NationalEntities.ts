/**
 * Recognizes national identifiers of people, companies and cars, and two kinds of text that are not secret by
 * themselves: web addresses and dates.
 *
 * None of them is searched for unless named: many are nine or ten digits, so every long number would match some
 * country. Name the countries whose documents you expect. Check digits are verified where they exist. A shape counts by
 * itself if fewer than one in a hundred random texts of that shape pass (digits and letters replaced by random ones). A
 * weaker shape, such as nine digits of which every tenth or eleventh passes the check, or a number without a check
 * digit, counts only beside a word that announces it (this includes `US_SSN`, `UK_NINO`, `IN_PAN` and `ES_NIF`), or at
 * sensitivity `high`.
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
 * Two-letter ISO 3166 codes, and `UK`.
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
 * Identifiers by country. Their types begin with the country code: `DE_TAX_ID`, `UK_NHS`.
 *
 * @example
 * ```ts
 * import { NationalEntities, PiiGuard } from "effect-lexigram/guard"
 *
 * // By name, or a country's together; what else is wanted must be named as well.
 * const patients = PiiGuard.make({ entities: ["EMAIL", "UK_NHS", "UK_NINO"] })
 * const germans = PiiGuard.make({ entities: ["EMAIL", "IBAN", ...NationalEntities.byCountry.DE] })
 * ```
 *
 * @since 0.1.0
 * @category entities
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
 * All type names.
 *
 * @since 0.1.0
 * @category constants
 */
export const types: ReadonlyArray<string> = all.map(({ type }) => type)
