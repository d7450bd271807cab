import { it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import * as SqlSessionStore from "../../src/persistence/SqlSessionStore.js"
import * as SessionStoreSuite from "../../src/testing/SessionStoreSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

/** Random operations are followed by forty reads each: a server behind a socket needs its time for them. */
const timeout = 300_000

SqlBackends.suite("the store of sessions", ({ layer }) => {
  const store = Layer.provide(SqlSessionStore.layer, layer)
  for (const one of SessionStoreSuite.cases) it.effect(one.name, () => SessionStoreSuite.check(one, store), timeout)
})
