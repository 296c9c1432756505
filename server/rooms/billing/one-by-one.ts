/** Work for one organization after the other, of which one that fails keeps no other waiting. What failed is thrown at the end, so that it is logged and tried again. */
export function oneByOne() {
  const failed = new Map<string, unknown>();
  return {
    /** Does nothing for an organization for which something failed before: its months follow from each other. */
    attempt: async (organizationId: string, work: () => Promise<void>): Promise<void> => {
      if (failed.has(organizationId)) return;
      try {
        await work();
      } catch (error) {
        failed.set(organizationId, error);
      }
    },
    /** Throws the first failure, if there was one. */
    rethrow: (): void => {
      for (const error of failed.values()) throw error;
    },
  };
}
