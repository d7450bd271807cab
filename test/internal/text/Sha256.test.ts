import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as Sha256 from "../../../src/internal/text/Sha256.js"

const texts = ["", "abc", "é€😀", "lone \ud800 surrogate", "x".repeat(10_000)]

describe("Sha256", () => {
  it("computes published digests", () => {
    assert.strictEqual(Sha256.hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    assert.strictEqual(Sha256.hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  })

  it("agrees with node:crypto for text and bytes", () => {
    for (const text of texts) {
      const expected = createHash("sha256").update(text).digest("hex")
      assert.strictEqual(Sha256.hex(text), expected)
      assert.strictEqual(Sha256.hex(Buffer.from(text)), expected)
      assert.strictEqual(Buffer.from(Sha256.bytes(Buffer.from(text))).toString("hex"), expected)
    }
  })

  it("agrees with node:crypto for UTF-16 and for pieces", () => {
    for (const text of texts) {
      const units = Buffer.from(text, "utf16le")
      assert.strictEqual(Sha256.hex(Sha256.utf16(text)), createHash("sha256").update(units).digest("hex"))
      assert.strictEqual(
        Sha256.make().add("1:").add(text).add(Sha256.utf16(text)).hex(),
        createHash("sha256").update("1:").update(text).update(units).digest("hex")
      )
    }
  })
})
