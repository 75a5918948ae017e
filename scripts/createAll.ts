import { join } from "node:path"
import {
  allChoices,
  nameOf,
  projectsFolder,
  testFailures,
  typeErrors,
  writeProject
} from "../packages/cli/test/support/projects.ts"

/*
 * Creates every project that `quotewire create` can write, and type-checks all of them. Then runs the projects' tests,
 * once for each set of files that affects them. `npm test` does this for a sample.
 */

const report = (subject: string, failures: string): void => {
  console.log(`${failures === "" ? "ok  " : "FAIL"} ${subject}`)
  if (failures === "") return
  console.error(failures)
  process.exitCode = 1
}

report(`the types of ${allChoices.length} projects`, typeErrors(allChoices))

const { folder, remove } = projectsFolder()
for (const choices of allChoices.filter(({ docker, place }) => place === "express" && !docker)) {
  const name = nameOf(choices)
  writeProject(join(folder, name), choices)
  report(`the tests of ${name}`, testFailures(join(folder, name)))
}
remove()
