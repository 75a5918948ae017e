import { createHash } from "node:crypto"
import { type Component, keyOf } from "./shipped.ts"

/*
 * Bills of materials (SBOMs), in the two formats that scanners read: lists of what is shipped. The same release always
 * gives the same SBOMs, byte for byte.
 */

/** What a bill of materials is about, and when the release was made. */
export interface BomSubject {
  /** The main component, `quotewire`, which includes all others. */
  readonly subject: Component
  /** The time of the release, such as `2026-12-01T09:00:00Z`. */
  readonly created: string
}

/** The component's package URL, a standard identifier that scanners understand. */
export const purlOf = ({ name, version }: Component): string => `pkg:npm/${name.replace("@", "%40")}@${version}`

const registryAddressOf = ({ name, version }: Component): string =>
  `https://registry.npmjs.org/${name}/-/${name.replace(/^.*\//, "")}-${version}.tgz`

const hexOf = ({ integrity }: Component): string =>
  Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex")

/** A UUID that depends only on a text (version 8 of RFC 9562). */
const uuidOf = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5")

const identityOf = (components: ReadonlyArray<Component>, { created }: BomSubject): string =>
  uuidOf(JSON.stringify([created, components]))

const licenseOf = (license: string) =>
  / (?:OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }

/** The SBOM of these components, in the CycloneDX 1.6 format. */
export const cycloneDx = (components: ReadonlyArray<Component>, about: BomSubject) => {
  const described = (component: Component) => ({
    type: keyOf(component) === keyOf(about.subject) ? "application" : "library",
    "bom-ref": purlOf(component),
    name: component.name,
    version: component.version,
    purl: purlOf(component),
    licenses: [licenseOf(component.license)],
    hashes: [{ alg: "SHA-512", content: hexOf(component) }],
    ...(component.isCopy ? {} : { externalReferences: [{ type: "distribution", url: registryAddressOf(component) }] })
  })
  const byKey = new Map(components.map((component) => [keyOf(component), component]))
  const refsOf = (keys: ReadonlyArray<string>) =>
    keys.flatMap((key) => {
      const component = byKey.get(key)
      return component === undefined ? [] : [purlOf(component)]
    })
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${identityOf(components, about)}`,
    version: 1,
    metadata: { timestamp: about.created, component: described(about.subject) },
    components: components.filter((component) => keyOf(component) !== keyOf(about.subject)).map(described),
    dependencies: components.map((component) => ({
      ref: purlOf(component),
      dependsOn: refsOf([...component.dependsOn, ...component.contains])
    }))
  }
}

const spdxId = (key: string): string => `SPDXRef-${key.replaceAll(/[^0-9A-Za-z.-]+/g, "-").replace(/^-/, "")}`

/** The SBOM of these components, in the SPDX 2.3 format. */
export const spdx = (components: ReadonlyArray<Component>, about: BomSubject) => {
  const name = keyOf(about.subject)
  const relations = (component: Component, kind: string, relatedKeys: ReadonlyArray<string>) =>
    relatedKeys.map((relatedKey) => ({
      spdxElementId: spdxId(keyOf(component)),
      relationshipType: kind,
      relatedSpdxElement: spdxId(relatedKey)
    }))
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name,
    documentNamespace: `https://spdx.org/spdxdocs/${name.replace("@", "-")}-${identityOf(components, about)}`,
    creationInfo: { created: about.created, creators: [`Tool: quotewire-release-${about.subject.version}`] },
    packages: components.map((component) => ({
      SPDXID: spdxId(keyOf(component)),
      name: component.name,
      versionInfo: component.version,
      downloadLocation: component.isCopy ? "NOASSERTION" : registryAddressOf(component),
      filesAnalyzed: false,
      licenseConcluded: component.license,
      licenseDeclared: component.license,
      copyrightText: "NOASSERTION",
      checksums: [{ algorithm: "SHA512", checksumValue: hexOf(component) }],
      externalRefs: [
        { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purlOf(component) }
      ]
    })),
    relationships: [
      {
        spdxElementId: "SPDXRef-DOCUMENT",
        relationshipType: "DESCRIBES",
        relatedSpdxElement: spdxId(name)
      },
      ...components.flatMap((component) => [
        ...relations(component, "DEPENDS_ON", component.dependsOn),
        ...relations(component, "CONTAINS", component.contains)
      ])
    ]
  }
}
