/**
 * Measures the guards on the texts of the repository and writes the tables of `docs/guards.md`: `npm run guards:table`.
 * `test/guard/GuardTables.test.ts` fails if the page says anything else.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import * as GuardTables from "../test/support/GuardTables.js"
import { root } from "./layout.js"

const file = Path.join(root, "docs", "guards.md")

const main = Effect.map(GuardTables.pii, (rows) => {
  const drawn = GuardTables.tablesOf(rows)
  const page = Fs.readFileSync(file, "utf8")
  const next = GuardTables.withTables(page, drawn)
  if (next === page) return console.log("docs/guards.md is up to date")
  Fs.writeFileSync(file, next)
  console.log("wrote docs/guards.md")
})

await Effect.runPromise(main)
