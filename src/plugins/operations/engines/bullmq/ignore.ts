/** Takes an error that says nothing that is not known already. */
export function ignore(): void {}
