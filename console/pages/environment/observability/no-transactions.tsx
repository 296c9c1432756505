/** Where no transaction is: why, and how to have some, or more of them. */
import { useState } from 'react';
import { addressOf } from '../../../api/environment-standing.ts';
import { Snippet } from '../../../ui/copy-button.tsx';
import type { Looking } from './use-view.ts';
import { filtersIn, presetOf, withRange } from './view.ts';
import { ViewLink } from './view-link.tsx';

export function NoTransactions(looking: Looking) {
  const { environment, view } = looking;
  const address = addressOf(environment);
  const isNarrow = filtersIn(view).some(({ isUsual }) => !isUsual);
  return (
    <div className="empty">
      <h2>No requests in this time</h2>
      {isNarrow && <p>None that the filters let through, that is: remove one of them, or look at another time.</p>}
      {presetOf(view) !== '14d' && (
        <p>
          <ViewLink looking={looking} to={withRange(view, '14d')}>
            Look at the last 14 days
          </ViewLink>
        </p>
      )}
      {address !== undefined && (
        <>
          <p>The router counts every visit by itself, and it is here a few seconds later:</p>
          <Snippet label="Copy the command" text={`curl ${address}`} />
        </>
      )}
      <p>An app that reports traces tells more: names of its routes, memory, queries, and commands that nobody visits.</p>
      <HowToReport />
    </div>
  );
}

const ways = {
  'Node.js': `npm install @opentelemetry/api @opentelemetry/auto-instrumentations-node

# in the configuration
applications:
  app:
    variables:
      env:
        NODE_OPTIONS: --require @opentelemetry/auto-instrumentations-node/register`,
  PHP: `composer require open-telemetry/sdk open-telemetry/exporter-otlp open-telemetry/opentelemetry-auto-symfony

# in the configuration
applications:
  app:
    runtime:
      extensions: [opentelemetry]
    variables:
      env:
        OTEL_PHP_AUTOLOAD_ENABLED: 'true'`,
  Python: `pip install opentelemetry-distro opentelemetry-exporter-otlp-proto-http
opentelemetry-bootstrap -a install

# and in front of the command that starts the app
opentelemetry-instrument python app.py`,
} as const;
type Language = keyof typeof ways;

/** Where traces are taken, and with which token, every container is told by the platform. */
export function HowToReport() {
  const [language, setLanguage] = useState<Language>('Node.js');
  return (
    <>
      <div className="segments" role="group" aria-label="Language">
        {(Object.keys(ways) as Language[]).map((name) => (
          <button key={name} type="button" aria-pressed={language === name} onClick={() => setLanguage(name)}>
            {name}
          </button>
        ))}
      </div>
      <Snippet label="Copy the lines" text={ways[language]} />
      <p className="quiet small">
        Commit and push. Where traces go is set in every container already, so there is nothing else to configure.
      </p>
    </>
  );
}
