import { useQueryClient } from '@tanstack/react-query';

/** Has everything of the project asked for anew: what was just done may show anywhere. */
export function useProjectChanged(project: string): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ['projects', project] });
}
