import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { UserId } from "../../../src/domain/Ids.js"
import { ApiError } from "../../../src/http/api/ApiError.js"
import * as ApiLimits from "../../../src/http/api/ApiLimits.js"

const of = (name: string) => ({ userId: UserId.make(name) })

describe("ApiLimits", () => {
  it.effect("lets a caller go on as time passes, and says when", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ requestsPerMinute: 60 })
      for (let n = 0; n < 6; n++) yield* limits.request(of("ann"))
      const refused = yield* Effect.flip(limits.request(of("ann")))
      assert.deepInclude(refused, { reason: "rate", retryAfter: 1 })
      yield* limits.request(of("bob"))
      yield* TestClock.adjust("1 second")
      yield* limits.request(of("ann"))
      yield* Effect.flip(limits.request(of("ann")))
      yield* TestClock.adjust("1 minute")
      for (let n = 0; n < 6; n++) yield* limits.request(of("ann"))
      yield* Effect.flip(limits.request(of("ann")))
    })
  )

  it.effect("keeps tenants apart, and forgets the caller seen first", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ requestsPerMinute: 1, maxCallers: 2 })
      yield* limits.request(of("ann"))
      yield* limits.request({ ...of("ann"), tenantId: UserId.make("north") })
      yield* Effect.flip(limits.request(of("ann")))
      yield* limits.request(of("bob"))
      yield* limits.request(of("ann"))
    })
  )

  it.effect("counts streams until they end", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ maxStreams: 1 })
      const scope = yield* Scope.make()
      yield* Scope.extend(limits.stream(of("ann")), scope)
      assert.strictEqual((yield* Effect.flip(Effect.scoped(limits.stream(of("ann"))))).reason, "rate")
      yield* Effect.scoped(limits.stream(of("bob")))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.scoped(limits.stream(of("ann")))
    })
  )

  const from = (remoteAddress: string | undefined, forwarded?: string) =>
    HttpServerRequest.fromWeb(
      new Request("http://localhost/", forwarded === undefined ? {} : { headers: { "x-forwarded-for": forwarded } })
    ).modify(remoteAddress === undefined ? {} : { remoteAddress })
  const wrong = new ApiError({ reason: "unauthenticated", message: "The credentials are not valid" })
  const good = Effect.succeed(of("ann"))

  it.effect("slows down addresses without good credentials, whatever they send then", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ refusalsPerMinute: 30 })
      const guess = (request = from("192.0.2.1")) =>
        Effect.map(Effect.flip(limits.attempt(request, wrong)), ({ reason }) => reason)
      for (let n = 0; n < 50; n++) yield* limits.attempt(from("192.0.2.1"), good)
      for (let n = 0; n < 3; n++) assert.strictEqual(yield* guess(), "unauthenticated")
      assert.deepInclude(yield* Effect.flip(limits.attempt(from("192.0.2.1"), good)), { reason: "rate", retryAfter: 2 })
      assert.strictEqual(yield* guess(from("::ffff:192.0.2.1")), "rate")
      // A header that no option trusts is no other address.
      assert.strictEqual(yield* guess(from("192.0.2.1", "192.0.2.9")), "rate")
      yield* limits.attempt(from("192.0.2.2"), good)
      yield* TestClock.adjust("2 seconds")
      yield* limits.attempt(from("192.0.2.1"), good)
      // Failures that are no refusals do not count, and an address that is not known neither.
      const down = new ApiError({ reason: "unavailable", message: "The key set is not there" })
      for (let n = 0; n < 10; n++) {
        assert.strictEqual((yield* Effect.flip(limits.attempt(from("192.0.2.3"), down))).reason, "unavailable")
        assert.strictEqual(yield* guess(from(undefined)), "unauthenticated")
      }
    })
  )

  it.effect("slows down many guesses at once as much as one after another", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ refusalsPerMinute: 60 })
      const late = Effect.zipRight(Effect.yieldNow(), wrong)
      const guesses = Array.from({ length: 100 }, () => Effect.flip(limits.attempt(from("192.0.2.1"), late)))
      yield* Effect.all(guesses, { concurrency: "unbounded" })
      yield* TestClock.adjust("90 seconds")
      yield* Effect.flip(limits.attempt(from("192.0.2.1"), good))
      yield* TestClock.adjust("10 seconds")
      yield* limits.attempt(from("192.0.2.1"), good)
    })
  )

  it.effect("takes the address from as many proxies as there are, and the network of IPv6", () =>
    Effect.gen(function* () {
      const limits = ApiLimits.make({ refusalsPerMinute: 1, proxies: 2 })
      const reasonOf = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.map(Effect.flip(limits.attempt(request, wrong)), ({ reason }) => reason)
      const through = (forwarded: string) => reasonOf(from("10.0.0.1", forwarded))
      assert.strictEqual(yield* through("203.0.113.1, 10.0.0.2"), "unauthenticated")
      // What a caller claims stands before what the proxies add.
      assert.strictEqual(yield* through("198.51.100.7, 203.0.113.1:4711, 10.0.0.2"), "rate")
      assert.strictEqual(yield* through("203.0.113.2, 10.0.0.2"), "unauthenticated")
      assert.strictEqual(yield* through("[2001:db8::1]:443, 10.0.0.2"), "unauthenticated")
      assert.strictEqual(yield* through("2001:db8:0:0:a:b:c:d, 10.0.0.2"), "rate")
      assert.strictEqual(yield* through("2001:db8:0:1::1, 10.0.0.2"), "unauthenticated")
      // One that did not come through them has its own address.
      assert.strictEqual(yield* through("203.0.113.1"), "unauthenticated")
      assert.strictEqual(yield* reasonOf(from("10.0.0.1")), "rate")
    })
  )
})
