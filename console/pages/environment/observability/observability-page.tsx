/** What requests took, who visited, and what containers used. What is looked at, when, and narrowed down by what, is in the address. */
import { linkOf } from '../../../api/link.ts';
import { timeWords } from '../../../chart/chart-data.ts';
import { Failure, useTitle } from '../../page.tsx';
import { type OfEnvironment, useEnvironment } from '../use-environment.ts';
import { FilterBar } from './filter-bar.tsx';
import { HttpTraffic } from './http-traffic.tsx';
import './observability.css';
import { ResourcesUsed } from './resources-used.tsx';
import { Transactions } from './transactions.tsx';
import { type Looking, useLooking } from './use-view.ts';
import { ViewLink } from './view-link.tsx';
import { type Preset, presetOf, presets, type ViewName, views, withRange, withView } from './view.ts';

export function ObservabilityPage() {
  const of = useEnvironment();
  useTitle(of && `Observability of ${of.environment.id}`);
  return of && <Observability {...of} />;
}

const pages = { transactions: Transactions, http: HttpTraffic, resources: ResourcesUsed } as const;

function Observability(of: OfEnvironment) {
  const looking = useLooking(of);
  if (!linkOf(of.environment, '#observability-pipeline')) return undefined;
  const View = pages[looking.view.view ?? 'transactions'];
  return (
    <div className="observability">
      <div className="row wrap obs-bar">
        <Kinds {...looking} />
        <Times {...looking} />
      </div>
      <FilterBar {...looking} />
      {looking.error ? <Failure error={looking.error} /> : <View {...looking} />}
    </div>
  );
}

const Kinds = (looking: Looking) => (
  <nav className="segments" aria-label="What to look at">
    {(Object.keys(views) as ViewName[]).map((name) => (
      <ViewLink key={name} looking={looking} to={withView(looking.view, name)} isCurrent={(looking.view.view ?? 'transactions') === name}>
        {views[name]}
      </ViewLink>
    ))}
  </nav>
);

const presetWords: Record<Preset, string> = { '1h': '1 h', '6h': '6 h', '1d': '1 d', '14d': '14 d' };

function Times(looking: Looking) {
  const { view, range } = looking;
  const chosen = presetOf(view);
  return (
    <>
      <div className="segments push" role="group" aria-label="Time">
        {(Object.keys(presets) as Preset[]).map((preset) => (
          <ViewLink
            key={preset}
            looking={looking}
            to={withRange(view, preset)}
            aria-label={`The last ${presetWords[preset]}`}
            isCurrent={chosen === preset}
          >
            {presetWords[preset]}
          </ViewLink>
        ))}
      </div>
      <span className="quiet small times">
        {timeWords(range.from)} to {timeWords(range.to)}
      </span>
    </>
  );
}
