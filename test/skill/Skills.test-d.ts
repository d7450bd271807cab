import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../../src/skill/definition/SkillError.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import type * as SkillExecutor from "../../src/skill/execute/SkillExecutor.js"
import type * as SkillRegistry from "../../src/skill/execute/SkillRegistry.js"
import type * as SkillResultCache from "../../src/skill/execute/SkillResultCache.js"
import * as SkillSource from "../../src/skill/folder/SkillSource.js"
import * as Skills from "../../src/skill/Skills.js"
import type * as SkillsConfig from "../../src/skill/SkillsConfig.js"

class Db extends Context.Tag("Db")<Db, string>() {}
class Mail extends Context.Tag("Mail")<Mail, string>() {}
class Directory extends Context.Tag("Directory")<Directory, ReadonlyArray<string>>() {}
class Down extends Data.TaggedError("Down")<{}> {}

type Out = Skills.Skills | SkillRegistry.SkillRegistry | SkillExecutor.SkillExecutor | SkillResultCache.SkillResultCache
type Failure = SkillAlreadyRegisteredError | SkillValidationError | SkillsConfig.SkillsConfigurationError
type Files = FileSystem.FileSystem | Path.Path

const query = Skill.make("query", { description: "d", handler: () => Effect.zipRight(Db, Effect.scope) })
const send = Skill.make("send", { description: "d", handler: () => Mail })
const permissions = Layer.unwrapEffect(
  Effect.flatMap(Directory, (all) =>
    all.length > 0 ? Effect.succeed(PermissionChecker.layerStatic({})) : Effect.fail(new Down())
  )
)

test("requires files unless folders are off", () => {
  expectTypeOf(Skills.layer()).toEqualTypeOf<Layer.Layer<Out, Failure, Files>>()
  expectTypeOf(Skills.layer({ config: { maxRetries: 1 } })).toEqualTypeOf<Layer.Layer<Out, Failure, Files>>()
  expectTypeOf(Skills.layer({ config: { enableSkillSources: false } })).toEqualTypeOf<Layer.Layer<Out, Failure>>()
  expectTypeOf(Skills.layer({ config: { enabled: false } })).toEqualTypeOf<Layer.Layer<Out, Failure>>()
  expectTypeOf(Skills.layerNoop).toEqualTypeOf<Layer.Layer<Out>>()
})

test("has the failures and requirements of its parts", () => {
  expectTypeOf(
    Skills.layer({
      config: { enableSkillSources: false },
      skills: [query],
      builtin: [send],
      permissions
    })
  ).toEqualTypeOf<Layer.Layer<Out, Failure | Down, Db | Mail | Directory>>()
  expectTypeOf(Skills.layerConfig({ sources: [SkillSource.fromSkills("own", [query])], permissions })).toEqualTypeOf<
    Layer.Layer<Out, Failure | Down | ConfigError.ConfigError, Files | Db | Directory>
  >()
  expectTypeOf(Skills.layerConfig()).toEqualTypeOf<Layer.Layer<Out, Failure | ConfigError.ConfigError, Files>>()
})

test("rejects a misspelled name at compile time", () => {
  // @ts-expect-error: there is no such collaborator
  Skills.layer({ permission: permissions })
  // @ts-expect-error: the configuration comes from the environment
  Skills.layerConfig({ config: {} })
})

test("provides the requirements of agents", () => {
  expectTypeOf(Agents.layerWith({ skills: Skills.layer({ skills: [query] }) })).toEqualTypeOf<
    Layer.Layer<AgentExecutor.AgentExecutor, Failure, LlmClient.LlmClient | Files | Db>
  >()
})
