import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as ApiErrors from "../../../src/http/api/ApiError.js"

describe("ApiError", () => {
  it("is the same after it was sent", () => {
    for (const reason of ApiErrors.ApiErrorReason.literals) {
      const failure = new ApiErrors.ApiError({
        reason,
        message: "no",
        hint: "yes",
        error: "LEX_ERR_AGT_121",
        issues: [{ path: ["a", 0], message: "wrong" }],
        retryAfter: 3,
        requestId: "r"
      })
      const problem = ApiErrors.toProblem(failure)
      assert.deepInclude(problem, { status: ApiErrors.statusOf(failure), code: "LEX_ERR_AGT_121", instance: "r" })
      assert.deepStrictEqual({ ...ApiErrors.fromProblem(problem) }, { ...failure })
    }
  })

  it("reads what others say: proxies, and servers that name no reason", () => {
    const reasons = [400, 404, 418, 429, 500, 502, 503, 504, 599].map(
      (status) => ApiErrors.fromProblem({ status }).reason
    )
    assert.deepStrictEqual(reasons, [
      "invalid",
      "unknown",
      "invalid",
      "rate",
      "failed",
      "unavailable",
      "unavailable",
      "unavailable",
      "failed"
    ])
    assert.strictEqual(ApiErrors.fromProblem({ reason: "constructor" }).reason, "failed")
  })

  it("fits the schema of its status alone", () => {
    const failure = new ApiErrors.ApiError({ reason: "conflict", message: "no" })
    assert.strictEqual(Schema.encodeSync(ApiErrors.withStatus(409))(failure).status, 409)
    assert.throws(() => Schema.encodeSync(ApiErrors.withStatus(404))(failure))
  })
})
