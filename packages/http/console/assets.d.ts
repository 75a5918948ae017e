/** The build puts all styles into one file. */
declare module "*.css"
