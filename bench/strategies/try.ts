import * as Effect from "effect/Effect"
import * as C from "./Comparison.js"

const t = process.cpuUsage()
const r = await Effect.runPromise(
  C.compare({ model: C.solver, size: Number(process.argv[2] ?? 5), names: process.argv[3]?.split(",") })
)
for (const one of r) console.log(one.dataset + "\n" + C.tableOf(one))
console.log(process.cpuUsage(t).user / 1e6)
