import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import type * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as SkillToolkit from "../../../src/skill/execute/SkillToolkit.js"

class Db extends Context.Tag("Db")<Db, string>() {}
class Mail extends Context.Tag("Mail")<Mail, string>() {}

type Failure = SkillAlreadyRegisteredError | SkillValidationError

const plain = Skill.make("plain", { description: "d", handler: () => Effect.succeed(1) })
const query = Skill.make("query", {
  description: "d",
  handler: () => Effect.zipRight(Db, Effect.fail("none" as const))
})
const send = Skill.make("send", { description: "d", handler: () => Mail })

const data = SkillToolkit.make("data", { description: "d" }, plain, query)
const mail = SkillToolkit.make("mail", { description: "d", prefix: "mail_" }, send)

test("has the failures and requirements of its skills", () => {
  expectTypeOf<SkillToolkit.ServicesOf<typeof data>>().toEqualTypeOf<Db>()
  expectTypeOf<Skill.ErrorOf<SkillToolkit.SkillsOf<typeof data>>>().toEqualTypeOf<"none">()
  const both = SkillToolkit.merge("both", { description: "d" }, data, mail)
  expectTypeOf<SkillToolkit.ServicesOf<typeof both>>().toEqualTypeOf<Db | Mail>()
  const cut = both.pipe(SkillToolkit.pick(["query"]), SkillToolkit.omit(["send"]))
  expectTypeOf<SkillToolkit.ServicesOf<typeof cut>>().toEqualTypeOf<Db | Mail>()
})

test("passes them on to its layers", () => {
  expectTypeOf(SkillToolkit.layer(data, mail)).toEqualTypeOf<
    Layer.Layer<SkillRegistry.SkillRegistry, Failure, Db | Mail>
  >()
  expectTypeOf(SkillToolkit.add(data)).toEqualTypeOf<Layer.Layer<never, Failure, SkillRegistry.SkillRegistry | Db>>()
})
