import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { UserId } from "../../../src/domain/Ids.js"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"

export const missing = (userId: string, ...required: ReadonlyArray<string>) =>
  Effect.flatMap(PermissionChecker.PermissionChecker, (checker) =>
    checker.missing({ userId: userId as UserId, skillName: "s", required })
  )

/** Whom the layers under test know. `JSON.parse` makes `__proto__` an own name. */
export const users: Readonly<Record<string, ReadonlyArray<string>>> = JSON.parse(
  `{"ada": ["*"], "bob": ["files.*", "web.search"], "cyd": ["files.read"], "nil": [], "__proto__": ["web.search"]}`
)

/** What every checker does that knows `users`. */
export const suite = (name: string, layer: Layer.Layer<PermissionChecker.PermissionChecker, unknown>): void => {
  describe(`PermissionChecker: ${name}`, () => {
    const check = <A, E>(fact: string, effect: Effect.Effect<A, E, PermissionChecker.PermissionChecker>) =>
      it.effect(fact, () => Effect.provide(effect, layer))

    check(
      "says what a user lacks, in the order it was asked",
      Effect.gen(function* () {
        assert.isTrue((yield* PermissionChecker.PermissionChecker).enforced)
        assert.deepStrictEqual(yield* missing("cyd", "files.read"), [])
        assert.deepStrictEqual(yield* missing("cyd", "web.search", "files.read", "files.write"), [
          "web.search",
          "files.write"
        ])
        assert.deepStrictEqual(yield* missing("nil", "files.read"), ["files.read"])
      })
    )

    check(
      "goes by wildcards of grants, not by those of what is required",
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* missing("ada", "files.read", "code.execute"), [])
        assert.deepStrictEqual(yield* missing("bob", "files.read", "files.a.b", "web.search"), [])
        assert.deepStrictEqual(yield* missing("bob", "files", "web.fetch", "filesystem.x"), [
          "files",
          "web.fetch",
          "filesystem.x"
        ])
        assert.deepStrictEqual(yield* missing("ada", "files.*"), ["files.*"])
        assert.deepStrictEqual(yield* missing("bob", "files.*", "*"), ["*"])
        assert.deepStrictEqual(yield* missing("cyd", "files.*", "files.rea*"), ["files.*", "files.rea*"])
      })
    )

    check(
      "knows nobody by the names of objects' own things",
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* missing("__proto__", "web.search", "files.read"), ["files.read"])
        for (const name of ["constructor", "toString", "hasOwnProperty", "", "ADA", "ada "]) {
          assert.deepStrictEqual(yield* missing(name, "web.search"), ["web.search"], name)
        }
      })
    )
  })
}
