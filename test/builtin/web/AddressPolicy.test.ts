import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as AddressPolicy from "../../../src/builtin/web/AddressPolicy.js"

const policy = (allowPrivate: boolean | ReadonlyArray<string>): AddressPolicy.Policy =>
  Either.getOrThrow(AddressPolicy.make(allowPrivate))

const answers =
  (...addresses: ReadonlyArray<string>): AddressPolicy.Resolve =>
  () =>
    Effect.succeed(addresses)

describe("AddressPolicy", () => {
  it.each([
    ["93.184.216.34", "public"],
    ["8.8.8.8", "public"],
    ["2606:4700:4700::1111", "public"],
    ["64:ff9b::808:808", "public"],
    ["::ffff:8.8.8.8", "public"],
    ["127.0.0.1", "loopback"],
    ["127.1", "loopback"],
    ["0x7f.1", "loopback"],
    ["2130706433", "loopback"],
    ["0177.0.0.1", "loopback"],
    ["::1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::7f00:1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["10.1.2.3", "private"],
    ["172.31.255.255", "private"],
    ["192.168.0.1", "private"],
    ["100.64.0.1", "private"],
    ["fc00::1", "private"],
    ["64:ff9b::a01:203", "private"],
    ["169.254.169.254", "link-local"],
    ["::ffff:169.254.169.254", "link-local"],
    ["0xa9fea9fe", "link-local"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fd00:ec2::254", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["0.0.0.0", "special"],
    ["::", "special"],
    ["224.0.0.1", "special"],
    ["255.255.255.255", "special"],
    ["240.0.0.1", "special"],
    ["192.0.2.1", "special"],
    ["198.18.0.1", "special"],
    ["2002:7f00:1::", "special"],
    ["2001::1", "special"],
    ["2001:db8::1", "special"],
    ["64:ff9b:1::1", "special"],
    ["fec0::1", "special"],
    ["ff02::1", "special"],
    ["4000::1", "special"],
    ["100::1", "special"]
  ])("classifies %s as %s", (address, range) => {
    assert.strictEqual(AddressPolicy.rangeOf(address), range)
  })

  it.each([[""], ["example.org"], ["1.2.3.4.5"], ["256.1.1.1"], ["::1::"], ["1".repeat(100_000)]])(
    "permits nothing that is not an address (%#)",
    (text) => {
      assert.isUndefined(AddressPolicy.rangeOf(text))
      assert.isFalse(policy(true).permits(text))
    }
  )

  it("treats an IPv4 address the same in every wrapping", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.ipV4(), (address) => {
        const octets = address.split(".").map(Number) as [number, number, number, number]
        const hex = octets.map((octet) => octet.toString(16).padStart(2, "0"))
        const tail = `${hex[0]}${hex[1]}:${hex[2]}${hex[3]}`
        const range = AddressPolicy.rangeOf(address)
        assert.strictEqual(AddressPolicy.rangeOf(`::ffff:${tail}`), range)
        assert.strictEqual(AddressPolicy.rangeOf(`64:ff9b::${tail}`), range)
        assert.strictEqual(AddressPolicy.rangeOf(String(Number.parseInt(hex.join(""), 16))), range)
        assert.strictEqual(AddressPolicy.rangeOf(octets.map((octet) => `0${octet.toString(8)}`).join(".")), range)
      })
    )
  })

  it("may allow private networks as a whole, but not addresses of machine credentials", () => {
    const all = policy(true)
    for (const address of ["127.0.0.1", "::1", "10.0.0.1", "fc00::1", "8.8.8.8"]) assert.isTrue(all.permits(address))
    for (const address of ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "224.0.0.1"]) {
      assert.isFalse(all.permits(address))
    }
  })

  it("allows exactly the listed networks", () => {
    const some = policy(["10.1.0.0/16", "127.0.0.1", "fd12::/16", "169.254.169.254"])
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1", "fd12::1", "169.254.169.254", "8.8.8.8"]) {
      assert.isTrue(some.permits(address), address)
    }
    for (const address of ["10.2.0.1", "127.0.0.2", "::1", "fd13::1", "192.168.0.1"]) {
      assert.isFalse(some.permits(address), address)
    }
  })

  it("reports an invalid entry", () => {
    assert.deepStrictEqual(AddressPolicy.make(["10.0.0.0/8", "10.0.0.0/99"]), Either.left("10.0.0.0/99"))
  })

  it.effect("rejects a host with one forbidden address", () =>
    Effect.gen(function* () {
      const refusal = yield* Effect.flip(
        AddressPolicy.check(policy(false), "rebind.example", answers("8.8.8.8", "10.0.0.1"))
      )
      assert.strictEqual(refusal.reason, "AddressNotAllowed")
      assert.notInclude(refusal.message, "10.0.0.1")
    })
  )

  it.effect("returns all addresses of a public host", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* AddressPolicy.check(policy(false), "example.org", answers("8.8.8.8", "2606:4700::1")),
        ["8.8.8.8", "2606:4700::1"]
      )
    })
  )

  it.effect("does not resolve localhost", () =>
    Effect.gen(function* () {
      for (const host of ["localhost", "LOCALHOST", "localhost.", "a.localhost"]) {
        const refusal = yield* Effect.flip(AddressPolicy.check(policy(false), host, answers("8.8.8.8")))
        assert.strictEqual(refusal.reason, "AddressNotAllowed", host)
      }
      assert.deepStrictEqual(yield* AddressPolicy.check(policy(["127.0.0.1"]), "localhost", answers("127.0.0.1")), [
        "127.0.0.1"
      ])
    })
  )

  it.effect("rejects missing, too many and invalid answers", () =>
    Effect.gen(function* () {
      const reasons = []
      for (const resolve of [
        answers(),
        answers(...Array.from({ length: 65 }, () => "8.8.8.8")),
        answers("example.org"),
        () => Effect.fail("SERVFAIL")
      ]) {
        reasons.push((yield* Effect.flip(AddressPolicy.check(policy(true), "example.org", resolve))).reason)
      }
      assert.deepStrictEqual(reasons, ["Unresolved", "Unresolved", "AddressNotAllowed", "Unresolved"])
    })
  )

  it.effect("resolves the local machine by the system", () =>
    Effect.gen(function* () {
      const addresses = yield* AddressPolicy.resolve("localhost")
      assert.isTrue(addresses.every((address) => AddressPolicy.rangeOf(address) === "loopback"))
      assert.isAbove(addresses.length, 0)
    })
  )
})
