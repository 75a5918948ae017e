/**
 * Makes a value when it is first needed, and keeps it. Use it for values that are expensive to make and that not every
 * program uses: importing a module should cost no more than reading it.
 */
export const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
