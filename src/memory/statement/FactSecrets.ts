/**
 * Recognizes facts that hold secrets and must not be stored.
 *
 * @private
 * @since 0.1.0
 */
import * as SecretText from "../../internal/text/SecretText.js"
import type { Triple } from "../facts/Fact.js"

const words =
  /(?<![\p{L}\p{N}])(?:pass(?:word|phrase|code|wd|wort)s?|pin|cvv|cvc|ssn|iban|credentials?|(?:api|access|private|secret|encryption)[ -]?keys?|(?:api|access|auth|secret|bearer)[ -]?tokens?|(?:credit|debit)[ -]cards?(?: number)?|(?:account|card) number)(?![\p{L}\p{N}])/iu

/**
 * Returns whether the triple is about a password, key, token, card number or account number, or contains a text in the
 * form of one.
 *
 * @category guards
 */
export const isSecret = ({ object, predicate, subject }: Triple): boolean => {
  const text = `${subject} ${predicate} ${object}`
  return words.test(text) || SecretText.redact(text) !== text
}
