/** The version of the command. A test compares it with the package's version. */
export const version = "0.1.0"
