import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as RedisClient from "../../src/persistence/RedisClient.js"
import * as RedisMemoryStore from "../../src/persistence/RedisMemoryStore.js"
import * as MemoryStores from "../support/MemoryStores.js"
import * as RedisTests from "../support/RedisTests.js"
import * as TestServers from "../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

const stores = (options: RedisClient.Options, more?: RedisMemoryStore.Options) => {
  let count = 0
  return Layer.provide(
    Layer.suspend(() => RedisMemoryStore.layer({ prefix: `memory ${process.pid} ${count++}`, ...more })),
    RedisTests.connection(options)
  )
}

TestServers.suite("redis", available, (server) => {
  const url = RedisTests.urlOf(server)
  MemoryStores.suite("Redis", stores({ url }))
})

TestServers.suite("redisCluster", cluster, (nodes) => {
  MemoryStores.suite("A cluster of Redis", stores({ url: nodes.map(RedisTests.urlOf) }))
})
