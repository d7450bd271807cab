/**
 * The rules of the injection detector, each with its purpose and weight. A single match proves nothing; the detector
 * combines the weights of all matches.
 *
 * @since 0.1.0
 */
import * as ForeignRules from "./ForeignRules.js"
import type { Rule } from "./InjectionRule.js"
import * as OverrideRules from "./OverrideRules.js"
import * as ParaphraseRules from "./ParaphraseRules.js"
import * as SpoofingRules from "./SpoofingRules.js"

export {
  type Category,
  categories,
  type Meaning,
  type Pattern,
  type Rule,
  type Sentence
} from "./InjectionRule.js"

/**
 * All built-in rules. Full coverage: English, German, French, Spanish, Italian, Portuguese, Dutch, Russian, Chinese,
 * Japanese; core rules also in Korean, Arabic, Polish, Czech and Turkish.
 *
 * @since 0.1.0
 * @category constants
 */
export const all: ReadonlyArray<Rule> = [
  ...OverrideRules.rules,
  ...ParaphraseRules.rules,
  ...ForeignRules.rules,
  ...SpoofingRules.rules
]
