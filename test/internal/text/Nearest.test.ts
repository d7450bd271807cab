import { assert, describe, it } from "@effect/vitest"
import { nearest } from "../../../src/internal/text/Nearest.js"

describe("nearest", () => {
  it("finds the name most likely meant, or none", () => {
    const known = ["get_weather", "search_web", "検索", "___", "rm"]
    assert.strictEqual(nearest("getWeather", known), "get_weather")
    assert.strictEqual(nearest("serach_web", known), "search_web")
    assert.strictEqual(nearest("weather", known), "get_weather")
    assert.strictEqual(nearest("検索", known), "検索")
    for (const name of ["", "___", "delete_everything", "x"]) assert.isUndefined(nearest(name, known))
    assert.isUndefined(nearest("search", []))
  })
})
