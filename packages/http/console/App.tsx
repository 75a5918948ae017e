import { useLayoutEffect } from "preact/hooks"
import { OperatorPage, operatorSections } from "./operators/OperatorApp.tsx"
import { CallPage, Calls } from "./pages/Calls.tsx"
import { EndpointRecoveries } from "./pages/EndpointRecoveries.tsx"
import { Events } from "./pages/Events.tsx"
import { RequestPage } from "./pages/RequestPage.tsx"
import { Requests } from "./pages/Requests.tsx"
import { SharedPage } from "./pages/SharedPage.tsx"
import { SignIn } from "./pages/SignIn.tsx"
import { Try } from "./pages/Try.tsx"
import { EndpointPage, Webhooks } from "./pages/Webhooks.tsx"
import { NoSuchPage } from "./parts/basics.tsx"
import { Clock } from "./parts/Clock.tsx"
import { hostUrl } from "./state/host.ts"
import { type Place, place, to } from "./state/route.ts"
import { type OperatorSession, type Session, session, signOut } from "./state/session.ts"
import { isShared } from "./state/shared.ts"

const sections = [
  { name: "requests", text: "Requests" },
  { name: "events", text: "Events" },
  { name: "webhooks", text: "Webhooks" },
  { name: "calls", text: "Calls" }
] as const

/** The frame around every page of the console: the header, the navigation, and the sandbox's clock. */
export const App = () => {
  const user = isShared() ? null : session.value
  const { path } = place.value
  const [section = "requests", id] = path
  const heading = `${section}/${id ?? ""}`
  // Focuses the heading of a new page, so that screen readers start there. This must happen before the browser paints
  // the page; afterwards the user may already have focused a field.
  useLayoutEffect(() => {
    document.querySelector<HTMLElement>("h1")?.focus()
    document.title = `${document.querySelector("h1")?.textContent ?? "Console"} · Quotewire`
  }, [heading, user])
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to main content
      </button>
      <header class="top">
        <strong>Quotewire</strong>
        {user !== null && <Navigation section={section} sections={sectionsOf(user)} />}
        {user !== null && (
          <div class="row">
            <span class={`state ${worldOf(user) === "sandbox" ? "none" : "odd"}`}>{worldOf(user)}</span>
            {user._tag === "integrator" && <a href={`${hostUrl}/docs`}>API reference</a>}
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          </div>
        )}
      </header>
      {user?._tag === "integrator" && user.environment === "sandbox" && <Clock session={user} />}
      <main id="page" tabIndex={-1}>
        <Shown user={user} />
      </main>
    </>
  )
}

/** Moves the focus in code. A link to `#page` would change the address, which names the current page. */
const skip = (): void => document.getElementById("page")?.focus()

type User = Session | OperatorSession

const worldOf = (user: User): string => (user._tag === "operator" ? "operator" : user.environment)

const sectionsOf = (user: User): ReadonlyArray<Section> => {
  if (user._tag === "operator") return operatorSections
  return user.environment === "sandbox" ? [...sections, { name: "try", text: "Try" }] : sections
}

const Shown = ({ user }: { readonly user: User | null }) => {
  if (isShared()) return <SharedPage place={place.value} />
  if (user === null) return <SignIn />
  return user._tag === "operator" ? (
    <OperatorPage call={user.call} place={place.value} />
  ) : (
    <Page session={user} place={place.value} />
  )
}

interface Section {
  readonly name: string
  readonly text: string
}

const Navigation = ({
  section,
  sections: all
}: {
  readonly section: string
  readonly sections: ReadonlyArray<Section>
}) => (
  <nav aria-label="Sections">
    <ul>
      {all.map(({ name, text }) => (
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
      if (id === undefined) return <Webhooks session={user} />
      return path[2] === "recoveries" ? (
        <EndpointRecoveries session={user} id={id} key={id} />
      ) : (
        <EndpointPage session={user} id={id} event={path[2]} key={id} />
      )
    case "calls":
      return id === undefined ? <Calls session={user} query={query} /> : <CallPage session={user} id={id} key={id} />
    case "try":
      return <Try session={user} />
    default:
      return <NoSuchPage />
  }
}
