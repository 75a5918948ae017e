import type { Story } from "./Story.ts"

/**
 * The smallest story that still fails: no single action can be left out. Leaves out large parts first, then smaller
 * ones (delta debugging).
 */
export const shrink = (story: Story, fails: (story: Story) => boolean): Story => {
  let { actions } = story
  for (let size = Math.ceil(actions.length / 2); size > 0; ) {
    const before = actions.length
    for (let from = 0; from < actions.length; ) {
      const fewer = actions.toSpliced(from, size)
      if (fails({ ...story, actions: fewer })) actions = fewer
      else from += size
    }
    // After one action is left out, others may no longer be needed either.
    if (size > 1) size = Math.ceil(size / 2)
    else if (actions.length === before) size = 0
  }
  return { ...story, actions }
}
