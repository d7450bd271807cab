/**
 * The packages that the command line and the projects of its people need, and those that are installed.
 *
 * @private
 * @since 0.1.0
 */
import * as NodeModule from "node:module"
import * as NodePath from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const Texts = Schema.Record({ key: Schema.String, value: Schema.String })

const Manifest = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  engines: Schema.Struct({ node: Schema.String }),
  peerDependencies: Texts,
  peerDependenciesMeta: Schema.Record({ key: Schema.String, value: Schema.Struct({ optional: Schema.Boolean }) }),
  devDependencies: Texts
})

/**
 * What this package says about itself.
 *
 * @category models
 */
export interface Manifest extends Schema.Schema.Type<typeof Manifest> {}

const require = NodeModule.createRequire(import.meta.url)

/**
 * The `package.json` of this package.
 *
 * @category accessors
 */
export const manifest: Effect.Effect<Manifest> = Effect.orDie(
  Effect.flatMap(
    Effect.try(() => require("effect-lexigram/package.json") as unknown),
    Schema.decodeUnknown(Manifest)
  )
)

/**
 * The version of an installed package, found as the modules of this one find it. None if it is not installed.
 *
 * @category accessors
 */
export const versionOf = (name: string): Effect.Effect<Option.Option<string>> =>
  Effect.sync(() => {
    for (const folder of require.resolve.paths(name) ?? []) {
      try {
        return Option.some(String(Reflect.get(require(NodePath.join(folder, name, "package.json")), "version")))
      } catch {
        // It is not in this folder.
      }
    }
    return Option.none()
  })

type Parts = readonly [number, number, number]

const partsOf = (text: string): Parts => {
  const found = /(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/.exec(text)
  return [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0), Number(found?.[3] ?? 0)]
}

/** Below 0 if the first one is lower. */
const compare = (a: Parts, b: Parts): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]

/**
 * Whether a version is in a range of the forms that this package has: `^1.2.3`, whose first number that is not 0 stays
 * the same, `~1.2.3`, and `>=1.2.3`. A preview of the lowest version is below it.
 *
 * @category predicates
 */
export const isIn = (version: string, range: string): boolean => {
  const [found, least] = [partsOf(version), partsOf(range)]
  const order = compare(found, least)
  if (order < 0 || (order === 0 && /^\d+\.\d+\.\d+-/.test(version))) return false
  if (range.startsWith(">=") || range === "*") return true
  if (range.startsWith("~")) return found[0] === least[0] && found[1] === least[1]
  const fixed = Math.max(
    0,
    least.findIndex((part) => part > 0)
  )
  return least.every((part, i) => i > fixed || found[i] === part)
}
