/** The console: pages over the API, and nothing that the API does not offer. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Refusal } from './api/request.ts';
import { router } from './router.tsx';
import { SignedOut } from './session/session.ts';
import { showAppearance } from './ui/appearance.tsx';
import './ui/tokens.css';
import './ui/base.css';
import './ui/shell.css';
import './ui/controls.css';
import './ui/content.css';
import './ui/meters.css';
import './ui/tree.css';
import './ui/environment.css';
import './ui/log.css';
import './ui/pages.css';
import './ui/first-push.css';
import './ui/terminal.css';
import './ui/search.css';
import './ui/project-things.css';
import './ui/people.css';
import './ui/small.css';

const attemptsMax = 3;
const freshMilliseconds = 60_000;

showAppearance();

/** What the API refused stays refused; what did not get through is tried again. */
const isWorthTrying = (failures: number, error: Error) =>
  !(error instanceof SignedOut) && !(error instanceof Refusal && error.status < 500) && failures < attemptsMax;

/** An answer is good until the API tells of a change (api/events.ts); what it does not tell of is asked for again after a while. */
const queries = new QueryClient({ defaultOptions: { queries: { retry: isWorthTrying, staleTime: freshMilliseconds } } });

const place = document.getElementById('console');
if (place)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
