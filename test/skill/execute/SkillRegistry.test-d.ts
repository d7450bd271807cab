import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { expectTypeOf, test } from "vitest"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"

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

test("a registry requires what its skills require", () => {
  expectTypeOf(SkillRegistry.layer()).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry, Failure>>()
  expectTypeOf(SkillRegistry.layer(plain)).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry, Failure>>()
  expectTypeOf(SkillRegistry.layer(plain, query, send)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, Failure, Db | Mail>
  >()
  expectTypeOf(SkillRegistry.layerEmpty).toEqualTypeOf<Layer.Layer<SkillRegistry.SkillRegistry>>()
})

test("skills that are added require a registry as well", () => {
  expectTypeOf(SkillRegistry.add(query, send)).toEqualTypeOf<
    Layer.Layer<never, Failure, SkillRegistry.SkillRegistry | Db | Mail>
  >()
  expectTypeOf(SkillRegistry.register(plain, query)).toEqualTypeOf<
    Effect.Effect<void, Failure, SkillRegistry.SkillRegistry | Db | Scope.Scope>
  >()
})

test("a merged registry fails and requires as its parts do", () => {
  expectTypeOf(SkillRegistry.merge(SkillRegistry.layer(query), SkillRegistry.layerEmpty)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, Failure, Db>
  >()
  expectTypeOf(SkillRegistry.merge(SkillRegistry.layerEmpty)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, SkillAlreadyRegisteredError>
  >()
})
