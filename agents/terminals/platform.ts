/** The platform name in the names of packages that contain a native program. */
export const platform = `${process.platform}-${process.arch}`
