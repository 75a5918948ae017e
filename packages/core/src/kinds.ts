import * as ApiKey from "./access/ApiKey.ts"
import * as SealKeysInUse from "./access/sealing/SealKeysInUse.ts"
import * as Workspaces from "./access/Workspaces.ts"
import * as FinishedCall from "./calls/FinishedCall.ts"
import * as IdempotencyRecord from "./calls/IdempotencyRecord.ts"
import * as Mailboxes from "./calls/Mailboxes.ts"
import * as Revision from "./calls/Revision.ts"
import * as Connection from "./carriers/Connection.ts"
import * as CarrierHealth from "./carriers/health/CarrierHealth.ts"
import * as StoredExchange from "./carriers/recorder/StoredExchange.ts"
import * as Consumer from "./consuming/Consumer.ts"
import * as ParkedEvent from "./consuming/ParkedEvent.ts"
import * as FeedbackReport from "./feedback/FeedbackReport.ts"
import * as AuditEntry from "./operators/AuditEntry.ts"
import * as OperatorToken from "./operators/OperatorToken.ts"
import * as ApplicationRecord from "./quoting/ApplicationRecord.ts"
import * as AskMark from "./quoting/asking/AskMark.ts"
import * as CarrierReference from "./quoting/asking/CarrierReference.ts"
import * as CircuitNote from "./quoting/asking/CircuitNote.ts"
import * as EarlyCallback from "./quoting/asking/EarlyCallback.ts"
import * as ConsentRecord from "./quoting/ConsentRecord.ts"
import * as Erasure from "./quoting/erasing/Erasure.ts"
import * as OfferRecord from "./quoting/OfferRecord.ts"
import * as Quote from "./quoting/Quote.ts"
import * as QuoteRequest from "./quoting/QuoteRequest.ts"
import * as RequestKey from "./quoting/RequestKey.ts"
import * as AdvanceSteps from "./sandbox/AdvanceSteps.ts"
import * as ForcedExpiry from "./sandbox/ForcedExpiry.ts"
import * as Reset from "./sandbox/Reset.ts"
import * as Cell from "./storage/Cell.ts"
import * as Kind from "./storage/Kind.ts"
import * as EventReplay from "./webhooks/deliveries/EventReplay.ts"
import * as Recovery from "./webhooks/deliveries/Recovery.ts"
import * as StoredAnswers from "./webhooks/deliveries/StoredAnswers.ts"
import * as Delivery from "./webhooks/records/Delivery.ts"
import * as EndpointHealth from "./webhooks/records/EndpointHealth.ts"
import * as StoredSubscription from "./webhooks/records/StoredSubscription.ts"
import * as Recipients from "./webhooks/subscriptions/Recipients.ts"
import * as TwoStepCalls from "./webhooks/subscriptions/TwoStepCalls.ts"

/**
 * Every kind of stored record. Storage, retention and the sandbox reset work from this list, and name no kind
 * themselves.
 */
export const kinds: Kind.Kinds = Kind.registry([
  Cell.kind,
  Cell.markKind,
  Cell.placementKind,
  ApiKey.organizationKind,
  ApiKey.keyKind,
  Workspaces.kind,
  SealKeysInUse.kind,
  Connection.kind,
  CarrierHealth.kind,
  Revision.pinKind,
  IdempotencyRecord.kind,
  FinishedCall.kind,
  Mailboxes.kind,
  AdvanceSteps.kind,
  ForcedExpiry.kind,
  Reset.kind,
  QuoteRequest.kind,
  Quote.kind,
  OfferRecord.kind,
  AskMark.kind,
  CarrierReference.kind,
  EarlyCallback.kind,
  CircuitNote.kind,
  StoredExchange.kind,
  RequestKey.kind,
  ApplicationRecord.kind,
  ConsentRecord.kind,
  Erasure.kind,
  Consumer.kind,
  Consumer.startKind,
  ParkedEvent.kind,
  StoredSubscription.kind,
  Recipients.kind,
  EndpointHealth.kind,
  Delivery.kind,
  TwoStepCalls.kind,
  StoredAnswers.tests,
  StoredAnswers.replays,
  EventReplay.kind,
  Recovery.kind,
  FeedbackReport.kind,
  OperatorToken.kind,
  AuditEntry.kind
])
