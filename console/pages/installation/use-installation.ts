/** The installation whose page this is: its frame shows nothing of a page before it is there. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type Installation, installationQuery } from '../../api/installation-queries.ts';
import { meQuery } from '../../api/queries.ts';

export function useInstallation(): Installation | undefined {
  const { data: me } = useQuery(meQuery());
  return useQuery(installationQuery(me)).data;
}

/** Has everything of the installation asked for anew. */
export function useInstallationChanged(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ['installation'] });
}
