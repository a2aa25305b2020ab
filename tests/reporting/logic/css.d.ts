// The style sheet as the bundle hands it to the explorer.
declare module "*/css.js" {
  export const css: string;
}
