import cluster from "node:cluster"

/** The variable that marks the workers of a primary. A cluster of another program does not set it for its own. */
export const worker_variable = "QUOTEWIRE_WORKER"

/** What this process is: the first worker of a primary, a later one, or a process of its own. */
export const role = (): "alone" | "first" | "later" => {
  const variable = cluster.isWorker ? process.env[worker_variable] : undefined
  return variable === "first" || variable === "later" ? variable : "alone"
}
