import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import * as Monotonic from "../concurrency/Monotonic.ts"
import * as Change from "../storage/Change.ts"
import { LongPolls, type WaitForHint } from "../storage/Hints.ts"
import * as Kind from "../storage/Kind.ts"
import { commit, retryOnConflict, Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { WorkspaceId } from "../wire/Ids.ts"

/** The record kind for mailboxes, keyed by name. `text` is null once the receiver has stopped waiting. */
export const kind = Kind.make({
  name: "mailbox",
  schema: Schema.Struct({ text: Schema.NullOr(Schema.String) }),
  // Sealed, because a message can contain facts about a person.
  sealed: true,
  kept_for: { minutes: 30, clock: "real" },
  wakes: "itself"
})

/**
 * A mailbox for one message. Choose a new name that nobody can guess, because anybody who knows the name can send to
 * the mailbox.
 */
export interface Mailbox {
  readonly workspace_id: WorkspaceId
  readonly name: string
}

/** Passes a message from one host to another host that waits for the message, through their shared storage. */
export class Mailboxes extends Context.Service<
  Mailboxes,
  {
    /**
     * Puts a message into a mailbox, and returns whether the mailbox accepted it. A mailbox accepts only one message,
     * and rejects it if the receiver has stopped waiting.
     */
    readonly send: (mailbox: Mailbox, text: string) => Effect.Effect<boolean, StorageUnavailable>
    /**
     * Waits for the message and erases it. Returns null if no message arrives within `wait_ms` milliseconds of real
     * time, if the process is shutting down, or if too many calls are already waiting.
     *
     * Afterwards the mailbox accepts no message, even if the wait was interrupted.
     */
    readonly receive: (mailbox: Mailbox, wait_ms: number) => Effect.Effect<string | null>
  }
>()("@quotewire/core/Mailboxes") {
  static readonly layer: Layer.Layer<Mailboxes, never, Storage | LongPolls> = Layer.effect(
    Mailboxes,
    Effect.gen(function* () {
      const storage = yield* Storage
      const longPolls = yield* LongPolls

      const find = ({ name, workspace_id }: Mailbox) => storage.get({ workspace_id, kind: kind.name, id: name })

      const write = Effect.fnUntraced(function* (
        { name, workspace_id }: Mailbox,
        version: number,
        text: string | null
      ) {
        const now = yield* Clock.currentTimeMillis
        const record = kind.record({ text }, { id: name, version, created_at: now, updated_at: now })
        yield* commit(storage, Change.make(workspace_id, { writes: [record] }))
      })

      const send = (mailbox: Mailbox, text: string) =>
        write(mailbox, 1, text).pipe(
          Effect.as(true),
          Effect.catchTag("VersionConflict", () => Effect.succeed(false))
        )

      /**
       * The message; null if it has not arrived. Also null if storage is unavailable, because storage may recover
       * before the wait is over.
       */
      const look = (mailbox: Mailbox) =>
        find(mailbox).pipe(
          Effect.map(Option.match({ onNone: () => null, onSome: (stored) => kind.value(stored).text })),
          Effect.orElseSucceed(() => null)
        )

      const waitFor = Effect.fnUntraced(function* (mailbox: Mailbox, waitMs: number, waitForHint: WaitForHint) {
        const until = (yield* Monotonic.millis) + waitMs
        while (true) {
          const text = yield* look(mailbox)
          const leftMs = until - (yield* Monotonic.millis)
          if (text !== null || leftMs <= 0) return text
          const woken = yield* waitForHint(leftMs)
          if (woken !== "changed") return yield* look(mailbox)
        }
      })

      /** Erases the message, and closes the mailbox to later messages. */
      const close = (mailbox: Mailbox) =>
        retryOnConflict(
          Effect.flatMap(find(mailbox), (stored) =>
            write(mailbox, Option.isSome(stored) ? stored.value.version + 1 : 1, null)
          )
        )

      const receive = (mailbox: Mailbox, waitMs: number) =>
        longPolls
          .listen({ workspace_id: mailbox.workspace_id, id: mailbox.name }, (waitForHint) =>
            waitFor(mailbox, waitMs, waitForHint)
          )
          // If storage cannot be reached, retention erases the message later.
          .pipe(Effect.ensuring(Effect.ignore(close(mailbox))))

      return Mailboxes.of({ send, receive })
    })
  )
}
