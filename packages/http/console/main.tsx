import "./style.css"
import { render } from "preact"
import { App } from "./App.tsx"
import { followLinks } from "./state/route.ts"
import { begin } from "./state/session.ts"
import { beginShared, isShared } from "./state/shared.ts"

const root = document.getElementById("console")
if (root !== null) {
  followLinks()
  addEventListener("hashchange", beginShared)
  beginShared()
  if (!isShared()) await begin()
  render(<App />, root)
}
