/** The version of the command; a test keeps it equal to that of its package. */
export const version = "0.1.0"
