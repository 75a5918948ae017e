import "./style.css"
import { render } from "preact"
import { App } from "./App.tsx"
import { followLinks } from "./state/route.ts"
import { begin } from "./state/session.ts"

const root = document.getElementById("console")
if (root !== null) {
  followLinks()
  await begin()
  render(<App />, root)
}
