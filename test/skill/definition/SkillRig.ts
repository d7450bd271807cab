/** An executor over given skills, with everything it asks of others written down. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as BoundSkill from "../../../src/skill/definition/BoundSkill.js"
import type * as Skill from "../../../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../../../src/skill/execute/DefaultSkillExecutor.js"
import type * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../../../src/skill/execute/SkillExecutor.js"
import type * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"

export const ann = UserId.make("ann")
export const bob = UserId.make("bob")
export const session = SessionId.make("session-1")

export interface Rig {
  readonly executor: SkillExecutor.Service
  /** What happened, in order. */
  readonly trace: Array<string>
  readonly asked: Array<ApprovalGate.ApprovalRequest>
  readonly checked: Array<PermissionChecker.PermissionRequest>
}

export const registryOf = (skills: ReadonlyArray<Skill.Any>, trace?: Array<string>): SkillRegistry.Service => {
  const byName = new Map(skills.map((skill) => [skill.definition.name, skill as Skill.Bound]))
  return {
    register: () => Effect.void,
    replace: () => Effect.void,
    unregister: () => Effect.succeed(false),
    get: (name) =>
      Effect.sync(() => {
        trace?.push(`get ${name}`)
        return Option.fromNullable(byName.get(name))
      }),
    list: () => Effect.sync(() => [...byName.values()].map((skill) => skill.definition)),
    schemas: () => Effect.succeed([]),
    changes: Stream.empty
  }
}

/** Everything is allowed unless said otherwise. */
export const make = (
  skills: ReadonlyArray<Skill.Any>,
  options?: DefaultSkillExecutor.Options & {
    readonly missing?: PermissionChecker.Service["missing"] | undefined
    readonly enforced?: boolean | undefined
    readonly cache?: SkillResultCache.Service | undefined
    readonly decide?: ApprovalGate.Service["request"] | undefined
    /** Where what happens is written down. */
    readonly trace?: Array<string> | undefined
  }
): Effect.Effect<Rig> =>
  Effect.gen(function* () {
    const trace = options?.trace ?? []
    const asked: Array<ApprovalGate.ApprovalRequest> = []
    const checked: Array<PermissionChecker.PermissionRequest> = []
    const cache = options?.cache ?? SkillResultCache.noop
    const executor = yield* DefaultSkillExecutor.make(
      {
        registry: registryOf(skills, trace),
        permissions: {
          enforced: options?.enforced ?? true,
          missing: (request) =>
            Effect.suspend(() => {
              trace.push("permissions")
              checked.push(request)
              return options?.missing === undefined ? Effect.succeed([]) : options.missing(request)
            })
        },
        cache: {
          ...cache,
          get: (slot) =>
            Effect.tap(cache.get(slot), (found) =>
              Effect.sync(() => trace.push(Option.isSome(found.output) ? "cache hit" : "cache miss"))
            ),
          set: (slot, output, found, ttl) =>
            Effect.tap(cache.set(slot, output, found, ttl), () => Effect.sync(() => trace.push("cache set")))
        },
        approvals: {
          request: (request) =>
            Effect.suspend(() => {
              trace.push("confirm")
              asked.push(request)
              return options?.decide === undefined ? Effect.succeed(ApprovalGate.approve()) : options.decide(request)
            })
        }
      },
      options
    )
    return { executor, trace, asked, checked }
  })

/** The same, for skills that reach the executor that executes them by its tag. */
export const makeReached = (
  skills: ReadonlyArray<Skill.Skill<never, unknown, unknown, SkillExecutor.SkillExecutor>>,
  options?: Parameters<typeof make>[1]
): Effect.Effect<Rig> =>
  Effect.suspend(() => {
    let reached: SkillExecutor.Service | undefined
    const late: SkillExecutor.Service = {
      execute: (request) => Effect.suspend(() => reached!.execute(request)),
      run: (skill, params, context) => Effect.suspend(() => reached!.run(skill, params, context))
    }
    const context = Context.make(SkillExecutor.SkillExecutor, late)
    const bound = skills.map((skill) => BoundSkill.provideContext(skill, context))
    return Effect.tap(make(bound, options), (rig) =>
      Effect.sync(() => {
        reached = rig.executor
      })
    )
  })
