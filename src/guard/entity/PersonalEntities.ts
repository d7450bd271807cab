/**
 * Recognizes email, IP and hardware addresses, and US social security numbers.
 *
 * @since 0.1.0
 */
import * as EmailEntity from "./EmailEntity.js"
import * as NetworkEntities from "./NetworkEntities.js"
import * as PiiEntity from "./PiiEntity.js"

const isSocialSecurity = (value: string): boolean => {
  const digits = value.replace(/[^0-9]/g, "")
  if (new Set(digits).size === 1) return false
  // Printed in advertisements and therefore invalid.
  return digits !== "078051120" && digits !== "219099999" && digits !== "457555462"
}

/**
 * US social security numbers: no area 000, 666 or 9xx, no group 00, no serial 0000, none of those known to be invalid.
 *
 * @since 0.1.0
 * @category entities
 */
export const ssn: PiiEntity.PiiEntity = PiiEntity.fromPatterns({
  type: "SSN",
  maxLength: 11,
  needs: { digits: 9 },
  context: [
    "ssn*",
    "ssns",
    "*ssn",
    "social security",
    "social sec",
    "soc sec",
    "socialsecurity*",
    "ss#",
    "ss no",
    "ss number",
    "tax id",
    "taxpayer",
    "tin",
    "social"
  ],
  against: [
    "part",
    "parts",
    "p/n",
    "pn",
    "sku",
    "item",
    "model",
    "order",
    "invoice",
    "case",
    "ref",
    "reference",
    "ticket",
    "lot",
    "batch",
    "catalog",
    "catalogue",
    "serial",
    "s/n",
    "tracking",
    "phone",
    "fax",
    "tel",
    "zip",
    "product",
    "component",
    "stock",
    "bin",
    "shipment",
    "asset",
    "form",
    "policy",
    "account",
    "docket",
    "rev",
    "revision",
    "version",
    "ean",
    "isbn"
  ],
  contextBefore: 40,
  contextAfter: 16,
  patterns: [
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9]:)(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9])/,
      confidence: 0.7,
      inContext: 0.98,
      validate: isSocialSecurity
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9][ :])(?!000|666|9)\d{3}([ .])(?!00)\d{2}\1(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9]| \d)/,
      confidence: 0.4,
      inContext: 0.95,
      validate: isSocialSecurity
    },
    {
      pattern:
        /(?<![A-Za-z0-9_])(?<![A-Za-z0-9][./+-]|[0-9][ :])(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}(?![A-Za-z0-9_])(?![./:+-][A-Za-z0-9]| \d)/,
      confidence: 0.15,
      inContext: 0.8,
      validate: isSocialSecurity,
      validated: false
    }
  ]
})

/**
 * @since 0.1.0
 * @category entities
 */
export const all: ReadonlyArray<PiiEntity.PiiEntity> = [EmailEntity.email, ssn, ...NetworkEntities.all]
