/**
 * Decides to which network addresses a model's request may go.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import IpAddress from "ipaddr.js"

type Ip = IpAddress.IPv4 | IpAddress.IPv6

/**
 * Category of an address. `link-local` is where clouds give machines their credentials, `metadata` the other addresses
 * used for that; `special` is everything else that is not for Internet hosts.
 *
 * @since 0.1.0
 * @category models
 */
export type Range = "public" | "loopback" | "private" | "link-local" | "metadata" | "special"

/**
 * @since 0.1.0
 * @category models
 */
export interface Policy {
  /** Also false for text that is not an address. */
  readonly permits: (address: string) => boolean
}

/**
 * All addresses of a name; fails if there are none.
 *
 * @since 0.1.0
 * @category models
 */
export type Resolve = (host: string) => Effect.Effect<ReadonlyArray<string>, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export interface Refusal {
  readonly reason: "AddressNotAllowed" | "Unresolved"
  readonly message: string
}

// Addresses outside the link-local range at which clouds give machines their credentials.
const metadata: ReadonlySet<string> = new Set([
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2:0:0:0:0:0:254"
])

const globalUnicast = IpAddress.IPv6.parseCIDR("2000::/3")
const nat64 = IpAddress.IPv6.parseCIDR("64:ff9b::/96")
const compatible = IpAddress.IPv6.parseCIDR("::/96")

/** An address that wraps an IPv4 address leads to that address. */
const unwrapped = (ip: Ip): Ip => {
  if (ip.kind() === "ipv4") return ip
  const six = ip as IpAddress.IPv6
  const bytes = six.toByteArray()
  const isWrapped =
    six.match(nat64) ||
    six.isIPv4MappedAddress() ||
    (six.match(compatible) && bytes.slice(12, 14).some((byte) => byte > 0))
  return isWrapped ? new IpAddress.IPv4(bytes.slice(12)) : ip
}

const parse = (address: string): Ip | undefined =>
  // Long texts are not addresses and are not matched against patterns.
  address.length <= 100 && IpAddress.isValid(address) ? unwrapped(IpAddress.parse(address)) : undefined

const rangeOfIp = (ip: Ip): Range => {
  if (metadata.has(ip.toNormalizedString())) return "metadata"
  const range = ip.range()
  switch (range) {
    case "unicast":
      return ip.kind() === "ipv4" || ip.match(globalUnicast) ? "public" : "special"
    case "loopback":
      return "loopback"
    case "private":
    case "uniqueLocal":
    case "carrierGradeNat":
      return "private"
    case "linkLocal":
      return "link-local"
    default:
      return "special"
  }
}

/**
 * Category of an address in any notation (`0x7f.1`, `::ffff:127.0.0.1`, `64:ff9b::7f00:1`); `undefined` if it is not
 * one.
 *
 * @since 0.1.0
 * @category conversions
 */
export const rangeOf = (address: string): Range | undefined => {
  const ip = parse(address)
  return ip === undefined ? undefined : rangeOfIp(ip)
}

/**
 * Permits public addresses; `true` adds this machine and private networks; a list (`10.0.0.0/8`, `127.0.0.1`) adds
 * exactly its entries. `Left` is a list entry that is neither an address nor a network.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (allowPrivate: boolean | ReadonlyArray<string>): Either.Either<Policy, string> => {
  const networks: Array<readonly [Ip, number]> = []
  for (const entry of typeof allowPrivate === "boolean" ? [] : allowPrivate) {
    if (IpAddress.isValidCIDR(entry)) networks.push(IpAddress.parseCIDR(entry))
    else if (IpAddress.isValid(entry)) {
      const ip = unwrapped(IpAddress.parse(entry))
      networks.push([ip, ip.kind() === "ipv4" ? 32 : 128])
    } else return Either.left(entry)
  }
  return Either.right({
    permits: (address) => {
      const ip = parse(address)
      if (ip === undefined) return false
      const range = rangeOfIp(ip)
      if (range === "public" || (allowPrivate === true && (range === "loopback" || range === "private"))) return true
      return networks.some(([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits))
    }
  })
}

/**
 * The system's resolver.
 *
 * @since 0.1.0
 * @category constructors
 */
export const resolve: Resolve = (host) =>
  Effect.tryPromise(async () => {
    const { lookup } = await import("node:dns/promises")
    const found = await lookup(host, { all: true, verbatim: true })
    return found.map(({ address }) => address)
  })

/** More than any honest name has. */
const maxAddresses = 64

const refused = (what: string): Refusal => ({
  reason: "AddressNotAllowed",
  message: `${what} is not on the public Internet`
})

/**
 * The addresses that a connection to a host may use. One forbidden address refuses them all, because which one a
 * connection would use is not decided here. `host` is as `URL` writes it, with IPv6 addresses in brackets.
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = (
  policy: Policy,
  host: string,
  resolve: Resolve
): Effect.Effect<ReadonlyArray<string>, Refusal> => {
  const name = host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "").toLowerCase()
  if (IpAddress.isValid(name))
    return policy.permits(name) ? Effect.succeed([name]) : Effect.fail(refused("The address"))
  // These names mean this machine, whatever a resolver says.
  if ((name === "localhost" || name.endsWith(".localhost")) && !policy.permits("127.0.0.1")) {
    return Effect.fail(refused(`The host "${name}"`))
  }
  return Effect.flatMap(
    Effect.mapError(
      resolve(name),
      (): Refusal => ({ reason: "Unresolved", message: `The host "${name}" was not found` })
    ),
    (addresses) => {
      if (addresses.length === 0 || addresses.length > maxAddresses) {
        return Effect.fail<Refusal>({ reason: "Unresolved", message: `The host "${name}" has no usable address` })
      }
      return addresses.every(policy.permits) ? Effect.succeed(addresses) : Effect.fail(refused(`The host "${name}"`))
    }
  )
}
