/**
 * References whose defaults are shared only within one loaded copy of the library.
 *
 * Effect keeps the default of a reference per process and key. A second copy of the library (its CommonJS build beside
 * its ES modules, or another version in a dependency) would get objects of the first copy, whose shape it may not know
 * and whose identity it cannot compare.
 */
import * as Context from "effect/Context"
import { globalValue } from "effect/GlobalValue"

const copies = globalValue("effect-lexigram/internal/Ambient/copies", () => ({ loaded: 0 }))
copies.loaded += 1
const copy = copies.loaded

/** Like `Context.Reference`, but other copies of the library see neither the default nor a provided value. */
export const Reference =
  <Self>() =>
  <const Id extends string, Service>(
    id: Id,
    options: { readonly defaultValue: () => Service }
  ): Context.ReferenceClass<Self, `${Id}#${number}`, Service> =>
    Context.Reference<Self>()(`${id}#${copy}`, options)
