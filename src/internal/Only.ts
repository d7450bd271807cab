/**
 * Options of which a type is inferred, and no others: a name that is misspelt would be passed over in silence.
 */
export type Only<Given, Known> = string extends keyof Given
  ? Given
  : Given & { readonly [K in Exclude<keyof Given, keyof Known>]: never }
