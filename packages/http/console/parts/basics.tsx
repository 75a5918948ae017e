import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { ApiError } from "../../src/client/index.ts"
import type { Loaded } from "../state/loading.ts"
import { to } from "../state/route.ts"
import { moment, shortId, visible } from "../words/format.ts"
import type { State } from "../words/states.ts"

/** A state, shown as a word on a colored background. */
export const Tag = ({ text, tone }: State) => <span class={`state ${tone}`}>{visible(text)}</span>

/** Text from an untrusted source, isolated so that its writing direction does not affect the text around it. */
export const Outside = ({ text }: { readonly text: string }) => <bdi>{visible(text)}</bdi>

/** A time. Its `datetime` attribute and its tooltip contain the full date. */
export const Time = ({ at, children }: { readonly at: string; readonly children?: ComponentChildren }) => (
  <time dateTime={at} title={moment(at)}>
    {children ?? moment(at)}
  </time>
)

/** A button that copies text and briefly confirms it, to screen readers too. */
export const Copy = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => {}
    )
  return (
    <button type="button" class="copy" onClick={copy}>
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </button>
  )
}

/** A shortened ID with a button that copies the whole ID. */
export const Id = ({ id }: { readonly id: string }) => (
  <span class="row tight">
    <code title={id}>{shortId(id)}</code>
    <Copy label="Copy" text={id} />
  </span>
)

/** An API error: the reason, and what to do next. */
export const Failure = ({ error, retry }: { readonly error: unknown; readonly retry?: (() => void) | undefined }) => {
  if (error === null || error === undefined) return null
  const message = error instanceof Error ? error.message : String(error)
  const all = error instanceof ApiError ? (error.field_errors ?? []) : []
  // If only one field is wrong, the message already describes it.
  const fields = all.filter(({ message: says }) => !message.includes(says))
  const id = error instanceof ApiError ? error.request_id : null
  return (
    <div class="note bad-note" role="alert">
      <p>
        <Outside text={message} />
      </p>
      {fields.length > 0 && (
        <ul class="list">
          {fields.map(({ message: says, path }) => (
            <li key={path}>
              <code>
                <Outside text={path} />
              </code>{" "}
              <Outside text={says} />
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        {retry !== undefined && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        {id !== null && (
          <span class="minor">
            Request <code>{id}</code>
          </span>
        )}
      </div>
    </div>
  )
}

/** A message for an empty list. It says that nothing is here yet, and what to do. */
export const Empty = ({ children }: { readonly children: ComponentChildren }) => <p class="empty">{children}</p>

/**
 * Shows loaded data. Until the first response arrives, it shows a loading state. After a failure, it keeps the last
 * data and says how old that data is.
 */
export const Show = <A,>({
  children,
  of: { at, error, reload, value }
}: {
  readonly of: Loaded<A>
  readonly children: (value: A) => ComponentChildren
}) => (
  <>
    {error !== null && <Failure error={error} retry={reload} />}
    {error !== null && at !== null && (
      <p class="minor">What follows is from {new Date(at).toISOString().slice(11, 19)} UTC.</p>
    )}
    {value !== null && children(value)}
    {value === null && error === null && (
      <p class="loading" role="status">
        Loading…
      </p>
    )}
  </>
)

/** Sets style properties in code, because the content security policy forbids style attributes. */
export const usePlaced = <E extends HTMLElement>(properties: Readonly<Record<string, string>>) => {
  const ref = useRef<E>(null)
  useLayoutEffect(() => {
    for (const [name, value] of Object.entries(properties)) ref.current?.style.setProperty(name, value)
  })
  return ref
}

/** A list of names and values, side by side. */
export const Facts = ({
  of: rows
}: {
  readonly of: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}) => (
  <dl class="facts">
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** A wrapper for wide tables, which lets them scroll sideways on narrow screens. */
export const Wide = ({ children, label }: { readonly label: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without a mouse, only what has the focus can be scrolled
  <section class="scroll" tabIndex={0} aria-label={label}>
    {children}
  </section>
)

/** The page for an unknown address. */
export const NoSuchPage = () => (
  <section class="page">
    <h1 tabIndex={-1}>No such page</h1>
    <p>
      See the <a href={to(["requests"])}>requests</a>.
    </p>
  </section>
)
