/** Lets the console import style sheets. The build puts all of them into one file. */
declare module "*.css"
