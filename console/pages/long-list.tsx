/** What long lists have beyond others: a search that is part of the address, and more on request. */
import { useNavigate } from '@tanstack/react-router';

export function ListSearch({ label, search }: { label: string; search: string }) {
  const navigate = useNavigate();
  return (
    <input
      className="input"
      type="search"
      aria-label={label}
      placeholder={label}
      defaultValue={search}
      onChange={({ target: { value } }) => void navigate({ to: '.', search: value === '' ? {} : { search: value }, replace: true })}
    />
  );
}

interface More {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

export const ShowMore = ({ hasNextPage, isFetchingNextPage, fetchNextPage }: More) =>
  hasNextPage && (
    <p className="list-more">
      <button type="button" className="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </button>
    </p>
  );
