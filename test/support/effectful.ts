/**
 * The modules that run effects although they are neither services nor parts of one, by what they do. In a part, every
 * export except its `make` functions must be listed, such as `runner/WorkLoop.noteFailure`.
 */
export const effectful: Readonly<Record<string, ReadonlyArray<string>>> = {
  "derive or check tokens and digests with the platform's cryptography": [
    "access/Cursor access/PartnerLink access/ReadHandle access/SignedId calls/Fingerprint",
    "carriers/SignedCallbacks webhooks/Signature webhooks/verifyWebhook"
  ],
  "define values that the context carries": [
    "carriers/CarrierConnections carriers/CarrierTransport carriers/recorder/CarrierExchange lines/Lines",
    "runner/ConcurrentClaim runner/RetentionPeriods storage/Staging webhooks/WebhookHeaders wire/PublicUrl"
  ],
  "define operations and handlers, which are effects": [
    "calls/Operation operators/OperatorOperation runner/JobHandler"
  ],
  "call carriers, or are what carriers implement": [
    "carriers/TimeBudget carriers/CarrierDefinition carriers/OwnCarrierScenarios carriers/defineCarrier",
    "carriers/definitionCalls carriers/http/CarrierHttp carriers/http/CarrierResponse carriers/http/SentRequest",
    "carriers/http/WholeAnswers",
    "carriers/http/CarrierTokens carriers/recorder/ExchangeDraft carriers/recorder/HttpRecording rating/ratePlanCarrier",
    "sandbox/fictionalCarriers"
  ],
  "log what they refuse or drop": [
    "calls/FinishedCall calls/Refusal carriers/AnswerRules quoting/asking/ReplyRules runner/WorkLoop.noteFailure",
    "webhooks/subscriptions/SubscriptionRefusals"
  ],
  "read or write records through the storage that a service passes": [
    "access/ApiKey calls/acceptOnce calls/decideAtMoment consuming/ConsumerStore consuming/claiming",
    "consuming/consumerStatus consuming/eachWorkspacePage consuming/parkedEvents consuming/parking",
    "consuming/startPositions quoting/readAuthority quoting/RevisionPreview sandbox/NextDue",
    "storage/CellReadiness webhooks/deliveries/DeliveryLog.find",
    "webhooks/deliveries/Publishing webhooks/records/SubscriptionStore",
    "webhooks/subscriptions/SubscriptionCreation.withSecret",
    "webhooks/subscriptions/cancelDeliveries webhooks/subscriptions/Recipients webhooks/subscriptions/restartSubscriptions",
    "webhooks/subscriptions/SubscriptionChecks webhooks/subscriptions/TwoStepCalls"
  ],
  "hold a process's state for a service": [
    "access/KnownKeys access/limits/SharedCounts access/sealing/SealKeysInUse quoting/asking/SeenRequests"
  ],
  "run work: locks, fibers and time": [
    "concurrency/Fault concurrency/KeyedMutex concurrency/Monotonic concurrency/JobSlot concurrency/Supervise",
    "concurrency/Timers",
    "runner/JobBatch"
  ],
  "run a program's consumers": [
    "consuming/ConsumeOptions consuming/ConsumerMetrics consuming/Dispatcher consuming/HandlerRuns",
    "consuming/LeasedConsumer consuming/HandlerLock consuming/WorkspaceContext consuming/consumeWorkspace",
    "consuming/consumeWithPromises"
  ],
  "start, call and stop an embedded service": [
    "embedding/Embedded embedding/Lifetime embedding/ProgramLogger embedding/checkedArguments embedding/rejections",
    "embedding/sealKeys embedding/whenClosing"
  ],
  "recognize layers among settings": ["config/Config config/ConfigRules embedding/EmbedRules wire/EffectCopy"],
  "decode with Effect's parsers": ["wire/BoundedDecoder wire/Xml"]
}
