import "./style.css"
import { render } from "preact"

/** The page of the console. */
const Console = () => (
  <main>
    <h1>Quotewire console</h1>
  </main>
)

const root = document.getElementById("console")
if (root !== null) render(<Console />, root)
