/** A self-signed certificate for `localhost` and 127.0.0.1, and its key, as PEM. */
import * as Crypto from "node:crypto"

const tlv = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: ReadonlyArray<Uint8Array>) => tlv(0x30, ...parts)
const hex = (text: string) => Buffer.from(text, "hex")
const time = (at: Date) => tlv(0x17, Buffer.from(`${at.toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`))

const ecdsaWithSha256 = sequence(hex("06082a8648ce3d040302"))
const name = sequence(tlv(0x31, sequence(hex("0603550403"), tlv(0x0c, Buffer.from("localhost")))))
const names = sequence(tlv(0x82, Buffer.from("localhost")), tlv(0x87, Buffer.from([127, 0, 0, 1])))

export const make = (): { readonly certificate: string; readonly key: string } => {
  const { privateKey, publicKey } = Crypto.generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const day = 24 * 60 * 60 * 1000
  const from = new Date(Date.now() - day)
  const signed = sequence(
    tlv(0xa0, hex("020102")),
    tlv(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time(from), time(new Date(from.getTime() + 3 * day))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(sequence(hex("0603551d11"), tlv(0x04, names))))
  )
  const signature = Crypto.sign("sha256", signed, privateKey)
  const der = sequence(signed, ecdsaWithSha256, tlv(0x03, Buffer.from([0]), signature))
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  }
}
