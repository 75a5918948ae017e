import type { Older } from "../state/older.ts"
import { Failure } from "./basics.tsx"

/** A button that loads the next page of a list. If that fails, it shows why. */
export const MoreButton = ({
  label,
  of: { busy, error, more }
}: {
  readonly label: string
  readonly of: Pick<Older<unknown>, "busy" | "error" | "more">
}) => (
  <>
    {more !== null && (
      <button type="button" onClick={more} disabled={busy}>
        {busy ? "Loading…" : label}
      </button>
    )}
    <Failure error={error} retry={more ?? undefined} />
  </>
)
