/** What all addresses of the console are under. */
import { createRootRoute, Outlet } from '@tanstack/react-router';
import { Bar } from '../ui/bar.tsx';
import { Main } from './page.tsx';

export const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <>
      <Bar />
      <div className="shell">
        <Main>
          <h1>There is no such page</h1>
        </Main>
      </div>
    </>
  ),
});
