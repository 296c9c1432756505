/** The environment whose page this is: its frame shows nothing of a page before it is there. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { environmentQuery } from '../../api/queries.ts';
import type { Environment } from '../../api/resources.ts';

export interface OfEnvironment {
  project: string;
  environment: Environment;
}

export function useEnvironment(): OfEnvironment | undefined {
  const { project, environment: id } = useParams({ from: '/projects/$project/environments/$environment' });
  const { data: environment } = useQuery(environmentQuery(project, id));
  return environment && { project, environment };
}

/** Has everything of the project asked for anew: what was just done may show anywhere. */
export function useLookAgain(project: string): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ['projects', project] });
}
