/** The name of this machine in the names of packages that hold a program for one kind of machine. */
export const platform = `${process.platform}-${process.arch}`
