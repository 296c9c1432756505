/** The environment whose page this is: its frame shows nothing of a page before it is there. */
import { useQuery } from '@tanstack/react-query';
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
