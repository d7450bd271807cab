/**
 * Applies the policy of a run to its agent and its models.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as LlmRetry from "../llm/LlmRetry.js"
import * as ModelFallback from "../llm/ModelFallback.js"
import * as ModelRouter from "../llm/ModelRouter.js"
import * as CallGate from "../llm/model/CallGate.js"
import * as LlmClient from "../llm/model/LlmClient.js"
import * as Agent from "./definition/Agent.js"
import * as AgentDefinition from "./definition/AgentDefinition.js"
import type { Collaborators } from "./definition/Stage.js"
import { InheritedPolicy } from "./RunContext.js"
import * as RunPreparation from "./RunPreparation.js"
import * as RunPolicy from "./record/RunPolicy.js"

/** A run under its policy. */
export interface Applied {
  readonly agent: Agent.Any
  readonly uses: Collaborators
  /** The services of the executor for the run. */
  readonly own: Context.Context<never>
}

/** The limits of a policy as those of an agent. */
export const limitsOf = ({ llmTimeout, timeout, toolTimeout, ...numbers }: RunPolicy.Limits): Agent.RunLimits => {
  const times = Object.entries({ llmTimeout, timeout, toolTimeout }).flatMap(([name, time]) =>
    time === undefined ? [] : [[name, RunPolicy.durationOf(time)] as const]
  )
  const set = Object.entries(numbers).filter(([, limit]) => limit !== undefined)
  return Object.fromEntries<unknown>([...times, ...set]) as Agent.RunLimits
}

/** The clients of the roles, or the name of one that the router does not have. */
const rolesOf = (
  router: ModelRouter.Service,
  roles: ReadonlyArray<string>
): Effect.Effect<Either.Either<ReadonlyArray<ModelFallback.Entry>, string>> =>
  Effect.map(
    Effect.forEach(roles, (role) => Effect.map(router.resolve(role), (resolved) => ({ role, ...resolved }))),
    (found) => {
      const unknown = found.find(({ isDefault }) => isDefault === true)
      return unknown === undefined
        ? Either.right(found.map(({ client, settings }) => ({ client, settings })))
        : Either.left(unknown.role)
    }
  )

/** The collaborators with one model for all roles but that of guards, or the name of a role that is unknown. */
const routedTo = (uses: Collaborators, role: string): Effect.Effect<Either.Either<Collaborators, string>> =>
  Effect.map(uses.router.resolve(role), (resolved) => {
    if (resolved.isDefault === true) return Either.left(role)
    const chosen = Effect.succeed(resolved)
    const resolve = (asked: string) => (asked === "guard" ? uses.router.resolve(asked) : chosen)
    return Either.right({ ...uses, client: resolved.client, router: { ...uses.router, resolve } })
  })

/** Retries calls of each model, then asks the next one. */
const wrapped = (
  { retry }: RunPolicy.RunPolicy,
  others: ReadonlyArray<ModelFallback.Entry>
): ((client: LlmClient.Service) => LlmClient.Service) => {
  const made = new Map<LlmClient.Service, LlmClient.Service>()
  const retried =
    retry === undefined
      ? (client: LlmClient.Service) => client
      : LlmRetry.wrap({
          maxRetries: retry.maxRetries,
          factor: retry.factor,
          jitter: retry.jitter,
          base: retry.base === undefined ? undefined : RunPolicy.durationOf(retry.base),
          cap: retry.cap === undefined ? undefined : RunPolicy.durationOf(retry.cap)
        })
  const chain = others.map(({ client, settings }) => ({ client: retried(client), settings }))
  return (client) => {
    const known = made.get(client)
    if (known !== undefined) return known
    const rest = chain.filter((_, at) => others[at]?.client !== client)
    const own = retried(client)
    const whole = CallGate.wrap(rest.length === 0 ? own : ModelFallback.make([own, ...rest]))
    made.set(client, whole)
    return whole
  }
}

/** The agent as it answers with the model and the strategy of the policy. */
const changed = (policy: RunPolicy.RunPolicy, agent: Agent.Any): Agent.Any => {
  const { model, strategy } = policy
  return model === undefined && strategy === undefined
    ? agent
    : AgentDefinition.change(agent, {
        // A call without a role would not have the settings of the model.
        ...(model === undefined ? {} : { role: model }),
        strategy: RunPreparation.chosenOf(agent.definition, policy)
      })
}

const unknownRole = (verb: string, role: string): string =>
  `The policy of the run ${verb} the role "${role}", which the router does not have`

/** The run with its policy, or why it cannot run. */
export const apply = (
  given: RunPolicy.RunPolicy,
  agent: Agent.Any,
  uses: Collaborators,
  own: Context.Context<never>
): Effect.Effect<Either.Either<Applied, string>> => {
  const checked = RunPolicy.fromUnknown(given)
  if (Either.isLeft(checked)) {
    return Effect.succeed(Either.left(`The policy of the run is not valid: ${checked.left}`))
  }
  const policy = checked.right
  const { fallback = [], limits, model } = policy
  const limited = changed(policy, limits === undefined ? agent : Agent.limitedBy(agent, limitsOf(limits)))
  // Runs inside share the limits anyway.
  const inner = { compensate: policy.compensate, fallback: policy.fallback, retry: policy.retry }
  const inherited = Context.add(own, InheritedPolicy, inner) as Context.Context<never>
  if (policy.retry === undefined && fallback.length === 0 && model === undefined) {
    return Effect.succeed(Either.right({ agent: limited, uses, own: inherited }))
  }
  return Effect.gen(function* () {
    const routed = model === undefined ? Either.right(uses) : yield* routedTo(uses, model)
    if (Either.isLeft(routed)) return Either.left(unknownRole("asks", routed.left))
    const others = yield* rolesOf(uses.router, fallback)
    if (Either.isLeft(others)) return Either.left(unknownRole("falls back to", others.left))
    const wrap = wrapped(policy, others.right)
    const client = wrap(routed.right.client)
    const router: ModelRouter.Service = {
      ...routed.right.router,
      resolve: (role) =>
        Effect.map(routed.right.router.resolve(role), (resolved) => ({ ...resolved, client: wrap(resolved.client) }))
    }
    return Either.right({
      agent: limited,
      uses: { ...routed.right, client, router },
      own: Context.add(Context.add(inherited, LlmClient.LlmClient, client), ModelRouter.ModelRouter, router)
    })
  })
}
