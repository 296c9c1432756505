/** The two pages between being somebody and being nobody. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { finishSignIn, leaveToSignIn } from '../session/session.ts';
import { Brand } from '../ui/icon.tsx';
import { FailureNotice } from '../ui/notice.tsx';
import { useTitle } from './page.tsx';

/** The answer in the address is good once. */
let finishing: ReturnType<typeof finishSignIn> | undefined;

export function SignedInPage() {
  const navigate = useNavigate();
  const [refusal, setRefusal] = useState<string>();
  useTitle('Signing in');
  useEffect(() => {
    finishing ??= finishSignIn(new URLSearchParams(location.search));
    void finishing.then((end) => ('refusal' in end ? setRefusal(end.refusal) : navigate({ href: end.returnTo || '/', replace: true })));
  }, [navigate]);
  return refusal === undefined ? undefined : (
    <Alone title="You are not signed in" verb="Sign in">
      <FailureNotice>{refusal}</FailureNotice>
    </Alone>
  );
}

export function SignedOutPage() {
  useTitle('Signed out');
  return (
    <Alone title="You are signed out" verb="Sign in again">
      <p className="quiet">The session of this browser has ended. Programs with API tokens go on.</p>
    </Alone>
  );
}

const Alone = ({ title, verb, children }: { title: string; verb: string; children: React.ReactNode }) => (
  <main id="content" className="alone-page">
    <span className="brand">
      <Brand />
    </span>
    <h1>{title}</h1>
    {children}
    <button type="button" className="button primary" onClick={() => void leaveToSignIn('/')}>
      {verb}
    </button>
  </main>
);
