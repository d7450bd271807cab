import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Permissions from "../../../src/skill/definition/Permissions.js"
import * as Growth from "../../support/Growth.js"

const table: ReadonlyArray<readonly [granted: ReadonlyArray<string>, required: string, isAllowed: boolean]> = [
  [["files.read"], "files.read", true],
  [["files.read"], "files.write", false],
  [["files.read"], "files", false],
  [["files"], "files.read", false],
  [["files.*"], "files.read", true],
  [["files.*"], "files.read.own", true],
  [["files.*"], "files", false],
  [["files.*"], "filesystem.read", false],
  [["*"], "files.read", true],
  [["*"], "", true],
  [["*.read"], "files.read", true],
  [["*.read"], "files.write", false],
  [["*.read"], "a.b.read", false],
  [["a.*.c"], "a.b.c", true],
  [["a.*.c"], "a.b.d.c", false],
  [["fi*"], "files", false],
  [["files.re*"], "files.read", false],
  [[".*"], "x", false],
  [["files.*"], "files.*", true],
  [["*"], "files.*", false],
  [["*.*"], "files.*", false],
  [["files.read"], "files.*", false],
  [["*"], "*", true],
  [["fi*"], "fi*", true],
  [["*"], "fi*", false],
  [[], "files.read", false],
  [["__proto__"], "__proto__", true],
  [[], "constructor", false]
]

describe("Permissions", () => {
  for (const [granted, required, isAllowed] of table) {
    it(`${JSON.stringify(granted)} ${isAllowed ? "allows" : "does not allow"} "${required}"`, () => {
      assert.strictEqual(Permissions.allows(granted)(required), isAllowed)
      assert.deepStrictEqual(Permissions.missing(granted, [required]), isAllowed ? [] : [required])
    })
  }

  it("misses nothing of nothing, and keeps the order of missing permissions", () => {
    assert.deepStrictEqual(Permissions.missing([], []), [])
    assert.deepStrictEqual(Permissions.missing(["b"], ["c", "b", "a"]), ["c", "a"])
  })

  it("never allows less with more grants, and a literal grant allows itself", () => {
    const permission = FastCheck.array(FastCheck.constantFrom("a", "b", "*", "a*", ""), { maxLength: 4 }).map((all) =>
      all.join(".")
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(permission), permission, permission, (granted, more, required) => {
        if (Permissions.allows(granted)(required)) assert.isTrue(Permissions.allows([...granted, more])(required))
        assert.isTrue(Permissions.allows([required])(required))
        if (required.includes("*"))
          assert.strictEqual(Permissions.allows(granted)(required), granted.includes(required))
      })
    )
  })

  it("takes linear time for long hostile texts", () => {
    Growth.assertLinear({
      input: (size) => ({ long: "*.".repeat(size / 2), name: "a".repeat(size), parts: "a.".repeat(size) }),
      size: 100_000,
      run: ({ long, name, parts }) => {
        assert.isFalse(Permissions.allows([long, `${long}*`, "a.*"])(name))
        assert.isTrue(Permissions.allows([`${long}*`])(parts))
      }
    })
  })
})
