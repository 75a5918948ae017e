import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { brotliCompress, constants } from "node:zlib"
import { Option, Schema } from "effect"
import type { Scalar } from "../documents/Scalar.ts"

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** The folder of the script. Its path is the same relative to the sources and to the build. */
const folder = new URL("../../vendor/scalar/", import.meta.url)

/** Finds the script in this package; null if it is missing, as in a program that was bundled into one file. */
export const find = (folderUrl: URL = folder): Scalar | null => {
  try {
    const manifest = readFileSync(new URL("version.json", folderUrl), "utf8")
    const { version } = Option.getOrThrow(Schema.decodeOption(Manifest)(manifest))
    return {
      version,
      read: () => readFile(new URL("standalone.js", folderUrl)),
      brotli: (bytes) => promisify(brotliCompress)(bytes, { params: quality })
    }
  } catch {
    return null
  }
}

/** At this quality, several megabytes compress quickly, and the result is hardly larger than at the best quality. */
const quality = { [constants.BROTLI_PARAM_QUALITY]: 5 }
