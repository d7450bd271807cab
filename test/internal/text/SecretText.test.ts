import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as SecretText from "../../../src/internal/text/SecretText.js"
import * as Growth from "../../support/Growth.js"

describe("SecretText", () => {
  it("replaces given secrets in every spelling, but not dummies", () => {
    const secret = 'a"b/c+12345'
    const redact = (text: string) => SecretText.redact(text, [Redacted.make(secret), Redacted.make("ollama")])
    assert.strictEqual(redact(`x ${secret} y`), "x [REDACTED] y")
    assert.strictEqual(redact(`x ${JSON.stringify(secret)} y`), 'x "[REDACTED]" y')
    assert.strictEqual(redact(`x ${encodeURIComponent(secret)} y`), "x [REDACTED] y")
    assert.strictEqual(redact("try ollama pull"), "try ollama pull")
  })

  it("replaces text shaped like a key, and leaves prose", () => {
    for (const text of [
      "key sk-proj-abcdef123456",
      "gsk_abcdefghijkl",
      "Bearer abcdefgh",
      "authorization: Bearer abcdefgh",
      '"api_key": "abcdefgh"',
      "https://h/p?api-version=1&key=abcdefgh",
      "https://user:abcdefgh@h/p",
      "provided: abcd****efgh",
      "AIzaabcdefghijkl"
    ]) {
      assert.notMatch(SecretText.redact(text), /abcd|efgh/, text)
    }
    const prose = "Ask for a task-based risk-free key to the API: tokens per min (TPM) at https://h/p?page=2"
    assert.strictEqual(SecretText.redact(prose), prose)
  })

  it("shortens to one line without splitting a secret", () => {
    assert.strictEqual(SecretText.excerpt(" a\r\n\tb\u0007c ", { maxLength: 10 }), "a b c")
    assert.strictEqual(SecretText.excerpt("abcdef", { maxLength: 4 }), "abc…")
    assert.strictEqual(SecretText.excerpt("ab😀cd", { maxLength: 4 }), "ab\ufffd…")
    const secret = "x".repeat(40)
    for (let before = 3900; before < 4800; before += 7) {
      const text = `${" ".repeat(before)}${secret}${" ".repeat(9000)}`
      assert.notInclude(SecretText.excerpt(text, { maxLength: 500, redact: [Redacted.make(secret)] }), "xxx")
    }
  })

  it("takes hardly longer for huge and hostile texts", () => {
    const units = ["*", "a", "api_key:", "://", "bearer ", "?key=", "sk-", "<", " "]
    Growth.assertLinearTexts(units, (text) => SecretText.excerpt(text, { maxLength: 500 }), 500_000)
  })
})
