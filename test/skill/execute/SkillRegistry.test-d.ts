import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { expectTypeOf, test } from "vitest"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as MergedSkillRegistry from "../../../src/skill/execute/MergedSkillRegistry.js"
import * as SkillRegistration from "../../../src/skill/execute/SkillRegistration.js"
import type * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"

class Db extends Context.Tag("Db")<Db, string>() {}
class Mail extends Context.Tag("Mail")<Mail, string>() {}

type Failure = SkillAlreadyRegisteredError | SkillValidationError

const plain = Skill.make("plain", { description: "d", handler: () => Effect.succeed(1) })
const query = Skill.make("query", {
  description: "d",
  parameters: { id: Schema.Number },
  handler: ({ id }) => Effect.flatMap(Db, (db) => (id > 0 ? Effect.succeed(db) : Effect.fail("none" as const)))
})
const send = Skill.make("send", { description: "d", handler: () => Effect.zipRight(Mail, Effect.scope) })

test("requires what its skills require", () => {
  expectTypeOf(DefaultSkillRegistry.layer()).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry, Failure>>()
  expectTypeOf(DefaultSkillRegistry.layer(plain)).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry, Failure>>()
  expectTypeOf(DefaultSkillRegistry.layer(plain, query, send)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, Failure, Db | Mail>
  >()
  expectTypeOf(DefaultSkillRegistry.layerEmpty).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry>>()
})

test("requires a registry as well for skills that are added", () => {
  expectTypeOf(SkillRegistration.layer(query, send)).toEqualTypeOf<
    Layer.Layer<never, Failure, SkillRegistry.SkillRegistry | Db | Mail>
  >()
  expectTypeOf(SkillRegistration.register(plain, query)).toEqualTypeOf<
    Effect.Effect<void, Failure, SkillRegistry.SkillRegistry | Db | Scope.Scope>
  >()
})

test("has the failures and requirements of its parts when merged", () => {
  expectTypeOf(
    MergedSkillRegistry.layer(DefaultSkillRegistry.layer(query), DefaultSkillRegistry.layerEmpty)
  ).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry, Failure, Db>>()
  expectTypeOf(MergedSkillRegistry.layer(DefaultSkillRegistry.layerEmpty)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, SkillAlreadyRegisteredError>
  >()
})
