/** The files of the built console. */
export interface ConsoleFiles {
  readonly read: (name: FileName) => Promise<Uint8Array>
  readonly brotli: (bytes: Uint8Array) => Promise<Uint8Array>
}

/** The names of the files that the build writes: the console's program and its styles. */
export const fileNames = ["console.js", "console.css"] as const
export type FileName = (typeof fileNames)[number]

/** The folder with the console's files. Its path is the same relative to the sources and to the build. */
const folderInPackage = (): URL => {
  // The path is not a literal, because bundlers resolve `new URL("…", import.meta.url)` to a file, and Next's bundler
  // fails on a folder.
  const path = ["..", "..", "dist", "console", ""].join("/")
  return new URL(path, import.meta.url)
}

/**
 * Finds the console's files; null if they are missing or the platform has no file system. They are missing in a program
 * that was bundled into one file, unless `folder` names a copy.
 */
export const find = (folder?: string | URL): ConsoleFiles | null => {
  try {
    // Loads Node's modules at run time, so that this file can be bundled for platforms without them.
    const { getBuiltinModule } = globalThis.process
    const fs = getBuiltinModule("node:fs")
    const zlib = getBuiltinModule("node:zlib")
    const pathOf = (name: FileName) => placeOf(folder ?? folderInPackage(), name)
    for (const name of fileNames) fs.accessSync(pathOf(name), fs.constants.R_OK)
    return {
      read: (name) => fs.promises.readFile(pathOf(name)),
      brotli: (bytes) =>
        new Promise((resolve, reject) => {
          zlib.brotliCompress(bytes, (error, packed) => (error === null ? resolve(packed) : reject(error)))
        })
    }
  } catch {
    return null
  }
}

const placeOf = (folder: string | URL, name: FileName): string | URL =>
  typeof folder === "string"
    ? `${folder.replace(/[\\/]+$/, "")}/${name}`
    : new URL(name, `${folder.href.replace(/\/*$/, "")}/`)
