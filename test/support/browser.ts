import { existsSync } from "node:fs"
import chromium from "@sparticuz/chromium"
import { type Browser, chromium as playwright } from "playwright-core"

/** Where Chromium is installed, for machines on which the one from npm does not run. */
const installed = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

/** The Chromium from npm runs on Linux with x64. It is unpacked when its path is first asked for. */
const unpacked = (): Promise<string> | undefined =>
  process.platform === "linux" && process.arch === "x64" ? chromium.executablePath() : undefined

/**
 * Unpacks Chromium before a test run: two files that did so concurrently would start one that is still being written.
 */
export const setup = async (): Promise<void> => void (await unpacked())

/**
 * Starts a real Chromium without a window: the one from npm, which runs on Linux with x64, or an installed one.
 *
 * It enforces all rules of the web, such as those for cross-origin requests.
 */
export const startBrowser = async (): Promise<Browser> => {
  const executable = (await unpacked()) ?? installed.find(existsSync)
  // Tests also run as root, where Chromium has no sandbox. They open only their own pages.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
  return playwright.launch(
    executable === undefined ? { channel: "chrome", args } : { executablePath: executable, args }
  )
}
