import { useEffect } from "preact/hooks"
import { CallPage, Calls } from "./pages/Calls.tsx"
import { Events } from "./pages/Events.tsx"
import { RequestPage } from "./pages/RequestPage.tsx"
import { Requests } from "./pages/Requests.tsx"
import { SignIn } from "./pages/SignIn.tsx"
import { Try } from "./pages/Try.tsx"
import { EndpointPage, Webhooks } from "./pages/Webhooks.tsx"
import { Clock } from "./parts/Clock.tsx"
import { type Place, place, to } from "./state/route.ts"
import { type Session, session, signOut } from "./state/session.ts"

const sections = [
  { name: "requests", text: "Requests" },
  { name: "events", text: "Events" },
  { name: "webhooks", text: "Webhooks" },
  { name: "calls", text: "Calls" }
] as const

/** The console: who you are, where you are, and the page. */
export const App = () => {
  const user = session.value
  const { path } = place.value
  const [section = "requests", id] = path
  const heading = `${section}/${id ?? ""}`
  // A new page begins at its heading, for readers of screens, too.
  useEffect(() => {
    document.querySelector<HTMLElement>("h1")?.focus()
    document.title = `${document.querySelector("h1")?.textContent ?? "Console"} · Quotewire`
  }, [heading, user])
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the page
      </button>
      <header class="top">
        <strong>Quotewire</strong>
        {user !== null && <Navigation section={section} sandbox={user.environment === "sandbox"} />}
        {user !== null && (
          <div class="row">
            <span class={`state ${user.environment === "live" ? "odd" : "none"}`}>{user.environment}</span>
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          </div>
        )}
      </header>
      {user?.environment === "sandbox" && <Clock session={user} />}
      <main id="page" tabIndex={-1}>
        {user === null ? <SignIn /> : <Page session={user} place={place.value} />}
      </main>
    </>
  )
}

/** Moves the focus. A link would change the address, which names the page. */
const skip = (): void => document.getElementById("page")?.focus()

const Navigation = ({ sandbox, section }: { readonly section: string; readonly sandbox: boolean }) => (
  <nav aria-label="Sections">
    <ul>
      {[...sections, ...(sandbox ? [{ name: "try", text: "Try" }] : [])].map(({ name, text }) => (
        <li key={name}>
          <a href={to([name])} aria-current={section === name ? "page" : undefined}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

const Page = ({ place: { path, query }, session: user }: { readonly session: Session; readonly place: Place }) => {
  const [section = "requests", id] = path
  switch (section) {
    case "requests":
      return id === undefined ? (
        <Requests session={user} query={query} />
      ) : (
        <RequestPage session={user} id={id} key={id} />
      )
    case "events":
      return <Events session={user} query={query} />
    case "webhooks":
      return id === undefined ? (
        <Webhooks session={user} />
      ) : (
        <EndpointPage session={user} id={id} event={path[2]} key={id} />
      )
    case "calls":
      return id === undefined ? <Calls session={user} query={query} /> : <CallPage session={user} id={id} key={id} />
    case "try":
      return <Try session={user} />
    default:
      return (
        <section class="page">
          <h1 tabIndex={-1}>No such page</h1>
          <p>
            See the <a href={to(["requests"])}>requests</a>.
          </p>
        </section>
      )
  }
}
