import { assert, describe, it } from "@effect/vitest"
import * as Keccak from "../../../src/internal/text/Keccak.js"

describe("Keccak", () => {
  it("hashes as published", () => {
    assert.strictEqual(Keccak.hex256(""), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    assert.strictEqual(Keccak.hex256("abc"), "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45")
  })
})
