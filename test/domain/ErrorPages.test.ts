import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import { vi } from "vitest"
import { root } from "../../scripts/layout.js"
import { slug } from "../../scripts/pages.js"
import { metadata } from "../../scripts/project.js"
import * as ErrorCode from "../../src/domain/ErrorCode.js"

const page = Fs.readFileSync(Path.join(root, "docs/reference-errors.md"), "utf8")

describe("the page of an error", () => {
  it("has a heading of its own, and an address where the documentation has one", () => {
    for (const code of Object.keys(ErrorCode.table)) {
      assert.include(page, `\n### ${code}\n`)
      const url = ErrorCode.urlOf(code, "https://docs.example/lexigram/")
      assert.strictEqual(url, `https://docs.example/lexigram/reference-errors#${slug(code)}`)
    }
    assert.isUndefined(ErrorCode.urlOf("LEX_ERR_AGT_112"))
  })

  it("stands below the hint of an error of a documented package", async () => {
    vi.resetModules()
    vi.doMock("../../src/domain/Version.js", () => ({ version: "1.0.0", documentation: "https://docs.example" }))
    const { ApprovalError } = await import("../../src/tool/approval/ApprovalError.js")
    vi.doUnmock("../../src/domain/Version.js")
    const error = new ApprovalError({ reason: "unknown", message: "Gone", hint: "Ask again" })
    assert.include(
      Cause.pretty(Cause.fail(error)),
      "ApprovalError: Gone\n    hint: Ask again\n    see: https://docs.example/reference-errors#lex_err_agt_112\n"
    )
    assert.strictEqual(error.message, "Gone")
  })

  it("is where the constant of the project says", () => {
    assert.deepStrictEqual(metadata(undefined), {})
    assert.deepStrictEqual(metadata({ repository: "https://git.example/a/b", documentation: "https://docs.example" }), {
      homepage: "https://docs.example",
      repository: { type: "git", url: "git+https://git.example/a/b.git" },
      bugs: { url: "https://git.example/a/b/issues" }
    })
  })
})
