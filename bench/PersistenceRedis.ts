/** Stores in Redis, compared with `ioredis` sending the same commands. */
import { randomUUID } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { Redis } from "ioredis"
import * as RedisCacheBackend from "../src/persistence/redis/RedisCacheBackend.js"
import * as RedisClient from "../src/persistence/redis/RedisClient.js"
import * as RedisRateLimitStore from "../src/persistence/redis/RedisRateLimitStore.js"
import * as RedisSessionStore from "../src/persistence/redis/RedisSessionStore.js"
import type { Row } from "./Harness.js"
import { type Above, compare, repeated } from "./Persistence.js"
import { type Operation, sessionOperations } from "./StoreOperations.js"

const answer = JSON.stringify({ text: "an answer that was paid for once ".repeat(30), usage: { tokens: 300 } })

const operations = (prefix: string): ReadonlyArray<Operation<RedisClient.RedisClient>> => {
  const caches = RedisCacheBackend.make({ prefix })
  const common = { times: 60, durable: false, table: undefined }
  return [
    ...sessionOperations(RedisSessionStore.make({ prefix }), undefined),
    {
      ...common,
      name: "cache: set",
      make: Effect.map(caches, (cache) => (n) => cache.set(`key ${n}`, answer, { ttl: "1 hour" }))
    },
    {
      ...common,
      name: "cache: get",
      make: Effect.gen(function* () {
        const cache = yield* caches
        yield* cache.set("key", answer, { ttl: "1 hour" })
        return () => cache.get("key")
      })
    },
    {
      ...common,
      name: "rates: take",
      make: Effect.map(
        RedisRateLimitStore.make({ prefix }),
        (rates) => () => rates.take({ key: "user", amount: 1, limit: 1_000_000, windowMs: 60_000 })
      )
    }
  ]
}

interface Command {
  readonly name: string
  readonly args: ReadonlyArray<string | number>
}

const recorder = (client: RedisClient.Service) => {
  let seen: Array<Command> = []
  return {
    client: {
      ...client,
      command: (name, ...args) => {
        seen.push({ name, args })
        return client.command(name, ...args)
      },
      evaluate: (script, keys, args) => {
        seen.push({ name: "evalsha", args: [script.sha, keys.length, ...keys, ...args] })
        return client.evaluate(script, keys, args)
      }
    } satisfies RedisClient.Service,
    take: () => {
      const taken = seen
      seen = []
      return taken
    }
  }
}

/** Returns the command for other keys, with its JSON texts serialized each time. */
const prepare = (command: Command, from: string, to: string): (() => Array<string | number>) => {
  const args = command.args.map((arg) => {
    if (typeof arg !== "string") return arg
    if (arg.startsWith("{") && arg.endsWith("}")) {
      try {
        return { value: JSON.parse(arg) as unknown }
      } catch {
        // Key name, in braces for its slot.
      }
    }
    return arg.replace(from, to)
  })
  return () => args.map((arg) => (typeof arg === "object" ? JSON.stringify(arg.value) : arg))
}

const read = (reply: unknown): void => {
  if (Array.isArray(reply)) for (const one of reply) read(one)
  else if (typeof reply === "string" && reply.startsWith("{")) JSON.parse(reply)
}

export const rows = async (
  url: string,
  options: { readonly rounds: number; readonly warmup: number; readonly above: Above }
): Promise<ReadonlyArray<Row>> => {
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(RedisClient.layer({ url: Redacted.make(url) }), scope))
  const client = Context.get(context, RedisClient.RedisClient)
  const redis = new Redis(url)
  const prefixes = ["r", "o", "d"].map((which) => `bench-${which}-${randomUUID()}`) as [string, string, string]
  const [written, ours, theirs] = prefixes
  const rows: Array<Row> = []
  try {
    for (const [at, { name, times }] of operations(written).entries()) {
      const makeOf = (prefix: string, of: RedisClient.Service) =>
        Effect.runPromise(
          Effect.provideService(
            (operations(prefix)[at] as Operation<RedisClient.RedisClient>).make,
            RedisClient.RedisClient,
            of
          )
        )
      const commands = recorder(client)
      const recorded = await makeOf(written, commands.client)
      commands.take()
      const prepared: Array<ReadonlyArray<{ readonly name: string; readonly args: () => Array<string | number> }>> = []
      for (let n = 0; n < (options.warmup + options.rounds) * times; n++) {
        await Effect.runPromise(recorded(n))
        prepared.push(commands.take().map((one) => ({ name: one.name, args: prepare(one, written, theirs) })))
      }
      const act = await makeOf(ours, client)
      await makeOf(theirs, client)
      rows.push(
        ...(await compare(
          `Redis ${name}`,
          {
            times,
            inProcess: false,
            store: (from) => repeated(act, from, times),
            driver: (from) => async () => {
              for (const commands of prepared.slice(from, from + times)) {
                for (const { args, name } of commands) read(await redis.call(name, args()))
              }
            }
          },
          options
        ))
      )
    }
  } finally {
    for (const prefix of prefixes) {
      for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
        for await (const keys of redis.scanStream({ match: pattern, count: 1000 })) {
          if (keys.length > 0) await redis.unlink(keys as Array<string>)
        }
      }
    }
    await redis.quit()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  return rows
}
