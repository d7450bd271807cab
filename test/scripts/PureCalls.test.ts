import { assert, describe, it } from "@effect/vitest"
import * as Esbuild from "esbuild"
import { withPureCalls } from "../../scripts/build/PureCalls.js"

const bundled = async (library: string): Promise<string> => {
  const { outputFiles } = await Esbuild.build({
    stdin: { contents: `import { used } from "library"\nconsole.log(used)`, resolveDir: "/" },
    plugins: [
      {
        name: "library",
        setup: ({ onLoad, onResolve }) => {
          onResolve({ filter: /^library$/ }, ({ path }) => ({ path, namespace: "library" }))
          onLoad({ filter: /.*/, namespace: "library" }, () => ({ contents: library, loader: "ts" }))
        }
      }
    ],
    bundle: true,
    write: false,
    format: "esm",
    tsconfigRaw: "{}"
  })
  return outputFiles[0]?.text ?? ""
}

const library = `
const tagged = (name: string) => <A>(fields: A) => class { static readonly fields = { name, ...fields } }
const shared = { a: 1 }
export class Unused extends tagged("unused")({ ...shared, b: 2 }) {
  readonly own = tagged("own")
}
export const unused = [new Map([["unused", { ...shared }]])]
export class Used extends tagged("used")({ ...shared }) {}
export const used = Used.fields.name
`

describe("withPureCalls", () => {
  it("lets a bundler drop what nobody uses of a file, and keeps lines", async () => {
    assert.include(await bundled(library), "unused")
    const marked = withPureCalls(library)
    assert.strictEqual(marked.split("\n").length, library.split("\n").length)
    const code = await bundled(marked)
    assert.notInclude(code, "unused")
    assert.include(code, `"used"`)
  })

  it("leaves alone what is made of nothing but literals and functions", () => {
    const plain = `export const a = { b: [1], c: () => d() }\nexport class E { f = g(); static h = 1 }\nfunction d() { return i() }\n`
    assert.strictEqual(withPureCalls(plain), plain)
  })
})
