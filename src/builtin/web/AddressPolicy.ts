/**
 * Which network addresses a request of a model may go to.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import IpAddress from "ipaddr.js"

type Ip = IpAddress.IPv4 | IpAddress.IPv6

/**
 * Where an address lies. `link-local` is where clouds tell machines their credentials, `metadata` the other addresses
 * they use for that; `special` is everything else that is not for hosts on the Internet.
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
  /** False for what is no address, too. */
  readonly permits: (address: string) => boolean
}

/**
 * Every address of a name; fails when there are none to be had.
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

// Addresses at which clouds hand credentials to their machines, outside of the link-local range.
const metadata: ReadonlySet<string> = new Set([
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2:0:0:0:0:0:254"
])

const globalUnicast = IpAddress.IPv6.parseCIDR("2000::/3")
const nat64 = IpAddress.IPv6.parseCIDR("64:ff9b::/96")
const compatible = IpAddress.IPv6.parseCIDR("::/96")

/** An address that only wraps one of IPv4 leads to that one. */
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
  // Long texts are no addresses, and no pattern has to look at them.
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
 * Where an address lies, in whatever form it is written (`0x7f.1`, `::ffff:127.0.0.1`, `64:ff9b::7f00:1`); `undefined`
 * for what is none.
 *
 * @since 0.1.0
 * @category conversions
 */
export const rangeOf = (address: string): Range | undefined => {
  const ip = parse(address)
  return ip === undefined ? undefined : rangeOfIp(ip)
}

/**
 * Public addresses alone; with `true` those of the own machine and of private networks, too; with a list (`10.0.0.0/8`,
 * `127.0.0.1`) exactly those in it, too. `Left` is the entry of the list that is neither an address nor a network.
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
 * The resolver of the system.
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
 * The addresses a connection to a host may be made to. One that is not permitted among them refuses them all: which of
 * them a connection would take is for others to decide. `host` is as `URL` gives it, addresses of IPv6 in brackets.
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
  // These names mean the own machine, whatever a resolver says.
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
