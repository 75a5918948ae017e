import { generateKeyPairSync, sign } from "node:crypto"

/** A key and its self-signed certificate, in PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const time = (text: string) => der(0x18, Buffer.from(text))

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const commonName = (name: string) => sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))))

const alternative = (name: string): Buffer =>
  /^[0-9.]+$/.test(name) ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name))

/** Makes a certificate for names and IPv4 addresses. */
export const make = (...names: ReadonlyArray<string>): Certificate => until("21200101000000Z", names)

/** Makes a certificate that has expired. */
export const expired = (...names: ReadonlyArray<string>): Certificate => until("20210101000000Z", names)

const until = (end: string, names: ReadonlyArray<string>): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" })
  const issuer = commonName("Quotewire test")
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    issuer,
    sequence(time("20200101000000Z"), time(end)),
    issuer,
    publicKey.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      sequence(
        sequence(oid("551d11"), der(0x04, sequence(...names.map(alternative)))),
        sequence(oid("551d13"), der(0x04, sequence(der(0x01, Buffer.from([255])))))
      )
    )
  )
  const signature = sign("sha256", toBeSigned, privateKey)
  const certificate = sequence(toBeSigned, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`
  }
}
