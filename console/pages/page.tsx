/** What all pages have: a title in the tab, content that can be skipped to, and a place for what went wrong. */
import { type ReactNode, useEffect } from 'react';
import { Refusal } from '../api/request.ts';
import { signInAgain } from '../session/session.ts';
import { FailureNotice } from '../ui/notice.tsx';

export function useTitle(title: string | undefined) {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · Offshoot`;
  }, [title]);
}

export const Main = ({ children }: { children: ReactNode }) => <main id="content">{children}</main>;

/** The API's sentence; for what is not there, or not for this person, also a way on. */
export const Failure = ({ error }: { error: Error }) => (
  <FailureNotice>
    <p>{error.message}</p>
    {error instanceof Refusal && (error.status === 403 || error.status === 404) && (
      <p className="quiet">
        Whoever administers the organization or the project can give you access. If you think that you have it, sign out and in again.
      </p>
    )}
    {error instanceof Refusal && error.status === 401 && <SignInAgain />}
  </FailureNotice>
);

/** What the API keeps for those who signed in with a second factor. */
export const SignInAgain = () => (
  <p>
    <button type="button" className="button" onClick={() => void signInAgain()}>
      Sign in again
    </button>
  </p>
);
