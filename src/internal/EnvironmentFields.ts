/**
 * Reads the fields of a configuration from environment variables.
 *
 * @private
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** The variable of a field: `maxIterations` is `MAX_ITERATIONS` after the prefix. */
export const variableOf =
  (prefix: string) =>
  (field: string): string =>
    `${prefix}${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** The fields whose variables are set. */
export const read = (
  fields: Record<string, Config.Config<unknown>>
): Effect.Effect<Record<string, unknown>, ConfigError.ConfigError> =>
  Effect.gen(function* () {
    const given: Record<string, unknown> = {}
    for (const [name, field] of Object.entries(fields)) {
      const value = yield* Config.option(field)
      if (Option.isSome(value)) given[name] = value.value
    }
    return given
  })

/** One failure for several invalid variables. */
export const invalid = (
  issues: ReadonlyArray<{ readonly variable: string; readonly message: string }>
): ConfigError.ConfigError =>
  issues
    .map(({ message, variable }): ConfigError.ConfigError => ConfigError.InvalidData([variable], message))
    .reduce((left, right) => ConfigError.And(left, right))
