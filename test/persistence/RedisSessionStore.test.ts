import { describe, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import type * as RedisClient from "../../src/persistence/RedisClient.js"
import * as RedisSessionStore from "../../src/persistence/RedisSessionStore.js"
import * as SessionStoreSuite from "../../src/testing/SessionStoreSuite.js"
import * as RedisTests from "../support/RedisTests.js"
import * as TestServers from "../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

const stores = (options: RedisClient.Options) => {
  let count = 0
  return Layer.provide(
    Layer.suspend(() => RedisSessionStore.layer({ prefix: `sessions ${process.pid} ${count++}` })),
    RedisTests.connection(options)
  )
}

TestServers.suite("redis", available, (server) => {
  const fresh = stores({ url: RedisTests.urlOf(server) })

  describe("sessions in Redis", () => {
    for (const one of SessionStoreSuite.cases) {
      it.effect(one.name, () => SessionStoreSuite.check(one, fresh), 60_000)
    }
  })
})

/** The same code as on one server, and thousands of round trips each. */
const long = [
  "whatever is done to it, it is what a simple model is",
  "of many that save at once each wins one revision",
  "ten thousand turns are read by windows",
  "a session of ten thousand turns is deleted with all of them"
]

TestServers.suite("redisCluster", cluster, (nodes) => {
  const fresh = stores({ url: nodes.map(RedisTests.urlOf) })

  describe("sessions in a cluster of Redis", () => {
    for (const one of SessionStoreSuite.cases) {
      if (!long.includes(one.name)) it.effect(one.name, () => SessionStoreSuite.check(one, fresh), 60_000)
    }
  })
})
