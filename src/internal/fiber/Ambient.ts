/**
 * Values that are there unless others are given, for one loaded copy of the library alone.
 *
 * Effect keeps the default of a reference in the process, by its key: a second copy of the library (its CommonJS build
 * beside its ES modules, another version in a dependency) would be given objects of the first, whose shape it may not
 * know and whose identity means nothing to it.
 */
import * as Context from "effect/Context"
import { globalValue } from "effect/GlobalValue"

const copies = globalValue("effect-lexigram/internal/Ambient/copies", () => ({ loaded: 0 }))
copies.loaded += 1
const copy = copies.loaded

/** As `Context.Reference`. What one copy provides or defaults to, another one does not see. */
export const Reference =
  <Self>() =>
  <const Id extends string, Service>(
    id: Id,
    options: { readonly defaultValue: () => Service }
  ): Context.ReferenceClass<Self, `${Id}#${number}`, Service> =>
    Context.Reference<Self>()(`${id}#${copy}`, options)
