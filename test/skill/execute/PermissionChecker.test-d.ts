import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"

class Directory extends Context.Tag("Directory")<Directory, ReadonlyArray<string>>() {}

type Checker<E = never, R = never> = Layer.Layer<PermissionChecker.PermissionChecker, E, R>
type Failure = PermissionChecker.PermissionCheckerError

test("has the requirements of its look-up, whatever that fails with", () => {
  const lookup = () => Effect.flatMap(Directory, (all) => (all.length > 0 ? Effect.succeed(all) : Effect.fail("x")))
  expectTypeOf(PermissionChecker.layer(lookup)).toEqualTypeOf<Checker<never, Directory>>()
  expectTypeOf(PermissionChecker.layerLookup(lookup)).toEqualTypeOf<Checker<never, Directory>>()
  expectTypeOf(PermissionChecker.layerRoles({ roles: { a: [] }, users: lookup })).toEqualTypeOf<
    Checker<Failure, Directory>
  >()
  expectTypeOf(PermissionChecker.layerRoles({ roles: { a: [] }, users: { ada: ["a"] } })).toEqualTypeOf<
    Checker<Failure>
  >()
})

test("rejects an unknown role at compile time", () => {
  // @ts-expect-error: there is no role "b"
  PermissionChecker.layerRoles({ roles: { a: [] }, users: { ada: ["b"] } })
  // @ts-expect-error: there is no role "b"
  PermissionChecker.layerRoles({ roles: { a: [] }, users: {}, everyone: ["b"] })
})
