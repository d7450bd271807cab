import { assert, describe, it } from "@effect/vitest"
import { errorInfo } from "../../src/domain/ErrorInfo.js"
import * as LlmError from "../../src/llm/model/LlmError.js"

describe("errorInfo", () => {
  it("takes tag, code, message and hint of an error, and nothing else", () => {
    const error = new LlmError.LlmUnavailableError({
      message: "down",
      hint: "wait",
      provider: "p",
      cause: new Error("with sk-secret")
    })
    assert.deepStrictEqual(errorInfo(error), {
      tag: "LlmUnavailableError",
      code: "LEX_ERR_LLM_108",
      message: "down",
      hint: "wait"
    })
    const plain = Object.assign(new TypeError("bad"), { secret: "sk-secret", cause: { key: "sk-secret" } })
    assert.deepStrictEqual(errorInfo(plain), { tag: "TypeError", message: "bad" })
  })

  it("describes values that are not errors", () => {
    assert.deepStrictEqual(errorInfo("no"), { tag: "UnknownError", message: "no" })
    assert.deepStrictEqual(errorInfo(undefined), { tag: "UnknownError", message: "undefined" })
    assert.deepStrictEqual(errorInfo(Symbol("s")), { tag: "UnknownError", message: "Symbol(s)" })
    assert.deepStrictEqual(errorInfo({ _tag: "Empty", message: "" }), { tag: "Empty", message: "Empty" })
    assert.deepStrictEqual(errorInfo({ _tag: 1, code: 2, message: 3, hint: 4 }), {
      tag: "UnknownError",
      message: "UnknownError"
    })
    assert.deepStrictEqual(errorInfo({}), { tag: "UnknownError", message: "UnknownError" })
  })

  it("bounds every field without splitting a character", () => {
    const long = "👍".repeat(5000)
    const info = errorInfo({ _tag: `x${long}`, code: long, message: `x${long}`, hint: long })
    assert.deepStrictEqual(
      [info.tag.length, info.code?.length, info.message.length, info.hint?.length],
      [127, 128, 1999, 2000]
    )
    assert.isTrue(Object.values(info).every((text) => encodeURIComponent(String(text)) !== ""))
    assert.strictEqual(errorInfo("y".repeat(5000)).message.length, 2000)
  })

  it("removes texts that look like keys from message and hint", () => {
    const key = "sk-proj-abcdefghijklmnopqrstuvwx"
    const info = errorInfo({ _tag: "Odd", message: `refused ${key}`, hint: `use another than ${key}` })
    assert.notInclude(JSON.stringify(info), "abcdefghijkl")
    assert.include(info.message, "refused")
  })
})
