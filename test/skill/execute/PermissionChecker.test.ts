import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import type { UserId } from "../../../src/domain/Ids.js"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"
import * as PermissionGrants from "../../../src/skill/execute/PermissionGrants.js"
import { missing, suite, users } from "./PermissionCheckerSuite.js"

const of = (userId: UserId) => Effect.succeed(Object.hasOwn(users, userId) ? (users[userId] ?? []) : [])

/** A role for each grant, named by it. */
const roles = {
  "*": ["*"],
  "files.*": ["files.*"],
  "web.search": ["web.search"],
  "files.read": ["files.read"],
  unused: ["code.execute"]
} as const

suite("from fixed users", PermissionChecker.layerStatic(users))
suite(
  "from roles",
  PermissionChecker.layerRoles({ roles, users: users as PermissionChecker.ByName<keyof typeof roles> })
)
suite("from looked-up roles", PermissionChecker.layerRoles({ roles, users: of }))
suite("from looked-up permissions", PermissionChecker.layerLookup(of))
suite("from grants", PermissionGrants.layer(users))

class Directory extends Context.Tag("test/Directory")<Directory, Ref.Ref<ReadonlyArray<string>>>() {}

describe("roles", () => {
  it.effect("apply to unknown users if everyone has them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* missing("who", "web.search", "files.read"), ["files.read"])
      assert.deepStrictEqual(yield* missing("cyd", "web.search", "files.read"), [])
    }).pipe(
      Effect.provide(PermissionChecker.layerRoles({ roles, users: { cyd: ["files.read"] }, everyone: ["web.search"] }))
    )
  )

  it.effect("fail the layer if they do not exist where they are declared", () =>
    Effect.gen(function* () {
      const bad = { ada: ["admn"] } as unknown as PermissionChecker.ByName<"unused">
      for (const options of [
        { roles, users: bad },
        { roles, users: {}, everyone: ["constructor"] as unknown as ReadonlyArray<"unused"> }
      ]) {
        const error = yield* Effect.flip(Layer.build(PermissionChecker.layerRoles(options)))
        assert.deepStrictEqual([error._tag, error.code], ["PermissionCheckerError", "LEX_ERR_SKILL_101"])
        assert.match(error.message, /no role "(admn|constructor)"/)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("allow nothing if they do not exist where they are looked up", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* missing("ada", "files.read", "x"), ["x"])
    }).pipe(
      Effect.provide(
        PermissionChecker.layerRoles({
          roles,
          users: () => Effect.succeed(["constructor", "x", "__proto__", "files.read"])
        })
      )
    )
  )

  it.effect("are looked up each time, with the requirements of the look-up", () =>
    Effect.gen(function* () {
      const directory = yield* Ref.make<ReadonlyArray<string>>([])
      const layer = PermissionChecker.layerRoles({
        roles,
        users: () => Effect.flatMap(Directory, Ref.get)
      }).pipe(Layer.provide(Layer.succeed(Directory, directory)))
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* missing("ada", "files.read"), ["files.read"])
        yield* Ref.set(directory, ["files.*"])
        assert.deepStrictEqual(yield* missing("ada", "files.read"), [])
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("a look-up that fails", () => {
  const down = () => Effect.fail("the directory is down")
  const layers: Record<string, Layer.Layer<PermissionChecker.PermissionChecker, unknown>> = {
    "roles that fail": PermissionChecker.layerRoles({ roles, users: down }),
    "permissions that fail": PermissionChecker.layerLookup(down),
    "a check that fails": PermissionChecker.layer(down),
    "roles that are no list": PermissionChecker.layerRoles({ roles, users: () => Effect.succeed("*" as never) }),
    "permissions that are no list": PermissionChecker.layerLookup(() => Effect.succeed("*" as never)),
    "a check without an answer": PermissionChecker.layer(() => Effect.succeed(undefined as never))
  }
  for (const [name, layer] of Object.entries(layers)) {
    it.effect(`is a typed error, never a permission: ${name}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(missing("ada", "files.read"))
        assert.strictEqual((error as PermissionChecker.PermissionCheckerError)._tag, "PermissionCheckerError")
        assert.include((error as PermissionChecker.PermissionCheckerError).message, '"ada"')
        assert.isDefined((error as PermissionChecker.PermissionCheckerError).cause)
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("allows nothing when it dies", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* Effect.exit(missing("ada", "files.read")))._tag === "Failure")
    }).pipe(
      Effect.provide(
        PermissionChecker.layerLookup((): Effect.Effect<ReadonlyArray<string>> => {
          throw new Error("thrown")
        })
      )
    )
  )
})

describe("a custom check", () => {
  it.effect("receives the whole request and keeps its own error", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* missing("ada", "a", "b"), ["s", "b"])
      const error = yield* Effect.flip(missing("bob", "a"))
      assert.strictEqual(error.message, "as it was")
    }).pipe(
      Effect.provide(
        PermissionChecker.layer(({ required, skillName, userId }) =>
          userId === "bob"
            ? new PermissionChecker.PermissionCheckerError({ message: "as it was" })
            : Effect.succeed([skillName, ...required.slice(1)])
        )
      )
    )
  )
})

describe("grants", () => {
  const user = (name: string) => name as UserId

  it.effect("are given and revoked exactly, from the next check on", () =>
    Effect.gen(function* () {
      const grants = yield* PermissionGrants.PermissionGrants
      yield* grants.grant(user("ada"), ["files.*", "web.search"])
      yield* grants.grant(user("ada"), ["web.search", "code.execute"])
      assert.deepStrictEqual(yield* grants.permissionsOf(user("ada")), ["files.*", "web.search", "code.execute"])
      assert.deepStrictEqual(yield* missing("ada", "files.read", "code.execute"), [])
      yield* grants.revoke(user("ada"), ["files.read", "code.execute", "nothing"])
      assert.deepStrictEqual(yield* grants.permissionsOf(user("ada")), ["files.*", "web.search"])
      assert.deepStrictEqual(yield* missing("ada", "files.read", "code.execute"), ["code.execute"])
      yield* grants.set(user("ada"), ["db.query"])
      assert.deepStrictEqual(yield* grants.permissionsOf(user("ada")), ["db.query"])
      assert.deepStrictEqual(yield* missing("ada", "files.read", "db.query"), ["files.read"])
      yield* grants.set(user("ada"), [])
      assert.deepStrictEqual(yield* grants.permissionsOf(user("ada")), [])
      assert.deepStrictEqual(yield* missing("ada", "db.query"), ["db.query"])
    }).pipe(Effect.provide(PermissionGrants.layer()))
  )

  it.effect("belong to the user they were given to, whatever the name", () =>
    Effect.gen(function* () {
      const grants = yield* PermissionGrants.PermissionGrants
      for (const name of ["__proto__", "constructor"]) {
        assert.deepStrictEqual(yield* missing(name, "a"), ["a"])
        yield* grants.grant(user(name), ["a"])
        assert.deepStrictEqual(yield* missing(name, "a"), [])
      }
      assert.deepStrictEqual(yield* missing("toString", "a"), ["a"])
      yield* grants.revoke(user("__proto__"), ["a"])
      assert.deepStrictEqual(yield* missing("__proto__", "a"), ["a"])
      assert.deepStrictEqual(yield* missing("constructor", "a"), [])
    }).pipe(Effect.provide(PermissionGrants.layer()))
  )

  it.effect("of two layers are separate", () =>
    Effect.gen(function* () {
      const grants = yield* PermissionGrants.PermissionGrants
      yield* grants.grant(user("ada"), ["a"])
      assert.deepStrictEqual(yield* missing("ada", "a"), [])
      assert.deepStrictEqual(yield* Effect.provide(missing("ada", "a"), PermissionGrants.layer()), ["a"])
    }).pipe(Effect.provide(PermissionGrants.layer()))
  )
})

describe("permissions that are not enforced", () => {
  it.effect("are missing to nobody", () =>
    Effect.gen(function* () {
      assert.isFalse((yield* PermissionChecker.PermissionChecker).enforced)
      assert.deepStrictEqual(yield* missing("ada", "a"), [])
    }).pipe(Effect.provide(PermissionChecker.layerNoop))
  )
})
