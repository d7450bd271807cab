/**
 * Rejects unknown options where the type of the options is inferred: a misspelled name would otherwise be ignored.
 */
export type ExactOptions<Given, Known> = string extends keyof Given
  ? Given
  : Given & { readonly [K in Exclude<keyof Given, keyof Known>]: never }
