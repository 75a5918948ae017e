import "effect/cli/Command"; import "effect/cli/Flag"; import "effect/cli/GlobalFlag"; import "@effect/platform-node/NodeServices"; import "@effect/platform-node/NodeRuntime"
