export * as NodeReceiver from "./NodeReceiver.ts"
