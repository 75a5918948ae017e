export * as Receiver from "./Receiver.ts"
export * as StorageContract from "./StorageContract.ts"
export * as StorageModel from "./StorageModel.ts"
export * as World from "./World.ts"
