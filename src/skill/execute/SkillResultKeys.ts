/**
 * Derives the cache keys of skill results.
 *
 * @private
 * @since 0.1.0
 */

import type { UserId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import type { Call, Scope, Slot } from "./SkillResultCache.js"

/** Throws a `RangeError` for data that is cyclic or too deep for the stack. */
const isJson = (value: unknown): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object":
      break
    default:
      return false
  }
  if (value === null) return true
  if (Array.isArray(value)) return value.every(isJson)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((field) => field === undefined || isJson(field))
}

/** Distinguishes definitions that cannot share results. Definitions live as long as their skills. */
const fingerprints = new WeakMap<SkillDefinition, string>()

const fingerprintOf = (definition: SkillDefinition): string => {
  let fingerprint = fingerprints.get(definition)
  if (fingerprint === undefined) {
    fingerprint = CanonicalJson.hash([definition.parametersSchema, definition.returnsSchema]).slice(0, 32)
    fingerprints.set(definition, fingerprint)
  }
  return fingerprint
}

/**
 * Whether an output survives a JSON round trip.
 *
 * @category guards
 */
export const isKeepable = (output: unknown): boolean => {
  try {
    return isJson(output)
  } catch {
    return false
  }
}

/**
 * @category models
 */
export interface Keys {
  /** Key of the generation of a skill's results. */
  readonly generation: (skillName: string) => string
  readonly slot: (call: Call) => Slot | undefined
  /** Keys of the shared result, of the result without a user and, with a user, of that user's. */
  readonly entries: (skillName: string, params: unknown, userId: UserId | undefined) => ReadonlyArray<string>
}

/**
 * @category constructors
 */
export const make = (
  namespace: string,
  given: Scope | undefined,
  options?: {
    /**
     * Keys up to this length stay readable instead of hashed: a third of the cost, for keys that stay in this process.
     */
    readonly readable?: number | undefined
  }
): Keys => {
  const readable = options?.readable ?? 0
  const hashOf = (skillName: string, user: string | null | undefined, params: unknown): string => {
    const text = CanonicalJson.stringify(user === undefined ? [skillName, params] : [skillName, params, user])
    return text.length <= readable ? text : Sha256.hex(text)
  }
  return {
    generation: (skillName) => `${namespace}:of:${Sha256.hex(skillName)}`,
    slot: ({ definition, params, userId }) => {
      const scope = given ?? (definition.shared ? "shared" : "user")
      if (!isKeepable(params)) return undefined
      const hash = hashOf(definition.name, scope === "shared" ? undefined : (userId ?? null), params)
      const fingerprint = fingerprintOf(definition)
      return {
        key: `${hash}${fingerprint}`,
        scope,
        entry: `${namespace}:${hash}`,
        skillName: definition.name,
        fingerprint
      }
    },
    entries: (skillName, params, userId) => {
      if (!isKeepable(params)) return []
      const users = userId === undefined ? [undefined, null] : [undefined, null, userId]
      return users.map((user) => `${namespace}:${hashOf(skillName, user, params)}`)
    }
  }
}
