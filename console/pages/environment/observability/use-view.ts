/** The view of the page, and the way to another: each is an address, so that the back button leads back. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type Asked, type Entrypoint, entrypointQuery } from '../../../api/observability-queries.ts';
import type { Span } from '../../../chart/plot.tsx';
import { useNow } from '../../../ui/age.tsx';
import type { OfEnvironment } from '../use-environment.ts';
import { askedFilters, rangeOf, type View, withRange } from './view.ts';

export const route = '/projects/$project/environments/$environment/observability';

export interface Looking extends OfEnvironment {
  view: View;
  range: Span;
  entrypoint: Entrypoint | undefined;
  error: Error | null;
  /** The time and the filters, as the API takes them. */
  asked: Asked;
  look(view: View): void;
  zoom(span: Span): void;
}

export function useLooking(of: OfEnvironment): Looking {
  const view = useSearch({ from: route });
  const navigate = useNavigate();
  const range = rangeOf(view, useNow());
  const { data: entrypoint, error } = useQuery(entrypointQuery(of.project, of.environment));
  const look = (next: View) => void navigate({ from: route, to: '.', search: next, resetScroll: false });
  return {
    ...of,
    view,
    range,
    entrypoint,
    error,
    asked: { ...range, ...askedFilters(view) },
    look,
    zoom: (span) => look(withRange(view, span)),
  };
}
