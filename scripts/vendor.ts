import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

/*
 * Downloads the script that renders the API reference into `packages/http`. Installing the script's package would also
 * install the hundreds of packages that it was built from. The build runs this; the downloaded script is not committed.
 */

/** The package that contains the script. If you change the version, change both hashes too. */
const name = "@scalar/api-reference"
const version = "1.72.1"
const tarballHash = "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow=="
const script = "package/dist/browser/standalone.js"
const scriptHash = "sha512-tU3J4euEo5lXIMy42HF4KUTdundzAMuHoOw2Z0WquNAbdigLVdAyOGPJJoCmhiSNVRnSgfNqbB1VdiIfNATEMg=="

const attempts = 3
/** How npm retries within each attempt. With its default settings, npm would wait for more than a minute. */
const retries = ["--fetch-retries=2", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=10000"]

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = join(root, "packages/http/vendor/scalar")
const file = join(folder, basename(script))
const manifest = join(folder, "version.json")

const hashOf = (path: string): string => `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`

const isThere = (): boolean => {
  try {
    return JSON.parse(readFileSync(manifest, "utf8")).version === version && hashOf(file) === scriptHash
  } catch {
    return false
  }
}

/** npm's settings, such as the registry, without the settings that make npm operate on workspaces. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([key]) => !/^npm_config_(workspaces?|include_workspace_root)$/i.test(key))
)

/** Downloads the package into a folder and checks it. npm handles the registry, the proxy and the credentials. */
const download = (into: string): string => {
  for (let attempt = 1; ; attempt++) {
    try {
      execFileSync("npm", ["pack", `${name}@${version}`, "--pack-destination", into, "--loglevel=error", ...retries], {
        cwd: root,
        env: environment,
        encoding: "utf8",
        stdio: "pipe"
      })
      const [tarball = ""] = readdirSync(into)
      const hash = hashOf(join(into, tarball))
      if (hash !== tarballHash) throw new Error(`its hash is ${hash}`)
      return join(into, tarball)
    } catch (error) {
      if (attempt === attempts) throw error
    }
  }
}

if (!isThere()) {
  const temporary = mkdtempSync(join(tmpdir(), "quotewire-vendor-"))
  try {
    const tarball = download(temporary)
    execFileSync("tar", ["-xzf", tarball, "-C", temporary, script])
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, readFileSync(join(temporary, script)))
    writeFileSync(manifest, `${JSON.stringify({ version })}\n`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, reason = message] = /npm error code (\S+)/.exec(message) ?? []
    console.error(
      `Cannot download ${name}@${version} with npm (${reason}). Check the network and the registry, then run "npm run build".`
    )
    process.exitCode = 1
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
