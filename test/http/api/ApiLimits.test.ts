import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { UserId } from "../../../src/domain/Ids.js"
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
})
