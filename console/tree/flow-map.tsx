/**
 * Which way code and data flow between an environment and its parent. A thin line is code, a band is data, and its dark core is what only this environment
 * wrote. Left of the rule is now, right of it what will be.
 */
import type { ReactNode } from 'react';
import './flow-map.css';

interface Flow {
  parent: string;
  child: string;
  /** How many commits only the child has, and only the parent. */
  ahead: number;
  behind: number;
}

interface Synchronization extends Flow {
  withCode: boolean;
  withData: boolean;
}

const commits = (count: number) => (count === 0 ? 'no commits' : count === 1 ? '1 commit' : `${count} commits`);

export function SynchronizeMap({ withCode, withData, ...flow }: Synchronization) {
  const { parent, child, ahead, behind } = flow;
  const says = [
    withCode ? `Code flows from ${parent} to ${child}.` : `The code of ${child} stays.`,
    withData ? `The data of ${child} is replaced by a clone of that of ${parent}.` : `The data of ${child} stays.`,
  ].join(' ');
  return (
    <Map flow={flow} says={says}>
      {!withData && <StayingData />}
      {withData && <path className="band moves" d="M374 68C416 68 414 172 456 172H632" />}
      <Stems />
      {withCode && (
        <>
          <path className="shoot moves" d="M392 46C436 46 434 150 476 150H492" />
          <circle className="joint moved" cx="496" cy="150" r="5" />
          <text className="fine" x="508" y="140">
            {ahead > 0 ? `${ahead} + ${commits(behind)}` : commits(behind)}
          </text>
        </>
      )}
      {withData && (
        <>
          <path className="gone" d="M364 164l16 16M380 164l-16 16" />
          <text className="lost fine" x="358" y="196" textAnchor="end">
            what was written here is lost
          </text>
        </>
      )}
      <text className="fine" x="508" y="196">
        {withData ? `data of ${shortened(parent)}, now` : 'data as it is'}
      </text>
    </Map>
  );
}

export function MergeMap(flow: Flow) {
  const { parent, child, ahead } = flow;
  return (
    <Map flow={flow} says={`${commits(ahead)} flow from ${child} to ${parent}. No data moves.`}>
      <StayingData />
      <Stems />
      <path className="shoot moves" d="M392 150C436 150 434 46 476 46H492" />
      <circle className="joint moved" cx="496" cy="46" r="5" />
      <text className="fine" x="508" y="36">
        {commits(ahead)} more
      </text>
      <text className="fine" x="508" y="92">
        data as it is
      </text>
      <text className="fine" x="508" y="196">
        data as it is
      </text>
    </Map>
  );
}

const charactersMax = 18;
const shortened = (name: string) => (name.length > charactersMax ? `${name.slice(0, charactersMax - 1)}…` : name);

function Map({ flow: { parent, child }, says, children }: { flow: Flow; says: string; children: ReactNode }) {
  return (
    <svg className="flow-map" viewBox="0 0 640 210" role="img" aria-label={says}>
      <rect className="after" x="372" y="0" width="268" height="206" rx="8" />
      <line className="rule" x1="372" y1="0" x2="372" y2="206" />
      <text x="362" y="15" textAnchor="end">
        now
      </text>
      <text x="382" y="15">
        afterwards
      </text>
      <text className="who" x="0" y="32">
        {shortened(parent)}
      </text>
      <text className="who" x="0" y="154">
        {shortened(child)}
      </text>
      <path className="band" d="M0 68H632" />
      <path className="band" d="M150 68C176 68 172 172 200 172H372" />
      <path className="band own" d="M212 172H369" />
      {children}
    </svg>
  );
}

const StayingData = () => (
  <>
    <path className="band" d="M372 172H632" />
    <path className="band own" d="M375 172H632" />
  </>
);

const Stems = () => (
  <>
    <path className="shoot staging" d="M0 46H632" />
    <path className="shoot" d="M96 46C124 46 120 150 152 150H632" />
    {[60, 308].map((x) => (
      <circle key={x} className="joint" cx={x} cy="46" r="4" />
    ))}
    {[196, 262, 326].map((x) => (
      <circle key={x} className="joint" cx={x} cy="150" r="4" />
    ))}
  </>
);
