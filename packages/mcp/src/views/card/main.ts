import { draw } from "./draw.ts"
import { element } from "./elements.ts"
import { connect, type HostContext, isFields } from "./Host.ts"
import { type Result, read } from "./Result.ts"

/**
 * The colors that the page takes from the client program. It takes all of them or none, so that text stays readable on
 * its background.
 */
const colors = [
  "--color-background-primary",
  "--color-background-secondary",
  "--color-text-primary",
  "--color-text-secondary",
  "--color-border-primary",
  "--color-border-secondary"
]

const adoptStyle = (root: HTMLElement, { styles, theme }: HostContext): void => {
  if (theme === "light" || theme === "dark") root.style.colorScheme = theme
  const variables = isFields(styles) && isFields(styles.variables) ? styles.variables : {}
  const adopted = colors.every((name) => typeof variables[name] === "string")
    ? [...colors, "--font-sans"]
    : ["--font-sans"]
  for (const name of adopted) {
    const value = variables[name]
    if (typeof value === "string") root.style.setProperty(name, value)
  }
}

/** Shows the results that the client program sends to this page. */
const start = (page: Window): void => {
  const { document } = page
  const root = document.documentElement
  const title = document.querySelector("h1") ?? root.appendChild(element("h1", ""))
  const state = document.querySelector("header p") ?? root.appendChild(element("p", ""))
  const body = document.querySelector("#body") ?? root.appendChild(element("div", ""))
  let timeZone: string | undefined
  let result: Result | null = null

  const show = (nextResult: Result): void => {
    const drawn = draw(nextResult, { timeZone, now: Date.now(), openLink: (url) => host.openLink(url) })
    result = nextResult
    title.textContent = drawn.title
    state.replaceChildren(...drawn.state)
    body.replaceChildren(...drawn.body)
  }
  const host = connect(page, {
    onContext: (context) => {
      adoptStyle(root, context)
      if (typeof context.timeZone !== "string") return
      timeZone = context.timeZone
      if (result !== null) show(result)
    },
    onResult: (params) => show(read(params)),
    onCancelled: () => show({ _tag: "message", title: "No response", text: "The call was stopped." })
  })
  new ResizeObserver(() => host.resized(Math.ceil(root.getBoundingClientRect().height))).observe(root)
}

start(window)
