/**
 * Evaluates the conditions of a policy against a request.
 *
 * @private
 * @since 0.1.0
 */
import * as Glob from "../../internal/text/Glob.js"
import type { PolicyConditions, PolicyRequest } from "./Policy.js"

/**
 * Compiles all conditions into one test. `ifUnknown` is the result of an undecidable condition.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (when: PolicyConditions, ifUnknown: boolean): ((request: PolicyRequest) => boolean) => {
  const all: Array<(request: PolicyRequest) => boolean> = []
  const name = (
    given: ReadonlyArray<string> | undefined,
    of: (request: PolicyRequest) => string | undefined,
    options?: Glob.Options
  ) => {
    if (given === undefined) return
    const matches = Glob.compile(given, options)
    all.push((request) => {
      const value = of(request)
      return value !== undefined && matches(value)
    })
  }
  name(when.users, (request) => request.userId)
  name(when.tenants, (request) => request.tenantId)
  name(when.agents, (request) => request.agent)
  name(when.providers, (request) => request.provider, { ignoreCase: true })
  name(when.guards, (request) => request.guard)
  name(when.stages, (request) => request.stage)
  name(when.actions, (request) => request.action)
  const { classifications, minCost, models } = when
  if (models !== undefined) {
    const matches = Glob.compile(models, { ignoreCase: true })
    all.push(({ model, provider }) =>
      model === undefined ? ifUnknown : matches(model) || (provider !== undefined && matches(`${provider}/${model}`))
    )
  }
  if (classifications !== undefined) {
    const matches = Glob.compile(classifications, { ignoreCase: true })
    all.push((request) => request.classifications?.some(matches) === true)
  }
  // Non-numeric values are unknown, like absent ones.
  if (minCost !== undefined) {
    all.push(({ cost }) => (cost === undefined || Number.isNaN(cost) ? ifUnknown : cost >= minCost))
  }
  return (request) => all.every((condition) => condition(request))
}
