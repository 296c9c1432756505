/** Two-factor authentication: set up with a picture for the app, with recovery codes that are shown once; new codes; and its end. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { DeedButton } from '../../actions/deed-button.tsx';
import { LinkForm } from '../../actions/link-form.tsx';
import { hrefOf, linkOf } from '../../api/link.ts';
import { request } from '../../api/request.ts';
import type { User } from '../../api/resources.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { Badge } from '../../ui/status.tsx';
import { Failure } from '../page.tsx';

interface Proposal {
  secret: string;
  qr_code: string;
}

export function TwoFactors({ me, onChange }: { me: User; onChange(): void }) {
  const [isSettingUp, setSettingUp] = useState(false);
  const [codes, setCodes] = useState<readonly string[]>();
  const done = (result: unknown) => {
    setSettingUp(false);
    setCodes((result as { recovery_codes?: readonly string[] } | undefined)?.recovery_codes);
    onChange();
  };
  return (
    <section className="section" aria-label="Two factors">
      <div className="section-head">
        <h2>Two factors</h2>
        <span className="push row-actions">
          {linkOf(me, 'propose-totp') && linkOf(me, 'enable-totp') && (
            <button type="button" className="button primary" onClick={() => setSettingUp(true)}>
              Set up an authenticator app
            </button>
          )}
          <DeedButton resource={me} rel="create-recovery-codes" verb="Make new recovery codes" onDone={done} />
          <DeedButton
            resource={me}
            rel="disable-totp"
            verb="Turn off"
            title="Turn two-factor authentication off"
            look="button danger"
            guard={{ loses: 'Your password alone signs you in. Recovery codes stop working.' }}
            onDone={done}
          />
        </span>
      </div>
      {codes && <RecoveryCodes codes={codes} email={me.email} />}
      <p>
        <Badge of={me.mfa_enabled ? 'active' : 'inactive'}>{me.mfa_enabled ? 'On' : 'Off'}</Badge>{' '}
        {me.mfa_enabled
          ? 'A passcode of your authenticator app is asked for when you sign in.'
          : 'Your password alone signs you in. With an authenticator app, whoever learns your password still does not get in.'}
      </p>
      {isSettingUp && <SetUp me={me} onDone={done} onClose={() => setSettingUp(false)} />}
    </section>
  );
}

function SetUp({ me, onDone, onClose }: { me: User; onDone(result: unknown): void; onClose(): void }) {
  // A secret that was proposed is kept as long as the dialog is open, and never longer.
  const { data: proposal, error } = useQuery({
    queryKey: ['proposed-totp'],
    queryFn: ({ signal }) => request<Proposal>('GET', hrefOf(me, 'propose-totp') ?? '', undefined, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const enable = linkOf(me, 'enable-totp');
  return (
    <Dialog title="Set up an authenticator app" onClose={onClose}>
      {error && <Failure error={error} />}
      {proposal && enable && (
        <LinkForm
          link={enable}
          verb="Turn it on"
          given={{ secret: proposal.secret }}
          told={scanned(proposal)}
          onDone={onDone}
          onCancel={onClose}
        />
      )}
    </Dialog>
  );
}

const scanned = (proposal: Proposal) => () => ({ drawing: <Scan proposal={proposal} /> });

const Scan = ({ proposal: { secret, qr_code } }: { proposal: Proposal }) => (
  <div className="scan">
    <p>Scan this with an authenticator app, or type the secret into it. Then type what it shows.</p>
    <img className="qr-code" src={qr_code} alt="QR code with the secret" />
    <p className="row">
      <code className="token" data-secret>
        {secret}
      </code>
      <CopyButton text={secret} label="Copy the secret" />
    </p>
  </div>
);

function RecoveryCodes({ codes, email }: { codes: readonly string[]; email: string }) {
  const text = codes.join('\n');
  return (
    <section className="panel new-token" aria-label="Your recovery codes">
      <header>
        <h2>Recovery codes</h2>
        <span className="quiet">Keep them now: they are not shown again. Each signs you in once, when you do not have the app.</span>
      </header>
      <div className="stack">
        <ul className="codes mono">
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <p className="row">
          <CopyButton text={text} label="Copy the recovery codes" />
          <button
            type="button"
            className="button"
            onClick={() => saveFile('recovery-codes.txt', 'text/plain', `Recovery codes of ${email}\n\n${text}\n`)}
          >
            Save as a file
          </button>
        </p>
      </div>
    </section>
  );
}
