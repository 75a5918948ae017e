import { existsSync } from "node:fs"
import chromium from "@sparticuz/chromium"
import { type Browser, chromium as playwright } from "playwright-core"

/** Where Chromium is installed, for machines on which the one from npm does not run. */
const installed = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

/**
 * Starts a real Chromium without a window: the one from npm, which runs on Linux with x64, or an installed one.
 *
 * It enforces all rules of the web, such as those for cross-origin requests.
 */
export const startBrowser = async (): Promise<Browser> => {
  const runs = process.platform === "linux" && process.arch === "x64"
  const executable = runs ? await chromium.executablePath() : installed.find(existsSync)
  // Tests also run as root, where Chromium has no sandbox. They open only their own pages.
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
  return playwright.launch(
    executable === undefined ? { channel: "chrome", args } : { executablePath: executable, args }
  )
}
