import * as Fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Version from "../../src/domain/Version.js"

describe("Version", () => {
  it("is that of the package", () => {
    const manifest = JSON.parse(Fs.readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    assert.strictEqual(Version.version, manifest.version)
  })
})
