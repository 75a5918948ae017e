import { Effect, Option } from "effect"
import { directoryWorkspace, readOne, type Storage, type StorageUnavailable } from "../storage/Storage.ts"
import type { EventId, WorkspaceId } from "../wire/Ids.ts"
import * as Consumer from "./Consumer.ts"
import * as ParkedEvent from "./ParkedEvent.ts"

type StorageService = Storage["Service"]

/** The consumer with this name in a workspace; null if it is not stored yet. */
export const loadConsumer = (
  storage: StorageService,
  workspace_id: WorkspaceId,
  name: string
): Effect.Effect<Consumer.Consumer | null, StorageUnavailable> => readOne(storage, Consumer.kind, workspace_id, name)

/** When a consumer's name was first used, and the version of the record about this; null if the name was never used. */
export const loadStart = (storage: StorageService, name: string) =>
  Effect.map(storage.get({ workspace_id: directoryWorkspace, kind: Consumer.startKind.name, id: name }), (stored) =>
    Option.isNone(stored) ? null : { ...Consumer.startKind.value(stored.value), version: stored.value.version }
  )

/** A parked event with its version; null if the event was never parked. */
export const loadParked = (storage: StorageService, workspace_id: WorkspaceId, name: string, eventId: EventId) =>
  Effect.map(
    storage.get({ workspace_id, kind: ParkedEvent.kind.name, id: ParkedEvent.idOf(name, eventId) }),
    (stored) =>
      Option.isNone(stored) ? null : { parked: ParkedEvent.kind.value(stored.value), version: stored.value.version }
  )
