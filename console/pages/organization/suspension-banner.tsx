/** On every page of an organization that is suspended: why, and what is possible meanwhile, in the API's own sentence. */
import { useQuery } from '@tanstack/react-query';
import { organizationsQuery } from '../../api/queries.ts';
import { Icon } from '../../ui/icon.tsx';

export function SuspensionBanner({ organization: id }: { organization: string | undefined }) {
  const { data: organizations } = useQuery(organizationsQuery());
  const suspension = organizations?.find((each) => each.id === id)?.suspension;
  if (suspension === undefined) return undefined;
  return (
    <div className="notice is-paused banner" role="status">
      <Icon name="pause" />
      <p>{suspension}</p>
    </div>
  );
}
