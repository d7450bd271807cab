/**
 * Extends the services of a context.
 *
 * @private
 */
import * as Context from "effect/Context"

/** Adds services to a map. */
export type Add = (services: Map<string, unknown>) => void

/** Adds all services of a context, entry by entry: the constructor of `Map` allocates a pair for each. */
export const copyInto = (services: Map<string, unknown>, context: Context.Context<never>): void =>
  context.unsafeMap.forEach((service, key) => void services.set(key, service))

/** The context with more services, copied once for all of them. */
export const extend = <R>(context: Context.Context<R>, add: Add): Context.Context<R> => {
  const services = new Map<string, unknown>()
  copyInto(services, context as Context.Context<never>)
  add(services)
  return Context.unsafeMake(services)
}
